"""Turn in memory: durable before the model answers, extracted afterwards, recovered after a crash.

1. `open`: the user's message is stored, with a note for its extraction, before the model is asked.
2. `close`: the whole turn is stored, without a model.
3. `extract`: the messages are embedded and join the conversation's chain, and one model call proposes facts, an
   episode, changes to the profile and a summary, of every waiting turn. They are written, and the notes removed, in one
   atomic batch. Then due parts of the chain are summarised.

A crash in between leaves the note, and the next `extract` includes the turn. A failing model leaves the user's
statements verbatim, so that nothing said is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import BaseMessage
from langgraph.store.base import SearchItem

from react_mem.memory import telemetry
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.concepts import ContextChain
from react_mem.memory.model.external import origin_of_result
from react_mem.memory.model.origins import Origin
from react_mem.memory.work.items import worker_name
from react_mem.memory.write.chain import fold
from react_mem.memory.write.claims import Claim, claim, offer_unread
from react_mem.memory.write.drawing import draw, draw_at_once
from react_mem.memory.write.session import Session, TurnReport, grant_wishes
from react_mem.memory.write.storing import AgentStep, TurnToStore

_MAX_CALLS = 3
"""Conversations extracted in one go, this one first: recovery from a long outage must not keep one turn busy."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Turns(Session):
    """Turns of one user in one conversation with an agent; see `Session`."""

    async def open(self, thread: Sequence[BaseMessage], since: str | None) -> str:
        """Store the user's message before anything else can fail.

        Args:
            thread: The messages of the conversation, the newest last.
            since: The id of the last message in memory, from `last_id`; None at the start.

        Returns:
            A notice to the user about parts that are not stored; else empty.
        """
        return await TurnToStore.of(self, thread, since).store()

    async def close(
        self,
        thread: Sequence[BaseMessage],
        since: str | None,
        steps: Sequence[AgentStep] = (),
        task_steps: Sequence[str] = (),
        *,
        heard: Sequence[Origin] = (),
        searched: bool = False,
        snapshot: bool = False,
        task_type: str = "",
        used: Sequence[str] = (),
        run_id: str = "",
    ) -> None:
        """Store the finished turn; no model is asked.

        Args:
            thread: The messages of the conversation, the answer last.
            since: The id of the last message in memory.
            steps: The agent's steps: `action`, `arguments`, `observation` and `error` each, and `latency` and `cost` if
                known.
            task_steps: The records of the task's steps taken in it.
            heard: Further origins of the answer, without steps.
            searched: True if the agent was shown web pages.
            snapshot: True to ask for a snapshot, made at the extraction.
            task_type: The type of the task.
            used: The memories in its prompt.
            run_id: The run that answered it.
        """
        told = [*map(origin_of_result, (step["action"] for step in steps)), *([Origin.WEB] if searched else []), *heard]
        about = {"task_steps": tuple(task_steps), "task_type": task_type, "snapshot": snapshot, "ends": True}
        turn = TurnToStore.of(self, thread, since, steps, told, **about)
        await (turn.answered_with({"used": tuple(used), "run_id": run_id}) if used or run_id else turn).store()

    async def extract(self) -> TurnReport:
        """Extract from the waiting turns of this conversation and from turns of crashed workers; then summarise.

        Concurrent workers never extract the same turn. Requests to forget left by a crash are granted first:
        later statements stay.
        """
        worker, total = worker_name(), TurnReport()
        ungranted: Exception | None = None
        if self.extractor is not None and self.memory.policy.extracts:
            await offer_unread(self)
        conversations = {self.session_id: self}
        chains: dict[str, ContextChain | None] = {}
        at_once = self.extractor is None and self.memory.policy.extracts
        if at_once and (kept := await draw_at_once(self)) is not None:
            self._count(kept)
            return kept + await self._sum_up(kept.chain)
        for _ in range(_MAX_CALLS):
            claimed = await claim(self, worker)
            due = claimed.due
            if claimed.wishes and ungranted is None:
                granted, ungranted = await self._grant(claimed.wishes, Claim(self, due, worker))
                total += granted
            if not due:
                total += TurnReport(emptied=claimed.alone)
                break
            turns = conversations.setdefault(due[0].session_id, replace(self, session_id=due[0].session_id))
            with telemetry.span("extraction") as measured:
                report = await draw(Claim(turns, due, worker))
                measured.set(calls=report.calls, stored=len(report.stored), waiting=report.waiting)
            self._count(report)
            chains[turns.session_id] = report.chain
            total += replace(report, emptied=claimed.alone and not report.waiting)
            # where the model fails now, it would with the next ones
            if report.waiting or not claimed.more:
                break
        for turns in conversations.values():
            total += await turns._sum_up(chains.get(turns.session_id))
        if ungranted is not None:
            raise ungranted
        return total

    async def _grant(self, wishes: Sequence[SearchItem], mine: Claim) -> tuple[TurnReport, Exception | None]:
        """Grant requests to forget left by a crash; return the failure, if any."""
        try:
            return TurnReport(problem=await grant_wishes(self.memory.store, self.user_id, wishes)), None
        except asyncio.CancelledError:
            # the turns that were claimed with it must not wait until the claim runs out
            await asyncio.shield(mine.release())
            raise
        except Exception as error:
            # it is tried again; what was said is read meanwhile
            log.warning("what the user asked to forget is still to be erased: %s", cause_of(error))
            telemetry.count("degradations", part="forgetting")
            return TurnReport(), error

    @staticmethod
    def _count(report: TurnReport) -> None:
        telemetry.count("extraction.changes", len(report.stored), change="stored")
        telemetry.count("extraction.changes", len(report.retired), change="retired")

    async def _sum_up(self, known: ContextChain | None) -> TurnReport:
        """Summarise the due parts of this conversation; a failed one is due again with the next turn.

        Args:
            known: Its chain as written a moment ago; None to read it.
        """
        if not self.memory.policy.summaries.enabled:
            return TurnReport()
        try:
            return await fold(self, known)
        except Exception as error:
            log.warning("the conversation could not be summed up: %s", cause_of(error))
            telemetry.count("degradations", part="summary")
            return TurnReport(problem=f"the conversation could not be summed up: {cause_of(error)}")
