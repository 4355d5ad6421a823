"""`MemoryMiddleware`: memory for `langchain.agents.create_agent`, in one line.

    agent = create_agent(
        model, tools, middleware=[MemoryMiddleware(small_model="openai:gpt-4.1-mini")], store=store, checkpointer=saver
    )
    agent.invoke({"messages": [...]}, {"configurable": {"thread_id": "1", "user_id": "ann"}})

Before the agent, what is remembered is read and the question made durable; every call of the model has the memories in
its system prompt, the same bytes throughout the turn; after the agent, the turn is stored and drawn from, behind it or
at once as the policy says. Input, output, tools, structured output and streaming stay those of `create_agent`.

A failing memory never fails a turn: the agent answers without, and an event of the custom stream says what is missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from react_mem.memory import telemetry
from react_mem.memory.adapters.blocking import drain_blocking, run_blocking
from react_mem.memory.adapters.thread import Mark, as_said, mark_of, steps_of
from react_mem.memory.context import Frame, Layout, Window, assemble, lay_out
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.budget import ASSUMED_WINDOW
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.maintenance.agent import AgentWork
from react_mem.memory.maintenance.reflecting import Reflecting
from react_mem.memory.maintenance.runner import AgentRunner
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.merging.transcript import misdated
from react_mem.memory.model.identity import Identity, identify, why_off
from react_mem.memory.model.interface import MemoryResults
from react_mem.memory.model.operations import Extractor
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.last_known import DATABASE
from react_mem.memory.summaries.summarise import Summariser
from react_mem.memory.write.extraction import create_extractor
from react_mem.memory.write.turns import TurnReport, Turns
from react_mem.prompts import load_prompt

Operation = Literal["retrieve", "store", "extract"]

_PARTS: dict[Operation, str] = {"retrieve": "database", "store": "store", "extract": "extraction"}
"""What telemetry calls the part that failed."""

MEMORY_OFF = load_prompt("memory_off")

log = logging.getLogger(__name__)


class MemoryState(AgentState[Any]):
    """What the middleware keeps in the agent's state, private to it: not in its input, not in its output.

    Args:
        memory_layout: How the prompt of this turn is put together; None outside of one.
        memory_mark: Up to where memory has the thread.
    """

    memory_layout: NotRequired[Annotated[Layout | None, PrivateStateAttr]]
    memory_mark: NotRequired[Annotated[Mark | None, PrivateStateAttr]]


@dataclass
class _Outcome:
    """What a hook came to: gathered wherever it ran, told where the agent runs.

    Args:
        update: Of the state.
        config: The run's config.
        identity: Whose memory it is; None where memory is off.
        blocking: Whether the agent runs outside of an event loop.
        events: What is told.
    """

    update: dict[str, Any] = field(default_factory=dict)
    config: RunnableConfig = field(default_factory=RunnableConfig)
    identity: Identity | None = None
    blocking: bool = False
    events: list[dict[str, Any]] = field(default_factory=list)

    def tell(self, operation: Operation, status: str, message: str = "", **details: Any) -> None:
        self.events.append({"type": "memory", "operation": operation, "status": status, "message": message, **details})

    def degrade(self, operation: Operation, error: BaseException) -> None:
        cause = cause_of(error)
        telemetry.count("degradations", part=_PARTS[operation])
        log.warning("memory is unavailable for this turn (%s): %s", operation, cause)
        missing = "the answer does not use it" if operation == "retrieve" else "this turn will be remembered later"
        self.tell(operation, "degraded", f"Memory could not be reached, {missing}: {cause}")


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Long-term memory for an agent of `create_agent`, which brings the store and the checkpointer.

    Whose memory it is follows from the run: the server's authenticated user, else `user_id` in the run's context or
    under `configurable`, else, on a developer's own server, the development user; never from the model. Without any of
    them memory is off, which an event, the log and the prompt say. The conversation is the run's `thread_id`.

    `invoke` and `stream` work as well as `ainvoke` and `astream`, with any store: see `memory.adapters.blocking`. The
    one case that cannot is `invoke` on the very event loop that an async store belongs to; the agent answers without
    memory then, and the event says to use `ainvoke`.

    Args:
        policy: What is read and written, as a `MemoryPolicy` or its fields. How much fits is the policy's
            `context.window`: the middleware is not told which model the agent will use.
        small_model: The model that draws facts from what was said and sums it up, or its `init_chat_model` string.
            Without one no model is called for memory, and what the user states is kept word for word.
        agent_id: What memory calls this agent.
    """

    state_schema = MemoryState

    def __init__(
        self,
        *,
        policy: MemoryPolicy | Mapping[str, Any] | None = None,
        small_model: BaseChatModel | str | None = None,
        agent_id: str = "agent",
    ) -> None:
        super().__init__()
        self.tools = []
        self._policy = policy if isinstance(policy, MemoryPolicy) else MemoryPolicy.model_validate(dict(policy or {}))
        self._agent_id = agent_id
        model = init_chat_model(small_model) if isinstance(small_model, str) else small_model
        self._extractor: Extractor | None = None
        if model is not None:
            profile = {name: spec.description for name, spec in self._policy.profile.items()}
            self._extractor = create_extractor(self._policy.extraction.engine, model, profile)
        self._summariser = Summariser([model] if model is not None else [])
        self._work = AgentWork()
        self._work.register(agent_id, AgentRunner(self._turns, Reflecting(model)))
        # read now: an event loop must not read files
        for prompt in ("memories", "summaries", "web_pages", "cut_message", "cut_current"):
            load_prompt(prompt)

    # What create_agent calls

    def before_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Read what is remembered for the question, and make the question durable."""
        return self._blocking(state, runtime, self._begin, "retrieve")

    async def abefore_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Read what is remembered for the question, and make the question durable."""
        turns, outcome = self._open(state, runtime, "retrieve")
        if turns is not None:
            await self._begin(turns, state, outcome)
        return _told(outcome, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with what is remembered."""
        return handler(self._remembering(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with what is remembered."""
        return await handler(self._remembering(request))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store the turn, and have it drawn from."""
        return self._blocking(state, runtime, self._end, "extract")

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store the turn, and have it drawn from."""
        turns, outcome = self._open(state, runtime, "extract")
        if turns is not None:
            await self._end(turns, state, outcome)
        return _told(outcome, runtime)

    # Work behind the turns

    def drain(self, within: float = 60.0) -> bool:
        """Finish what is to be drawn from turns of `invoke` and `stream`: at the end of a script, say.

        What is not finished stays durable; a later turn of the user takes it along. With a store that belongs to an
        event loop, that loop does the work: use `adrain` there.

        Args:
            within: Seconds to wait at most.

        Returns:
            Whether everything was finished.
        """
        return drain_blocking(within)

    async def adrain(self, within: float = 60.0) -> bool:
        """Finish what is to be drawn from turns of this event loop; see `drain`."""
        return await drain(within)

    # What they have in common

    def _blocking(
        self,
        state: MemoryState,
        runtime: Runtime[Any],
        work: Callable[[Turns, MemoryState, _Outcome], Awaitable[None]],
        operation: Operation,
    ) -> dict[str, Any]:
        turns, outcome = self._open(state, runtime, operation)
        if turns is not None:
            outcome.blocking = True

            async def run() -> None:
                await work(turns, state, outcome)

            try:
                run_blocking(run, turns.memory.store)
            except Exception as error:
                outcome.degrade(operation, error)
        return _told(outcome, runtime)

    def _open(self, state: MemoryState, runtime: Runtime[Any], operation: Operation) -> tuple[Turns | None, _Outcome]:
        """Return the turns of the run's owner, and an outcome that forgets the turn before."""
        outcome = _Outcome({"memory_layout": None}, get_config())
        identity = identify(runtime, outcome.config)
        if identity is None or runtime.store is None:
            if operation == "retrieve":
                outcome.tell(operation, "off", why_off(runtime, outcome.config))
            return None, outcome
        if not state["messages"]:
            return None, outcome
        outcome.identity = identity
        return self._turns(runtime.store, identity), outcome

    def _turns(self, store: BaseStore, identity: Identity) -> Turns:
        return Turns(
            memory=MemoryFacade(store, self._policy),
            extractor=self._extractor,
            user_id=identity.user_id,
            session_id=identity.session_id,
            agent_id=self._agent_id,
            summariser=self._summariser,
        )

    async def _begin(self, turns: Turns, state: MemoryState, outcome: _Outcome) -> None:
        thread, mark = state["messages"], state.get("memory_mark")
        said = as_said(thread, mark)
        frame = Frame(
            thread=thread,
            policy=self._policy,
            window=Window(self._policy.context.window or ASSUMED_WINDOW, self._policy.context.window is not None),
        )
        # a long question takes a while to count, here and where the context is put together
        identity = Identity(turns.user_id, turns.session_id)
        query = await asyncio.to_thread(frame.query, identity, self._agent_id)
        stored = False
        results = MemoryResults()
        try:
            async with asyncio.timeout(self._policy.recall.timeout):
                read, opened = await asyncio.gather(
                    turns.memory.read(query), turns.open(said, mark and mark["id"]), return_exceptions=True
                )
                if isinstance(read, BaseException):
                    raise read
                if await turns.follow(said, mark and mark["id"], read.tip, outcome.config, blocking=outcome.blocking):
                    read = await turns.memory.read(query)
            results, stored = read, opened is None
            if isinstance(opened, BaseException):
                # what could not be stored stays in the prompt, with the whole thread
                outcome.degrade("store", opened)
            elif problem := misdated(said, mark and mark["id"]):
                log.warning("a time is not taken over: %s", problem)
                outcome.tell("store", "degraded", problem)
        except Exception as error:
            known = turns.memory.last_known(query)
            if known is None:
                outcome.degrade("retrieve", error)
                return
            telemetry.count("degradations", part="database")
            log.warning("memory is unavailable for this turn, what was last read stands in: %s", cause_of(error))
            known.missing[DATABASE] += f" ({cause_of(error)})"
            results = known
        assembled = await asyncio.to_thread(assemble, frame, results, session_id=turns.session_id, recalls=stored)
        outcome.update["memory_layout"] = assembled.layout
        if stored:
            outcome.update["memory_mark"] = mark_of(said)
        missing = "; ".join(f"{name}: {cause}" for name, cause in (results.missing | assembled.missing).items())
        outcome.tell(
            "retrieve",
            "degraded" if missing else "ok",
            f"Memory was searched without {missing}" if missing else "",
            items=[
                {"scope": str(item.scope), "id": item.id, "text": item.payload.get("text", ""), "score": item.score}
                for item in assembled.memories.items
            ],
            dropped=assembled.memories.dropped,
            **(outcome.identity.details() if outcome.identity is not None else {}),
        )

    def _remembering(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        layout: Layout | None = request.state.get("memory_layout")  # type: ignore[assignment]
        if layout is None:
            runtime: Any = request.runtime
            if runtime.store is not None and identify(runtime, get_config()) is None:
                # or a model would promise to remember
                return request.override(system_message=_joined(request.system_message, MEMORY_OFF))
            return request
        bare: Layout = {**layout, "retrieved": ""}
        messages: Sequence[Any] = lay_out(request.messages, bare, "", self._policy.context.message_chars)
        system = _joined(request.system_message, layout["retrieved"])
        return request.override(system_message=system, messages=list(messages))

    async def _end(self, turns: Turns, state: MemoryState, outcome: _Outcome) -> None:
        thread, mark = state["messages"], state.get("memory_mark")
        said = as_said(thread, mark)
        self._work.ensure(turns.memory.store)
        try:
            async with asyncio.timeout(self._policy.recall.timeout):
                await turns.close(said, mark and mark["id"], steps_of(thread))
            outcome.update["memory_mark"] = mark_of(said)
            if self._policy.extraction.mode == "inline":
                _report(await turns.extract(), outcome)
                return
        except Exception as error:
            outcome.degrade("extract", error)
            return
        note = "What was said is stored, and read behind the turn."
        outcome.tell("extract", "ok", note, stored=[], retired=[], waiting=1)


def _told(outcome: _Outcome, runtime: Runtime[Any]) -> dict[str, Any]:
    for event in outcome.events:
        runtime.stream_writer(event)
    return outcome.update


def _joined(system: SystemMessage | None, text: str) -> SystemMessage | None:
    """Return the system prompt with the memories at its end: a provider's cache of its beginning still hits."""
    if not text:
        return system
    if system is None:
        return SystemMessage(text)
    content: Any = system.content
    longer = f"{content}\n\n{text}" if isinstance(content, str) else [*content, {"type": "text", "text": text}]
    return system.model_copy(update={"content": longer})


def _report(report: TurnReport, outcome: _Outcome) -> None:
    outcome.tell(
        "extract",
        "degraded" if report.problem else "ok",
        report.problem,
        stored=report.stored,
        retired=report.retired,
        waiting=report.waiting,
        summarised=report.summarised,
    )
