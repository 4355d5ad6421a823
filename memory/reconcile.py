"""Proposed changes -> writes: the same fact is one fact, a changed fact supersedes the old one, which stays as history.

Pure functions: what is stored already comes in, what is to be stored goes out. What is believed depends on when things
were said, not on the order in which they arrive: a turn that is read late does not overwrite a newer one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory.canonical import (
    counted,
    holders,
    predicate_key,
    refines,
    same_object,
    same_value_names,
    subject_key,
    value_key,
)
from memory.extraction import Operation
from memory.periods import is_over, period
from memory.records import BELIEVED, Fact, Wording, normalise, record_id
from memory.statements import sentences

_ADDITIONAL = re.compile(r"\b(?:also|too|as well|another|second|besides|cũng|thêm|ngoài ra|nữa)\b")


@dataclass(frozen=True)
class Said:
    """A message that an operation cites.

    Args:
        text: What it says.
        at: When it was said.
    """

    text: str
    at: datetime


def to_fact(
    operation: Operation, *, said_at: datetime, at: datetime, session_id: str, agent_id: str, beside: bool = False
) -> Fact:
    """Return the fact that an operation states, with the keys it is compared by.

    Args:
        operation: An addition or an update.
        said_at: When the user said it.
        at: When it is written.
        session_id: The conversation.
        agent_id: The agent that heard it.
        beside: Whether it was said to hold beside what is known: "I also live in Hue".
    """
    predicate = predicate_key(operation.predicate)
    subject = subject_key(operation.subject)
    when = period(operation.text)
    past = (
        predicate.past
        or (is_over(operation.text) and predicate.affirmed)
        or (when.end is not None and when.end < said_at)
    )
    about = ".".join([subject, *holders(operation.text)]) if subject == "user" and predicate.single else subject
    slot = f"{about}|{predicate.name}"
    key = value_key(operation.predicate, operation.object or operation.text)
    sources = tuple(dict.fromkeys(operation.source_ids))
    return Fact(
        id=record_id("fact", slot, str(predicate.affirmed), str(past), key),
        text=operation.text,
        subject=operation.subject,
        predicate=operation.predicate,
        object=operation.object,
        current=not past,
        valid_from=when.start,
        valid_to=when.end,
        created_at=at,
        said_at=said_at,
        session_id=session_id,
        agent_id=agent_id,
        source_ids=sources,
        support=max(1, len(sources)),
        slot=slot,
        object_key=key,
        affirmed=predicate.affirmed,
        exclusive=predicate.single and predicate.affirmed and not beside and not _is_additional(operation.text),
    )


def slots(operations: Iterable[Operation]) -> list[str]:
    """Return the slots that these operations may change: every fact in them is needed to reconcile."""
    at = datetime.min.replace(tzinfo=UTC)
    facts = [to_fact(op, said_at=at, at=at, session_id="", agent_id="") for op in operations if op.op != "retract"]
    return list(dict.fromkeys(slot for fact in facts for slot in [fact.slot, *_related_slots(fact)]))


def _related_slots(fact: Fact) -> list[str]:
    """Return the slots in which the same may stand under another predicate."""
    subject, _, name = fact.slot.partition("|")
    return [f"{subject}|{other}" for other in same_value_names(name)]


def targets(operations: Iterable[Operation]) -> list[str]:
    """Return the ids of the facts that these operations name."""
    return list(dict.fromkeys(operation.target_id for operation in operations if operation.target_id))


def reconcile(
    operations: Sequence[Operation],
    stored: Mapping[str, Fact],
    *,
    at: datetime,
    session_id: str,
    agent_id: str,
    said: Mapping[str, Said] | None = None,
) -> list[Fact]:
    """Return the facts to write.

    Applying the same operations to the result changes nothing.

    Args:
        operations: Checked operations, in order.
        stored: The facts of `slots(operations)` and `targets(operations)` that exist, by id.
        at: When they are applied.
        session_id: The conversation they come from.
        agent_id: The agent that heard them.
        said: The messages that are cited; one that is not in it was said `at`.

    Returns:
        Every fact that is new or has changed, each once.
    """
    facts = dict(stored)
    sentences_of = _Sentences()
    for operation in operations:
        cited = [said[source] for source in operation.source_ids if said and source in said]
        when = max((message.at for message in cited), default=at)
        target = facts.get(operation.target_id) if operation.target_id else None
        if operation.op == "retract":
            if target is not None and target.current and target.said_at <= when:
                facts[target.id] = retire(target, when, at, ended_by=operation.source_ids)
            continue
        beside = any(map(_is_additional, sentences_of.about(operation, cited)))
        new = to_fact(operation, said_at=when, at=at, session_id=session_id, agent_id=agent_id, beside=beside)
        twin = _twin(new, facts.values())
        fact = _said_again(twin, new) if twin is not None else new
        facts[fact.id] = fact
        if not new.current:
            _end_what_is_over(facts, new, at)
        elif operation.op == "update" and target is not None and target.id != fact.id:
            target = facts[target.id]
            if target.current and target.said_at <= when:
                facts[target.id] = retire(target, when, at, superseded_by=fact.id)
        settle(facts, fact.slot, at)
    return [fact for id_, fact in facts.items() if stored.get(id_) != fact]


def retire(
    fact: Fact, when: datetime, at: datetime, superseded_by: str | None = None, ended_by: Iterable[str] = ()
) -> Fact:
    """Return a fact as dated history.

    Args:
        fact: The fact.
        when: Since when it is no longer true.
        at: Since when it is no longer believed.
        superseded_by: The fact that takes its place.
        ended_by: The messages that end it, where no fact takes its place.
    """
    return fact.model_copy(
        update={
            "current": False,
            "retired_at": at,
            "valid_to": when,
            "superseded_by": superseded_by,
            "ended_by": tuple(ended_by),
        }
    )


def _is_additional(text: str) -> bool:
    return bool(_ADDITIONAL.search(normalise(text)))


class _Sentences:
    """The sentences of messages, normalised: each message is read once, however many operations cite it."""

    def __init__(self) -> None:
        self._read: dict[str, list[str]] = {}

    def about(self, operation: Operation, cited: Iterable[Said]) -> list[str]:
        """Return the sentences of the cited messages that name the object: "also" may stand in another one."""
        about = normalise(operation.object)
        return [s for message in cited for s in self._of(message.text) if about and about in s]

    def _of(self, text: str) -> list[str]:
        if text not in self._read:
            self._read[text] = [normalise(sentence) for sentence in sentences(text)]
        return self._read[text]


def _twin(new: Fact, facts: Iterable[Fact]) -> Fact | None:
    """Return the stored fact that says the same, in whatever words."""
    comparable = [fact for fact in facts if fact.affirmed == new.affirmed and _is_past(fact) == _is_past(new)]
    alike = [fact for fact in comparable if fact.slot == new.slot]
    related = _related_slots(new)
    for among, same in (
        (alike, lambda fact: fact.id == new.id),
        (alike, lambda fact: same_object(fact.object_key, new.object_key)),
        (alike, lambda fact: fact.exclusive and new.exclusive and refines(fact.object_key, new.object_key)),
        (comparable, lambda fact: fact.slot in related and same_object(fact.object_key, new.object_key)),
    ):
        found = sorted(filter(same, among), key=lambda fact: fact.id)
        if found:
            return found[0]
    return None


def _is_past(fact: Fact) -> bool:
    """Return whether a fact was said to be over when it was said, rather than having ended since."""
    return not fact.current and fact.retired_at is None


def _said_again(fact: Fact, new: Fact) -> Fact:
    """Return a known fact with more sources, in its latest wording; one that was over is true again when said later."""
    sources = tuple(dict.fromkeys([*fact.source_ids, *new.source_ids]))
    if sources == fact.source_ids:
        return fact
    update: dict[str, object] = {"source_ids": sources, "support": len(sources)}
    if (new.said_at, new.text) > (fact.said_at, fact.text):
        update |= {name: getattr(new, name) for name in ("text", "subject", "predicate", "object", "said_at")}
        if new.text != fact.text:
            update["wordings"] = (*fact.wordings, wording_of(fact))
    if new.exclusive and not fact.exclusive:
        # said in general before, and now as the attribute that it is
        update |= {"slot": new.slot, "object_key": new.object_key, "exclusive": True}
    if new.valid_from is not None and (fact.valid_from is None or new.said_at >= fact.said_at):
        update["valid_from"] = new.valid_from
    if (
        new.current
        and not fact.current
        and (
            # what was withdrawn with a branch of its conversation is said again, whenever that was
            fact.is_withdrawn or new.said_at > (fact.valid_to or fact.said_at)
        )
    ):
        update |= revived(fact)
    return fact.model_copy(update=update)


def wording_of(fact: Fact) -> Wording:
    """Return how a fact is put."""
    return Wording(
        text=fact.text,
        subject=fact.subject,
        predicate=fact.predicate,
        object=fact.object,
        said_at=fact.said_at,
        source_ids=fact.source_ids,
    )


def revived(fact: Fact) -> dict[str, Any]:
    """Return what changes of a fact that is over and is said again: its end counts anew if that is ever withdrawn."""
    if fact.current or fact.is_withdrawn:
        return BELIEVED
    return {**BELIEVED, "suspended": (*fact.suspended, fact.ending)}


def _end_what_is_over(facts: dict[str, Fact], past: Fact, at: datetime) -> None:
    """End the facts that a statement about the past shows to be over: "I used to live in Hanoi"."""
    for fact in list(facts.values()):
        same = fact.slot == past.slot and same_object(fact.object_key, past.object_key)
        if same and fact.current and fact.affirmed == past.affirmed and fact.said_at < past.said_at:
            facts[fact.id] = retire(fact, past.said_at, at, ended_by=past.source_ids)


def settle(facts: dict[str, Fact], slot: str, at: datetime) -> None:
    """Let the latest of what contradicts each other be current, and each one before it end where the next began.

    Args:
        facts: All facts of the slot, by id; those that change are replaced.
        slot: The slot.
        at: When it is decided.
    """
    members = [fact for fact in facts.values() if fact.slot == slot and _competes(fact, facts)]
    successors: dict[str, list[Fact]] = {}
    for chain in _contradictory(members):
        ordered = sorted(chain, key=lambda fact: (fact.said_at, fact.id))
        for place, fact in enumerate(ordered):
            successors.setdefault(fact.id, []).extend(ordered[place + 1 : place + 2])
    for id_, later in successors.items():
        fact = facts[id_]
        if later:
            successor = min(later, key=lambda other: (other.said_at, other.id))
            if fact.superseded_by != successor.id or fact.valid_to != successor.said_at:
                facts[id_] = retire(fact, successor.said_at, fact.retired_at or at, superseded_by=successor.id)
        elif not fact.current:
            facts[id_] = fact.model_copy(update=BELIEVED)


def _contradictory(members: Sequence[Fact]) -> list[list[Fact]]:
    """Return a slot's facts in groups of which one can be true: values, counts of a thing, a thing and its denial."""
    groups = [[fact for fact in members if fact.exclusive]]
    counts: dict[str, list[Fact]] = {}
    for fact in members:
        if not fact.exclusive and (what := counted(fact.object_key)):
            counts.setdefault(what, []).append(fact)
        if not fact.affirmed:
            groups.append([other for other in members if same_object(other.object_key, fact.object_key)])
    return [group for group in [*groups, *counts.values()] if len(group) > 1 or not all(f.current for f in group)]


def _competes(fact: Fact, facts: Mapping[str, Fact]) -> bool:
    """Return whether a fact may be the current one of its slot: it is, or another of the same slot took its place."""
    if fact.current:
        return True
    successor = facts.get(fact.superseded_by or "")
    return successor is not None and successor.slot == fact.slot
