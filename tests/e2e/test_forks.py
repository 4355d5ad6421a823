"""Edit and regenerate as chat clients do them, over the SDK against `langgraph dev`, without a language model."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from tests.support.dev_server import DevServer, database_for_a_server, dev_server

pytestmark = pytest.mark.e2e

HUE, HANOI = "I live in Hue.", "I live in Hanoi."


@pytest.fixture(scope="module")
def server(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server whose agent quotes what it remembers, and reads what is said before its turn ends."""
    folder = tmp_path_factory.mktemp("forks")
    agents = folder / "agents"
    agents.mkdir()
    config = {"manager": "react_mem", "memory": {"extraction": {"mode": "inline"}, "recall": {"timeout": 30}}}
    (agents / "quoter.yaml").write_text(json.dumps(config), encoding="utf-8")
    with database_for_a_server(database_server) as url:
        environment = {"DATABASE_URL": url, "EMBEDDING_MODEL": "local", "REACT_MEM_AGENTS": str(agents)}
        with dev_server(folder, environment) as running:
            yield running


class Chat:
    """One thread, as a chat client drives it."""

    def __init__(self, client: LangGraphClient, user: str, thread: str) -> None:
        self._client, self._context, self.thread = client, {"user_id": user, "agent": "quoter"}, thread

    @classmethod
    async def begin(cls, client: LangGraphClient, user: str) -> Chat:
        return cls(client, user, str((await client.threads.create())["thread_id"]))

    async def say(self, text: str | list[Any] | None, checkpoint: Any = None) -> str:
        """Say something after a checkpoint, or have it answered anew; return the answer."""
        said = {"messages": [{"role": "user", "content": text}]} if text is not None else None
        state: Any = await self._client.runs.wait(
            self.thread, "agent", input=said, context=self._context, checkpoint=checkpoint
        )
        return str(state["messages"][-1]["content"])

    async def checkpoint(self) -> Any:
        return (await self._client.threads.get_state(self.thread))["checkpoint"]

    async def before(self, text: str | list[Any]) -> Any:
        """Return the checkpoint that a message came after: the parent of the first that has it."""
        history = await self._client.threads.get_history(self.thread, limit=100)
        having = [
            state for state in history if any(m["content"] == text for m in (state["values"] or {}).get("messages", ()))
        ]
        return having[-1]["parent_checkpoint"]


@pytest.fixture
def user() -> str:
    return f"user-{uuid.uuid4().hex[:8]}"


async def where(client: LangGraphClient, user: str) -> str:
    return await (await Chat.begin(client, user)).say("Where do I live?")


async def test_an_edited_message_is_taken_back_and_comes_back_with_its_branch(server: DevServer, user: str) -> None:
    client = server.client()
    chat = await Chat.begin(client, user)
    await chat.say(HUE)
    old = await chat.checkpoint()
    # the first message of the thread, whose checkpoint holds nothing yet
    await chat.say(HANOI, await chat.before(HUE))
    answer = await where(client, user)
    assert "Hanoi" in answer
    assert "Hue" not in answer
    await chat.say("I like tea.", old)
    answer = await where(client, user)
    assert "Hue" in answer
    assert "Hanoi" not in answer


async def test_an_answer_that_is_given_anew_takes_nothing_back(server: DevServer, user: str) -> None:
    client = server.client()
    chat = await Chat.begin(client, user)
    await chat.say("My name is Ann.")
    answer = await chat.say(HUE)
    await chat.say(None, await chat.before(answer))
    assert "Hue" in await where(client, user)


async def test_a_fork_of_a_copy_takes_nothing_back_of_the_original(server: DevServer, user: str) -> None:
    client = server.client()
    chat = await Chat.begin(client, user)
    await chat.say("My name is Ann.")
    await chat.say(HUE)
    copied: Any = await client.threads.copy(chat.thread)
    copy = Chat(client, user, str((copied or {})["thread_id"]))
    await copy.say("I like tea.", await copy.before(HUE))
    assert "Hue" in await where(client, user)
