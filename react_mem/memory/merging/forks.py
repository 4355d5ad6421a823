"""Tree of a conversation: its current path, the branches left behind, and the facts believed on the path.

Each message knows its predecessor. Messages off the path to the latest one, and facts that only they support, are not
believed. Messages removed from the thread stay on the path: trimming retracts nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.operations import Change
from react_mem.memory.model.records import BELIEVED, Ending, Fact, Message, Summary, Wording, record_id
from react_mem.memory.summaries.sources import MASTER, MAX_WAITING


def start_of(session_id: str, message_id: str) -> str:
    """Return the root id of a conversation's tree, before its first message; it is not a record."""
    return record_id("start", session_id, message_id)


def root_of(id_: str, after: Mapping[str, str]) -> str:
    """Return the root of a message's tree."""
    return [id_, *_line(id_, after)][-1]


def left_behind(after: Mapping[str, str], tip: str, shown: Collection[str] = ()) -> set[str]:
    """Return the messages of the same trees that are not on the path to the tip, nor shown."""
    on_path = {*shown, *_line(tip, after)}
    roots = {root_of(id_, after) for id_ in {tip, *shown}}
    return {id_ for id_ in after if id_ not in on_path and root_of(id_, after) in roots}


def with_trunk(after: Mapping[str, str], trunk: Sequence[str]) -> dict[str, str]:
    """Return the predecessors, completed by the thread's messages from before predecessors were noted."""
    known = {id_: before for before, id_ in pairwise(trunk)}
    return known | {id_: before for id_, before in after.items() if before or id_ not in known}


def with_lost_starts(after: Mapping[str, str], questions: Collection[str], tip: str) -> dict[str, str]:
    """Return the predecessors with unanswered first messages, left by a rolled-back run, at the root of the path."""
    answered = set(after.values())
    lost = (id_ for id_ in questions if id_ not in answered and id_ != tip and after[id_] and after[id_] not in after)
    return {**after, **dict.fromkeys(lost, root_of(tip, after))}


def following(id_: str, after: Mapping[str, str]) -> set[str]:
    """Return all descendants of a message."""
    children: dict[str, list[str]] = {}
    for child, before in after.items():
        children.setdefault(before, []).append(child)
    found: set[str] = set()
    waiting = [id_]
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(new)
        waiting += new
    return found


def _line(id_: str, after: Mapping[str, str]) -> list[str]:
    line: dict[str, None] = {}
    while id_ and id_ not in line:
        line[id_] = None
        id_ = after.get(id_, "")
    return list(line)


# Marks by which a fork of a conversation is noticed: bookkeeping of an owner, not memories.


def branch_key(session_id: str) -> str:
    """Return the bookkeeping key of a conversation's tip."""
    return record_id("branch", session_id)


def trunk_key(session_id: str) -> str:
    """Return the bookkeeping key of a conversation's first messages."""
    return record_id("trunk", session_id)


def tip_of(item: Item | None) -> str:
    """Return the tip in a bookkeeping item; empty if there is none."""
    return str(item.value["tip"]) if item is not None else ""


def put_tip(user_id: str, session_id: str, tip: str) -> Change:
    """Return the write of a conversation's tip."""
    return PutOp(meta_namespace(user_id), branch_key(session_id), {"tip": tip}, index=False)


def put_trunk(user_id: str, session_id: str, trunk: Sequence[str]) -> Change:
    """Return the write of a conversation's first messages."""
    return PutOp(meta_namespace(user_id), trunk_key(session_id), {"trunk": list(trunk)}, index=False)


def without_marks(user_id: str, session_id: str) -> list[Change]:
    """Return the deletes of a conversation's bookkeeping."""
    namespace = meta_namespace(user_id)
    return [PutOp(namespace, key(session_id), None) for key in (branch_key, trunk_key)]


async def read_marks(store: BaseStore, user_id: str, session_id: str) -> tuple[str, list[str]]:
    """Return the tip of a conversation, the record of the last message of its last finished turn, and its trunk.

    The tip is empty if there is none. The trunk is the thread's messages from before predecessors were noted.
    """
    namespace = meta_namespace(user_id)
    found = await store.abatch([GetOp(namespace, key(session_id)) for key in (branch_key, trunk_key)])
    branch, trunk = (item if isinstance(item, Item) else None for item in found)
    return tip_of(branch), trunk.value["trunk"] if trunk is not None else []


def forgotten_branches(user_id: str, session_id: str, aside: Iterable[Item]) -> list[Change]:
    """Return the deletes of a conversation's branches, among all records set aside, and of its bookkeeping."""
    gone = [item for item in aside if item.value.get("session_id") == session_id]
    return [*(PutOp(item.namespace, item.key, None) for item in gone), *without_marks(user_id, session_id)]


# Telling a thread that was forked at its very beginning from one that started over under the same id.

_CHECKPOINTER = "__pregel_checkpointer"
"""Config key of the checkpointer: LangGraph offers nodes no other way to their thread's history."""

_MARKS = ("remembered", "memory_mark")
"""State fields of `react_mem` and the middleware that mark the last remembered message. A checkpoint need not hold the
messages themselves: it may hold only the additions to them.
"""

_LATEST = 30  # checkpoints looked at, the latest first: those of this run, then those of the run before


def has_thread(config: RunnableConfig) -> bool:
    """Return true if a run has a thread with checkpoints, continued by the runs of a conversation."""
    configurable: dict[str, Any] = config.get("configurable") or {}
    return isinstance(configurable.get(_CHECKPOINTER), BaseCheckpointSaver) and bool(configurable.get("thread_id"))


async def was_on_thread(config: RunnableConfig, session_id: str, tip: str, *, blocking: bool = False) -> bool:
    """Return true if the checkpoints of this run's thread hold the record of a message.

    Asked only if memory has a conversation and the thread holds nothing of it. `blocking` is true outside of an event
    loop, where the checkpointer is synchronous.
    """
    if not has_thread(config):
        return False
    configurable: dict[str, Any] = config["configurable"]
    saver: BaseCheckpointSaver[Any] = configurable[_CHECKPOINTER]
    namespace = "|".join(str(configurable.get("checkpoint_ns") or "").split("|")[:-1])
    thread = RunnableConfig(configurable={"thread_id": configurable["thread_id"], "checkpoint_ns": namespace})
    if blocking:
        return await asyncio.to_thread(
            lambda: any(_holds(found, session_id, tip) for found in saver.list(thread, limit=_LATEST))
        )
    async for found in saver.alist(thread, limit=_LATEST):
        if _holds(found, session_id, tip):
            return True
    return False


def _holds(found: CheckpointTuple, session_id: str, tip: str) -> bool:
    values = found.checkpoint["channel_values"]
    marks = [values.get(name) for name in _MARKS]
    ids = [mark["id"] if isinstance(mark, Mapping) else mark for mark in marks if mark]
    return any(MESSAGE.id(session_id, str(id_)) == tip for id_ in ids)


# The chain of a conversation after a fork: summaries of nothing but the path stay, and what is left waits again.


def regrown(chain: ContextChain, summaries: Sequence[Summary], messages: Sequence[Message]) -> ContextChain:
    """Return a chain rebuilt from the messages on the path and the summaries that cover only these."""
    summed_up = {source for summary in summaries for source in summary.source_ids}
    stand = [_entry(summary) for summary in summaries if summary.id not in summed_up]
    waiting = sorted(
        (m for m in messages if m.text and m.id not in summed_up), key=lambda m: (m.turn, m.created_at, m.id)
    )
    masters = [entry for entry in stand if entry.level == MASTER]
    rest = sorted((entry for entry in stand if entry.level != MASTER), key=lambda entry: entry.first_turn)
    done = sorted((m for m in messages if m.id in summed_up), key=lambda m: (m.turn, m.created_at, m.id))
    begun = chain.model_copy(
        update={
            "entries": (*masters, *rest),
            "latest": tuple(message.id for message in done),
            "behind": len(waiting) > MAX_WAITING,
        }
    )
    return begun.append(waiting[:MAX_WAITING])


def _entry(summary: Summary) -> ChainEntry:
    return ChainEntry(
        id=summary.id,
        level=summary.level,
        text=summary.text,
        at=summary.created_at,
        first_turn=summary.first_turn or 0,
        last_turn=summary.last_turn or 0,
        covers=max(summary.covers, 1),
        origin=summary.origin,
    )


# Belief revision when branches of a conversation are left or followed again.


def part_of(source: str) -> str:
    """Return the record of a source, which may name a part of a record such as a message's steps."""
    return source.partition(":")[0]


def believed(
    facts: Mapping[str, Fact], gone: Collection[str], said_at: Mapping[str, datetime], at: datetime
) -> list[Fact]:
    """Return the facts that change, of all facts of an owner by id, when some messages do not count.

    Args:
        gone: The messages that do not count; all others do.
    """
    judge = _Judge(facts, gone, said_at, at)
    return [after for fact in facts.values() if (after := judge.reassessed(fact)) != fact]


def _sources(fact: Fact) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*fact.source_ids, *fact.withdrawn)))


def _endings(fact: Fact) -> tuple[Ending, ...]:
    now = () if fact.current or fact.is_withdrawn else (fact.ending,)
    return tuple(dict.fromkeys((*fact.suspended, *now)))


@dataclass(frozen=True)
class _Judge:
    """Decision about all facts of an owner. Args: see `believed`."""

    facts: Mapping[str, Fact]
    gone: Collection[str]
    said_at: Mapping[str, datetime]
    at: datetime

    @cached_property
    def supported(self) -> dict[str, datetime]:
        """Times at which the supported facts were last said; a fact without sources stands on its own."""
        facts = self.facts.items()
        return {id_: self._last_said(fact) for id_, fact in facts if not _sources(fact) or self._live(fact)}

    def _counts(self, source: str) -> bool:
        return part_of(source) not in self.gone

    def _live(self, fact: Fact) -> tuple[str, ...]:
        return tuple(filter(self._counts, _sources(fact)))

    def _last_said(self, fact: Fact) -> datetime:
        times = (self.said_at[part] for source in self._live(fact) if (part := part_of(source)) in self.said_at)
        return max(times, default=fact.said_at)

    def reassessed(self, fact: Fact) -> Fact:
        """Return a fact as far as its messages and its ends still count."""
        live, endings = self._live(fact), _endings(fact)
        if not live and _sources(fact):
            return fact if fact.is_withdrawn else fact.model_copy(update=self._withdrawn(fact))
        update: dict[str, Any] = {}
        if set(live) != set(fact.source_ids):
            update = {
                "source_ids": live,
                "withdrawn": tuple(source for source in _sources(fact) if source not in live),
                "support": max(len(live), 1),
                "said_at": self._last_said(fact),
                **self._wording(fact),
            }
        elif not any(map(self._may_have_changed, endings)):
            return fact
        since = update.get("said_at", fact.said_at)
        holding = [ending for ending in endings if self._holds(fact, ending, since)]
        chosen = min(holding, key=lambda one: (one.retired_at is not None, one.said_at or self.at), default=None)
        rest = tuple(ending for ending in endings if ending != chosen)
        if chosen is None:
            return fact.model_copy(update={**update, **BELIEVED, "suspended": rest})
        heir = self._heir(fact, chosen, since)
        if heir is not None and heir.id != chosen.superseded_by:
            # the one that ended it is withdrawn, and in its place is what had ended that
            rest = (*rest, chosen)
            chosen = chosen.model_copy(update={"superseded_by": heir.id, "valid_to": heir.said_at, "end_said_at": None})
        return fact.model_copy(update={**update, "current": False, **dict(chosen), "suspended": rest})

    def _withdrawn(self, fact: Fact) -> dict[str, Any]:
        """Return the update of a fact without live sources: it becomes history, and an earlier end keeps its date."""
        return {
            "source_ids": (),
            "withdrawn": _sources(fact),
            "support": 1,
            "current": False,
            "retired_at": fact.retired_at or self.at,
            "valid_to": fact.valid_to or self.at,
            "superseded_by": None,
            "ended_by": (),
            "end_said_at": None,
            "suspended": _endings(fact),
        }

    def _may_have_changed(self, ending: Ending) -> bool:
        """Return true if the evidence of an end may have changed: its messages, or the branches of the successor."""
        successor = self.facts.get(ending.superseded_by or "")
        if successor is None:
            return bool(ending.ended_by)
        return bool(successor.withdrawn) or len(self._live(successor)) < len(_sources(successor))

    def _holds(self, fact: Fact, ending: Ending, since: datetime) -> bool:
        """Return true if an end holds: later than the fact's last source, with evidence that still counts."""
        if ending.said_at is not None and ending.retired_at is not None and ending.said_at < since:
            return False
        if ending.superseded_by is not None:
            return ending.superseded_by not in self.facts or self._heir(fact, ending, since) is not None
        return not ending.ended_by or any(map(self._counts, ending.ended_by))

    def _heir(self, fact: Fact, ending: Ending, since: datetime) -> Fact | None:
        """Return the first supported successor, newer than the fact, along its line of successors; None without one.

        A line may lead back to the fact itself (Hue, Hanoi, Hue), which is not its own successor.
        """
        id_ = ending.superseded_by
        seen = {fact.id}
        while id_ and id_ in self.facts and id_ not in seen:
            if id_ in self.supported and self.supported[id_] >= since:
                return self.facts[id_]
            seen.add(id_)
            id_ = next((one.superseded_by for one in _endings(self.facts[id_]) if one.superseded_by), None)
        return None

    def _wording(self, fact: Fact) -> dict[str, Any]:
        """Return the update of a fact's text to a wording with a live source, if its own has none."""
        if not fact.wordings:
            return {}
        beside = {source for wording in fact.wordings for source in wording.source_ids}
        own = tuple(source for source in _sources(fact) if source not in beside)
        still = [wording for wording in fact.wordings if any(map(self._counts, wording.source_ids))]
        if not still or any(map(self._counts, own)):
            return {}
        now = Wording(text=fact.text, said_at=fact.created_at, source_ids=own)
        return {"text": still[-1].text, "wordings": (now, *(w for w in fact.wordings if w != still[-1]))}
