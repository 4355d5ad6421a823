"""End of a conversation: its episode as a whole, and the promotion of verbatim statements."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

from react_mem.errors import ExtractionError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import load_facts
from react_mem.memory.model.concepts import ChainEntry
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, EPISODE
from react_mem.memory.model.operations import Change, Extraction, TranscriptMessage, put
from react_mem.memory.model.records import Fact, Level, Message, Role, now
from react_mem.memory.model.states import Conversation
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.store.transactions import transact
from react_mem.memory.write import committing as drafts
from react_mem.memory.write.chain import load_chain, told_of_in_chain
from react_mem.memory.write.committing import settled
from react_mem.memory.write.drawing import ask, says_nothing, told_of, transcript_of
from react_mem.memory.write.session import TurnReport, grant_wishes, wish_changes
from react_mem.memory.write.turns import Turns

MAX_MESSAGES = 80  # messages shown to the model at a time: as many as an extraction takes
_OVERLAP = 2
"""Messages of context before the first one read in a window: "yes, exactly" says nothing without the question."""

_MAX_OPEN = 30  # most statements read in a window: of more, an extraction might leave some out
_ENDS = 10  # links at each end of the chain before the last window
_CALLS = 5  # windows a run: however long a conversation is, the owner's other work waits for a few minutes at most


@dataclass(frozen=True)
class _Stretch:
    """Window of a conversation for one model call: its unread messages, and links of the chain before it."""

    messages: Sequence[Message]
    read: Collection[str]
    before: Sequence[ChainEntry] = ()
    last: bool = False

    @property
    def transcript(self) -> list[TranscriptMessage]:
        """The messages as the model sees them."""
        told = (
            TranscriptMessage(one.id, cast("Role", one.role or "assistant"), one.text, one.at, True, one.origin)
            for one in self.before
        )
        return [*told, *transcript_of(self.messages, self.read)]


async def end_conversation(turns: Turns) -> TurnReport:
    """Conclude a conversation: extract waiting turns, promote verbatim statements, record the episode. Idempotent.

    The conversation is read in windows, a few a run; the report says if there are more. Its `problem` says why an
    episode could not be made; the conversation then stays open.
    """
    record = turns.conversation(ended=True)
    known = (await turns.memory.records(turns.user_id, MemoryScope.STATE, [record.id])).get(record.id)
    if known is not None and known["ended"]:
        return TurnReport()
    done = await turns.extract()
    policy = turns.memory.policy
    messages = (await turns.memory.dialog.get_context(turns.user_id, turns.session_id, WHOLE)).messages
    silent = not messages or says_nothing(messages)
    if silent or not policy.sums_up or (turns.extractor is None and policy.extracts):
        await turns.memory.apply([put(turns.user_id, record)])
        return done
    for number, window in enumerate(await _windows(turns, messages)):
        if number == _CALLS:
            return done + TurnReport(unfinished=True)
        try:
            if turns.extractor is None:
                extraction = await asyncio.to_thread(told_of, messages, whole=True)
            else:
                extraction = await ask(turns, window.transcript)
        except ExtractionError as error:
            return replace(done, problem=str(error))
        part = await _conclude(turns, record, known, window, extraction)
        done += part or TurnReport(calls=extraction.calls)
        if part is None:
            # something was said or forgotten meanwhile: it stays open
            return done
    return done


async def _windows(turns: Turns, messages: Sequence[Message]) -> list[_Stretch]:
    """Return the windows to read: those with open statements, and the last."""
    if len(messages) <= MAX_MESSAGES:
        return [_Stretch(messages, {message.id for message in messages}, last=True)]
    start = len(messages) - MAX_MESSAGES + 2 * _ENDS
    last = messages[start:]
    windows = await _open_stretches(turns, messages, start) if turns.memory.policy.extracts else []
    # links of the chain before it: summaries, and messages without one
    chain = await load_chain(turns.memory, turns.user_id, turns.session_id)
    told = [entry for entry in chain.entries if entry.first_turn < last[0].turn] if chain is not None else []
    # folded, a chain is shorter than that; else its beginning says what was wanted
    before = told if len(told) <= 2 * _ENDS else [*told[:_ENDS], *told[-_ENDS:]]
    return [*windows, _Stretch(last, {message.id for message in last}, before, last=True)]


async def _open_stretches(turns: Turns, messages: Sequence[Message], end: int) -> list[_Stretch]:
    """Return the windows around verbatim statements before an index that were not concluded."""
    facts = await load_facts(turns.memory.store, turns.user_id, (), verbatim_in=turns.session_id)
    kept = (fact for fact in facts.values() if fact.verbatim and not fact.concluded)
    statements = Counter(source for fact in kept for source in fact.source_ids)
    windows: list[_Stretch] = []
    first, read, number = 0, list[str](), 0
    for place, message in enumerate(messages[:end]):
        if not (many := statements[message.id]):
            continue
        if read and (place >= first + MAX_MESSAGES or number + many > _MAX_OPEN):
            windows.append(_Stretch(messages[first : first + MAX_MESSAGES], read))
            read, number = [], 0
        if not read:
            first = max(place - _OVERLAP, 0)
        read, number = [*read, message.id], number + many
    return [*windows, _Stretch(messages[first : first + MAX_MESSAGES], read)] if read else windows


async def _conclude(
    turns: Turns, record: Conversation, known: object, window: _Stretch, extraction: Extraction
) -> TurnReport | None:
    """Write the extraction of a window, the last one with the end; None if the conversation has changed since."""
    said = {message.id: message for message in window.messages}

    async def step() -> tuple[tuple[list[str], bool] | None, list[Change]]:
        if not await _is_as_read(turns, record.id, known, window):
            return None, []
        facts, wished, changes = await _promoted(turns, window, extraction, said)
        if window.last:
            changes += [*await _episode(turns, window, extraction), put(turns.user_id, record)]
        return ([fact.text for fact in facts if fact.current], wished), changes

    written = await transact(turns.memory.store, turns.user_id, step)
    if written is None:
        return None
    stored, wished = written
    done = TurnReport(stored, calls=extraction.calls)
    return done + TurnReport(problem=await grant_wishes(turns.memory.store, turns.user_id)) if wished else done


async def _promoted(
    turns: Turns, window: _Stretch, extraction: Extraction, said: Mapping[str, Message]
) -> tuple[list[Fact], bool, list[Change]]:
    """Return the facts that replace verbatim statements, true if any is to be forgotten, and the writes."""
    if not turns.memory.policy.extracts:
        return [], False, []
    unread = await asyncio.to_thread(drafts.unread_facts, extraction.unread, window.messages, turns.agent_id)
    stored = await load_facts(turns.memory.store, turns.user_id, extraction.ops, verbatim_in=turns.session_id)
    read = set(window.read)
    verbatim = [fact for fact in stored.values() if fact.verbatim and read & set(fact.source_ids)]
    # what was read with its turn has been decided since, perhaps taken back: only the rest is still to be promoted
    open_ = {source for fact in verbatim for source in fact.source_ids}
    operations = [operation for operation in extraction.ops if open_ & set(operation.source_ids)]
    # what was kept word for word, and has now been read in its conversation
    still = drafts.parts_of(unread, verbatim)
    facts, _, changes = await settled(
        turns, operations, stored, said, unread=still, beside=verbatim, read=open_, at=now(), concludes=True
    )
    wished = wish_changes(turns.user_id, turns.agent_id, operations, said)
    return facts, bool(wished), [*changes, *wished]


async def _episode(turns: Turns, window: _Stretch, extraction: Extraction) -> list[Change]:
    """Return the writes of a conversation's episode, and of the summaries that name it."""
    if extraction.episode is None or not turns.memory.policy.recall.episodic:
        return []
    sources = (*(entry.id for entry in window.before), *(message.id for message in window.messages))
    made = drafts.episode(replace(extraction.episode, milestone=""), sources, **turns.where)
    # one a conversation: concluded again, with what was said since, it replaces what was recorded
    id_ = EPISODE.id(str(Level.CONVERSATION), turns.session_id)
    return [
        put(turns.user_id, made.model_copy(update={"id": id_, "level": Level.CONVERSATION})),
        *await told_of_in_chain(turns, id_),
    ]


async def _is_as_read(turns: Turns, id_: str, known: object, window: _Stretch) -> bool:
    """Return true if nothing of a conversation was added or forgotten since the model was asked."""
    shown = {message.id: message.content for message in window.messages}
    told = {entry.id: entry.text for entry in window.before if entry.id not in shown}
    state = await turns.memory.records(turns.user_id, MemoryScope.STATE, [id_])
    found = await turns.memory.records(turns.user_id, MemoryScope.DIALOG, [*shown, *told])
    return (
        state.get(id_) == known
        and found.keys() == {*shown, *told}
        and all(found[id_]["content"] == content for id_, content in shown.items())
        # a link has the beginning of a message
        and all(str(found[id_]["text"]).startswith(text) for id_, text in told.items())
    )


async def quiet_conversations(turns: Turns) -> Sequence[str]:
    """Return the open conversations of the agent and the user without a message for `quiet_after` seconds."""
    before = now() - timedelta(seconds=turns.memory.policy.extraction.quiet_after)
    open_ = await _open_conversations(turns.memory, turns.user_id)
    return [c.session_id for c in open_ if c.agent_id == turns.agent_id and c.last_said_at <= before]


async def agents_with_work(memory: MemoryFacade, user_id: str) -> list[str]:
    """Return the agents with open conversations or waiting turns of a user."""
    waiting = [str(value["agent_id"]) for value in await memory.pending(user_id)]
    return list(dict.fromkeys([*waiting, *(c.agent_id for c in await _open_conversations(memory, user_id))]))


async def _open_conversations(memory: MemoryFacade, user_id: str) -> list[Conversation]:
    found = await memory.state.every(user_id, kind=CONVERSATION.name, ended=False)
    return [Conversation.from_value(value) for value in found]
