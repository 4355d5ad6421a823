"""Who is let in by API keys, and by the tokens of an identity provider whose keys change, over HTTP."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from react_mem.graphs.auth.by_jwt import FRESH_SECONDS, PATIENCE_SECONDS, PAUSE_SECONDS
from tests.support.dev_server import ROOT, DevServer, database_for_a_server, dev_server
from tests.support.identity_provider import CLOCK_ENV, IdentityProvider, TestClock, identity_provider
from tests.support.people import AUDIENCE, ISSUER, SECRET

pytestmark = pytest.mark.e2e

ANNS_KEY = "an-api-key-of-ann-quagga-4711-0123456789"
BOBS_KEY = "an-api-key-of-bob-quagga-4711-0123456789"
PRIVATE = rsa.generate_private_key(65537, 2048)
NEXT = rsa.generate_private_key(65537, 2048)
STRANGERS = rsa.generate_private_key(65537, 2048)


@contextmanager
def served(folder: Path, database_server: str, auth: str, environment: dict[str, str]) -> Iterator[DevServer]:
    """Run a server with an authentication."""
    built = json.loads((ROOT / "langgraph.deploy.json").read_text(encoding="utf-8"))
    config = {key: built[key] for key in ("http", "checkpointer") if key in built}
    config["auth"] = {**built["auth"], "path": auth}
    with (
        database_for_a_server(database_server) as url,
        dev_server(folder, {"DATABASE_URL": url, **environment}, config) as running,
    ):
        yield running


class Trusting(NamedTuple):
    """A server, the identity provider that it trusts, and its clock."""

    server: DevServer
    provider: IdentityProvider
    clock: TestClock


@pytest.fixture(scope="module")
def trusting(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trusting]:
    """A server that has not asked its identity provider for keys yet; the provider is down."""
    folder = tmp_path_factory.mktemp("trusting")
    clock = TestClock(folder / "clock")
    with identity_provider() as provider:
        provider.broken = True
        environment = {
            "AUTH_JWT_ISSUER": ISSUER,
            "AUTH_JWT_AUDIENCE": AUDIENCE,
            "AUTH_JWT_JWKS_URL": provider.url,
            CLOCK_ENV: str(folder / "clock"),
        }
        with served(folder, database_server, "tests.support.clocked_auth:auth", environment) as server:
            yield Trusting(server, provider, clock)


@pytest.fixture
async def http(trusting: Trusting) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP without a token of its own."""
    async with httpx.AsyncClient(base_url=trusting.server.url, timeout=30) as client:
        yield client


async def status(client: httpx.AsyncClient, token: str, path: str = "/threads") -> int:
    """Return what a request with a token is answered; nothing of the token, nor of the provider, is in it."""
    answer = await client.post(path, json={}, headers={"authorization": f"Bearer {token}"})
    assert token not in answer.text
    assert "127.0.0.1" not in answer.text
    return answer.status_code


async def test_a_provider_that_changes_its_keys_and_is_away(trusting: Trusting, http: httpx.AsyncClient) -> None:
    _, provider, clock = trusting
    provider.keys = {"old": PRIVATE}
    old = provider.token("ann", "old")
    # away from the beginning: no token is called wrong, and the provider is not asked for each of them
    assert [await status(http, old) for _ in range(3)] == [503] * 3
    assert provider.asked == 1
    assert await status(http, "no token") == 401

    # it is there again; whoever comes while it answers waits for that one answer
    provider.broken = False
    clock.advance(PAUSE_SECONDS + 1)
    provider.asked_now.clear()
    provider.go_on.clear()
    first = asyncio.create_task(status(http, old))
    await asyncio.to_thread(provider.asked_now.wait, 30)
    others = [asyncio.create_task(status(http, old)) for _ in range(6)]
    assert await status(http, "no token") == 401  # they have been sent before this, and it has been answered
    provider.go_on.set()
    assert await asyncio.gather(first, *others) == [200] * 7
    assert provider.asked == 2

    # a new key counts once the provider may be asked again, the old one goes on beside it
    provider.keys = {"old": PRIVATE, "new": NEXT}
    new = provider.token("ann", "new")
    assert await status(http, new) == 401
    clock.advance(PAUSE_SECONDS + 1)
    assert [await status(http, new), await status(http, old)] == [200, 200]
    assert provider.asked == 3

    # made-up keys do not have it asked again and again
    for number in range(5):
        assert await status(http, provider.token("ann", f"made-up-{number}", STRANGERS)) == 401
    assert provider.asked == 3

    # a key that is withdrawn ends
    provider.keys = {"new": NEXT}
    clock.advance(FRESH_SECONDS + 1)
    assert [await status(http, old), await status(http, new)] == [401, 200]

    # a provider that is away for hours ends nobody; for more than a day, everybody
    provider.broken = True
    clock.advance(PATIENCE_SECONDS / 2)
    assert [await status(http, new), await status(http, old)] == [200, 401]
    clock.advance(PATIENCE_SECONDS)
    assert [await status(http, new), await status(http, new)] == [503, 503]
    provider.broken = False
    clock.advance(PAUSE_SECONDS + 1)
    assert await status(http, new) == 200


async def test_tokens_that_are_none(trusting: Trusting, http: httpx.AsyncClient) -> None:
    _, provider, clock = trusting
    provider.broken, provider.keys = False, {"k": PRIVATE}
    clock.advance(FRESH_SECONDS + 1)
    assert await status(http, provider.token("ann", "k")) == 200
    claims = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 3600}
    public = PRIVATE.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    # PyJWT itself does not sign with a public key
    header, payload = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "HS256", "typ": "JWT", "kid": "k"}, claims)
    )
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    forged = base64.urlsafe_b64encode(mac.sign(f"{header}.{payload}".encode(), public)).rstrip(b"=").decode()
    wrong = {
        "expired": provider.token("ann", "k", exp=int(time.time()) - 3600),
        "not yet": provider.token("ann", "k", nbf=int(time.time()) + 3600),
        "for somebody else": provider.token("ann", "k", aud="another-application"),
        "of somebody else": provider.token("ann", "k", iss="https://another.example"),
        "without an end": jwt.encode({**claims, "exp": None}, PRIVATE, "RS256", headers={"kid": "k"}),
        "signed by another key": provider.token("ann", "k", STRANGERS),
        "without a signature": jwt.encode(claims, None, "none", headers={"kid": "k"}),
        "signed by a secret": jwt.encode(claims, SECRET, "HS256", headers={"kid": "k"}),
        "signed by the public key": f"{header}.{payload}.{forged}",
        "of another algorithm": jwt.encode(claims, PRIVATE, "RS512", headers={"kid": "k"}),
        "without a key": jwt.encode(claims, PRIVATE, "RS256"),
        "with a key that is a path": provider.token("ann", "../../k", PRIVATE),
        "of nobody": provider.token("", "k"),
        "cut": provider.token("ann", "k")[:-20],
        "too long": "x" * 20_000,
    }
    found = {name: await status(http, token) for name, token in wrong.items()}
    assert {name: code for name, code in found.items() if code != 401} == {}


def write(file: Path, **keys: str) -> None:
    """Write a file of API keys."""
    lines = [f"{identity} {hashlib.sha256(key.encode()).hexdigest()}\n" for identity, key in keys.items()]
    file.write_text("".join(lines), encoding="utf-8")


@pytest.fixture
def keyed(database_server: str, tmp_path: Path) -> Iterator[DevServer]:
    """A server with API keys, in the file `keys` of its folder."""
    write(tmp_path / "keys", ann=ANNS_KEY, bob=BOBS_KEY)
    environment = {"AUTH_API_KEYS_FILE": str(tmp_path / "keys")}
    with served(tmp_path, database_server, "react_mem.graphs.auth.by_api_key:auth", environment) as server:
        yield server


async def test_api_keys(keyed: DevServer) -> None:
    file = keyed.folder / "keys"
    async with httpx.AsyncClient(base_url=keyed.url, timeout=30) as http:

        async def called(path: str, key: str) -> int:
            answers = [
                await http.post(path, json={}, headers={"x-api-key": key}),
                await http.post(path, json={}, headers={"authorization": f"Bearer {key}"}),
            ]
            assert all(key not in answer.text for answer in answers)
            [code] = {answer.status_code for answer in answers}
            return code

        assert [await called("/threads", key) for key in (ANNS_KEY, BOBS_KEY)] == [200, 200]
        digest = hashlib.sha256(ANNS_KEY.encode()).hexdigest()
        for key in (ANNS_KEY[:-1], ANNS_KEY + "0", digest, "ann", "x" * 5_000):
            assert await called("/threads", key) == 401
        headers = {"x-api-key": ANNS_KEY}
        thread = (await http.post("/threads", json={}, headers=headers)).json()["thread_id"]
        assert (await http.get(f"/threads/{thread}", headers=headers)).status_code == 200
        assert (await http.get(f"/threads/{thread}", headers={"x-api-key": BOBS_KEY})).status_code == 404

        # a proxy may check the first one and the server the last
        for name, before in (("x-api-key", ""), ("authorization", "Bearer ")):
            twice = [(name, f"{before}{key}") for key in (BOBS_KEY, ANNS_KEY)]
            for path in (f"/threads/{thread}", "/memory/v1/memories", "/memory/mcp"):
                assert (await http.get(path, headers=twice)).status_code == 400, (name, path)

        write(file, bob=BOBS_KEY)  # a key that is taken out ends at once
        assert [await called("/threads", key) for key in (ANNS_KEY, BOBS_KEY)] == [401, 200]
        file.write_text("not a key of anybody", encoding="utf-8")
        assert [await called("/threads", key) for key in (ANNS_KEY, BOBS_KEY)] == [401, 401]
        assert "no API key is accepted until this is mended" in keyed.log()
        write(file, ann=BOBS_KEY, bob=ANNS_KEY)  # whose key it is says the file, whatever it was before
        assert (await http.get(f"/threads/{thread}", headers={"x-api-key": BOBS_KEY})).status_code == 200
        assert ANNS_KEY not in keyed.log()
        file.unlink()
        assert await called("/threads", ANNS_KEY) == 401
