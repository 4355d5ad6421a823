"""The nodes that make `react` remember: before the loop, within it and after it.

A failing memory never fails a turn: the turn goes on as `react` would, and a `memory` event says what is missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NotRequired, cast

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from agents.context import AgentContext
from agents.extractive import ExtractiveChatModel
from agents.resolve import ResolvedAgent
from graphs import events
from graphs.background import extract_later
from graphs.reason import Reason, is_empty, require_input
from graphs.state import AgentState, current_turn
from graphs.working_memory import WorkingMemory, update_working_memory, with_compressed_steps
from memory.context import render_memories
from memory.extraction import Extractor, create_extractor
from memory.facade import MemoryFacade
from memory.identity import Identity, identify
from memory.interface import MemoryQuery, MemoryScope
from memory.last_known import DATABASE
from memory.periods import asks_about_the_past
from memory.transcript import message_record_id, text_of
from memory.turns import Turns, last_id
from prompts import load_prompt
from tools.working_memory import recall_step

READ_SCOPES = [
    MemoryScope.PROFILE,
    MemoryScope.SEMANTIC,
    MemoryScope.EPISODIC,
    MemoryScope.PROCEDURAL,
    MemoryScope.DIALOG,
]

log = logging.getLogger(__name__)


class MemState(AgentState):
    """The state of `react_mem`: what is not in `AgentState` is private to it.

    Args:
        memories: What was retrieved for this turn, as the prompt shows it.
        recalls: Whether older turns can be recalled; if not, the prompt has the whole thread, as with `react`.
        working_memory: The agent's notes on this turn; None outside of one.
        remembered: The id of the last message of the thread that memory has stored.
    """

    memories: NotRequired[str]
    recalls: NotRequired[bool]
    working_memory: NotRequired[WorkingMemory | None]
    remembered: NotRequired[str | None]


class MemoryNodes:
    """The memory nodes of one agent.

    Args:
        agent: The agent; its policy says what is read and written.
    """

    def __init__(self, agent: ResolvedAgent) -> None:
        self._agent = agent
        self._policy = agent.config.memory
        self._extractor = self._make_extractor()
        recalling = agent if recall_step.name in {tool.name for tool in agent.tools} else _with_tool(agent, recall_step)
        self.tools = recalling.tools if agent.tools else ()
        self._reason, self._reason_recalling = Reason(agent, self.compose), Reason(recalling, self.compose)

    def _make_extractor(self) -> Extractor | None:
        if isinstance(self._agent.small_model, ExtractiveChatModel):
            # it cannot fill a schema: the user's statements are kept word for word
            return None
        profile = {name: spec.description for name, spec in self._policy.profile.items()}
        return create_extractor(self._policy.engine, self._agent.small_model, profile)

    async def retrieve_context(self, state: MemState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Read what is remembered for the question, and make the question itself durable, both at once."""
        require_input(state["messages"])
        notes = update_working_memory(state["messages"], None, self._policy)
        fresh: dict[str, Any] = {"memories": "", "recalls": False, "working_memory": notes}
        identity = identify(runtime, get_config())
        writer = runtime.stream_writer
        if identity is None:
            events.memory(writer, "retrieve", "off", "Memory is off for this run: no user is named (user_id).")
            return fresh
        if runtime.store is None:
            events.memory(writer, "retrieve", "off", "Memory is off for this run: the graph has no store.")
            return fresh
        turns = self.turns(runtime.store, identity)
        query = self._query(identity, state["messages"])
        try:
            async with asyncio.timeout(self._policy.read_timeout):
                results, opened = await asyncio.gather(
                    turns.memory.read(query),
                    turns.open(state["messages"], state.get("remembered")),
                    return_exceptions=True,
                )
            if isinstance(results, BaseException):
                raise results
        except Exception as error:
            known = turns.memory.last_known(query)
            if known is None:
                _degrade(writer, "retrieve", error)
                return fresh
            log.warning("memory is unavailable for this turn, what was last read stands in: %s", _cause(error))
            known.missing[DATABASE] += f" ({_cause(error)})"
            results, opened = known, None
        else:
            # what could not be stored stays in the prompt with the whole thread
            if opened is None:
                fresh |= {"recalls": True, "remembered": last_id(state["messages"])}
            else:
                _degrade(writer, "store", opened)
        block = render_memories(results, self._policy.memory_tokens)
        details = [
            {"scope": str(item.scope), "id": item.id, "text": item.payload.get("text", ""), "score": item.score}
            for item in block.items
        ]
        missing = "; ".join(f"{name}: {cause}" for name, cause in results.missing.items())
        status: events.MemoryStatus = "degraded" if missing else "ok"
        message = f"Memory was searched without {missing}" if missing else ""
        events.memory(writer, "retrieve", status, message, items=details, dropped=block.dropped)
        return {**fresh, "memories": block.text}

    def _query(self, identity: Identity, thread: Sequence[AnyMessage]) -> MemoryQuery:
        seen = recent_turns(thread, self._policy.max_dialog_turns)
        question = text_of(thread[-1])
        return MemoryQuery(
            user_id=identity.user_id,
            session_id=identity.session_id,
            agent_id=self._agent.config.name,
            scopes=READ_SCOPES,
            query=question,
            extra={
                "seen": [message_record_id(identity.session_id, message) for message in seen],
                "history": asks_about_the_past(question),
            },
        )

    def compose(self, state: MemState, instructions: str) -> list[BaseMessage]:
        """Return the prompt: the instructions, what is remembered, and the latest turns of the thread.

        The beginning stays the same, byte for byte, within an invocation, so that provider caches hit.
        """
        parts = [instructions] if instructions else []
        if state.get("memories"):
            parts.append(load_prompt("memories").format(memories=state["memories"]).strip())
        said = [message for message in state["messages"] if not _is_noise(message)]
        if state.get("recalls"):
            recent = recent_turns(said, self._policy.max_dialog_turns)
            said = with_bounded_past(recent, self._policy.max_message_chars)
        shown = with_compressed_steps(said, state.get("working_memory"))
        return [SystemMessage("\n\n".join(parts)), *shown] if parts else shown

    async def reason(self, state: MemState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Call the model; from when its notes leave something out, it is offered the tool that has it whole."""
        notes = state.get("working_memory")
        cut = bool(notes and notes["compressed"] and notes["compressed"]["cut"])
        reason = self._reason_recalling if cut else self._reason
        return await reason(cast("AgentState", state), runtime=runtime)

    async def update_working_memory(self, state: MemState) -> dict[str, Any]:
        """Note what the last steps did."""
        notes = state.get("working_memory")
        # long results take a while to read
        updated = await asyncio.to_thread(update_working_memory, state["messages"], notes, self._policy)
        return {"working_memory": updated}

    async def extract(self, state: MemState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Store the turn and draw from it; the notes of the turn are discarded."""
        done: dict[str, Any] = {"memories": "", "working_memory": None}
        identity = identify(runtime, get_config())
        if identity is None or runtime.store is None:
            return done
        notes = state.get("working_memory")
        turns = self.turns(runtime.store, identity)
        writer = runtime.stream_writer
        try:
            async with asyncio.timeout(self._policy.read_timeout):
                await turns.close(state["messages"], state.get("remembered"), notes["steps"] if notes else ())
            remembered = {**done, "remembered": last_id(state["messages"])}
            if self._policy.extraction != "inline":
                async with asyncio.timeout(self._policy.read_timeout):
                    await extract_later(turns, self._policy, on_server=runtime.server_info is not None)
                note = "What was said is stored, and read behind the turn."
                events.memory(writer, "extract", "ok", note, stored=[], retired=[], waiting=1)
                return remembered
            report = await turns.extract()
        except Exception as error:
            _degrade(writer, "extract", error)
            return done
        events.memory(
            writer,
            "extract",
            "degraded" if report.problem else "ok",
            report.problem,
            stored=report.stored,
            retired=report.retired,
            waiting=report.waiting,
        )
        return remembered

    def turns(self, store: BaseStore, identity: Identity) -> Turns:
        """Return a user's turns in one conversation with this agent."""
        return Turns(
            memory=MemoryFacade(store, self._policy),
            extractor=self._extractor,
            user_id=identity.user_id,
            session_id=identity.session_id,
            agent_id=self._agent.config.name,
        )


def recent_turns(thread: Sequence[AnyMessage], turns: int) -> list[AnyMessage]:
    """Return the last turns of a thread; a turn begins with a user's message, so no tool result loses its call.

    What the caller instructs by a system message holds for the whole thread, and stays.

    Args:
        thread: The messages of the conversation.
        turns: How many turns.
    """
    starts = [place for place, message in enumerate(thread) if isinstance(message, HumanMessage)]
    if len(starts) <= turns:
        return list(thread)
    first = starts[-turns]
    return [*(message for message in thread[:first] if isinstance(message, SystemMessage)), *thread[first:]]


def _with_tool(agent: ResolvedAgent, tool: BaseTool) -> ResolvedAgent:
    return replace(agent, tools=(*agent.tools, tool))


def with_bounded_past(messages: Sequence[AnyMessage], max_chars: int) -> list[AnyMessage]:
    """Return the messages with those before the current turn cut: what was pasted once is not paid for in every turn.

    Args:
        messages: The latest turns of a thread.
        max_chars: What stays of a text message of an earlier turn.
    """
    now = len(messages) - len(current_turn(messages))
    return [_cut(message, max_chars) if place < now else message for place, message in enumerate(messages)]


def _cut(message: AnyMessage, max_chars: int) -> AnyMessage:
    if not isinstance(message.content, str) or len(message.content) <= max_chars:
        return message
    left_out = len(message.content) - max_chars
    text = load_prompt("cut_message").format(beginning=message.content[:max_chars], left_out=left_out)
    return message.model_copy(update={"content": text})


def _is_noise(message: AnyMessage) -> bool:
    return isinstance(message, HumanMessage) and is_empty(message)


def _degrade(writer: Any, operation: Any, error: BaseException) -> None:
    """Go on without memory, and say so: once in the log with the cause, once to whoever watches the stream."""
    cause = _cause(error)
    log.warning("memory is unavailable for this turn (%s): %s", operation, cause)
    missing = "the answer does not use it" if operation == "retrieve" else "this turn will be remembered later"
    events.memory(writer, operation, "degraded", f"Memory could not be reached, {missing}: {cause}")


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
