"""Extraction of claimed turns: indexing, prompt with related facts, and the write of the answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import cast

from langgraph.store.base import BaseStore, GetOp, Item, SearchOp

from react_mem.errors import ExtractionError
from react_mem.memory import telemetry
from react_mem.memory.index.entries import whole_text
from react_mem.memory.index.recall import Recall, RecallOp, read_question
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.language.statements import is_pleasantry, sentences
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.concepts import ContextChain
from react_mem.memory.model.interface import Arm, MemoryScope
from react_mem.memory.model.kinds import CHAIN, FACT, speaker_of
from react_mem.memory.model.namespaces import off_loop, scope_namespace
from react_mem.memory.model.operations import Change, EpisodeDraft, ExistingMemory, Extraction, TranscriptMessage, put
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.profile_schema import zone_of
from react_mem.memory.model.records import Fact, Message, fact_id, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.store.transactions import transact
from react_mem.memory.summaries.sources import Source, extract_sentences, shortened
from react_mem.memory.write.chain import join
from react_mem.memory.write.committing import commit, keep_verbatim, kept_at_once, own_statements_in
from react_mem.memory.write.extraction.briefing import MAX_EXISTING
from react_mem.memory.write.session import ClaimedTurns, Session, TurnReport, in_short, waiting

log = logging.getLogger(__name__)


async def draw(claim: ClaimedTurns) -> TurnReport:
    """Extract from claimed turns of one conversation."""
    session = claim.session
    try:
        if any(map(_may_fork, claim.due)):
            # facts of left branches are no longer believed
            await session.branches.follow()
            claim = replace(claim, due=await claim.still_mine())
        claim, messages, chain = await _index(claim)
        if not claim.due:
            # forgotten meanwhile, taken over, or part of a turn that has its answer by now
            return TurnReport()
        if not session.memory.policy.sums_up or (session.extractor is not None and says_nothing(messages)):
            await claim.finish()
            return TurnReport(chain=chain)
        return replace(await _read(claim, messages), chain=chain)
    except asyncio.CancelledError:
        # a newer turn takes over: it must not wait until the claim runs out
        await asyncio.shield(claim.release())
        raise
    except Exception as error:
        # what cannot be written is parked in the end, like what cannot be read: it must not block what waits behind
        try:
            await claim.release(error)
        except Exception as again:
            log.warning("the turns stay claimed until the claim runs out: %s", cause_of(again))
        raise


def says_nothing(messages: Sequence[Message]) -> bool:
    """Return true if the user's messages have media alone and no text."""
    theirs = [message.text for message in messages if message.role == "user"]
    return bool(theirs) and not any(theirs)


async def _read(claim: ClaimedTurns, messages: Sequence[Message]) -> TurnReport:
    """Write the facts of turns; a failing model is asked again later, and the messages are kept meanwhile."""
    session, extracts = claim.session, claim.session.memory.policy.extracts
    if session.extractor is None:
        if extracts:
            return await keep_verbatim(claim, messages)
        return await commit(claim, messages, (), await asyncio.to_thread(told_of, messages), ())
    try:
        said = [message.text for message in messages if message.role == "user"]
        related = await related_facts(session.memory.store, session.user_id, said, standing=True) if extracts else []
        shown = await _shown(claim, messages)
        extraction = await ask(session, _turns_of(claim.due, shown, messages), related)
    except ExtractionError as error:
        log.warning("extraction failed and is tried again, the user's statements are kept word for word: %s", error)
        telemetry.count("degradations", part="extraction")
        if extracts:
            return await keep_verbatim(claim, messages, error)
        await claim.release(error)
        return TurnReport(waiting=len(claim.due), problem=in_short(error))
    if not extracts:
        # the agent's tools store the facts
        extraction = Extraction(episode=extraction.episode, summary=extraction.summary, calls=extraction.calls)
    return await commit(claim, messages, shown, extraction, related)


async def ask(session: Session, transcript: Sequence[TranscriptMessage], related: Sequence[Fact] = ()) -> Extraction:
    """Ask the model for an extraction, or raise an `ExtractionError`; the session has an extractor."""
    existing = [
        ExistingMemory(
            id=fact.id,
            text=fact.text,
            about=fact.about,
            at=fact.said_at,
            until=fact.valid_to,
            also=(fact.quote, fact.reading, *(wording.text for wording in fact.wordings)),
        )
        for fact in related
    ]
    assert session.extractor is not None  # noqa: S101 - narrows for the type checker
    zone = zone_of(await session.memory.profile.get_profile(session.user_id))
    deadline = session.memory.policy.extraction.timeout
    return await session.extractor.extract(transcript, existing, deadline=deadline, zone=zone)


def transcript_of(
    messages: Sequence[Message], read: Collection[str], wanted: Collection[str] = ()
) -> list[TranscriptMessage]:
    """Return messages with words as the model sees them: context but for those in `read`, with snapshots `wanted`."""
    return [
        TranscriptMessage(
            id=m.id,
            role=m.role,
            text=whole_text(vars(m)),
            at=m.created_at,
            context=m.id not in read,
            origin=m.origin,
            snapshot=m.id in wanted,
            speaker=speaker_of(vars(m)),
        )
        for m in messages
        if m.text
    ]


def _turns_of(
    due: Sequence[PendingTurn], shown: Sequence[Message], messages: Sequence[Message]
) -> list[TranscriptMessage]:
    """Return turns as the model sees them: with requests for snapshots, and the agent's steps before each answer."""
    wanted = {turn.source_ids[0] for turn in due if turn.snapshot and turn.source_ids}
    transcript = transcript_of(shown, {message.id for message in messages}, wanted)
    for turn in due:
        if turn.steps:
            last = max((place for place, m in enumerate(transcript) if m.id in turn.source_ids), default=0)
            did = TranscriptMessage(id=f"{turn.id}:steps", role="tool", text="\n".join(turn.steps))
            transcript.insert(last, did)
    return transcript


def _may_fork(turn: PendingTurn) -> bool:
    """Return true if a turn may leave a branch or be on one: an unclosed one may be gone from its thread."""
    return turn.forked or (len(turn.source_ids) == 1 and not turn.chained)


async def _index(claim: ClaimedTurns) -> tuple[ClaimedTurns, Sequence[Message], ContextChain | None]:
    """Embed messages and append them to the chain; return the turns still claimed, their messages, and the chain."""
    session = claim.session

    async def step() -> tuple[tuple[ClaimedTurns, Sequence[Message], ContextChain | None], list[Change]]:
        mine = await claim.still_mine()
        messages, chain, _, changes = await _indexed(session, mine)
        if session.memory.policy.summaries.enabled:
            mine = [turn.model_copy(update={"chained": True}) for turn in mine]
            changes = [*changes, *(put(session.user_id, turn) for turn in mine)]
        return (replace(claim, due=mine), messages, chain), changes

    return await transact(session.memory.store, session.user_id, step)


async def _indexed(
    session: Session, turns: Sequence[PendingTurn], facts: Sequence[str] = ()
) -> tuple[Sequence[Message], ContextChain | None, dict[str, Fact | None], list[Change]]:
    """Return the messages of turns, the chain with them, and some facts, with the writes; one round trip."""
    ids = list(dict.fromkeys(source for turn in turns for source in turn.source_ids))
    if not ids:
        return [], None, {}, []
    dialog, state, semantic = (
        scope_namespace(session.user_id, of) for of in (MemoryScope.DIALOG, MemoryScope.STATE, MemoryScope.SEMANTIC)
    )
    asked = [
        GetOp(state, CHAIN.id(turns[0].session_id)),
        *(GetOp(semantic, id_) for id_ in facts),
        *(GetOp(dialog, id_) for id_ in ids),
    ]
    held, *found = [item if isinstance(item, Item) else None for item in await session.memory.store.abatch(asked)]
    known = {
        id_: Fact.from_value(item.value) if item is not None and FACT.matches(item.value) else None
        for id_, item in zip(facts, found, strict=False)
    }
    messages = [Message.from_value(item.value) for item in found[len(facts) :] if item is not None]
    changes = [put(session.user_id, message) for message in messages]
    if not session.memory.policy.summaries.enabled:
        return messages, None, known, changes
    before = None if held is None else ContextChain.from_value(held.value)
    chain, joined = await join(session, turns, messages, before)
    return messages, chain, known, [*changes, *joined]


async def draw_at_once(session: Session) -> TurnReport | None:
    """Store waiting turns verbatim in one step; None for a fork, a request to forget, or more than a step takes."""

    async def step() -> tuple[TurnReport | None, list[Change]]:
        found = await waiting(session)
        if found.more or found.wishes or any(map(_may_fork, found.due)):
            return None, []
        if not found.due:
            return TurnReport(emptied=found.alone), []
        if found.due[0].session_id != session.session_id:
            return None, []
        # a note has what the user said, most often all of it: what that will be kept as is looked up with the rest
        said = (one for turn in found.due for one in own_statements_in(turn.text))
        likely = list(dict.fromkeys(fact_id("user", one) for one in said))
        messages, chain, known, changes = await _indexed(session, found.due, likely)
        report, kept = await kept_at_once(session, found.due, messages, known)
        return replace(report, emptied=found.alone, chain=chain), [*changes, *kept]

    try:
        return await transact(session.memory.store, session.user_id, step)
    except Exception as error:
        # it is done again with a claim, under which what cannot be written is parked in the end
        log.warning("turns could not be read at once: %s", cause_of(error))
        return None


async def _shown(claim: ClaimedTurns, messages: Sequence[Message]) -> list[Message]:
    """Return the messages of turns, each turn after its context."""
    known = {message.id: message for message in messages}
    context = [id_ for turn in claim.due for id_ in turn.context_ids if id_ not in known]
    told = {**known, **{message.id: message for message in await claim.session.messages(context)}}
    # by turns, and not by place: in a thread that was trimmed the places begin again
    order = dict.fromkeys(id_ for turn in claim.due for id_ in (*turn.context_ids, *turn.source_ids))
    return [told[id_] for id_ in order if id_ in told]


# The facts that the model is shown beside what was said, so that it updates what is known rather than adds to it.

NEIGHBOURS = 20
"""Facts shown to the model, so that it updates them instead of adding: half near in meaning, half sharing words."""

_STATES = (
    *("Where do I live?", "What is my job?", "What am I studying?", "Who is my partner?", "Do I have children?"),
    *("What do I eat and drink?", "How is my health?", "What do I drive?"),
)
"""Questions about what a person has one of: what replaces it may share no word with it ("Unpacked in Da Nang!")."""

_SECONDS = 10.0  # timeout of the embedder, after which facts are found by words alone


async def related_facts(store: BaseStore, user_id: str, said: Sequence[str], *, standing: bool = False) -> list[Fact]:
    """Return the facts that may be about some messages, neighbours in meaning and in words in turn, each once.

    Facts that ended by their own dates are included, so that a repetition adds no second one. If the embedder fails,
    only words count. With `standing` the answers to the standing questions follow.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    texts = [text for text in said if text.strip()]
    nearest = SearchOp(
        namespace,
        filter={"kind": FACT.name, "retired_at": None},
        limit=NEIGHBOURS,
        query=" ".join(texts)[:MAX_INDEXED_CHARS] or None,
    )
    # `current` is in the index, and `retired_at` is not: what something else has ended is neither
    told, arms = {"kind": FACT.name, "current": True}, frozenset({Arm.LEXICAL})
    # each message by itself: of all together only the longest words would count; many long ones take a while to read
    worded = await off_loop(
        sum(map(len, texts)),
        lambda: [RecallOp(namespace, read_question(text, now()), told, NEIGHBOURS, arms=arms) for text in texts],
    )
    states = [nearest._replace(query=question, limit=2) for question in _STATES if standing]
    try:
        async with asyncio.timeout(_SECONDS):
            near, *shared = await recall(store, [nearest, *states, *worded])
    except Exception as error:  # whatever the embedder's client raises; an outage of it must not keep a turn unread
        log.warning("what is known about a turn is found by its words only: %s", cause_of(error))
        near, shared = [], [*([] for _ in states), *await recall(store, worded)]
    held, found = shared[: len(states)], shared[len(states) :]
    words = _in_turn([hit.item for hit in answer.found] for answer in cast("list[Recall]", found))
    merged = _in_turn([cast("list[Item]", near), words])[:NEIGHBOURS]
    more = [item for item in _in_turn(cast("list[list[Item]]", held)) if item not in merged]
    return [Fact.from_value(item.value) for item in (*merged, *more)[:MAX_EXISTING]]


def _in_turn(found: Iterable[Sequence[Item]]) -> list[Item]:
    """Interleave lists of items, each item once."""
    rows = zip_longest(*found)
    return list({item.key: item for row in rows for item in row if item is not None}.values())


# Extractive account of turns: sentences that were said, word for word, where no model tells of them.

_MAX_SUMMARY = 500
_MAX_GOAL = 300  # character limits, as for a model's (`write.extraction.checks`)


def told_of(messages: Sequence[Message], *, whole: bool = False) -> Extraction:
    """Return an extractive summary of messages; for a whole conversation also its episode."""
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
