"""Servers to attack: one that authenticates its users, and one on loopback that authenticates nobody.

Both live as long as the test session, since each takes seconds to start, and one worker runs all attacks: an attack
uses threads of its own, or cleans up behind itself, and a server that it restarts keeps its address. `langgraph dev`
has no model here, so an answer quotes what is remembered; what has to be configured otherwise starts its own server
with `tests.support.dev_server.dev_server`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.support.dev_server import EXAMPLE_GRAPHS, ROOT, DevServer, database_for_a_server, dev_server
from tests.support.people import ADMIN, ANN, BOB, GUARDED, token_of

QUOTA = 3  # messages, or calls of the model, of a user in a day for two of the agents


@pytest.fixture(scope="session")
def guarded_server(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server as `langgraph.deploy.json` has it: `guarded_server.client(token_of(ANN))` is ann's.

    Beside its agents there are a graph that fails as it is asked to, an agent whose file is not valid, and two with a
    quota.
    """
    built = json.loads((ROOT / "langgraph.deploy.json").read_text(encoding="utf-8"))
    config = {key: built[key] for key in ("auth", "http", "checkpointer") if key in built}
    config["graphs"] = {**built["graphs"], **EXAMPLE_GRAPHS, "failing": "tests.support.failing_graph:failing"}
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "agents").mkdir()
    (folder / "agents" / "broken.yaml").write_text("manager: quagga-4711", encoding="utf-8")
    for name in ("messages", "calls"):
        quota = {"messages": "messages_a_day", "calls": "model_calls_a_day"}[name]
        metered = f"manager: react_mem\nmemory:\n  quotas: {{{quota}: {QUOTA}}}\n  extraction: {{mode: 'off'}}\n"
        (folder / "agents" / f"{name}.yaml").write_text(metered, encoding="utf-8")
    environment = {**GUARDED, "REACT_MEM_AGENTS": str(folder / "agents")}
    with (
        database_for_a_server(database_server) as url,
        dev_server(folder, {"DATABASE_URL": url, **environment}, config) as running,
    ):
        yield running


@pytest.fixture(scope="session")
def open_server(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server without authentication, as in development on this machine."""
    with (
        database_for_a_server(database_server) as url,
        dev_server(tmp_path_factory.mktemp("open"), {"DATABASE_URL": url}) as running,
    ):
        yield running


@pytest.fixture
async def ann(guarded_server: DevServer) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP of a user."""
    async with _http(guarded_server, ANN) as client:
        yield client


@pytest.fixture
async def bob(guarded_server: DevServer) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP of another user."""
    async with _http(guarded_server, BOB) as client:
        yield client


@pytest.fixture
async def admin(guarded_server: DevServer) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP of the administrator."""
    async with _http(guarded_server, ADMIN) as client:
        yield client


@pytest.fixture
async def anybody(guarded_server: DevServer) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP of somebody with no token, to the server that authenticates."""
    async with httpx.AsyncClient(base_url=guarded_server.url, timeout=30) as client:
        yield client


@pytest.fixture
async def passer_by(open_server: DevServer) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP to the server that authenticates nobody."""
    async with httpx.AsyncClient(base_url=open_server.url, timeout=30) as client:
        yield client


def _http(server: DevServer, identity: str) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {token_of(identity)}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=30)
