"""Writes of facts and episodes: proposals of a model and of the agent's tools go through the same reconciliation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, Op, SearchItem, SearchOp

from react_mem.memory.index.recall import RecallHit
from react_mem.memory.language import UNSPACED
from react_mem.memory.language.comparison import Vocabulary, content_words
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, normalise
from react_mem.memory.language.hallucination import Told, names, unknown_numbers, values
from react_mem.memory.merging.concept_store import concept_changes
from react_mem.memory.merging.reconcile import doubted, reconcile, wanted
from react_mem.memory.merging.skill_life import stale_knowledge
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Change, Operation, put
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import AnyRecord, Episode, Fact, Level, Message, Votes, written_in
from react_mem.memory.store.transactions import transact
from react_mem.memory.summaries.sources import shortened

if TYPE_CHECKING:
    from react_mem.memory.model.operations import EpisodeDraft


_VERBATIM = 1_000
"""Verbatim statements of one conversation that are looked at: more than one person makes in one."""

_HEIRS = 5
"""Successors followed from a fact that was replaced after it was shown."""


async def load_facts(
    store: BaseStore,
    user_id: str,
    operations: Sequence[Operation],
    ids: Sequence[str] = (),
    *,
    verbatim_in: str | None = None,
) -> dict[str, Fact]:
    """Return the stored facts that operations may change, and those with the given ids, by id.

    One round trip; more only if a fact has been superseded since, or is in doubt about another.
    `verbatim_in` is a conversation whose verbatim statements are returned too.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    ops: list[Op] = [GetOp(namespace, id_) for id_ in dict.fromkeys([*wanted(operations), *ids])]
    if verbatim_in is not None:
        said = {"verbatim": True, "session_id": verbatim_in}
        ops.append(SearchOp(namespace, filter=said, limit=_VERBATIM, refresh_ttl=False))
    found: dict[str, Fact] = {}
    for _ in range(_HEIRS):
        for answer in await store.abatch(ops) if ops else []:
            items = answer if isinstance(answer, list) else [answer]
            for item in cast("list[Item | SearchItem | None]", items):
                if item is not None and FACT.matches(item.value):
                    found[item.key] = Fact.from_value(item.value)
        named = {id_ for fact in found.values() for id_ in (fact.superseded_by or "", *fact.doubts) if id_}
        # what needs a fact that others vouch for needs the one that takes its place, should the user say it now
        named |= {id_ for fact in found.values() if fact.origin is not Origin.USER for id_ in fact.needed_by}
        more = named - set(found)
        asked = {op.key for op in ops if isinstance(op, GetOp)}
        ops = [GetOp(namespace, id_) for id_ in sorted(more - asked)]
        if not ops:
            break
    return found


async def fact_changes(store: BaseStore, user_id: str, facts: Sequence[Fact]) -> list[Change]:
    """Return the writes of facts and their consequences: doubts, concepts, and knowledge that lost a proof.

    The store is asked only if a fact has a name or has ended.
    """
    ended = {id_ for fact in facts if not fact.current for id_ in fact.needed_by}
    dependants = await load_facts(store, user_id, (), sorted(ended - {fact.id for fact in facts})) if ended else {}
    in_batch = {fact.id: fact for fact in facts}
    in_doubt = doubted([*dependants.values(), *facts], facts)
    written = list({**in_batch, **{fact.id: fact for fact in in_doubt}}.values())
    return [
        *(put(user_id, fact) for fact in written),
        *await concept_changes(store, user_id, facts),
        *await stale_knowledge(store, user_id, facts),
    ]


async def write_facts(
    store: BaseStore,
    user_id: str,
    operations: Sequence[Operation],
    *,
    at: datetime,
    session_id: str,
    agent_id: str,
    said: Mapping[str, Message] | None = None,
    told: Mapping[str, Any] = MappingProxyType({}),
) -> list[Fact]:
    """Reconcile operations with the stored facts, write the changes, and return them, or raise `WriteConflict`."""

    async def step() -> tuple[list[Fact], list[Change]]:
        stored = await load_facts(store, user_id, operations)
        changed = reconcile(operations, stored, at=at, session_id=session_id, agent_id=agent_id, said=said)
        stated = {operation.id for operation in operations}
        changed = [fact.model_copy(update=told) if told and fact.id in stated else fact for fact in changed]
        return changed, await fact_changes(store, user_id, changed)

    return await transact(store, user_id, step)


# Feedback on a turn, as it moves the memories that were used in it: bounded, the same in whatever order it comes.

LOWEST, HIGHEST = 0.2, 0.8
"""Bounds of importance that feedback moves to: never worthless, never certain."""

_MOST = 0.3
"""Most that feedback changes importance by."""

_HALF = 2
"""Verdicts of one kind for half the effect: one thumb is a hint, four are a pattern."""

_TOGETHER = 1.1
"""Score factor between the best and the worst liked memory: feedback only breaks near ties."""


def voted(record: AnyRecord, before: int, after: int) -> AnyRecord:
    """Return a record after the verdict on a turn that used it changed: 1 for good, -1 for bad, 0 for none."""
    if before == after:
        return record
    votes = record.votes or Votes(base=record.importance)
    up = max(votes.up + (after == 1) - (before == 1), 0)
    down = max(votes.down + (after == -1) - (before == -1), 0)
    if not up and not down:
        return record.model_copy(update={"votes": None, "importance": votes.base})
    moved = votes.base + _MOST * _liked(up, down)
    importance = min(max(moved, min(votes.base, LOWEST)), max(votes.base, HIGHEST))
    return record.model_copy(
        update={"votes": votes.model_copy(update={"up": up, "down": down}), "importance": importance}
    )


def in_favour(found: Sequence[RecallHit]) -> Sequence[RecallHit]:
    """Return recalled memories, the best first, reordered by feedback; a reranker's order, not of scores, stays."""
    factors = [favour(one.item.value) for one in found]
    if all(factor == 1.0 for factor in factors):
        return found
    scores = [one.item.score or 0.0 for one in found]
    if any(score < after for score, after in pairwise(scores)):
        return found
    weighed = [score * factor if score > 0 else score / factor for score, factor in zip(scores, factors, strict=True)]
    return [found[place] for place in sorted(range(len(found)), key=lambda place: -weighed[place])]


def favour(value: Mapping[str, Any]) -> float:
    """Return the score factor of a record's feedback, given as JSON; 1 without any.

    >>> favour({}), favour({"votes": {"up": 1, "down": 1}})
    (1.0, 1.0)
    """
    votes = value.get("votes")
    return float(_TOGETHER ** (_liked(votes["up"], votes["down"]) / 2)) if votes else 1.0


def _liked(up: int, down: int) -> float:
    return (up - down) / (abs(up - down) + _HALF)


# Checks of a model's episode or summary against the messages and tool results; deduplication of episodes.

_GOAL_SHARE = 0.5  # share of a goal's words that the messages must have
_SAME_SHARE = 0.7  # share of words that two goals, or two lessons, must have of each other to be the same
_NEARLY_ALL = 0.8  # share of a request's words from which the account of its episode covers the request
_MAX_SITUATION = 300  # characters of an episode's request that are indexed and shown
_UNSPACED = re.compile(f"[{UNSPACED}]")


def hold_episode(
    draft: EpisodeDraft,
    said: Sequence[str],
    observed: Sequence[str],
    at: Iterable[datetime] = (),
    own: Iterable[str] = (),
) -> EpisodeDraft | None:
    """Return an episode without hallucinated parts; None without support.

    Its lessons are what a tool's result bears out, or what the user states in nearly these words in one of their `own`
    messages.
    """
    asked, told, seen = Told(said, at), Told([*said, *observed], at), Told(observed, at)
    stated = [Told([text], at) for text in own]

    def is_lesson(text: str) -> bool:
        seen_there = bool(seen.share(text)) and seen.bears_out(text)
        return seen_there or any(one.share(text) >= _SAME_SHARE and not one.invented(text) for one in stated)

    goal = draft.goal.strip()
    if asked.share(goal) < _GOAL_SHARE or not told.bears_out(goal):
        return None
    outcome, snapshot = told.held(draft.outcome), told.held(draft.snapshot)
    return replace(
        draft,
        goal=goal,
        steps=tuple(filter(None, map(told.held, draft.steps))),
        outcome=outcome,
        lessons=tuple(filter(is_lesson, map(str.strip, draft.lessons))),
        milestone=told.held(draft.milestone) if outcome or snapshot else "",
        snapshot=snapshot,
    )


def same_episode(new: Episode, known: Iterable[Episode]) -> Episode | None:
    """Return the stored episode with the same goal as a new one, perhaps in other words; None if there is none."""
    return next((one for one in known if one.id == new.id or _is_same(one, new)), None)


def merged(known: Episode, new: Episode) -> Episode:
    """Return a known episode merged with a new account of it: the latest outcome, all lessons."""
    lessons = list(known.lessons)
    for lesson in new.lessons:
        lessons = [*(one for one in lessons if not _alike(one, lesson)), lesson]
    outcome = new.outcome or known.outcome
    # the request that began it
    situation = known.situation or new.situation
    told = " ".join(filter(None, [new.milestone_title, known.goal, outcome, *lessons]))
    milestone = new.level is Level.MILESTONE
    return known.model_copy(
        update={
            "text": new.text if milestone else episode_text(told, situation),
            "situation": situation,
            "thoughts": new.thoughts or known.thoughts,
            "steps": new.steps or known.steps,
            "outcome": outcome,
            "lessons": tuple(lessons),
            "milestone_title": new.milestone_title or known.milestone_title,
            "linked_steps": tuple(dict.fromkeys((*known.linked_steps, *new.linked_steps))),
            "source_ids": tuple(dict.fromkeys((*known.source_ids, *new.source_ids))),
            "origin": lowest([known.origin, new.origin]),
            "importance": max(known.importance, new.importance),
            **written_in(new),
        }
    )


def episode_text(told: str, situation: str) -> str:
    r"""Return the indexed and shown text of an episode: goal and outcome, and the request unless they cover it.

    >>> episode_text("Book a flight. Booked.", "Please book me a flight")
    'Book a flight. Booked.'
    >>> episode_text("Book a flight. Booked.", "My sister marries in Rome")
    'Book a flight. Booked.\nMy sister marries in Rome'
    """
    told, begun = told[:MAX_INDEXED_CHARS], shortened(situation.strip(), _MAX_SITUATION)
    if not begun or Vocabulary([told]).share(begun) >= _NEARLY_ALL:
        return told
    return f"{told}\n{begun}"[:MAX_INDEXED_CHARS]


def _is_same(one: Episode, other: Episode) -> bool:
    if one.level is not other.level or Level.CONVERSATION in (one.level, other.level):
        return False
    return _alike(one.goal, other.goal)


def _alike(one: str, other: str) -> bool:
    """Return true if two sentences have nearly the same words, and no other name or number."""
    if normalise(one) == normalise(other):
        return True
    if unknown_numbers(one, values(other)) or unknown_numbers(other, values(one)):
        return False
    return _is_said_by(one, other) and _is_said_by(other, one)


def _is_said_by(one: str, other: str) -> bool:
    vocabulary = Vocabulary([other])
    named = Vocabulary([other], names=True)
    if vocabulary.share(one) < _SAME_SHARE or any(named.missing(name) for name in names(one, True)):
        return False
    # two characters that stand side by side may be a name: 顺化 and 河内
    known = (word in vocabulary for word in content_words(one) if _UNSPACED.match(word))
    return all(has or len(list(run)) == 1 for has, run in groupby(known))
