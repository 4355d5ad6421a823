"""What a model has drawn from a turn, as records: its episode, its summary; and the user's own words, unread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.canonical import object_key
from memory.extraction import EpisodeDraft, text_shown
from memory.extraction.grounding import is_negative
from memory.extraction.mood import moods
from memory.reconcile import Said, revived
from memory.records import MAX_INDEXED_CHARS, Episode, Fact, Level, Message, Summary, normalise, record_id
from memory.statements import statements

MAX_VERBATIM = 100
"""Different statements of one message that are kept on their own; a pasted document beyond that stays whole in its
message."""


_NOBODYS = frozenset({"user", "người", "dùng", "is", "are", "là", "bị"})
_REMINDER = re.compile(
    r"\b(?:(?:please )?(?:do not|don['’]?t) forget(?: that)?|remember that|đừng quên|hãy nhớ|nhớ)\b", re.I
)
_REPEATING = (
    "i am m my me that and so you know is have already still tôi mình em là rằng nhé nha ạ đấy mà bị có vẫn đã rồi"
)
_SAYS_NOTHING = frozenset(_REPEATING.split())
"""Words that repeat a fact without saying more; no negation is among them."""


@dataclass(frozen=True)
class Origin:
    """Where records come from.

    Args:
        session_id: The conversation.
        agent_id: The agent.
        at: When they are written.
    """

    session_id: str
    agent_id: str
    at: datetime


def verbatim_facts(messages: Sequence[Message], origin: Origin) -> list[Fact]:
    """Return the user's statements word for word, each once with all the messages that make it.

    Args:
        messages: Messages of a conversation.
        origin: Where they come from.
    """
    facts: dict[str, Fact] = {}
    for message in messages:
        if message.role != "user":
            continue
        for sentence in statements(whole_text(message), MAX_VERBATIM):
            id_ = _statement_id(sentence)
            said = facts.get(id_)
            sources = tuple(dict.fromkeys([*(said.source_ids if said else ()), message.id]))
            facts[id_] = Fact(
                id=id_,
                text=sentence,
                subject="user",
                predicate="said",
                object=sentence,
                verbatim=True,
                created_at=origin.at,
                said_at=message.created_at,
                session_id=message.session_id,
                agent_id=origin.agent_id,
                source_ids=sources,
                support=len(sources),
            )
    return list(facts.values())


def says_more_than_kept(messages: Iterable[Message]) -> bool:
    """Return whether a message of the user's states more than is kept of it on its own.

    Args:
        messages: Messages of a conversation.
    """
    return any(
        message.role == "user" and len(statements(whole_text(message), MAX_VERBATIM + 1)) > MAX_VERBATIM
        for message in messages
    )


def as_cited(messages: Iterable[Message]) -> dict[str, Said]:
    """Return messages by id as operations cite them: what a model is shown of each, and so can draw from.

    Args:
        messages: Messages of a conversation.
    """
    return {m.id: Said(text_shown(m.role, whole_text(m)), m.created_at) for m in messages}


def part_of(statement: Fact, text: str) -> Fact:
    """Return a verbatim fact of a part of a statement; the statement itself where it is the whole."""
    if text == statement.text:
        return statement
    return statement.model_copy(update={"id": _statement_id(text), "text": text, "object": text})


def _statement_id(text: str) -> str:
    return record_id("statement", normalise(text))


def repeated(known: Fact | None, said: Fact) -> Fact:
    """Return a verbatim fact that is stored already, with what supports it now; as it is where nothing is new."""
    if known is None:
        return said
    sources = tuple(dict.fromkeys([*known.source_ids, *said.source_ids]))
    if sources == known.source_ids:
        return known
    said_at = max(known.said_at, said.said_at)
    return known.model_copy(
        update={**revived(known), "source_ids": sources, "support": len(sources), "said_at": said_at}
    )


def is_known(statement: Fact, known: Iterable[Fact]) -> bool:
    """Return whether a verbatim statement says nothing beyond a fact that is believed already.

    Args:
        statement: A verbatim fact.
        known: Facts.
    """
    text = _REMINDER.sub(" ", statement.text)
    said = set(object_key(text).split())
    for fact in known:
        words = set(object_key(fact.text).split()) - _NOBODYS
        if not fact.current or fact.verbatim or not words or not said - words <= _SAYS_NOTHING:
            continue
        # all of it, or a part of it that is meant alike
        if words <= said or (
            said & words and is_negative(text) is is_negative(fact.text) and moods(text) == moods(fact.text)
        ):
            return True
    return False


def episode(
    draft: EpisodeDraft, sources: tuple[str, ...], origin: Origin, linked_steps: tuple[str, ...] = ()
) -> Episode:
    """Return a draft as a record; the same turn gives the same episode.

    Args:
        draft: The draft.
        sources: The messages it comes from.
        origin: Where it comes from.
        linked_steps: The records of the task's steps that were taken in it.
    """
    title = draft.milestone_title if draft.level is Level.MILESTONE else ""
    told = [f"{title}: {draft.snapshot}"] if title else [draft.goal, draft.outcome, *draft.lessons]
    text = " ".join(filter(None, told))
    return Episode(
        id=record_id("episode", str(draft.level), *sources),
        text=text[:MAX_INDEXED_CHARS],
        level=draft.level,
        goal=draft.goal,
        situation=draft.situation,
        steps=tuple(draft.steps),
        outcome=draft.outcome,
        lessons=tuple(draft.lessons),
        milestone_title=title,
        linked_steps=linked_steps,
        importance=draft.importance,
        created_at=origin.at,
        session_id=origin.session_id,
        agent_id=origin.agent_id,
        source_ids=sources,
    )


def summary(text: str, sources: tuple[str, ...], origin: Origin) -> Summary:
    """Return what an invocation came to, as a record; the same turn gives the same summary."""
    return Summary(
        id=record_id("summary", *sources),
        text=text,
        created_at=origin.at,
        session_id=origin.session_id,
        agent_id=origin.agent_id,
        source_ids=sources,
    )


def whole_text(message: Message) -> str:
    """Return all that a message says, not only what is indexed of it."""
    return message.content if isinstance(message.content, str) else message.text
