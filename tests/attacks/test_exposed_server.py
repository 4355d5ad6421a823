"""Attacks on a server that is reached by others than its developer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.deployed_server import DeployedServer
from tests.support.dev_server import database_for_a_server
from tests.support.people import ANN, GUARDED, token_of

pytestmark = pytest.mark.e2e

NOWHERE = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nowhere"}


def test_a_deployment_without_authentication_does_not_start(tmp_path: Path) -> None:
    said = DeployedServer(tmp_path, NOWHERE, file="langgraph.json").refusal()
    assert "ExposedServerError" in said
    assert "could read, change and erase the memories, threads and runs of every user" in said
    assert "langgraph.deploy.json" in said
    assert "REACT_MEM_ALLOW_ANONYMOUS=1" in said
    assert "database" not in said.split("ExposedServerError")[-1]


def test_a_deployment_whose_tokens_anybody_could_make_does_not_start(tmp_path: Path) -> None:
    said = DeployedServer(tmp_path, {**NOWHERE, **GUARDED, "AUTH_JWT_SECRET": "secret"}).refusal()
    assert "ServerAuthError: AUTH_JWT_SECRET has fewer than 32 bytes" in said


@pytest.fixture(scope="module")
def deployed(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeployedServer]:
    """A deployment as `langgraph.deploy.json` has it."""
    with database_for_a_server(database_server) as url:
        server = DeployedServer(tmp_path_factory.mktemp("deployed"), {"DATABASE_URL": url, **GUARDED})
        server.start()
        try:
            yield server
        finally:
            server.stop()


async def test_a_deployment_with_authentication_serves_its_users_alone(deployed: DeployedServer) -> None:
    asked = {"assistant_id": "react_mem", "input": {"messages": [{"role": "user", "content": "My cat is Tom."}]}}
    async with httpx.AsyncClient(base_url=deployed.url, timeout=60) as http:
        assert (await http.post("/runs/wait", json=asked)).status_code == 401
        assert (await http.post("/runs/wait", json=asked, headers={"x-auth-scheme": "langsmith"})).status_code == 401
        answer = await http.post("/runs/wait", json=asked, headers={"authorization": f"Bearer {token_of(ANN)}"})
        assert answer.status_code == 200
        assert [(await http.get(path)).status_code for path in ("/docs", "/openapi.json", "/info")] == [401] * 3


async def test_no_page_of_the_web_reads_a_deployment(deployed: DeployedServer) -> None:
    async with httpx.AsyncClient(base_url=deployed.url) as http:
        answer = await http.get("/ok", headers={"origin": "https://evil.example"})
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("origin", "let_in"),
    [
        ("http://localhost:3000", True),
        ("https://smith.langchain.com", True),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("https://smith.langchain.com.evil.example", False),
        ("null", False),
    ],
)
async def test_pages_of_this_machine_alone_read_a_development_server(
    origin: str, let_in: bool, passer_by: httpx.AsyncClient
) -> None:
    answer = await passer_by.post("/threads", json={}, headers={"origin": origin})
    assert ("access-control-allow-origin" in answer.headers) is let_in


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.7", "", "[::ffff:8.8.8.8]:80"])
async def test_a_name_that_was_turned_to_this_machine_reads_nothing(host: str, passer_by: httpx.AsyncClient) -> None:
    answer = await passer_by.post("/threads/search", json={}, headers={"host": host})
    assert answer.status_code in (400, 403)
    for own in ("localhost", "127.0.0.1:2024", "[::1]:2024"):
        assert (await passer_by.post("/threads/search", json={}, headers={"host": own})).status_code == 200
