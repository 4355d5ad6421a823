"""Detection of forked conversations, from the reads and writes of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.branches.tree import (
    branch_key,
    has_thread,
    known_tip,
    note_tip,
    put_tip,
    put_trunk,
    start_of,
    tip_of,
    was_on_thread,
)
from react_mem.memory.merging.transcript import is_said, message_record_id, record_named
from react_mem.memory.model.interface import MemoryResults, MemoryScope
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import Message
from react_mem.memory.store.transactions import Guard
from react_mem.memory.write.following import begin_anew, follow, leave_unanswered


@dataclass(frozen=True)
class Reached:
    """Position of a conversation after a turn.

    Args:
        forked: True if it may have left a branch behind.
        marks: The writes of the new position.
        held: The guard of the write, for a position that was assumed; None for one that was read.
    """

    forked: bool = False
    marks: Sequence[Change] = ()
    held: Guard | None = None


@dataclass(frozen=True)
class BranchesOf:
    """Branches of one conversation."""

    store: BaseStore
    user_id: str
    session_id: str

    async def follow(
        self,
        thread: Sequence[BaseMessage],
        since: str | None,
        found: MemoryResults,
        config: RunnableConfig,
        *,
        blocking: bool = False,
    ) -> bool:
        """Follow a thread if it has forked; return true if beliefs may have changed. Mostly without any request.

        Args:
            thread: The messages of the conversation.
            since: The id of the last message in memory at this point of the thread.
            found: The results of a read, with the record of memory's last message.
            config: The run's config, which tells a thread forked at its beginning from a new one.
            blocking: True outside of an event loop.
        """
        tip, last = found.tip, record_named(self.session_id, since) if since is not None else ""
        there = since is None or any(message.id == since for message in reversed(thread))
        beside = [item for item in found if item.scope is MemoryScope.DIALOG and self._asks(item.payload)]
        if there and tip in ("", last) and not beside:
            return False
        shown = [message_record_id(self.session_id, message) for message in thread if is_said(message)]
        leave = partial(leave_unanswered, self.store, self.user_id, self.session_id, shown=shown)
        if not there and await leave(last):
            return True
        if tip in shown or tip in ("", last):
            # said at the place of what is said now, or before a thread that has begun again, and not in it
            gone = [item for item in beside if item.id not in shown]
            lost = next((item.id for item in gone if item.payload.get("after") == last or not (tip or last)), "")
            return bool(lost) and has_thread(config) and await leave(lost)
        if since is not None:
            return await follow(self.store, self.user_id, self.session_id, last, shown)
        if not await was_on_thread(config, self.session_id, tip, blocking=blocking):
            return has_thread(config) and await leave(tip)
        return await begin_anew(self.store, self.user_id, self.session_id, shown)

    def _asks(self, payload: Mapping[str, Any]) -> bool:
        return payload.get("session_id") == self.session_id and payload.get("role") == "user"

    def note(self, tip: str | None) -> None:
        """Cache the tip that was read or written; None drops it."""
        note_tip(self.store, self.user_id, self.session_id, tip)

    def linked(
        self, records: Sequence[Message], new: Sequence[Message], since: str | None, *, found: bool
    ) -> list[Message]:
        """Return new messages with their predecessors.

        Args:
            records: The messages of the turn, in order.
            new: Those that are new.
            since: The id of the last message in memory.
            found: False if the thread was trimmed before `since`; new messages then follow on it.
        """
        before = record_named(self.session_id, since) if since else start_of(self.session_id, records[0].id)
        unknown = {record.id for record in new}
        noted = []
        for record in records:
            if record.id in unknown:
                noted.append(record.model_copy(update={"after": before}))
            if record.id in unknown or found:
                before = record.id
        return noted

    def expected(
        self, earlier: Sequence[BaseMessage], asked: Sequence[BaseMessage], tip: str, since: str | None
    ) -> Reached | None:
        """Return the position after a turn if nobody has written since this process last looked.

        Reads nothing; the write checks. None if it is unknown, or if the turn may have left a branch.

        Args:
            earlier: The thread's messages before the turn.
            asked: The thread's messages before the question.
            tip: The record of the turn's last message.
            since: The id of the last message in memory.
        """
        known = known_tip(self.store, self.user_id, self.session_id)
        if known is None:
            return None
        before = next((message for message in reversed(asked) if is_said(message)), None)
        follows = message_record_id(self.session_id, before) if before is not None else ""
        if known and known not in (follows, record_named(self.session_id, since) if since else ""):
            return None
        held = Guard(meta_namespace(self.user_id), branch_key(self.session_id), {"tip": known} if known else None)
        return Reached(False, self._marks(known, earlier, tip), held)

    async def reached(self, earlier: Sequence[BaseMessage], tip: str, since: str | None) -> Reached:
        """Return the position after a turn.

        A regenerated answer shows its fork here, when it is stored: its question was not read again.

        Args:
            earlier: The thread's messages before the turn.
            tip: The record of the turn's last message.
            since: The id of the last message in memory.
        """
        last = record_named(self.session_id, since) if since else ""
        asked = [
            GetOp(meta_namespace(self.user_id), branch_key(self.session_id)),
            GetOp(scope_namespace(self.user_id, MemoryScope.DIALOG), last),
        ]
        found = [item if isinstance(item, Item) else None for item in await self.store.abatch(asked)]
        known, question = tip_of(found[0]), found[1].value.get("after", "") if found[1] else ""
        return Reached(bool(known) and known not in (last, question), self._marks(known, earlier, tip))

    def _marks(self, known: str, earlier: Sequence[BaseMessage], tip: str) -> list[Change]:
        marks = [put_tip(self.user_id, self.session_id, tip)]
        # a copy of a thread, or one from before memory noted what follows on what; a long one is gone through once only
        held = [] if known else earlier
        before = [message_record_id(self.session_id, message) for message in held if is_said(message)]
        if before:
            marks.append(put_trunk(self.user_id, self.session_id, [start_of(self.session_id, before[0]), *before]))
        return marks
