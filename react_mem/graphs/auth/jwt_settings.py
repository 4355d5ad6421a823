"""Settings of the authentication by signed tokens, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from react_mem.errors import ServerAuthError
from react_mem.memory.runtime import is_loopback

JWKS_URL_ENV = "AUTH_JWT_JWKS_URL"
SECRET_ENV = "AUTH_JWT_SECRET"  # noqa: S105 - the name of a setting
ISSUER_ENV = "AUTH_JWT_ISSUER"
AUDIENCE_ENV = "AUTH_JWT_AUDIENCE"
ALGORITHMS_ENV = "AUTH_JWT_ALGORITHMS"
LEEWAY_ENV = "AUTH_JWT_LEEWAY"
CLAIM_ENV = "AUTH_JWT_IDENTITY_CLAIM"
ADMINS_ENV = "AUTH_ADMINS"

MIN_SECRET_BYTES = 32
MAX_LEEWAY_SECONDS = 300

_SHARED = frozenset({"HS256", "HS384", "HS512"})
_PUBLIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})


@dataclass(frozen=True)
class JwtSettings:
    """Settings of the authentication by signed tokens.

    Args:
        issuer: Who must have issued a token.
        audience: Whom it must be for.
        algorithms: The algorithms that it may be signed with.
        secret: What it is signed with, where issuer and server share it.
        jwks_url: Where the issuer's public keys are.
        leeway: Seconds by which the clocks may differ.
        identity_claim: The claim that says who it is.
        administrators: Who may change what is everybody's.
    """

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    secret: str = field(default="", repr=False)
    jwks_url: str = ""
    leeway: int = 30
    identity_claim: str = "sub"
    administrators: frozenset[str] = frozenset()

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> JwtSettings:
        """Return what the environment says.

        Args:
            environ: The environment.

        Raises:
            ServerAuthError: If something is missing or unsafe; the message names the variable and the fix.
        """
        said = {name: value.strip() for name, value in environ.items() if name.startswith("AUTH_")}
        secret, jwks_url = said.get(SECRET_ENV, ""), said.get(JWKS_URL_ENV, "")
        if bool(secret) == bool(jwks_url):
            raise ServerAuthError(
                f"set {JWKS_URL_ENV} (the public keys of your identity provider) or {SECRET_ENV} (a secret that you "
                "share with whoever issues the tokens), and not both"
            )
        for name, what in ((ISSUER_ENV, "who issues the tokens (`iss`)"), (AUDIENCE_ENV, "whom they are for (`aud`)")):
            if not said.get(name):
                raise ServerAuthError(f"set {name} to {what}: a token of somebody else, or for something else, is none")
        if secret and len(secret.encode()) < MIN_SECRET_BYTES:
            raise ServerAuthError(
                f"{SECRET_ENV} has fewer than {MIN_SECRET_BYTES} bytes, so it can be guessed from a token; make one "
                "with: openssl rand -base64 48"
            )
        if jwks_url:
            _check_url(jwks_url)
        return cls(
            issuer=said[ISSUER_ENV],
            audience=said[AUDIENCE_ENV],
            algorithms=_algorithms(said.get(ALGORITHMS_ENV, ""), shared=bool(secret)),
            secret=secret,
            jwks_url=jwks_url,
            leeway=_leeway(said.get(LEEWAY_ENV, "")),
            identity_claim=said.get(CLAIM_ENV) or "sub",
            administrators=administrators(environ),
        )


def administrators(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Return the identities of the administrators.

    Args:
        environ: The environment.
    """
    return frozenset(filter(None, (name.strip() for name in environ.get(ADMINS_ENV, "").split(","))))


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise ServerAuthError(f"{JWKS_URL_ENV} must be an https address: else others can put their keys in")


def _algorithms(said: str, *, shared: bool) -> tuple[str, ...]:
    # one kind only: else a public key, which everybody has, could be used as the secret of a token
    possible = _SHARED if shared else _PUBLIC
    wanted = tuple(filter(None, (name.strip() for name in said.split(","))))
    wrong = [name for name in wanted if name not in possible]
    if wrong:
        raise ServerAuthError(
            f"{ALGORITHMS_ENV} names {', '.join(wrong)}, which cannot be used with "
            f"{SECRET_ENV if shared else JWKS_URL_ENV}; possible are {', '.join(sorted(possible))}"
        )
    return wanted or (("HS256",) if shared else ("RS256", "ES256"))


def _leeway(said: str) -> int:
    if not said:
        return 30
    if not (said.isascii() and said.isdigit()) or int(said) > MAX_LEEWAY_SECONDS:
        raise ServerAuthError(f"{LEEWAY_ENV} must be a number of seconds from 0 to {MAX_LEEWAY_SECONDS}")
    return int(said)
