"""Every call of a model behind the scenes has a bound in tokens and one in seconds."""

from __future__ import annotations

import ast
import asyncio
import contextvars
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import Field

from react_mem.agents.extractive import AnsweringModel
from react_mem.errors import ExtractionError
from react_mem.memory.llm import calls
from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.calls import Asker, ModelQuestion
from react_mem.memory.model.operations import TranscriptMessage
from react_mem.memory.model.policy import MemoryPolicy, SummarySettings
from react_mem.memory.summaries.sources import Source
from react_mem.memory.summaries.summarise import Summariser, SummaryTask
from react_mem.memory.telemetry.catalogue import PURPOSE
from react_mem.memory.write.chat_summarizer import ChatSummarizer
from react_mem.memory.write.extraction.structured import create_extractor
from react_mem.memory.write.summary_form import ChatSummaryRequest
from react_mem.tools.routing.switch import picks_for
from react_mem.tools.web.search import model_says_yes

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 11, 22, tzinfo=UTC)
SAID = [TranscriptMessage("a", "user", "I live in Hue.")]

_limits: contextvars.ContextVar[int] = contextvars.ContextVar("limits", default=0)


class Watched(asyncio.Timeout):  # type: ignore[misc]  # final for type checkers
    """A bound in seconds that what runs within it can see."""

    async def __aenter__(self) -> asyncio.Timeout:
        self._token = _limits.set(_limits.get() + 1)
        return await super().__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        _limits.reset(self._token)
        await super().__aexit__(*error)


def watched(seconds: float | None) -> Watched:
    return Watched(None if seconds is None else asyncio.get_running_loop().time() + seconds)


class Recording(AnsweringModel):
    """Notes the bounds of each call, and fails it."""

    max_tokens: int | None = None
    seen: list[tuple[int | None, int]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(**kwargs)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        return self | RunnableLambda(lambda raw: {"raw": raw, "parsed": None})

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        self.seen.append((self.max_tokens, _limits.get()))
        raise ConnectionError("it is down")


def _extract(engine: str) -> Callable[[BaseChatModel], Awaitable[Any]]:
    async def extract(model: BaseChatModel) -> None:
        extractor = await asyncio.to_thread(create_extractor, engine, [model])
        await extractor.extract(SAID, [], deadline=5)

    return extract


def _ask(purpose: str) -> Callable[[BaseChatModel], Awaitable[Any]]:
    question = ModelQuestion("consolidate_facts", "data", object_schema({}, "a", "b"), dict)
    return lambda model: Asker([model], 5, purpose=purpose).ask(question)


async def _summarise(model: BaseChatModel) -> None:
    task = SummaryTask("1", [Source("I live in Hue.", NOW, "user")])
    await Summariser([model]).begin(SummarySettings(), 5).make(task)


async def _chat_summary(model: BaseChatModel) -> None:
    request = ChatSummaryRequest.model_validate({"user_input": "And the price?", "conversation_id": "1"})
    await ChatSummarizer([model], MemoryPolicy(), "tester").summarize(request, store=None, user_id=None)


DOORS: dict[str, list[Callable[[BaseChatModel], Awaitable[Any]]]] = {
    "extraction": [_extract("structured"), _extract("langmem")],
    "summary": [_summarise],
    "chat_summary": [_chat_summary],
    **{purpose: [_ask(purpose)] for purpose in ("consolidation", "learning", "planning")},
    "switching": [lambda model: Asker([model], 5, "switching").ask(picks_for("Buy tea", [], []))],
    "web_search": [lambda model: model_says_yes([model], "Who owns it?", now=NOW, seconds=5)],
}


@pytest.mark.parametrize(("purpose", "place"), [(name, n) for name, doors in DOORS.items() for n in range(len(doors))])
async def test_a_call_behind_the_scenes_has_both_bounds(
    purpose: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asyncio, "timeout", watched)
    model = Recording()
    with suppress(ExtractionError):
        await DOORS[purpose][place](model)
    assert model.seen
    for tokens, limits in model.seen:
        assert tokens is not None, "without max_tokens"
        assert 0 < tokens <= 20_000
        assert limits, "without a limit in seconds"
    assert model.max_tokens is None, "the caller's own model is as it was"


def test_every_purpose_that_telemetry_knows_is_among_them() -> None:
    assert {*PURPOSE.values.split()} - {"answer"} == set(DOORS)


class Thinking(Recording):
    """A model that thinks first."""

    thinking: dict[str, Any] = Field(default_factory=lambda: {"type": "enabled", "budget_tokens": 10_000})


@pytest.mark.parametrize("own", [None, -1, 300])
def test_a_bound_leaves_room_to_think_and_never_raises_ones_own(own: int | None) -> None:
    plain = calls.limited(Recording(max_tokens=own), 100)
    assert plain.max_tokens == (own if own == 300 else 2_100)  # type: ignore[attr-defined]
    thinking: Any = calls.limited(Thinking(max_tokens=own), 100)
    assert thinking.max_tokens == (300 if own == 300 else 16_100)


@pytest.mark.parametrize(("setting", "value"), [("thinking", {"budget_tokens": 32_000}), ("thinking_budget", 32_000)])
def test_a_limit_leaves_room_for_what_a_model_is_set_to_think(setting: str, value: Any) -> None:
    class Set(Recording):
        thinking: dict[str, Any] | None = None
        thinking_budget: int | None = None

    model: Any = calls.limited(Set(max_tokens=64_000, **{setting: value}), 100)
    # a provider refuses a limit that is within the budget
    assert model.max_tokens == 32_100


def _asks(call: ast.Call) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and function.attr in {"ainvoke", "astream", "invoke", "stream"}


def test_models_are_asked_in_few_places_and_behind_the_scenes_in_one() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for room in ("agents", "graphs", "memory", "tools", "integrations")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"\.a?(?:invoke|stream)\(", text := path.read_text("utf-8"))
        and any(isinstance(node, ast.Call) and _asks(node) for node in ast.walk(ast.parse(text)))
    }
    assert found == {
        "memory/llm/calls.py",
        "memory/write/extraction/structured.py",  # LangMem asks; bounded as the others are
        "graphs/model_call.py",  # the answer itself
        "agents/terminal/doctor_command.py",  # whether a model answers at all; bounded
        # no model: an agent, keys of an identity provider, tools, a retriever, a page
        "agents/terminal/render.py",
        "integrations/assertions.py",
        "graphs/auth/by_jwt.py",
        "graphs/server.py",  # a node of a graph
        "graphs/react_mem.py",  # the graph itself
        "graphs/switching.py",
        "tools/web/engines.py",
        "tools/web/fetch.py",
    }
