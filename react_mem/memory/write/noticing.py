"""Detection of forked conversations, from the reads and writes of a turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore, GetOp, Item, SearchOp

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
from react_mem.memory.index.entries import whole_text
from react_mem.memory.index.question import read_question
from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.language.statements import is_pleasantry, sentences
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.transcript import is_said, message_record_id, record_named
from react_mem.memory.model.interface import Arm, MemoryResults, MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import meta_namespace, off_loop, scope_namespace
from react_mem.memory.model.operations import EpisodeDraft, Extraction
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import Fact, Message, now
from react_mem.memory.retrieval.divided_store import recall
from react_mem.memory.store.transactions import Guard
from react_mem.memory.summaries.sources import Source, extract_sentences, shortened
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
        """Return the position after a turn if nobody has written since this process last looked. Reads nothing; the
        write checks.

        Args:
            earlier: The thread's messages before the turn.
            asked: The thread's messages before the question.
            tip: The record of the turn's last message.
            since: The id of the last message in memory.

        Returns:
            None if it is unknown, or if the turn may have left a branch.
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

        For a regenerated answer only the tip is compared; the fork shows when the answer is stored.

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


# The facts that the model is shown beside what was said, so that it updates what is known rather than adds to it.

NEIGHBOURS = 20
"""Facts shown to the model, so that it updates them instead of adding: half near in meaning, half sharing words."""

_SECONDS = 10.0
"""Timeout of the embedder, after which facts are found by words alone."""

log = logging.getLogger(__name__)


async def related_facts(store: BaseStore, user_id: str, said: Sequence[str]) -> list[Fact]:
    """Return the facts that may be about some messages, neighbours in meaning and in words in turn, each once.

    Facts that ended by their own dates are included, so that a repetition adds no second one. If the embedder
    fails, only words count.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    texts = [text for text in said if text.strip()]
    nearest = SearchOp(
        namespace,
        filter={"kind": FACT.name, "retired_at": None},
        limit=NEIGHBOURS,
        query=" ".join(texts)[:MAX_INDEXED_CHARS] or None,
    )
    # each message by itself: of all together only the longest words would count; many long ones take a while to read
    worded = await off_loop(sum(map(len, texts)), lambda: [_sharing_words(namespace, text) for text in texts])
    try:
        async with asyncio.timeout(_SECONDS):
            near, *shared = await recall(store, [nearest, *worded])
    except Exception as error:  # whatever the embedder's client raises; an outage of it must not keep a turn unread
        log.warning("what is known about a turn is found by its words only: %s", cause_of(error))
        near, shared = [], await recall(store, worded)
    words = _in_turn([hit.item for hit in answer.found] for answer in cast("list[Recall]", shared))
    merged = _in_turn([cast("list[Item]", near), words])
    return [Fact.from_value(item.value) for item in merged[:NEIGHBOURS]]


def _sharing_words(namespace: tuple[str, ...], text: str) -> RecallOp:
    # `current` is in the index, and `retired_at` is not: what something else has ended is neither
    conditions = {"kind": FACT.name, "current": True}
    return RecallOp(namespace, read_question(text, now()), conditions, NEIGHBOURS, arms=frozenset({Arm.LEXICAL}))


def _in_turn(found: Iterable[Sequence[Item]]) -> list[Item]:
    """Interleave lists of items, each item once."""
    items = chain.from_iterable(zip_longest(*found))
    return list({item.key: item for item in items if item is not None}.values())


# Extractive account of turns: sentences that were said, word for word, where no model tells of them.

_MAX_SUMMARY = 500
_MAX_GOAL = 300
"""Character limits, as for a model's (`write.extraction.checks`)."""


def told_of(messages: Sequence[Message], *, whole: bool = False) -> Extraction:
    """Return an extractive summary of messages; for a whole conversation also its episode.

    Args:
        whole: True for a whole conversation.
    """
    sources = [Source.of_message(whole_text(vars(message)), message.created_at, message.role) for message in messages]
    if not sources:
        return Extraction()
    summary = extract_sentences(sources, _MAX_SUMMARY)
    wanted = next((goal for source in sources if source.role == "user" and (goal := _wanted(source.text))), "")
    if not whole or not wanted:
        return Extraction(summary=summary)
    origin = lowest([Origin.ASSISTANT, *(message.origin for message in messages)])
    return Extraction(episode=EpisodeDraft(goal=wanted, outcome=summary, origin=origin), summary=summary)


def _wanted(text: str) -> str:
    """Return the first sentence that is more than a greeting."""
    first = next((one for one in sentences(text[: 10 * _MAX_GOAL]) if not is_pleasantry(one)), "")
    return shortened(" ".join(first.split()), _MAX_GOAL)
