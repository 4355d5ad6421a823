"""The compared memories: `react_mem` and LangMem's store manager."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langmem import create_memory_store_manager

from benchmarks.writing.case import Case, Line, Manner, Turn
from benchmarks.writing.scripted import ScriptedChat
from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.language.comparison import Vocabulary
from react_mem.memory.language.folding import normalise
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import put
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.profile_schema import Profile
from react_mem.memory.model.records import Fact, Message, fact_id
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embeddings import EmbeddingModel, load_embedding_model

_CHARS_PER_TOKEN = 4.0
"""About right for English; Vietnamese takes twice as many tokens."""


class Meter(AsyncCallbackHandler):
    """Sums the time of the turns and the extraction model's calls in them; background calls do not count."""

    run_inline = True

    def __init__(self) -> None:
        self.calls = 0
        self.prompt_tokens = 0.0
        self.completion_tokens = 0.0
        self.seconds = 0.0
        self._counts = False
        self._asked: set[UUID] = set()

    @contextmanager
    def counting(self) -> Iterator[None]:
        self._counts = True
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start
            self._counts = False

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        if not self._counts:
            return
        options = kwargs.get("invocation_params") or {}
        tools = [convert_to_openai_tool(tool) for tool in options.get("tools") or ()]
        schema = json.dumps([tools, options.get("response_format")], ensure_ascii=False, default=str)
        self.calls += 1
        self.prompt_tokens += count_tokens_approximately(messages[0]) + len(schema) / _CHARS_PER_TOKEN
        self._asked.add(run_id)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        generation = response.generations[0][0]
        message = generation.message if isinstance(generation, ChatGeneration) else None
        if run_id in self._asked and isinstance(message, AIMessage):
            called = "".join(json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls)
            self.completion_tokens += len(str(message.text) + called) / _CHARS_PER_TOKEN


_OTHER = 0.5
"""Share of a fact's words from which it may be of the same thing: a user has one home, and each case tells of one."""

_SHOWN = MemoryPolicy.model_validate({}).recall.max_memories
ALL = 10_000


@dataclass(frozen=True)
class Remembered:
    """One memory, present or former, with the fields that the system has.

    One that is not `current` is history if `kept`; `verbatim` are the user's own words, which no model could read.
    Dates are ISO 8601.
    """

    text: str
    current: bool = True
    kept: bool = True
    verbatim: bool = False
    about: str = ""
    doubtful: bool = False
    support: int | None = None
    event: str = ""
    since: str = ""
    until: str = ""


@dataclass(frozen=True)
class Contents:
    """Contents of a memory after a case: facts, the user's verbatim messages, and errors on the way.

    The profile is as `field: value`.
    """

    facts: list[Remembered]
    messages: list[str]
    errors: list[str]
    profile: tuple[str, ...] = ()


class Driver(Protocol):
    """A memory under measurement."""

    async def run(self, case: Case, manner: Manner, meter: Meter) -> Contents:
        """Run a case with a model of this manner, and return the contents of memory."""


@asynccontextmanager
async def open_store(kind: str) -> AsyncIterator[BaseStore]:
    """Open an empty store: `postgres`, on an embedded PostgreSQL of its own, or `memory`."""
    if kind == "memory":
        model = await asyncio.to_thread(load_embedding_model, "auto")
        yield _in_memory(model, ["text"])
        return
    with TemporaryDirectory(prefix="writing-") as folder:
        async with open_storage(StorageSettings.model_validate({"data_dir": folder})) as storage:
            yield storage.store


@asynccontextmanager
async def open_stores(kind: str) -> AsyncIterator[Callable[[], BaseStore]]:
    """Yield a factory of stores: one PostgreSQL for all cases, or a store in memory for each.

    A store in memory scans all its items, which would slow down with every case.
    """
    if kind == "memory":
        model = await asyncio.to_thread(load_embedding_model, "auto")
        remembered = replace(model, embeddings=_Remembered(model.embeddings))
        yield lambda: _in_memory(remembered, ["text"])
        return
    async with open_store(kind) as store:
        yield lambda: store


class _Remembered(Embeddings):
    """Embeddings that are computed once for each text."""

    def __init__(self, model: Embeddings) -> None:
        self._model = model
        self._known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= zip(new, self._model.embed_documents(new) if new else (), strict=True)
        return [self._known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._model.embed_query(text)


class ReactMem:
    """The whole product. Before a case begins the user has `among` other memories, of the other cases."""

    def __init__(
        self,
        store: Callable[[], BaseStore],
        engine: Literal["structured", "langmem"],
        among: int = 0,
        others: Sequence[Case] = (),
    ) -> None:
        self._store = store
        self._among, self._others = among, others
        policy = MemoryPolicy.model_validate({"extraction": {"mode": "inline", "engine": engine, "timeout": 600}})
        self._config = AgentConfig(name="writing", manager="react_mem", memory=policy)

    async def run(self, case: Case, manner: Manner, meter: Meter) -> Contents:
        owner = f"{manner}/{case.id}/{self._among}"
        store = self._store()
        around = {fact.id: fact for fact in others(case, self._others, self._among)}
        await store.abatch([put(owner, fact) for fact in around.values()])
        agent = await asyncio.to_thread(
            resolve_agent,
            self._config,
            model=ScriptedChat(case=case),
            small_model=_model(case, manner, meter, [fact.text for fact in around.values()]),
            tools=case_tools(case),
        )
        graph = await asyncio.to_thread(build_agent, agent, checkpointer=InMemorySaver(), store=store)
        errors: list[str] = []
        # what is done behind the turns is done when this ends
        async with agent.work.running(store):
            for turn in case.turns:
                with noting(errors), meter.counting():
                    await graph.ainvoke(
                        {"messages": [_said(turn)]},
                        {"configurable": {"thread_id": f"{owner}/{turn.conversation}"}},
                        context={"user_id": owner},
                    )
        # what the facts name is kept beside them
        kept = await _all(store, owner, MemoryScope.SEMANTIC)
        facts = [Fact.from_value(value) for value in kept if value["kind"] == "fact"]
        # what a case has changed of the others is a finding
        facts = [fact for fact in facts if fact != around.get(fact.id)]
        said = [value for value in await _all(store, owner, MemoryScope.DIALOG) if value["kind"] == "message"]
        messages = [Message.from_value(value) for value in said]
        profiles = [Profile.from_value(value) for value in await _all(store, owner, MemoryScope.PROFILE)]
        return Contents(
            facts=[_fact(fact) for fact in sorted(facts, key=lambda fact: (fact.created_at, fact.text))],
            messages=[str(message.content) for message in messages if message.role == "user"],
            errors=errors,
            profile=tuple(f"{k}: {v.value}" for one in profiles for k, v in one.fields.items() if v.value),
        )


class LangMemManager:
    """LangMem's store manager over an InMemoryStore, called after each turn as documented.

    Deletion is enabled, unlike by default, and it sees as many memories as `react_mem` shows its model.
    """

    def __init__(self, embedding: EmbeddingModel) -> None:
        self._embedding = embedding

    async def run(self, case: Case, manner: Manner, meter: Meter) -> Contents:
        namespace = ("memories", "user")
        store = _in_memory(self._embedding, None)
        manager: Any = create_memory_store_manager(
            _model(case, manner, meter), namespace=namespace, store=store, enable_deletes=True, query_limit=_SHOWN
        )
        before: set[str] = set()
        now: list[str] = []
        errors: list[str] = []
        for turn in case.turns:
            with noting(errors), meter.counting():
                await manager.ainvoke({"messages": _exchange(turn)}, {"configurable": {}})
            now = [str(item.value["content"]["content"]) for item in await store.asearch(namespace, limit=ALL)]
            before.update(now)
        gone = [Remembered(text, current=False, kept=False) for text in sorted(before - set(now))]
        return Contents(facts=[*(Remembered(text) for text in now), *gone], messages=[], errors=errors)


def _model(case: Case, manner: Manner, meter: Meter, around: Iterable[str] = ()) -> ScriptedChat:
    """Return the extraction model; the answering model is another one, so that only memory's calls count."""
    return ScriptedChat(case=case, manner=manner, around=frozenset(around), callbacks=[meter])


def others(case: Case, cases: Sequence[Case], count: int) -> list[Fact]:
    """Return facts of other cases, of its language first, as old memories of things that the case does not tell of."""
    own = Vocabulary(text for turn in case.turns for text in (turn.say, *(line.sentence for line in turn.correct)))
    lines: dict[str, Line] = {}
    for one in sorted(cases if count else (), key=lambda one: one.lang != case.lang):
        for line in (line for turn in one.turns for line in turn.correct if one.id != case.id):
            if line.rel == "new" and line.drop is None and own.share(line.sentence) < _OTHER:
                lines.setdefault(line.quote, line)
                lines.setdefault(line.sentence, line)
    at = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        Fact(
            id=fact_id(line.about, text),
            text=text,
            about=line.about,
            created_at=at,
            said_at=at,
            session_id="before",
            agent_id="writing",
            source_ids=(f"before-{place}",),
        )
        for place, (text, line) in enumerate(lines.items())
    ][:count]


async def _all(store: BaseStore, owner: str, scope: MemoryScope) -> list[dict[str, Any]]:
    found = await store.asearch(scope_namespace(owner, scope), limit=ALL)
    return [item.value for item in found]


@contextmanager
def noting(errors: list[str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever a memory or its model raises
        errors.append(f"{type(error).__name__}: {error}")


def _said(turn: Turn) -> HumanMessage:
    return HumanMessage(turn.say, additional_kwargs={"said_at": turn.at.isoformat()} if turn.at else {})


def _exchange(turn: Turn) -> list[BaseMessage]:
    looked: list[BaseMessage] = []
    if turn.observed is not None:
        call = tool_call(name=turn.observed.tool, args={}, id="look-1")
        looked = [AIMessage("", tool_calls=[call]), ToolMessage(turn.observed.text, tool_call_id="look-1")]
    return [_said(turn), *looked, AIMessage(turn.reply)]


def case_tools(case: Case) -> list[BaseTool]:
    results: dict[str, list[str]] = {}
    for turn in case.turns:
        if turn.observed is not None:
            results.setdefault(turn.observed.tool, []).append(turn.observed.text)

    def tool(name: str, texts: list[str]) -> BaseTool:
        left = iter(texts)

        async def look() -> str:
            return next(left)

        return StructuredTool.from_function(coroutine=look, name=name, description="Looks up what is asked for.")

    return [tool(name, texts) for name, texts in results.items()]


def _in_memory(model: EmbeddingModel, fields: list[str] | None) -> InMemoryStore:
    index: Any = {"dims": model.dims, "embed": model.embeddings, **({"fields": fields} if fields else {})}
    return InMemoryStore(index=index)


def _fact(fact: Fact) -> Remembered:
    return Remembered(
        text=fact.text,
        current=fact.current,
        verbatim=fact.verbatim,
        about=fact.about,
        doubtful=bool(fact.doubts),
        support=fact.support,
        event=_iso(fact.event_at),
        since=_iso(fact.valid_from),
        until=_iso(fact.valid_to),
    )


def _iso(at: datetime | None) -> str:
    return at.isoformat() if at else ""


def is_kept(statement: str, contents: Contents) -> bool:
    return normalise(statement) in {normalise(message) for message in contents.messages}
