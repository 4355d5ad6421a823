"""Bad input, bad configuration, bad models: what the user is told, and that nothing said is lost or kept twice."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

from react_mem.agents import AgentConfig, available_agents, load_agent_config, open_agent
from react_mem.agents.config import ModelsConfig
from react_mem.agents.models import load_chat_model
from react_mem.errors import AgentConfigError, InvalidInputError, ModelCallError, ModelConfigError, StorageError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import now
from react_mem.memory.store import StorageSettings
from tests.support.labels import NOTHING, clauses_in
from tests.support.openai_server import Match, OpenAIServer, Reply

USER = "ann"
KEY = "sk-secret-0123456789abcdef"
FIRST = "My cat is called Miu."
ONE_MEGABYTE = "Mực tím học trò. " * 60_000

Open = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture(autouse=True)
def model(openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The model that `auto` stands for; extraction finds nothing, so that words are kept only as said."""
    monkeypatch.delenv("CHAT_MODEL", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    openai_server.add(Reply(json=NOTHING), when=Match(schema=True), repeat=True)
    return openai_server


@pytest.fixture
def opened(database_url: str) -> Open:
    """Open an agent on a real database."""
    settings = StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})

    @asynccontextmanager
    async def open_(agent: str | AgentConfig = "assistant", **options: Any) -> AsyncIterator[Any]:
        async with open_agent(agent, settings=settings, **options) as graph:
            yield graph

    return open_


def impatient() -> BaseChatModel:
    """Return the same model, waited for half a second and asked once."""
    return load_chat_model("auto", timeout=0.5, max_retries=0)


async def ask(agent: Any, content: Any, thread: str = "1") -> str:
    """Run a turn and return the answer."""
    state = await agent.ainvoke(
        {"messages": [{"role": "user", "content": content}]},
        config={"configurable": {"thread_id": thread}},
        context={"user_id": USER},
    )
    return str(state["messages"][-1].text)


async def kept(agent: Any) -> Counter[str]:
    """Return what the store holds of the dialogue: how often each text; nothing waits to be drawn from."""
    assert await drain(20)
    items = await agent.store.asearch(scope_namespace(USER, MemoryScope.DIALOG), limit=100)
    assert await MemoryFacade(agent.store).pending(USER) == []
    return Counter(item.value["text"] for item in items if item.value["kind"] == "message")


async def then_all_is_well(agent: Any, model: OpenAIServer, *said: str) -> None:
    """Check that the thread goes on after a failed turn, and what was said before it is kept once."""
    model.add(Reply(text="I am back"), when=Match(schema=False))
    assert await ask(agent, "And now?") == "I am back"
    assert await kept(agent) == Counter([*said, "And now?", "I am back"])
    transcripts = [request for request in model.chats() if request.schema and "And now?" in request.text]
    assert len(transcripts) == 1
    for text in said:
        assert text in clauses_in(transcripts[0].text).values()


def answers(model: OpenAIServer, *replies: Reply) -> None:
    model.add(*replies, when=Match(schema=False))


# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent_name", ["plain", "assistant"])
async def test_an_empty_message(agent_name: str, opened: Open, model: OpenAIServer) -> None:
    async with opened(agent_name) as agent:
        with pytest.raises(InvalidInputError, match=r"^The message is empty: write something to answer\."):
            await ask(agent, " \n")
        if agent_name == "assistant":
            await then_all_is_well(agent, model)
        else:
            answers(model, Reply(text="hello"))
            assert await ask(agent, "hi") == "hello"
    assert [message["role"] for message in model.chats()[0].messages] == ["system", "user"]


async def test_one_megabyte_is_answered_and_stored_whole_and_costs_the_next_conversation_little(
    opened: Open, model: OpenAIServer
) -> None:
    answers(model, Reply(text="long"), Reply(text="short"))
    async with opened() as agent:
        assert await ask(agent, ONE_MEGABYTE) == "long"
        [item] = [
            item
            for item in await agent.store.asearch(scope_namespace(USER, MemoryScope.DIALOG), limit=10)
            if item.value.get("role") == "user"
        ]
        assert item.value["content"] == ONE_MEGABYTE
        assert await ask(agent, "What about mực tím?", thread="2") == "short"
        assert await drain(60)
    # what is drawn from a turn is drawn behind it, before or after the next question
    told, asked = (request for request in model.chats() if not request.schema)
    extracted, *_ = (request for request in model.chats() if request.schema)
    # more than the model says it can read: it gets the beginning and the end
    assert told.last.startswith(ONE_MEGABYTE[:300_000])
    assert "characters are left out here" in told.last
    assert len(extracted.text) < 10_000
    assert "Mực tím học trò." in asked.text
    assert len(asked.text) < 10_000


STRANGE = {
    "Vietnamese and emoji": ("Tôi thích phở 🍜, không hành 👩‍🍳", "Tôi thích phở 🍜, không hành 👩‍🍳"),
    "NUL": ("Miu\x00 is a cat", "Miu\ufffd is a cat"),
    "half an emoji": ("Miu \ud83d is a cat", "Miu \ufffd is a cat"),
}


@pytest.mark.parametrize(("given", "stored"), STRANGE.values(), ids=STRANGE)
async def test_strange_characters(given: str, stored: str, opened: Open, model: OpenAIServer) -> None:
    answers(model, Reply(text="nice"))
    async with opened() as agent:
        assert await ask(agent, given) == "nice"
        assert model.chats()[0].last == stored
        await then_all_is_well_after_an_answer(agent, model, stored)


async def then_all_is_well_after_an_answer(agent: Any, model: OpenAIServer, said: str) -> None:
    answers(model, Reply(text="I am back"))
    assert await ask(agent, "And now?") == "I am back"
    assert await kept(agent) == Counter([said, "nice", "And now?", "I am back"])


# --- models -----------------------------------------------------------------------------------------------------------

FAILURES = {
    "401": (Reply(status=401, error=f"Incorrect API key provided: {KEY}"), r"refused the API key \(401\)\. Check OPEN"),
    "429": (Reply(status=429, headers={"retry-after": "7"}), r"no more requests for now \(429\)\. Wait 7 seconds"),
    "500": (Reply(status=500), r"failed on its own side \(500\)\. Send it again later"),
    "dropped": (Reply(text="cut", disconnect_after=0), "cannot be reached"),
}


@pytest.mark.parametrize(("reply", "message"), FAILURES.values(), ids=FAILURES)
async def test_a_model_that_fails(reply: Reply, message: str, opened: Open, model: OpenAIServer) -> None:
    answers(model, reply)
    assistant = load_agent_config("assistant")
    alone = assistant.model_copy(update={"models": ModelsConfig(fallback=())})
    async with opened(alone, model=impatient()) as agent:
        with pytest.raises(ModelCallError, match=message) as raised:
            await ask(agent, FIRST)
        assert KEY not in str(raised.value)
        await then_all_is_well(agent, model, FIRST)


async def test_an_extraction_that_fails_keeps_the_words(
    opened: Open, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    with OpenAIServer() as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        model.add(Reply(text="nice"), Reply(text="I am back"), when=Match(schema=False))
        model.add(Reply(status=503), when=Match(schema=True))
        model.add(Reply(json=NOTHING), when=Match(schema=True), repeat=True)
        async with opened(model=impatient()) as agent:
            assert await ask(agent, FIRST) == "nice"
            assert await drain(20)
            facts = await agent.store.asearch(scope_namespace(USER, MemoryScope.SEMANTIC))
            assert [fact.value["text"] for fact in facts] == [FIRST]
            # a model that was down is asked again after a while
            monkeypatch.setattr("react_mem.memory.write.session.now", lambda: now() + timedelta(minutes=1))
            assert await ask(agent, "And now?") == "I am back"
            assert await kept(agent) == Counter([FIRST, "nice", "And now?", "I am back"])
        assert FIRST in clauses_in(model.chats()[-1].text).values()


def test_a_program_may_run_an_agent_in_one_event_loop_after_another(opened: Open, model: OpenAIServer) -> None:
    answers(model, Reply(text="one"), Reply(text="two"))

    async def turn(text: str) -> str:
        async with opened() as agent:
            return await ask(agent, text)

    assert [asyncio.run(turn(text)) for text in ("first", "second")] == ["one", "two"]


# --- configuration ----------------------------------------------------------------------------------------------------


def chat(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `react-mem chat` as a user does."""
    command = [str(Path(sys.executable).with_name("react-mem")), "chat", *arguments]
    return subprocess.run(
        command,
        cwd=folder,  # where no .env is
        input="hello\n",
        env={"PATH": "/usr/bin:/bin", "EMBEDDING_MODEL": "local", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


async def test_an_unknown_agent(opened: Open) -> None:
    message = f"unknown agent 'asistant'; valid: {', '.join(available_agents())}; did you mean 'assistant'?"
    with pytest.raises(AgentConfigError) as raised:
        async with opened("asistant"):
            pass
    assert str(raised.value) == message


async def test_a_model_without_its_key(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    path = tmp_path / "keyless.yaml"
    path.write_text("manager: react_mem\nmodels: {chat: 'openai:gpt-5.4-mini'}\n", encoding="utf-8")
    message = (
        "the model is 'openai:gpt-5.4-mini' but OPENAI_API_KEY is not set: "
        "set it in .env, or use models.chat: extractive"
    )
    with pytest.raises(ModelConfigError) as raised:
        async with opened(str(path)):
            pass
    assert str(raised.value) == message


async def test_another_embedding_dimension_than_the_databases(opened: Open, database_url: str) -> None:
    async with opened():
        pass
    other = StorageSettings.model_validate({"database_url": database_url, "embedding": "openai:text-embedding-3-small"})
    with pytest.raises(StorageError) as raised:
        async with open_agent("assistant", settings=other):
            pass
    for part in (
        "(384 dimensions), and the model asked for is openai:text-embedding-3-small (1536 dimensions)",
        "Set EMBEDDING_MODEL=",
        "react-mem database reembed --to openai:text-embedding-3-small",
    ):
        assert part in str(raised.value)


def test_a_database_that_refuses(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and nobody listens
        port = closed.getsockname()[1]
        process = chat(tmp_path, DATABASE_URL=f"postgresql://ann:{KEY}@127.0.0.1:{port}/mem")
    assert process.returncode == 2
    assert f"The database at 127.0.0.1:{port}/mem is not available" in process.stderr
    assert "Check that it runs and that DATABASE_URL is right" in process.stderr
    assert "?." not in process.stderr
    assert KEY not in process.stderr + process.stdout


async def test_a_database_that_never_answers_is_not_waited_for_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://ann:{KEY}@127.0.0.1:{silent.getsockname()[1]}/mem"
        started = time.monotonic()
        with pytest.raises(StorageError, match=r"is not available: .*timeout") as raised:
            async with open_agent("assistant", settings=StorageSettings.model_validate({"database_url": url})):
                pass
    assert time.monotonic() - started < 12
    assert KEY not in str(raised.value)
