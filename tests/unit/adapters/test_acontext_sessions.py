"""Conversations as sessions of Acontext, and its tasks as episodes, by its real client over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from react_mem.integrations import AcontextSessions
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.origins import Origin
from tests.contract.conftest import memory_store
from tests.support.acontext_server import AcontextServer
from tests.support.services import service


@pytest.fixture
def server() -> Iterator[AcontextServer]:
    service("acontext", "acontext")
    with AcontextServer() as started:
        yield started


@pytest.fixture
async def sessions(server: AcontextServer) -> AsyncIterator[AcontextSessions]:
    async with AcontextSessions.connect(server.space_id, api_key=server.api_key, base_url=server.base_url) as opened:
        yield opened


async def talk(memory: MemoryFacade, first: int, last: int, user: str = "ann") -> None:
    """Have a conversation, with a call of a tool in each turn."""
    for n in range(first, last):
        call = AIMessage("", id=f"c{n}", tool_calls=[{"name": "t", "args": {}, "id": "1"}])
        said = [HumanMessage(f"question {n}", id=f"q{n}"), call, ToolMessage("secret", id=f"t{n}", tool_call_id="1")]
        await memory.dialog.append(user, "monday", [*said, AIMessage(f"answer {n}", id=f"a{n}")], agent_id="assistant")


def sent(server: AcontextServer, session_id: str) -> list[tuple[str, str]]:
    return [(one["blob"]["role"], one["blob"]["content"]) for one in server.messages[session_id]]


async def test_a_conversation_is_a_session_that_grows_with_it(
    sessions: AcontextSessions, server: AcontextServer
) -> None:
    memory = MemoryFacade(memory_store())
    await talk(memory, 0, 1)
    first = await sessions.export_session(memory, "ann", "monday")
    assert (first.sent, first.kept) == (2, 0)
    await talk(memory, 1, 60)
    report = await sessions.export_session(memory, "ann", "monday")
    assert (report.session_id, report.sent, report.kept) == (first.session_id, 118, 2)
    again = await sessions.export_session(memory, "ann", "monday")
    assert (again.sent, again.kept) == (0, 120)
    turns = [[("user", f"question {n}"), ("assistant", f"answer {n}")] for n in range(60)]
    assert sent(server, report.session_id) == [one for turn in turns for one in turn]
    assert server.learnt == [(server.space_id, report.session_id)] * 2
    assert "ann" not in str(server.sessions)
    assert "monday" not in str(server.sessions)


async def test_what_is_forgotten_here_leaves_the_session(sessions: AcontextSessions, server: AcontextServer) -> None:
    memory = MemoryFacade(memory_store())
    await talk(memory, 0, 2)
    await sessions.export_session(memory, "ann", "monday")
    [told] = [one for one in await memory.list_records("ann", [MemoryScope.DIALOG]) if "question 0" in str(one.payload)]
    await memory.forget("ann", told.id)
    report = await sessions.export_session(memory, "ann", "monday")
    assert report.kept == 0
    assert "question 0" not in str(server.messages)
    assert len(server.sessions) == 1


async def test_each_user_and_conversation_has_a_session_of_its_own_to_withdraw(
    sessions: AcontextSessions, server: AcontextServer
) -> None:
    memory = MemoryFacade(memory_store())
    await talk(memory, 0, 1)
    await talk(memory, 5, 6, user="bob")
    hers = await sessions.export_session(memory, "ann", "monday")
    his = await sessions.export_session(memory, "bob", "monday")
    assert sent(server, his.session_id) == [("user", "question 5"), ("assistant", "answer 5")]
    assert await sessions.withdraw_user("ann") == 1
    assert await sessions.withdraw_session("ann", "monday") is False
    assert (list(server.sessions), hers.session_id == his.session_id) == ([his.session_id], False)
    assert await sessions.withdraw_session("bob", "monday") is True
    assert server.sessions == {}


async def test_tasks_become_episodes_with_their_origin(sessions: AcontextSessions, server: AcontextServer) -> None:
    memory = MemoryFacade(memory_store())
    await talk(memory, 0, 1)
    there = (await sessions.export_session(memory, "ann", "monday")).session_id
    done = {"progresses": ["created the repository"], "user_preferences": ["uses pnpm"]}
    server.add_task(there, "success", "Deploy the Next.js app to Vercel", **done)
    server.add_task(there, "running", "Write the report")
    for _ in range(2):
        assert await sessions.import_tasks(memory, "ann", "monday") == 1
    [episode] = [one.payload for one in await memory.list_records("ann", [MemoryScope.EPISODIC])]
    assert (episode["goal"], episode["outcome"]) == ("Deploy the Next.js app to Vercel", "success")
    assert (list(episode["steps"]), list(episode["lessons"])) == (["created the repository"], ["uses pnpm"])
    assert (episode["origin"], episode["session_id"], episode["agent_id"]) == (Origin.TOOL, "monday", "acontext")


async def test_a_failure_is_passed_on_and_repeated_without_doubles(
    sessions: AcontextSessions, server: AcontextServer
) -> None:
    memory = MemoryFacade(memory_store())
    await talk(memory, 0, 1)
    server.failing.add("POST messages")
    with pytest.raises(Exception, match="database error"):
        await sessions.export_session(memory, "ann", "monday")
    server.failing.clear()
    report = await sessions.export_session(memory, "ann", "monday")
    assert sent(server, report.session_id) == [("user", "question 0"), ("assistant", "answer 0")]
