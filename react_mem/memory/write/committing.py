"""Writes of extractions: facts, profile, episode and summary; or the user's statements verbatim."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from react_mem.errors import ExtractionError
from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.comparison import missing, share
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.standing import only_instructs, standing_in
from react_mem.memory.language.statements import may_state, statements_in
from react_mem.memory.merging.facts import fact_changes, load_facts
from react_mem.memory.merging.reconcile import known_as, reconcile, said_again, stated, ways
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT, PENDING, speaker_of
from react_mem.memory.model.operations import Change, EpisodeDraft, Extraction, Operation, Unread, delete, put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.profile_schema import ProfileValue
from react_mem.memory.model.records import Episode, Fact, Level, Message, fact_id, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.rights.feedback import told_statements
from react_mem.memory.scopes.episodic import completed
from react_mem.memory.write.chain import preferences_among
from react_mem.memory.write.session import (
    ClaimedTurns,
    Session,
    TurnReport,
    freed,
    grant_wishes,
    in_short,
    wish_changes,
)

# Drafts of records from a turn: its episode, and the user's own words as verbatim facts.

REMEMBERED = "remembered"  # the conversation of texts that a user tells memory itself
MAX_VERBATIM = 100
"""Most statements of one message stored separately; the rest of a pasted document stays in its message."""


def verbatim_facts(messages: Sequence[Message], agent_id: str) -> list[Fact]:
    """Return the user's statements as verbatim facts, each once with all its messages."""
    own = [message for message in messages if message.role == "user"]
    stated = {True: told_statements, False: own_statements_in}
    said = [(m, text) for m in own for text in stated[m.session_id == REMEMBERED](whole_text(vars(m)))]
    return _verbatim(said, agent_id)


def own_statements_in(text: str) -> list[str]:
    """Return the statements of a text, without instructions, which stand as their message."""
    return [one for one in statements_in(text, MAX_VERBATIM) if not only_instructs(one)]


def unread_facts(unread: Iterable[Unread], messages: Sequence[Message], agent_id: str) -> list[Fact]:
    """Return clauses without a label that may state something, as verbatim facts; `MAX_VERBATIM` a message."""
    known = {message.id: message for message in messages}
    kept: dict[str, set[str]] = {id_: set() for id_ in known}
    said = []
    for one in unread:
        different = kept.get(one.source_id)
        # looked into only where there is room: a megabyte may have thousands of them
        if different is None or len(different) >= MAX_VERBATIM:
            continue
        if known[one.source_id].session_id == REMEMBERED or may_state(one.text):
            different.add(normalise(one.text))
            said.append((known[one.source_id], one.text))
    return _verbatim(said, agent_id)


def _verbatim(said: Iterable[tuple[Message, str]], agent_id: str) -> list[Fact]:
    facts: dict[str, Fact] = {}
    at = now()
    for message, text in said:
        speaker = speaker_of(vars(message))
        new = Fact(
            id=fact_id(speaker or "user", text),
            text=text,
            about=speaker or "user",
            speaker=speaker,
            verbatim=True,
            created_at=at,
            said_at=message.created_at,
            session_id=message.session_id,
            agent_id=agent_id,
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
    """Return the verbatim facts to write after messages were read, new ones as unread, and the ids to delete."""
    facts = {fact.id: fact for fact in stored}
    changed: dict[str, Fact] = {}
    for fact in kept:
        known = known_as(fact, facts.get(fact.id), facts.values())
        new = fact if fact.id in facts else fact.model_copy(update={"unread": True})
        there = {**facts, **changed}
        changed |= stated(there, None if known is None else there[known.id], new)
    ids = {fact.id for fact in kept}
    # what is left behind with its branch has no sources, and may return
    over = (f for f in facts.values() if f.verbatim and f.source_ids and set(f.source_ids) <= set(read))
    gone = [one.id for one in over if one.id not in ids and (one.session_id != REMEMBERED or _is_read(one, facts))]
    return list(changed.values()), gone


def _is_read(told: Fact, facts: Mapping[str, Fact]) -> bool:
    """Return true if a fact was drawn from a statement to memory itself, which stays even if a model finds nothing."""
    by_it = (f for f in facts.values() if not {*told.source_ids}.isdisjoint((*f.source_ids, *f.ended_by)))
    return share(told.text, [fact.text for fact in by_it if not fact.verbatim or not fact.current]) > 0


def episode(draft: EpisodeDraft, sources: Sequence[str], linked_steps: Sequence[str] = (), **where: str) -> Episode:
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
        "linked_steps": tuple(linked_steps),
        "origin": draft.origin,
        "created_at": now(),
        "source_ids": tuple(sources),
        **where,
    }
    return Episode.model_validate(completed(data, draft.snapshot))


# Marks that an extraction sets on messages: what stands from now on, or no longer, and words to find them by.

_SAYS = 0.5  # share of an instruction's words in a fact that says the same
_MOST_WORDS = 24  # most keywords that one extraction adds to a message: those of two facts


async def marked(session: Session, extraction: Extraction, facts: Sequence[Fact]) -> list[Change]:
    """Return the writes of messages that become or cease to be standing instructions, or get keywords."""
    over = {id_: fact for fact in facts if not fact.current for id_ in fact.source_ids}
    topics: dict[str, str] = {}
    for operation in extraction.ops:
        for source in operation.source_ids if operation.topic else ():
            topics[source] = f"{topics.get(source, '')} {operation.topic}"
    found = await session.messages({*extraction.standing, *over, *topics})
    changed = [_marked(one, topics.get(one.id, ""), one.id in extraction.standing, over.get(one.id)) for one in found]
    return [put(session.user_id, new) for old, new in zip(found, changed, strict=True) if new != old]


def _marked(message: Message, topic: str, stands: bool, over: Fact | None) -> Message:
    if message.role != "user":
        return message
    if new := missing(topic, [message.text, message.keywords])[:_MOST_WORDS]:
        message = message.model_copy(update={"keywords": " ".join(filter(None, [message.keywords, *new]))})
    if message.origin is not Origin.USER:
        return message
    if over is not None and message.standing:
        order = standing_in(message.content if isinstance(message.content, str) else message.text)
        if share(order.said if order is not None else message.text, [over.text, over.quote]) >= _SAYS:
            return message.model_copy(update={"standing": ""})
    if stands and not message.standing:
        return message.model_copy(update={"standing": "instruction"})
    return message


async def commit(
    claim: ClaimedTurns,
    messages: Sequence[Message],
    shown: Sequence[Message],
    extraction: Extraction,
    related: Sequence[Fact],
) -> TurnReport:
    """Write an extraction and delete the notes of its turns, in one batch; `shown` and `related` were in the prompt."""
    session = claim.session
    user_id, at = session.user_id, now()
    # what is drawn from a message before the turn was said then, and not now
    said = {message.id: message for message in shown}
    read = {message.id for message in messages} if session.memory.policy.extracts else set[str]()
    unread = await asyncio.to_thread(unread_facts, extraction.unread, messages, session.agent_id)
    more = await _more_said(unread, messages)
    # what is put in these words, beside its own, is said again
    words = {normalise(text) for text in (*(fact.text for fact in unread), *(op.text for op in extraction.ops))}
    spoken = [*(fact.id for fact in unread), *(fact.id for fact in related if not words.isdisjoint(ways(fact)))]
    wished = wish_changes(user_id, session.agent_id, extraction.ops, said)

    async def step(mine: Sequence[PendingTurn]) -> tuple[TurnReport, list[Change]]:
        stored = await load_facts(session.memory.store, user_id, extraction.ops, spoken, verbatim_in=session.session_id)
        facts, kept, changes = await settled(
            session, extraction.ops, stored, said, unread=unread, beside=stored.values(), read=read, at=at
        )
        changes += await _told(session, extraction, mine, messages, at, [*facts, *kept])
        changes += await marked(session, extraction, facts)
        learnt, refused = await _profile(session, extraction, at, said)
        changes += [*learnt, *wished, *(delete(user_id, PENDING, turn.id) for turn in mine)]
        whole = {fact.id: fact for fact in (*facts, *kept)}.values()
        # what was said or ended, rather than only touched by another fact
        seen = {(fact.id, fact.source_ids, fact.current) for fact in stored.values() if not fact.verbatim}
        news = [fact for fact in whole if (fact.id, fact.source_ids, fact.current) not in seen]
        report = TurnReport(
            stored=[fact.text for fact in news if fact.current],
            retired=[fact.text for fact in news if not fact.current],
            calls=extraction.calls,
            problem="; ".join(filter(None, [_left_out(extraction, bool(unread)), more, *refused])),
        )
        return report, changes

    report = await claim.write(step, TurnReport(calls=extraction.calls))
    # it is no longer believed; now it goes for good
    return report + TurnReport(problem=await grant_wishes(session.memory.store, user_id)) if wished else report


async def settled(
    session: Session,
    operations: Sequence[Operation],
    stored: Mapping[str, Fact],
    said: Mapping[str, Message],
    *,
    unread: Sequence[Fact],
    beside: Iterable[Fact],
    read: Collection[str],
    at: datetime,
    concludes: bool = False,
) -> tuple[list[Fact], list[Fact], list[Change]]:
    """Return the facts changed by operations, the verbatim facts, and the writes.

    Args:
        unread: Clauses without a label, as verbatim facts.
        beside: Further facts to settle the verbatim ones with.
        read: The ids of the messages that were read.
        concludes: True at the end of a conversation: remaining verbatim facts are not looked at again.
    """
    facts = await asyncio.to_thread(reconcile, operations, stored, at=at, **session.where, said=said)
    known = {fact.id: fact for fact in (*beside, *facts)}
    kept, gone = await asyncio.to_thread(settle_verbatim, unread, known.values(), read)
    if concludes:
        left = {fact.id: fact for fact in (*beside, *kept) if fact.verbatim and not fact.concluded}
        for id_ in (*gone, *(fact.id for fact in facts)):
            left.pop(id_, None)
        kept = [fact.model_copy(update={"concluded": True}) for fact in left.values()]
    changes: list[Change] = [delete(session.user_id, FACT, id_) for id_ in gone]
    whole = {fact.id: fact for fact in (*facts, *kept)}
    changes += await fact_changes(session.memory.store, session.user_id, list(whole.values()))
    return facts, kept, changes


async def _told(
    session: Session,
    extraction: Extraction,
    mine: Sequence[PendingTurn],
    messages: Sequence[Message],
    at: datetime,
    facts: Sequence[Fact],
) -> list[Change]:
    changes: list[Change] = []
    episodes: list[str] = []
    sources = tuple(message.id for message in messages)
    if extraction.episode is not None and session.memory.policy.recall.episodic:
        # a task that has been forgotten meanwhile is not linked to
        linked = dict.fromkeys(step for turn in mine for step in turn.task_steps)
        there = await session.memory.records(session.user_id, MemoryScope.STATE, linked) if linked else {}
        steps = [id_ for id_ in linked if id_ in there]
        made = episode(extraction.episode, sources, steps, **session.where)
        told = await session.memory.episodic.told_before(session.user_id, made)
        changes.append(put(session.user_id, told))
        episodes.append(told.id)
    if extraction.summary:
        summary = session.memory.dialog.summary(
            extraction.summary,
            **session.where,
            source_ids=sources,
            origins=[message.origin for message in messages],
            at=at,
            episodes=episodes,
            task_preferences=preferences_among(fact for fact in facts if not set(sources).isdisjoint(fact.source_ids)),
        )
        changes.append(put(session.user_id, summary))
    return changes


async def keep_verbatim(
    claim: ClaimedTurns, messages: Sequence[Message], failure: ExtractionError | None = None
) -> TurnReport:
    """Store the user's statements verbatim: for good without a model, else until the model works again."""
    lost = TurnReport(problem=in_short(failure) if failure else "")
    report = await claim.write(lambda mine: kept_at_once(claim.session, mine, messages, {}, failure), lost)
    claim.count_parked(failure)
    return report


async def kept_at_once(
    session: Session,
    due: Sequence[PendingTurn],
    messages: Sequence[Message],
    known: Mapping[str, Fact | None],
    failure: ExtractionError | None = None,
) -> tuple[TurnReport, list[Change]]:
    """Return the user's statements as verbatim facts, with their writes, for a step that has read the turns itself.

    Without a failure no model has been asked: such statements are queued once there is one (see `offer_unread`). After
    one the turns wait for the model. `known` has facts looked up already, None for a missing one.
    """
    verbatim = await asyncio.to_thread(verbatim_facts, messages, session.agent_id)
    found = {id_: fact for id_, fact in known.items() if fact is not None}
    # what has taken a fact in says it now
    sought = [f.id for f in verbatim if f.id not in known or (f.id in found and found[f.id].superseded_by)]
    stored = {**await load_facts(session.memory.store, session.user_id, (), sought), **found}
    kept: dict[str, Fact] = {}
    for fact in verbatim:
        there = {**stored, **kept}
        kept |= stated(there, known_as(fact, there.get(fact.id), there.values()), fact)
    if failure is None:
        said = {source for fact in verbatim for source in fact.source_ids}
        new = {id_: f for id_, f in kept.items() if f != stored.get(id_) and not said.isdisjoint(f.source_ids)}
        kept |= {id_: f.model_copy(update={"unread": True}) for id_, f in new.items()}
    changes = [put(session.user_id, f) for f in kept.values() if f != stored.get(f.id)]
    user_id = session.user_id
    changes += [put(user_id, freed(turn, failure)) if failure else delete(user_id, PENDING, turn.id) for turn in due]
    problems = [in_short(failure) if failure else "", await _more_said(verbatim, messages)]
    report = TurnReport(
        stored=[fact.text for id_, fact in kept.items() if id_ not in stored],
        waiting=len(due) if failure else 0,
        problem="; ".join(filter(None, problems)),
    )
    return report, changes


async def _profile(
    session: Session, extraction: Extraction, at: datetime, said: Mapping[str, Message]
) -> tuple[list[Change], list[str]]:
    if not extraction.profile_changes:
        return [], []
    learnt = {
        change.field: ProfileValue(
            value=change.value,
            source_ids=change.source_ids,
            updated_at=max((said[id_].created_at for id_ in change.source_ids if id_ in said), default=at),
        )
        for change in extraction.profile_changes
    }
    update, changes = await session.memory.profile.changes(
        session.user_id, learnt, session_id=session.session_id, agent_id=session.agent_id
    )
    return changes, [f"the profile does not take {field}: {reason}" for field, reason in update.refused.items()]


_MORE_SAID = f"more than {MAX_VERBATIM} statements in one message; those beyond are found in the message, not as facts"


async def _more_said(kept: Sequence[Fact], messages: Sequence[Message]) -> str:
    """Return a notice to the user that messages state more than is stored separately; empty if they do not."""
    many = len(kept) >= MAX_VERBATIM and await asyncio.to_thread(says_more_than_kept, messages)
    return _MORE_SAID if many else ""


def _left_out(extraction: Extraction, kept: bool) -> str:
    """Return a notice to the user about refused parts of a model's answer; empty if there are none."""
    reasons = list(dict.fromkeys(extraction.rejected))
    if extraction.complete and not reasons:
        return ""
    count = len(extraction.rejected)
    what = f"{count} proposals were refused ({'; '.join(reasons)})" if reasons else "not everything could be read"
    return f"{what}; the words that no label covers are kept as said" if kept else what
