"""Authentication of a server: settings that are refused, keys that change, tokens of a provider, the permissions."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from langgraph_sdk import Auth
from starlette.exceptions import HTTPException

from react_mem.errors import ExposedServerError, ServerAuthError
from react_mem.graphs.auth.by_api_key import ApiKeys
from react_mem.graphs.auth.by_jwt import PAUSE_SECONDS, JwtSettings, PublicKeys, Tokens
from react_mem.graphs.auth.permissions import ADMINISTRATOR, METRICS, caller, permitted, scraper
from react_mem.memory.runtime import development_user
from react_mem.server_exposure import refuse_exposed_server
from tests.support.people import AUDIENCE, GUARDED, ISSUER, token_of

SERVED = {"LANGSERVE_GRAPHS": "{}"}
DEVELOPED = {**SERVED, "LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev"}
Unauthorized = Auth.exceptions.HTTPException


@pytest.mark.parametrize(
    "environ",
    [
        SERVED,
        {**SERVED, "REACT_MEM_ALLOW_ANONYMOUS": "0"},
        {**DEVELOPED, "LANGGRAPH_API_URL": "http://0.0.0.0:2024"},
        {**DEVELOPED, "LANGGRAPH_API_URL": "http://localhost.evil.example"},
        {**SERVED, "LANGGRAPH_AUTH": '{"disable_studio_auth": true}'},
        {**SERVED, "LANGGRAPH_AUTH_TYPE": "noop"},
    ],
)
def test_an_exposed_server_does_not_start(environ: dict[str, str]) -> None:
    with pytest.raises(ExposedServerError, match="every user by naming them"):
        refuse_exposed_server(environ)
    assert development_user({**environ, "REACT_MEM_DEV_USER": "dev"}) == ""


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {**DEVELOPED, "LANGGRAPH_API_URL": "http://[::1]:2024/prefix"},
        {**SERVED, "LANGGRAPH_AUTH": '{"path": "a:auth"}'},
        {**SERVED, "REACT_MEM_ALLOW_ANONYMOUS": "1"},
    ],
)
def test_what_is_no_exposed_server_starts(environ: dict[str, str]) -> None:
    refuse_exposed_server(environ)


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"AUTH_JWT_ISSUER": ""}, "AUTH_JWT_ISSUER"),
        ({"AUTH_JWT_SECRET": ""}, "AUTH_JWT_JWKS_URL .* or AUTH_JWT_SECRET"),
        ({"AUTH_JWT_JWKS_URL": "https://keys.example"}, "not both"),
        ({"AUTH_JWT_SECRET": "short"}, "fewer than 32 bytes"),
        ({"AUTH_JWT_ALGORITHMS": "none"}, "none"),
        ({"AUTH_JWT_ALGORITHMS": "HS256,RS256"}, "RS256"),
        ({"AUTH_JWT_SECRET": "", "AUTH_JWT_JWKS_URL": "http://keys.example"}, "https"),
    ],
)
def test_settings_by_which_anybody_could_make_a_token_are_refused(changed: dict[str, str], names: str) -> None:
    with pytest.raises(ServerAuthError, match=names) as refused:
        JwtSettings.from_env({**GUARDED, **changed})
    assert GUARDED["AUTH_JWT_SECRET"] not in str(refused.value)


class Provider:
    """An identity provider: its keys, and how often they were asked for."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = []
        self.asked = 0
        self.broken = False
        self.now = 1000.0

    def publish(self, kid: str, private: Any, **more: Any) -> None:
        algorithm = (
            jwt.algorithms.RSAAlgorithm if isinstance(private, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
        )
        self.keys.append({**json.loads(algorithm.to_jwk(private.public_key())), "kid": kid, **more})

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        return httpx.Response(503) if self.broken else httpx.Response(200, json={"keys": self.keys})

    def tokens(self) -> Tokens:
        settings = JwtSettings(ISSUER, AUDIENCE, ("RS256", "ES256"), jwks_url="https://keys.example")
        keys = PublicKeys(
            settings.jwks_url,
            settings.algorithms,
            lambda: httpx.AsyncClient(transport=httpx.MockTransport(self.answer)),
            lambda: self.now,
        )
        return Tokens(settings, keys)


RSA_KEY = rsa.generate_private_key(65537, 2048)
WEAK_KEY = rsa.generate_private_key(65537, 1024)  # noqa: S505 - it is to be refused
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def signed(private: Any, kid: str | None, algorithm: str) -> str:
    claims = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": 99999999999}
    return jwt.encode(claims, private, algorithm, headers={"kid": kid} if kid else None)


async def test_tokens_of_a_provider_are_checked_by_its_keys() -> None:
    provider = Provider()
    provider.publish("r", RSA_KEY, alg="RS256")
    provider.publish("e", EC_KEY)
    provider.publish("enc", EC_KEY, use="enc")
    provider.publish("weak", WEAK_KEY, alg="RS256")
    provider.keys.append({"kty": "oct", "kid": "shared", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"})
    provider.keys += [None, "a key", {"kty": "RSA", "kid": "odd", "n": 7, "e": 7}, {"kty": "new"}]  # type: ignore[list-item]
    tokens = provider.tokens()
    assert (await tokens.claims(signed(RSA_KEY, "r", "RS256")))["sub"] == "ann"
    assert (await tokens.claims(signed(EC_KEY, "e", "ES256")))["sub"] == "ann"
    assert provider.asked == 1
    wrong = [
        signed(EC_KEY, "r", "ES256"),
        signed(WEAK_KEY, "weak", "RS256"),
        f"{base64.urlsafe_b64encode(b'[' * 9_000).decode()}.e30.e30",
        signed(rsa.generate_private_key(65537, 2048), "r", "RS256"),
        signed(RSA_KEY, "r", "RS512"),
        signed(RSA_KEY, None, "RS256"),
        signed(RSA_KEY, "other", "RS256"),
        signed(EC_KEY, "enc", "ES256"),
        signed("secret-secret-secret-secret-secret", "shared", "HS256"),
        token_of("ann"),
        "no token",
    ]
    for token in wrong:
        with pytest.raises(Unauthorized) as refused:
            await tokens.claims(token)
        assert refused.value.status_code == 401
        assert token not in str(refused.value.detail)


async def test_keys_that_are_nested_without_end_are_as_good_as_none() -> None:
    nested = httpx.Response(200, content=b"[" * 200_000)
    settings = JwtSettings(ISSUER, AUDIENCE, ("RS256",), jwks_url="https://keys.example")
    transport = httpx.MockTransport(lambda request: nested)
    keys = PublicKeys(settings.jwks_url, settings.algorithms, lambda: httpx.AsyncClient(transport=transport))
    with pytest.raises(HTTPException) as away:
        await Tokens(settings, keys).claims(signed(RSA_KEY, "r", "RS256"))
    assert away.value.status_code == 503


async def test_an_unknown_key_is_looked_for_seldom_and_a_new_one_is_found() -> None:
    provider = Provider()
    provider.publish("old", RSA_KEY)
    tokens = provider.tokens()
    for number in range(20):
        with pytest.raises(Unauthorized):
            await tokens.claims(signed(RSA_KEY, f"made up {number}", "RS256"))
    assert provider.asked == 1
    provider.publish("new", EC_KEY)
    provider.now += PAUSE_SECONDS + 1
    assert await tokens.claims(signed(EC_KEY, "new", "ES256"))
    assert provider.asked == 2


async def test_a_withdrawn_key_ends_and_a_provider_that_is_away_does_not_end_the_others() -> None:
    provider = Provider()
    provider.broken = True
    tokens = provider.tokens()
    with pytest.raises(HTTPException) as away:
        await tokens.claims(signed(RSA_KEY, "r", "RS256"))
    assert away.value.status_code == 503
    provider.broken = False
    provider.publish("r", RSA_KEY)
    provider.now += PAUSE_SECONDS + 1
    assert await tokens.claims(signed(RSA_KEY, "r", "RS256"))
    provider.broken = True
    provider.now += 3600
    assert await tokens.claims(signed(RSA_KEY, "r", "RS256"))
    provider.broken, provider.keys = False, []
    provider.now += 3600
    with pytest.raises(Unauthorized):
        await tokens.claims(signed(RSA_KEY, "r", "RS256"))


KEY = "a-key-that-is-as-long-as-it-has-to-be-1234"


def line(identity: str, key: str = KEY) -> str:
    return f"{identity} {hashlib.sha256(key.encode()).hexdigest()}\n"


def test_an_api_key_says_who_calls_until_its_line_is_taken_out(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\n\n" + line("ann@example.com") + line("bob", KEY + "2"))
    keys = ApiKeys.from_env({"AUTH_API_KEYS_FILE": str(file)})
    assert (keys.identity(KEY), keys.identity(KEY + "2")) == ("ann@example.com", "bob")
    assert [keys.identity(key) for key in ("", KEY + "3", KEY[:-1], "x" * 10_000)] == [None] * 4
    file.write_text(line("bob", KEY + "2"))
    assert (keys.identity(KEY), keys.identity(KEY + "2")) == (None, "bob")
    file.write_text("broken")
    assert keys.identity(KEY + "2") is None


@pytest.mark.parametrize("written", ["ann " + KEY, line("a\tb\x07"), line("ann") + line("bob")])
def test_a_file_of_keys_that_is_wrong_is_refused_by_its_line(written: str, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(written)
    with pytest.raises(ServerAuthError, match=r"line [12]"):
        ApiKeys(file)


@pytest.mark.parametrize("identity", ["", "\u200b", "x" * 901, 7, None])
def test_an_identity_that_cannot_own_memories_is_refused(identity: Any) -> None:
    with pytest.raises(Unauthorized, match="cannot be used"):
        caller(identity, administrator=False)


def asking(resource: str, action: str, user: Any = None, *permissions: str) -> Any:
    user = user or SimpleNamespace(identity="ann")
    return SimpleNamespace(resource=resource, action=action, user=user, permissions=list(permissions))


def test_a_scraper_reads_the_metrics_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METRICS_TOKEN", "s3cret")
    assert scraper("/memory/metrics", "Bearer s3cret")
    assert scraper("/memory/metrics", "Bearer other") is None
    assert scraper("/threads", "Bearer s3cret") is None
    monkeypatch.setenv("METRICS_TOKEN", "")
    assert scraper("/memory/metrics", "Bearer ") is None


@pytest.mark.parametrize("user", [Auth.types.StudioUser("langgraph-studio-user"), SimpleNamespace(identity="")])
async def test_who_is_not_known_by_our_authentication_may_nothing(user: Any) -> None:
    of_a_scraper = SimpleNamespace(identity=METRICS)
    for resource in ("threads", "assistants", "crons", "store"):
        for action in ("create", "read", "update", "delete", "search", "create_run"):
            assert await permitted(asking(resource, action, user, ADMINISTRATOR), {}) is False
            assert await permitted(asking(resource, action, of_a_scraper, METRICS), {}) is False


async def test_what_nothing_allows_is_denied() -> None:
    assert await permitted(asking("store", "search", None, ADMINISTRATOR), {}) is False
    assert await permitted(asking("what comes next", "read", None, ADMINISTRATOR), {}) is False
    assert await permitted(asking("threads", "what comes next", None, ADMINISTRATOR), {}) is False
    assert await permitted(asking("assistants", "update"), {}) is False
    assert await permitted(asking("crons", "search"), {}) is False
    value: dict[str, Any] = {"metadata": None}
    assert await permitted(asking("threads", "create"), value) == {"owner": "ann"}
    assert value == {"metadata": {"owner": "ann"}}
