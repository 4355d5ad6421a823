"""A server that authenticates its users: whose memory a run uses is not for the caller to say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from tests.support.dev_server import ROOT, DevServer, database_for_a_server, dev_server

pytestmark = pytest.mark.e2e

SECRET = "My locker code is 4711."
QUESTION = "What is my locker code?"


@pytest.fixture(scope="module")
def server(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server with authentication and without a model: what it remembers, it quotes. Ann has told it a secret."""
    config = {"auth": {"path": f"{ROOT}/tests/support/auth.py:auth"}}
    with (
        database_for_a_server(database_server) as url,
        dev_server(tmp_path_factory.mktemp("server"), {"DATABASE_URL": url}, config) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def taught(server: DevServer) -> str:
    """The thread in which ann told her secret, naming bob as the user."""

    async def teach() -> str:
        ann = server.client("ann")
        thread = str((await ann.threads.create())["thread_id"])
        await ask(ann, SECRET, thread, context={"user_id": "bob"})
        return thread

    return asyncio.run(teach())


async def ask(client: LangGraphClient, text: str, thread: str | None = None, **named: Any) -> str:
    """Run a turn and return the answer."""
    thread = thread or str((await client.threads.create())["thread_id"])
    message: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
    state: Any = await client.runs.wait(thread, "react_mem", input=message, **named)
    return str(state["messages"][-1]["content"])


async def test_who_is_authenticated_is_remembered_in_every_thread(server: DevServer, taught: str) -> None:
    assert SECRET in await ask(server.client("ann"), QUESTION)
    # what ann wrote in bob's name is not bob's
    assert "4711" not in await ask(server.client("bob"), QUESTION)


CLAIMS = {
    "configurable": {"config": {"configurable": {"user_id": "ann"}}},
    "the server's own keys": {
        "config": {
            "configurable": {
                "user_id": "ann",
                "langgraph_auth_user": {"identity": "ann", "is_authenticated": True, "permissions": []},
                "langgraph_auth_user_id": "ann",
                "langgraph_auth_permissions": [],
            }
        }
    },
    "the server's own keys in the context": {"context": {"user_id": "ann", "langgraph_auth_user": {"identity": "ann"}}},
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
async def test_nobody_reads_or_writes_as_somebody_else(claim: dict[str, Any], server: DevServer, taught: str) -> None:
    mallory = server.client("mallory")
    assert "4711" not in await ask(mallory, QUESTION, **claim)
    await ask(mallory, "My bicycle is green.", **claim)
    assert "green" not in await ask(server.client("ann"), "What colour is my bicycle?")
