"""Authentication by API keys: `"auth": {"path": "react_mem.graphs.auth.by_api_key:auth"}` in `langgraph.json`.

The environment names the file of their hashes, `AUTH_API_KEYS_FILE`. A caller sends the key as `x-api-key`, or as a
bearer token.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from langgraph_sdk import Auth

from react_mem.errors import ServerAuthError
from react_mem.graphs.auth.permissions import administrators, bearer_token, caller, default_deny, scraper, unauthorized
from react_mem.memory.runtime import unfit

FILE_ENV = "AUTH_API_KEYS_FILE"

MIN_KEY_CHARS = 32
"""A key is random and long, so that its plain hash cannot be tried out: a shorter one is a password, and is refused."""

MAX_KEY_CHARS = 512

log = logging.getLogger(__name__)


class ApiKeys:
    """API keys of a file, which is read again when it changes: a removed key ends at once; see `read_keys`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp = self._stamped()
        self._identities = read_keys(file)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> ApiKeys:
        """Return the keys of the file in `AUTH_API_KEYS_FILE`; `ServerAuthError` without any."""
        named = environ.get(FILE_ENV, "").strip()
        if not named:
            raise ServerAuthError(f"set {FILE_ENV} to a file with a line `<identity> <sha256 of the key>` for each key")
        return cls(Path(named))

    def identity(self, key: str) -> str | None:
        """Return the identity that owns an API key; None for an unknown key."""
        if (stamp := self._stamped()) != self._stamp:
            self._stamp = stamp
            try:
                self._identities = read_keys(self._file)
            except ServerAuthError as error:
                # nobody is let in by keys of which somebody may have taken one out
                self._identities = {}
                log.error("no API key is accepted until this is mended: %s", error)
        if not MIN_KEY_CHARS <= len(key) <= MAX_KEY_CHARS:
            return None
        wanted = hashlib.sha256(key.encode()).digest()
        # all of them, however early one fits: the time tells nothing
        found = [identity for digest, identity in self._identities.items() if hmac.compare_digest(digest, wanted)]
        return found[-1] if found else None

    def _stamped(self) -> tuple[int, int, int]:
        try:
            found = self._file.stat()
        except OSError:
            return (0, 0, 0)
        return (found.st_mtime_ns, found.st_size, found.st_ino)


def read_keys(file: Path) -> dict[bytes, str]:
    """Return the identities of a file of keys by the SHA-256 digests of the keys. Blocking.

    Raises `ServerAuthError`, which names the malformed line and the fix.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ServerAuthError(f"{FILE_ENV}: {file} cannot be read ({type(error).__name__})") from None
    identities: dict[bytes, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        identity, _, written = line.strip().rpartition(" ")
        identity = identity.strip()
        try:
            digest = bytes.fromhex(written)
        except ValueError:
            digest = b""
        if len(digest) != hashlib.sha256().digest_size or unfit(identity):
            raise ServerAuthError(
                f"{FILE_ENV}: line {number} of {file} is not `<identity> <sha256 of the key>`; make the hash with: "
                'printf %s "$KEY" | sha256sum'
            )
        if identities.setdefault(digest, identity) != identity:
            raise ServerAuthError(f"{FILE_ENV}: line {number} of {file} gives the key of somebody else; make another")
    return identities


def by_api_key(keys: ApiKeys, admins: frozenset[str]) -> Auth:
    """Return an authentication by API keys, with the permissions of its users and of the administrators `admins`."""
    auth = Auth()
    default_deny(auth)

    @auth.authenticate
    async def authenticate(
        authorization: str | None, headers: dict[bytes, bytes], path: str
    ) -> Auth.types.MinimalUserDict:
        if reader := scraper(path, authorization):
            return reader
        sent = headers.get(b"x-api-key", b"").decode("latin-1")
        identity = keys.identity(sent or bearer_token(authorization))
        if identity is None:
            raise unauthorized("the API key is not known")
        return caller(identity, administrator=identity in admins)

    return auth


def __getattr__(name: str) -> Auth:
    """Return `auth`, made when a server asks for it: only there do its settings have to be right."""
    if name != "auth":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    auth: Auth = globals().setdefault(name, by_api_key(ApiKeys.from_env(), administrators()))
    return auth
