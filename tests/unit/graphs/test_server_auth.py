"""Authentication of a server: settings that are refused, keys that change, tokens of a provider, the permissions."""

from __future__ import annotations

import asyncio
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
from react_mem.memory.runtime import development_user, unfit
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
        {**SERVED, "LANGSMITH_LANGGRAPH_API_VARIANT": "local", "LANGGRAPH_API_URL": "http://127.0.0.1:2024"},
        DEVELOPED,
        {**DEVELOPED, "LANGGRAPH_API_URL": "http://0.0.0.0:2024"},
        {**DEVELOPED, "LANGGRAPH_API_URL": "https://some-words.trycloudflare.com"},
        {**DEVELOPED, "LANGGRAPH_API_URL": "http://localhost.evil.example"},
        {**SERVED, "LANGGRAPH_AUTH": "{}"},
        {**SERVED, "LANGGRAPH_AUTH": '{"disable_studio_auth": true}'},
        {**SERVED, "LANGGRAPH_AUTH": "auth.py"},
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
        {"LANGSMITH_LANGGRAPH_API_VARIANT": "local"},
        {**DEVELOPED, "LANGGRAPH_API_URL": "http://127.0.0.1:2024"},
        {**DEVELOPED, "LANGGRAPH_API_URL": "http://[::1]:2024/prefix"},
        {**SERVED, "LANGGRAPH_AUTH": '{"path": "a:auth"}'},
        {**SERVED, "LANGGRAPH_AUTH_TYPE": "langsmith"},
        {**SERVED, "REACT_MEM_ALLOW_ANONYMOUS": "1"},
    ],
)
def test_what_is_no_exposed_server_starts(environ: dict[str, str]) -> None:
    refuse_exposed_server(environ)


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"AUTH_JWT_ISSUER": ""}, "AUTH_JWT_ISSUER"),
        ({"AUTH_JWT_AUDIENCE": " "}, "AUTH_JWT_AUDIENCE"),
        ({"AUTH_JWT_SECRET": ""}, "AUTH_JWT_JWKS_URL .* or AUTH_JWT_SECRET"),
        ({"AUTH_JWT_JWKS_URL": "https://keys.example"}, "not both"),
        ({"AUTH_JWT_SECRET": "short"}, "fewer than 32 bytes"),
        ({"AUTH_JWT_ALGORITHMS": "none"}, "none"),
        ({"AUTH_JWT_ALGORITHMS": "HS256,RS256"}, "RS256"),
        ({"AUTH_JWT_SECRET": "", "AUTH_JWT_JWKS_URL": "https://k.example", "AUTH_JWT_ALGORITHMS": "HS256"}, "HS256"),
        ({"AUTH_JWT_SECRET": "", "AUTH_JWT_JWKS_URL": "http://keys.example"}, "https"),
        ({"AUTH_JWT_SECRET": "", "AUTH_JWT_JWKS_URL": "file:///etc/keys"}, "https"),
    ],
)
def test_settings_by_which_anybody_could_make_a_token_are_refused(changed: dict[str, str], names: str) -> None:
    with pytest.raises(ServerAuthError, match=names) as refused:
        JwtSettings.from_env({**GUARDED, **changed})
    assert GUARDED["AUTH_JWT_SECRET"] not in str(refused.value)


def test_a_secret_is_not_shown() -> None:
    settings = JwtSettings.from_env(GUARDED)
    assert settings.algorithms == ("HS256",)
    assert settings.administrators == {GUARDED["AUTH_ADMINS"]}
    assert GUARDED["AUTH_JWT_SECRET"] not in repr(settings)


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
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def signed(private: Any, kid: str | None, algorithm: str) -> str:
    claims = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": 99999999999}
    return jwt.encode(claims, private, algorithm, headers={"kid": kid} if kid else None)


async def test_tokens_of_a_provider_are_checked_by_its_keys() -> None:
    provider = Provider()
    provider.publish("r", RSA_KEY, alg="RS256")
    provider.publish("e", EC_KEY)
    provider.publish("enc", EC_KEY, use="enc")
    provider.keys.append({"kty": "oct", "kid": "shared", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"})
    tokens = provider.tokens()
    assert (await tokens.claims(signed(RSA_KEY, "r", "RS256")))["sub"] == "ann"
    assert (await tokens.claims(signed(EC_KEY, "e", "ES256")))["sub"] == "ann"
    assert provider.asked == 1
    wrong = [
        signed(EC_KEY, "r", "ES256"),
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


class SlowProvider(Provider):
    """An identity provider that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_now, self.go_on = asyncio.Event(), asyncio.Event()

    async def answer(self, request: httpx.Request) -> httpx.Response:  # type: ignore[override]
        self.asked_now.set()
        await self.go_on.wait()
        return super().answer(request)


async def test_requests_during_the_first_fetch_wait_for_it_and_make_no_other() -> None:
    provider = SlowProvider()
    provider.publish("r", RSA_KEY)
    tokens = provider.tokens()
    token = signed(RSA_KEY, "r", "RS256")
    first = asyncio.create_task(tokens.claims(token))
    await provider.asked_now.wait()
    others = [asyncio.create_task(tokens.claims(token)) for _ in range(5)]
    await asyncio.sleep(0)
    first.cancel()  # who hangs up ends nobody else's wait
    with pytest.raises(asyncio.CancelledError):
        await first
    provider.go_on.set()
    assert [claims["sub"] for claims in await asyncio.gather(*others)] == ["ann"] * 5
    assert provider.asked == 1


async def test_requests_during_a_renewal_use_the_keys_that_are_at_hand() -> None:
    provider = SlowProvider()
    provider.publish("r", RSA_KEY)
    provider.go_on.set()
    tokens = provider.tokens()
    token = signed(RSA_KEY, "r", "RS256")
    assert await tokens.claims(token)
    provider.asked_now.clear()
    provider.go_on.clear()
    provider.now += 3600
    renewing = asyncio.create_task(tokens.claims(token))
    await provider.asked_now.wait()
    assert await tokens.claims(token)
    assert not renewing.done()
    provider.go_on.set()
    assert await renewing


async def test_until_a_provider_that_is_away_is_asked_again_nobody_is_told_that_their_token_is_wrong() -> None:
    provider = Provider()
    provider.broken = True
    tokens = provider.tokens()
    for _ in range(3):
        with pytest.raises(HTTPException) as away:
            await tokens.claims(signed(RSA_KEY, "r", "RS256"))
        assert away.value.status_code == 503
    assert provider.asked == 1


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


@pytest.mark.parametrize(
    "written", ["ann", "ann " + KEY, line(""), line("a\tb\x07"), line("ann") + line("bob"), "ann " + "ab" * 20]
)
def test_a_file_of_keys_that_is_wrong_is_refused_by_its_line(written: str, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(written)
    with pytest.raises(ServerAuthError, match=r"line [12]"):
        ApiKeys(file)


def test_a_file_of_keys_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerAuthError, match="cannot be read"):
        ApiKeys(tmp_path / "none")
    with pytest.raises(ServerAuthError, match="set AUTH_API_KEYS_FILE"):
        ApiKeys.from_env({})


@pytest.mark.parametrize(
    "identity", ["", " ", "\u200b", "a\x00", "a\u2028b", "\ud800", "x" * 901, "人" * 101, 7, None, ["ann"]]
)
def test_an_identity_that_cannot_own_memories_is_refused(identity: Any) -> None:
    with pytest.raises(Unauthorized, match="cannot be used"):
        caller(identity, administrator=False)


@pytest.mark.parametrize("identity", ["ann", "ann@example.com", "auth0|5f7", "x" * 900, "人" * 100, "Trần Thị Ánh"])
def test_an_identity_of_any_script_is_taken_as_it_is(identity: str) -> None:
    assert unfit(identity) == ""
    assert caller(identity, administrator=False)["identity"] == identity


def test_a_scraper_reads_the_metrics_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METRICS_TOKEN", "s3cret")
    assert scraper("/memory/metrics", "Bearer s3cret")
    assert scraper("/memory/metrics", "Bearer other") is None
    assert scraper("/threads", "Bearer s3cret") is None
    monkeypatch.setenv("METRICS_TOKEN", "")
    assert scraper("/memory/metrics", "Bearer ") is None


def asking(resource: str, action: str, user: Any = None, *permissions: str) -> Any:
    user = user or SimpleNamespace(identity="ann")
    return SimpleNamespace(resource=resource, action=action, user=user, permissions=list(permissions))


@pytest.mark.parametrize("resource", ["threads", "assistants", "crons", "store", "what comes next"])
@pytest.mark.parametrize(
    "user", [Auth.types.StudioUser("langgraph-studio-user"), SimpleNamespace(identity=""), "a scraper"]
)
async def test_who_is_not_known_by_our_authentication_may_nothing(resource: str, user: Any) -> None:
    scraping = user == "a scraper"
    known = SimpleNamespace(identity=METRICS) if scraping else user
    for action in ("create", "read", "update", "delete", "search", "create_run", "put", "get", "list_namespaces"):
        asked = asking(resource, action, known, *([METRICS] if scraping else [ADMINISTRATOR]))
        assert await permitted(asked, {}) is False


async def test_what_nothing_allows_is_denied() -> None:
    assert await permitted(asking("store", "search", None, ADMINISTRATOR), {}) is False
    assert await permitted(asking("what comes next", "read", None, ADMINISTRATOR), {}) is False
    assert await permitted(asking("threads", "what comes next", None, ADMINISTRATOR), {}) is False
    assert await permitted(asking("assistants", "update"), {}) is False
    assert await permitted(asking("crons", "search"), {}) is False
    value: dict[str, Any] = {"metadata": None}
    assert await permitted(asking("threads", "create"), value) == {"owner": "ann"}
    assert value == {"metadata": {"owner": "ann"}}
