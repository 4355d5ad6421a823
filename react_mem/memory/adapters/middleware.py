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
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NotRequired, TypeVar

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest, ModelResponse, PrivateStateAttr
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command
from typing_extensions import TypedDict

from react_mem.errors import QuotaExceeded
from react_mem.memory.context import Frame, Layout, Window, lay_out, paired_calls
from react_mem.memory.context.dialogue import current_start
from react_mem.memory.llm.budget import ASSUMED_WINDOW
from react_mem.memory.llm.causes import checked
from react_mem.memory.maintenance.runner import AgentRunner
from react_mem.memory.maintenance.worker import AgentWork
from react_mem.memory.merging.authors import (
    SOURCE,
    added_in_run,
    by_other,
    from_tool,
    is_delegated,
    is_users,
    running_tool,
)
from react_mem.memory.merging.transcript import identified, is_kept_out, is_said, kept_out
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.write.lifecycle import AgentMemory, Operation, TurnMemory

# Memory for sync code: its coroutines run on another thread's event loop while the caller waits.

Result = TypeVar("Result")

_ANSWERS_WITHIN = 2.0
"""Seconds in which an event loop turns once; a slower one is blocked by our caller."""

_lock = threading.Lock()
_own: tuple[int, asyncio.AbstractEventLoop] | None = None
"""Our own loop, and its process: a thread is lost when a process forks."""


def run_blocking(make: Callable[[], Coroutine[Any, Any, Result]], store: BaseStore | None) -> Result:
    """Run the coroutine that `make` makes, which uses a store if any, and wait for it.

    Context variables are copied, so that model calls in it are traced under the caller. A RuntimeError says that the
    store's event loop is the one that is waiting here, or no longer runs.
    """
    loop = home_of(store)
    if loop is not None:
        _check_it_answers(loop)
    future = asyncio.run_coroutine_threadsafe(make(), loop or _own_loop())
    try:
        return future.result()
    except BaseException:
        # such as Ctrl-C: nobody waits for it any more
        future.cancel()
        raise


def _check_it_answers(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_running():
        raise RuntimeError(
            "the event loop that the memory's store was opened on no longer runs; keep it running while the agent is "
            "used, or use a store of LangGraph's that is not async"
        )
    try:
        waits_for_itself = asyncio.get_running_loop() is loop
    except RuntimeError:
        # LangGraph runs nodes in threads: it may be the caller of the agent who keeps the loop waiting
        turned = threading.Event()
        loop.call_soon_threadsafe(turned.set)
        waits_for_itself = not turned.wait(_ANSWERS_WITHIN)
    if waits_for_itself:
        raise RuntimeError(
            "memory was called from sync code on the event loop that its store belongs to, which would wait for "
            "itself; use the async call there (ainvoke, astream, aget_messages), or move the sync one to a thread "
            "(asyncio.to_thread)"
        )


def drain_blocking(work: AgentWork, within: float) -> bool:
    """Finish the work that sync code left on our own loop; true if all was done `within` these seconds."""
    if _own is None or _own[0] != os.getpid():
        return True
    return asyncio.run_coroutine_threadsafe(work.drain(within), _own[1]).result()


def home_of(store: BaseStore | None) -> asyncio.AbstractEventLoop | None:
    """Return the event loop of a store; None where any will do."""
    # LangGraph's async stores keep it under the one name or the other
    for name in ("loop", "_loop"):
        loop = getattr(store, name, None)
        if isinstance(loop, asyncio.AbstractEventLoop):
            return loop
    return None


def _own_loop() -> asyncio.AbstractEventLoop:
    global _own
    with _lock:
        if _own is None or _own[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="react-mem", daemon=True).start()
            _own = (os.getpid(), loop)
        return _own[1]


# Threads of other agents, as memory reads them: other middleware may have rewritten them.


class Mark(TypedDict):
    """Position up to which a thread is stored: the id of the last stored message, and its place in the conversation."""

    id: str
    place: int


def as_said(thread: Sequence[AnyMessage], mark: Mark | None) -> list[AnyMessage]:
    """Return the thread with every message at its place in the conversation, given the mark up to which it is stored.

    Empty system messages stand in for removed ones, so that later ones get a later turn than all stored ones.
    """
    said = [message for message in thread if not message.additional_kwargs.get(SOURCE)]
    if mark is None:
        return said
    place = next((i for i, message in enumerate(said) if message.id == mark["id"]), -1)
    return [*(SystemMessage("") for _ in range(mark["place"] - place)), *said]


def mark_of(said: Sequence[AnyMessage]) -> Mark | None:
    """Return the mark of a thread after these messages, as `as_said` returned them, are stored."""
    place = next((place for place in range(len(said) - 1, -1, -1) if is_said(said[place])), None)
    return Mark(id=str(said[place].id), place=place) if place is not None else None


def thread_of(state: Mapping[str, Any]) -> list[AnyMessage]:
    """Return the thread in a state, each message with an id, and with its marks from the state."""
    notes: Mapping[str, Any] = state.get("memory_notes") or {}
    return [
        message.model_copy(update={"additional_kwargs": notes[message.id]}) if message.id in notes else message
        for message in identified(state["messages"])
    ]


def noted(state: Mapping[str, Any], marked: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return the state update that keeps marks of messages. Those of messages without an id go into `memory_notes`: the
    thread would take a marked one for a new message.
    """
    given = {message.id for message in state["messages"]}
    notes = {message.id: message.additional_kwargs for message in marked if message.id not in given}
    found = [message for message in marked if message.id in given]
    update: dict[str, Any] = {"messages": found} if found else {}
    return update | {"memory_notes": {**(state.get("memory_notes") or {}), **notes}} if notes else update


def in_place(thread: Sequence[AnyMessage], marked: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a thread with messages replaced by their marked copies."""
    known = {message.id: message for message in marked}
    return [known.get(message.id, message) for message in thread]


def steps_of(thread: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """Return the agent's steps in the current turn: each tool call with its result."""
    steps: list[dict[str, Any]] = []
    # some servers begin again with `call_0` in every answer: only what is called and not yet answered is meant
    waiting: dict[str, dict[str, Any]] = {}
    for message in thread[current_start(thread) :]:
        if isinstance(message, AIMessage):
            waiting = {}
            for call in message.tool_calls:
                step = {"action": call["name"], "arguments": call["args"], "observation": "", "error": ""}
                steps.append(step)
                waiting[call["id"] or ""] = step
        elif isinstance(message, ToolMessage) and message.tool_call_id in waiting:
            result = waiting.pop(message.tool_call_id)
            result["error" if message.status == "error" else "observation"] = message.text
    return steps


class MemoryState(AgentState[Any]):
    """Private state of the middleware: neither in the agent's input nor in its output.

    Args:
        memory_layout: The layout of this turn's prompt; None outside of a turn.
        memory_mark: The position up to which the thread is stored.
        memory_asked: The id of the last message of the run's input: later messages are not the user's.
        memory_notes: Marks of messages without an id in the thread, by the id that memory gives them.
    """

    memory_layout: NotRequired[Annotated[Layout | None, PrivateStateAttr]]
    memory_mark: NotRequired[Annotated[Mark | None, PrivateStateAttr]]
    memory_asked: NotRequired[Annotated[str | None, PrivateStateAttr]]
    memory_notes: NotRequired[Annotated[dict[str, dict[str, Any]], PrivateStateAttr]]


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Long-term memory for an agent of `create_agent`, which brings the store and the checkpointer.

    The owner of the memory follows from the run: the server's authenticated user, else `user_id` in the run's context
    or under `configurable`, else, on a developer's own server, the development user; never from the model. Without any
    of them memory is off, and an event, the log and the prompt say so. The conversation is the run's `thread_id`.

    `invoke` and `stream` work as well as `ainvoke` and `astream`, with any store (see `run_blocking`). The
    one exception is `invoke` on the very event loop that an async store belongs to; the agent answers without memory
    then, and the event says to use `ainvoke`.

    An agent of Deep Agents takes it like any other (`create_deep_agent(middleware=[MemoryMiddleware()])`). A subagent
    that has it too reads memories and stores nothing: its task is another agent's words.

    Args:
        policy: The policy of reads and writes, as a `MemoryPolicy` or its fields. The size of the prompt is the
            policy's `context.window`: the middleware does not know the agent's model.
        small_model: The model for extraction and summaries, or its `init_chat_model` string; of several the first is
            asked, and the others stand in for it while it fails. Without one no model is called for memory, and the
            user's statements are stored word for word.
        agent_id: The agent's name in memory.
    """

    state_schema = MemoryState

    @checked()
    def __init__(
        self,
        *,
        policy: MemoryPolicy | Mapping[str, Any] | None = None,
        small_model: BaseChatModel | str | Sequence[BaseChatModel | str] | None = None,
        agent_id: str = "agent",
    ) -> None:
        super().__init__()
        self.tools = []
        self._policy = policy if isinstance(policy, MemoryPolicy) else MemoryPolicy.model_validate(dict(policy or {}))
        named = [small_model] if isinstance(small_model, BaseChatModel | str) else small_model or []
        models = [init_chat_model(one) if isinstance(one, str) else one for one in named]
        self._memory = AgentMemory.of(agent_id, self._policy, models)
        self._work = AgentWork()
        self._work.runners[agent_id] = AgentRunner(self._memory.turns, models, retention=self._policy.retention)

    @property
    def name(self) -> str:
        """Name among the middleware of an agent, different from Deep Agents' own `MemoryMiddleware`.

        Of two with one name Deep Agents keeps the last: its instructions (`memory=["/AGENTS.md"]`) would be gone.
        """
        return "LongTermMemory"

    def before_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Read the memories for the question, and store the question durably."""
        return self._blocking(runtime, lambda memory: self._begin(state, memory), "retrieve")

    async def abefore_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        return await self._begin(state, TurnMemory.of(self._memory, runtime))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the memories in its prompt."""
        if self._policy.quotas.limits_days:
            self._blocking(request.runtime, lambda memory: memory.metering.before_model())
        return handler(self._remembering(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with the memories in its prompt."""
        if self._policy.quotas.limits_days:
            await TurnMemory.of(self._memory, request.runtime).metering.before_model()
        return await handler(self._remembering(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run a tool, and mark messages that it adds in the user's name."""
        with running_tool():
            return from_tool(handler(request), request.state)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Run a tool, and mark messages that it adds in the user's name."""
        with running_tool():
            return from_tool(await handler(request), request.state)

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store the turn, and schedule its extraction."""
        return self._blocking(runtime, lambda memory: self._end(state, memory), "extract")

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store the turn, and schedule its extraction."""
        return await self._end(state, TurnMemory.of(self._memory, runtime))

    def drain(self, within: float = 60.0) -> bool:
        """Finish the extraction of turns of `invoke` and `stream`, for example at the end of a script; true if all is
        done.

        Unfinished work stays durable; a later turn of the user takes it along. With a store that belongs to an event
        loop, that loop does the work: use `adrain` there.

        Args:
            within: Seconds to wait at most.
        """
        return drain_blocking(self._work, within)

    async def adrain(self, within: float = 60.0) -> bool:
        """Finish the extraction of turns of this event loop; see `drain`."""
        return await self._work.drain(within)

    def _blocking(
        self,
        runtime: Runtime[Any],
        work: Callable[[TurnMemory], Coroutine[Any, Any, dict[str, Any] | None]],
        operation: Operation | None = None,
    ) -> dict[str, Any]:
        """Run a part of a turn, or without an operation the count of a model call, from sync code."""
        # told where the agent runs, not where memory is read
        told: list[dict[str, Any]] = []
        memory = TurnMemory.of(self._memory, runtime, told.append, blocking=True)
        update = None
        try:
            # of nobody the store is not asked
            update = run_blocking(lambda: work(memory), runtime.store if memory.identity else None)
        except QuotaExceeded:
            raise
        except Exception as error:
            if operation is None:
                memory.metering.uncounted(error)
            else:
                memory.degrade(operation, error)
        for event in told:
            runtime.stream_writer(event)
        return update or {"memory_layout": None}

    async def _begin(self, state: MemoryState, memory: TurnMemory) -> dict[str, Any]:
        thread, mark = thread_of(state), state.get("memory_mark")
        if not thread:
            return {"memory_layout": None}
        theirs = await added_in_run(thread, mark and mark["id"], memory.config)
        thread = in_place(thread, theirs)
        tokens = self._policy.context.window
        frame = Frame(thread=thread, policy=self._policy, window=Window(tokens or ASSUMED_WINDOW, tokens is not None))
        query = partial(frame.query, agent_id=self._memory.agent_id)
        said: list[AnyMessage] = []
        # a task from another agent is not the user's message, and nothing is stored
        if delegated := is_delegated(memory.config, thread):
            recalled = await memory.begin(query)
        else:
            await memory.metering.admit()
            thread, unkept = await memory.withheld(thread)
            theirs = [*theirs, *unkept]
            said = as_said(thread, mark)
            recalled = await memory.begin(query, said, mark and mark["id"])
        update: dict[str, Any] = {"memory_layout": (await memory.assemble(frame, recalled)).layout}
        if delegated:
            return update | noted(state, kept_out(thread))
        update |= {"memory_asked": thread[-1].id}
        update |= noted(state, kept_out(thread[current_start(thread) :]) if memory.switched_off else theirs)
        return update | {"memory_mark": mark_of(said)} if recalled.stored else update

    def _remembering(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        layout: Layout | None = request.state.get("memory_layout")  # type: ignore[assignment]
        if layout is None:
            return request
        own: Any = request.system_message or ""
        # other middleware may show a part of the thread
        known = {id(given): one for given, one in zip(request.state["messages"], thread_of(request.state), strict=True)}
        shown = [known.get(id(message), message) for message in request.messages]
        laid_out = lay_out(shown, layout, own)
        messages: list[Any] = [*paired_calls(laid_out)]
        system = messages.pop(0) if own or layout["retrieved"] else None
        return request.override(system_message=system, messages=messages)

    async def _end(self, state: MemoryState, memory: TurnMemory) -> dict[str, Any]:
        thread, mark = thread_of(state), state.get("memory_mark")
        done: dict[str, Any] = {"memory_layout": None}
        if is_delegated(memory.config):
            return done
        # in the user's name after the input of the run: not the user's
        asked = state.get("memory_asked")
        start = next((i + 1 for i in range(len(thread) - 1, -1, -1) if thread[i].id == asked), len(thread))
        theirs = [by_other(message, "middleware") for message in thread[start:] if is_users(message)]
        thread = in_place(thread, theirs)
        thread, unkept = await memory.withheld(thread, tells=False)
        theirs = [*theirs, *unkept]
        turn = thread[current_start(thread) :]
        if thread and (memory.switched_off or is_kept_out(turn[0])):
            return done | noted(state, kept_out(turn))
        done |= noted(state, theirs)
        turns = memory.turns
        if not thread or turns is None:
            return done
        self._work.ensure(turns.memory.store)
        said = as_said(thread, mark)
        layout: Layout | dict[str, Any] = state.get("memory_layout") or {}
        used, since = layout.get("used") or (), mark and mark["id"]
        # beside the question, what stands in the user's name is another's
        heard = [Origin.TOOL for message in turn[1:] if message.type == "human"][:1]

        async def storing() -> None:
            # the steps of a thread that others write to are read under the guard too
            await turns.close(
                said, since, () if unkept else steps_of(thread), heard=heard, used=used, run_id=memory.run_id
            )

        return done | {"memory_mark": mark_of(said)} if await memory.end(turns, storing()) else done
