"""Drafts of records from a turn: its episode, and the user's own words as verbatim facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.standing import only_instructs
from react_mem.memory.language.statements import may_request, may_state, statements_in
from react_mem.memory.merging.reconcile import known_as, stated
from react_mem.memory.merging.restating import said_again
from react_mem.memory.model.operations import EpisodeDraft, Unread
from react_mem.memory.model.records import Episode, Fact, Level, Message, fact_id
from react_mem.memory.scopes.episodic import completed

MAX_VERBATIM = 100
"""Most statements of one message stored separately; the rest of a pasted document stays in its message."""


@dataclass(frozen=True)
class Stamp:
    """Fields shared by records written together: conversation, agent and time."""

    session_id: str
    agent_id: str
    at: datetime


def verbatim_facts(messages: Sequence[Message], stamp: Stamp) -> list[Fact]:
    """Return the user's statements as verbatim facts, each once with all its messages."""
    said = [(m, text) for m in messages if m.role == "user" for text in own_statements_in(whole_text(vars(m)))]
    return _verbatim(said, stamp)


def own_statements_in(text: str) -> list[str]:
    """Return the statements of a text, without requests and instructions, which stand as their message."""
    return [one for one in statements_in(text, MAX_VERBATIM) if not (may_request(one) or only_instructs(one))]


def unread_facts(unread: Iterable[Unread], messages: Sequence[Message], stamp: Stamp) -> list[Fact]:
    """Return clauses without a label that may state something, as verbatim facts; `MAX_VERBATIM` a message."""
    known = {message.id: message for message in messages}
    kept: dict[str, set[str]] = {id_: set() for id_ in known}
    said = []
    for one in unread:
        different = kept.get(one.source_id)
        # looked into only where there is room: a megabyte may have thousands of them
        if different is None or len(different) >= MAX_VERBATIM:
            continue
        if may_state(one.text) and not may_request(one.text):
            different.add(normalise(one.text))
            said.append((known[one.source_id], one.text))
    return _verbatim(said, stamp)


def _verbatim(said: Iterable[tuple[Message, str]], stamp: Stamp) -> list[Fact]:
    facts: dict[str, Fact] = {}
    for message, text in said:
        new = Fact(
            id=fact_id("user", text),
            text=text,
            verbatim=True,
            created_at=stamp.at,
            said_at=message.created_at,
            session_id=message.session_id,
            agent_id=stamp.agent_id,
            source_ids=(message.id,),
            origin=message.origin,
        )
        facts[new.id] = said_again(facts[new.id], new) if new.id in facts else new
    return list(facts.values())


def says_more_than_kept(messages: Iterable[Message]) -> bool:
    """Return true if a message of the user has more than `MAX_VERBATIM` statements."""
    return any(
        message.role == "user" and len(statements_in(whole_text(vars(message)), MAX_VERBATIM + 1)) > MAX_VERBATIM
        for message in messages
    )


def parts_of(unread: Iterable[Fact], verbatim: Iterable[Fact]) -> list[Fact]:
    """Return the unread facts that are a verbatim fact or a part of one."""
    told: dict[str, str] = {}
    for fact in verbatim:
        for source in fact.source_ids:
            told[source] = f"{told.get(source, '')}\n{normalise(fact.text)}"
    return [fact for fact in unread if any(normalise(fact.text) in told.get(source, "") for source in fact.source_ids)]


def settle_verbatim(
    kept: Sequence[Fact], stored: Iterable[Fact], read: Collection[str]
) -> tuple[list[Fact], list[str]]:
    """Settle the verbatim facts of clauses without a label after messages were read.

    Returns those that are new or have changed, new ones to be read once more; and the ids to delete.
    """
    facts = {fact.id: fact for fact in stored}
    changed: dict[str, Fact] = {}
    for fact in kept:
        known = known_as(fact, facts.get(fact.id), facts.values())
        new = fact if fact.id in facts else fact.model_copy(update={"unread": True})
        there = {**facts, **changed}
        changed |= stated(there, None if known is None else there[known.id], new)
    ids = {fact.id for fact in kept}
    gone = [f.id for f in facts.values() if f.verbatim and set(f.source_ids) <= set(read) and f.id not in ids]
    return list(changed.values()), gone


def episode(draft: EpisodeDraft, sources: tuple[str, ...], stamp: Stamp, linked_steps: tuple[str, ...] = ()) -> Episode:
    """Return a draft as a record; the same turn gives the same episode."""
    data = {
        "level": Level.MILESTONE if draft.milestone else Level.TASK,
        "goal": draft.goal,
        "situation": draft.situation,
        "steps": draft.steps,
        "outcome": draft.outcome,
        "lessons": draft.lessons,
        "milestone_title": draft.milestone,
        "importance": draft.importance,
        "linked_steps": linked_steps,
        "origin": draft.origin,
        "created_at": stamp.at,
        "session_id": stamp.session_id,
        "agent_id": stamp.agent_id,
        "source_ids": sources,
    }
    return Episode.model_validate(completed(data, draft.snapshot))
