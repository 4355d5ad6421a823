"""Memory in the life of a turn: begun before the agent answers, ended after it.

Called by the nodes of a graph, by the middleware of `create_agent` and by nodes with hooks. A failing memory
never fails a turn: the agent goes on without, an event names the loss, and the log has the cause once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from react_mem.errors import MemoryFull
from react_mem.memory import telemetry
from react_mem.memory.context import Assembled, Frame, assemble
from react_mem.memory.context.dialogue import current_start
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.causes import cause_for_clients, cause_of
from react_mem.memory.merging.authors import is_users
from react_mem.memory.merging.transcript import kept_out, misdated, withheld
from react_mem.memory.model.external import WebPage
from react_mem.memory.model.identity import Identity, identify, switched_off, why_off
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryResults
from react_mem.memory.model.namespaces import READING, characters_of, off_loop
from react_mem.memory.model.operations import Extractor
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.last_known import DATABASE
from react_mem.memory.rights.holds import is_paused
from react_mem.memory.store.audit_log import AuditActor, AuditReason, acting
from react_mem.memory.store.checkpointer import note_thread
from react_mem.memory.store.priority import FRONT
from react_mem.memory.summaries.summarise import EXTRACTIVE, Summariser
from react_mem.memory.write.extraction.structured import create_extractor
from react_mem.memory.write.metering import Metering
from react_mem.memory.write.session import owner_of
from react_mem.memory.write.turns import Turns, last_id
from react_mem.prompts import load_prompt

MEMORY_OFF = load_prompt("memory_off")

Operation = Literal["retrieve", "store", "extract"]
Tell = Callable[[dict[str, Any]], None]

_PAUSED = "This turn is not remembered: the user has paused memory."
_WITHHELD = "This turn is not remembered: it is off the record, or holds a secret that the policy refuses."

_PARTS: dict[Operation, str] = {"retrieve": "database", "store": "store", "extract": "extraction"}
"""Operations -> failed parts in telemetry."""

_LATER = "this turn will be remembered later"
_COSTS: dict[Operation, str] = {"retrieve": "the answer does not use it", "store": _LATER, "extract": _LATER}
_COSTS_A_NODE: dict[Operation, str] = {"retrieve": "the node goes without", "store": "what it did is not remembered"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AgentMemory:
    """Memory of one agent, for all its users.

    Args:
        extractor: The extractor of facts; None keeps the user's statements verbatim.
        summariser: The summariser of conversations; by default without a model.
    """

    agent_id: str
    policy: MemoryPolicy
    extractor: Extractor | None = None
    summariser: Summariser = EXTRACTIVE

    @classmethod
    def of(
        cls,
        agent_id: str,
        policy: MemoryPolicy,
        models: Sequence[BaseChatModel],
        summarise_with: Sequence[BaseChatModel] | None = None,
    ) -> AgentMemory:
        """Return the memory of an agent with models. Reads files: not for an event loop.

        Args:
            models: The model for extraction, then its fallbacks; none if the agent's model cannot fill in a schema.
            summarise_with: The models for summaries, in order; by default those of extraction. Without any, sentences
                are quoted.
        """
        summariser = Summariser(models if summarise_with is None else summarise_with)
        if not models:
            return cls(agent_id, policy, summariser=summariser)
        profile = {name: spec.description for name, spec in policy.profile.items()}
        return cls(
            agent_id,
            policy,
            create_extractor(policy.extraction.engine, models, profile, topics=policy.extraction.topics),
            summariser,
        )

    def turns(self, store: BaseStore, identity: Identity) -> Turns:
        """Return a user's turns in one conversation with the agent."""
        return Turns(
            memory=MemoryFacade(store, self.policy),
            extractor=self.extractor,
            user_id=identity.user_id,
            session_id=identity.session_id,
            agent_id=self.agent_id,
            summariser=self.summariser,
            elsewhere=not identity.threaded,
        )


@dataclass(frozen=True)
class Recalled:
    """Memories recalled for a question.

    Args:
        read: True if memory answered, if only with the last known memories; else nothing is known of the user.
        stored: True if the question is durable, so that messages left out of the prompt can be recalled later.
    """

    results: MemoryResults = field(default_factory=MemoryResults)
    read: bool = False
    stored: bool = False


@dataclass(frozen=True)
class TurnMemory:
    """Memory of one turn of an agent, or of one run of a node with hooks.

    Args:
        tell: Receiver of the `memory` events.
        identity: The user and the conversation; None for an anonymous run.
        node: The name of the node with hooks; empty for a turn of an agent.
        blocking: True outside of an event loop.
        switched_off: True if the caller has switched memory off for the run.
    """

    agent: AgentMemory
    runtime: Runtime[Any]
    config: RunnableConfig
    tell: Tell
    identity: Identity | None
    node: str = ""
    blocking: bool = False
    switched_off: bool = False

    @classmethod
    def of(
        cls,
        agent: AgentMemory,
        runtime: Runtime[Any],
        tell: Tell | None = None,
        *,
        node: str = "",
        blocking: bool = False,
    ) -> TurnMemory:
        """Return the memory of the turn of the current node, for the run's owner; its stream is told by default."""
        config = get_config()
        identity = identify(runtime, config)
        off = switched_off(runtime, config)
        return cls(agent, runtime, config, tell or runtime.stream_writer, identity, node, blocking, off)

    @cached_property
    def turns(self) -> Turns | None:
        """The user's turns; None if memory is off."""
        if self.identity is None or self.runtime.store is None or self.switched_off:
            return None
        return self.agent.turns(self.runtime.store, self.identity)

    @property
    def metering(self) -> Metering:
        """Metering of the run's quotas."""
        return Metering.of(self.agent.policy, self.runtime, self.tell)

    @cached_property
    def _asking(self) -> asyncio.Task[bool]:
        return asyncio.create_task(self._ask())

    async def _ask(self) -> bool:
        if self.turns is None:
            return False
        try:
            # half of what a read may take: where this cannot be asked, the read waits too
            async with asyncio.timeout(self.agent.policy.recall.timeout / 2):
                return await is_paused(self.turns.memory.store, self.turns.user_id)
        except Exception as error:
            log.warning("whether the user has paused memory cannot be read: %s", cause_of(error))
            return False

    async def paused(self) -> bool:
        """Return true if the user has paused memory: this turn stores nothing. It is asked once."""
        return await self._asking

    async def withheld(
        self, thread: Sequence[AnyMessage], *, tells: bool = True
    ) -> tuple[list[AnyMessage], list[AnyMessage]]:
        """Mark the messages of the turn that memory must not have, in a pause all; return the thread, and these.

        An event says so, once a turn (`tells`).
        """
        start = next((i + 1 for i in range(current_start(thread), -1, -1) if not is_users(thread[i])), 0)
        turn, policy = thread[start:], self.agent.policy.secrets
        paused = await self.paused()
        look = partial(withheld, turn, policy)
        out: list[Any] = kept_out(turn) if paused else await off_loop(READING * characters_of(turn), look)
        if out and tells and self.turns is not None:
            self.say("store", "off", _PAUSED if paused else _WITHHELD)
        marked = {one.id: one for one in out}
        return [marked.get(message.id, message) for message in thread], out

    @property
    def run_id(self) -> str:
        """The id of the run; empty if it is unknown."""
        info = self.runtime.execution_info
        return str(info.run_id or "") if info is not None else ""

    async def begin(
        self, ask: Callable[[Identity], MemoryQuery], thread: Sequence[AnyMessage] = (), since: str | None = None
    ) -> Recalled:
        """Recall memories and store the question, both at once; send an event if memory is off.

        While the database is down, the user's last known memories stand in.

        Args:
            ask: Builds the query; slow for a long question, so it runs off the event loop.
            thread: The messages of the conversation, the question last; empty for a node with hooks, which stores none.
            since: The id of the last message in memory.
        """
        turns = self.turns
        if self.identity is None or turns is None:
            self.say("retrieve", "off", why_off(self.runtime, self.config))
            return Recalled()
        query = await off_loop(characters_of(thread), partial(ask, self.identity))
        if not (query.scopes or thread):
            return Recalled()
        try:
            with acting(AuditActor.AGENT, AuditReason.TURN):
                async with FRONT.served(self.agent.policy.recall.timeout):
                    results, opened = await self._read(turns, query, thread, since)
        except Exception as error:
            known = turns.memory.last_known(query)
            if known is None:
                self.degrade("retrieve", error)
                return Recalled()
            telemetry.count("degradations", part="database")
            log.warning("memory is unavailable for this turn, what was last read stands in: %s", cause_of(error))
            known.missing[DATABASE] += f" ({cause_for_clients(error)})"
            return Recalled(known, read=True)
        if isinstance(opened, BaseException):
            # what could not be stored stays in the prompt with the whole thread
            self.degrade("store", opened)
            return Recalled(results, read=True)
        if thread and (problem := misdated(thread, since)):
            log.warning("a time is not taken over: %s", problem)
            opened = "; ".join(filter(None, (problem, opened)))
        if opened:
            self.say("store", "degraded", opened)
        return Recalled(results, read=True, stored=bool(thread))

    async def _read(
        self, turns: Turns, query: MemoryQuery, thread: Sequence[AnyMessage], since: str | None
    ) -> tuple[MemoryResults, BaseException | str]:
        """Return the memories, and the failure of storing the question or a notice about it."""
        if not thread:
            return await turns.memory.read(query), ""
        now = current_start(thread)
        if asks := (await owner_of(turns.memory, turns.user_id, thread, now)).speaker(thread[now]):
            # "I" in a speaker's question is that speaker
            query = query.model_copy(update={"query": f"{asks}: {query.query}"})
        results, opened = await asyncio.gather(
            turns.memory.read(query), turns.open(thread, since), return_exceptions=True
        )
        if isinstance(results, BaseException):
            raise results
        if await turns.branches.follow_thread(thread, since, results, self.config, blocking=self.blocking):
            results = await turns.memory.read(query)
        return results, opened

    async def assemble(
        self,
        frame: Frame,
        recalled: Recalled,
        pages: Sequence[WebPage] = (),
        favoured: Collection[str] = (),
        *,
        limited: bool = False,
    ) -> Assembled:
        """Assemble the context of the turn and send its event; without memory the model is told so.

        Args:
            favoured: The scopes that the question asks for.
            limited: True if other scopes show only their best.
        """
        # without a store there is nothing to promise; without a user a model would promise to remember
        off = MEMORY_OFF if self.turns is None and self.runtime.store is not None else ""
        if off:
            # it has its room too
            frame = replace(frame, instructions=f"{frame.instructions}\n\n{off}")
        with telemetry.span("context"):
            # a long question takes a while to count
            size = characters_of(frame.thread) + sum(len(page.text) for page in pages)
            whole = partial(
                assemble,
                frame,
                recalled.results,
                pages,
                session_id=self.identity.session_id if self.identity else "",
                recalls=recalled.stored,
                favoured=favoured,
                limited=limited,
            )
            assembled = await off_loop(size, whole)
        if off:
            retrieved = "\n\n".join(filter(None, (off, assembled.layout["retrieved"])))
            assembled = replace(assembled, layout={**assembled.layout, "retrieved": retrieved})
        if assembled.missing:
            telemetry.count("degradations", part="summary")
        _measure(assembled, frame.window.tokens)
        if recalled.read:
            memories, missing = assembled.memories, recalled.results.missing | assembled.missing
            self.found(memories.items, missing, dropped=memories.dropped)
        return assembled

    def found(self, items: Sequence[MemoryResultItem], missing: dict[str, str], **details: Any) -> None:
        """Send the event of a retrieval, with the parts of memory that could not be asked."""
        shown = [
            {"scope": str(item.scope), "id": item.id, "text": item.payload.get("text", ""), "score": item.score}
            for item in items
        ]
        text = "; ".join(f"{name}: {cause}" for name, cause in missing.items())
        message = f"Memory was searched without {text}" if text else ""
        whose = self.identity.details() if self.identity else {}
        self.say("retrieve", "degraded" if text else "ok", message, items=shown, **details, **whose)

    @staticmethod
    def mark(thread: Sequence[AnyMessage]) -> str | None:
        """Return the id of the last message of a thread that memory stores, where the next turn goes on from."""
        return last_id(thread)

    async def end(self, turns: Turns, storing: Coroutine[Any, Any, object]) -> bool:
        """Store the turn, and extract from it now if the policy says so; return true if it is stored, or not to be.

        The write, such as `turns.close(...)`, is awaited here: its failure degrades the turn.
        """
        if await self.paused():
            storing.close()
            self.say("store", "off", _PAUSED)
            return True
        try:
            with acting(AuditActor.AGENT, AuditReason.TURN):
                async with FRONT.served(self.agent.policy.recall.timeout):
                    await storing
                    if self.identity is not None and self.identity.threaded:
                        await note_thread(turns.memory.store, turns.user_id, turns.session_id)
        except Exception as error:
            self.degrade("store" if self.node else "extract", error)
            return False
        finally:
            storing.close()  # where there was no place for the turn, it has not begun
        if not self.node:
            await self._extract(turns)
        return True

    async def _extract(self, turns: Turns) -> None:
        if self.agent.policy.extraction.mode != "inline":
            note = "What was said is stored, and read behind the turn."
            self.say("extract", "ok", note, stored=[], retired=[], waiting=1)
            return
        try:
            report = await turns.extract()
        except Exception as error:
            self.degrade("extract", error)
            return
        self.say(
            "extract",
            "degraded" if report.problem else "ok",
            report.problem,
            stored=report.stored,
            retired=report.retired,
            waiting=report.waiting,
            summarised=report.summarised,
        )

    def degrade(self, operation: Operation, error: BaseException) -> None:
        """Go on without memory: log the cause once, and send an event."""
        if isinstance(error, MemoryFull):
            # the log has it once (see `memory.store.room`)
            telemetry.count("quota.refused", quota=error.quota)
            self.say(operation, "degraded", f"This turn is not remembered: {error}")
            return
        cause = cause_of(error)
        telemetry.count("degradations", part=_PARTS[operation])
        where = f"the node {self.node}" if self.node else "this turn"
        log.warning("memory is unavailable for %s (%s): %s", where, operation, cause)
        costs = (_COSTS_A_NODE if self.node else _COSTS)[operation]
        self.say(operation, "degraded", f"Memory could not be reached, {costs}: {cause_for_clients(error)}")

    def say(self, operation: Operation, status: str, message: str = "", **details: Any) -> None:
        """Send a `memory` event."""
        if self.node:
            details["node"] = self.node
        self.tell({"type": "memory", "operation": operation, "status": status, "message": message, **details})


def _measure(assembled: Assembled, window: int) -> None:
    for section, tokens in (*assembled.tokens.items(), ("total", sum(assembled.tokens.values()))):
        telemetry.record("context.tokens", tokens, section=str(section))
        telemetry.record("context.utilization", tokens / window, section=str(section))
    for section, number in assembled.dropped.items():
        if number:
            telemetry.count("context.dropped", number, section=str(section))
    best: dict[str, float] = {}
    for item in assembled.memories.items:
        best[item.scope] = max(best.get(item.scope, 0.0), item.score or 0.0)
    for item in assembled.memories.items:
        if item.similarity is not None:
            telemetry.record("read.similarity", item.similarity)
        if item.score is not None and best[item.scope] > 0:
            telemetry.record("read.relevance", max(item.score, 0.0) / best[item.scope])
