"""The end of a conversation: what it was about as a whole, and what is worth keeping of it beyond its turns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from react_mem.errors import ExtractionError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import load_facts
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, EPISODE
from react_mem.memory.model.records import Level, Message, now
from react_mem.memory.model.states import Conversation
from react_mem.memory.store.transactions import transact
from react_mem.memory.write import drafts
from react_mem.memory.write.chain_upkeep import load_chain
from react_mem.memory.write.committing import settled
from react_mem.memory.write.drawing import ask, transcript_of
from react_mem.memory.write.session import TurnReport
from react_mem.memory.write.summed_up import told_of_in_chain
from react_mem.memory.write.turns import Turns
from react_mem.memory.write.wishes import grant_wishes, wish_changes

MAX_MESSAGES = 80
"""Messages of a conversation that the model is shown, the latest: as many as an extraction takes."""


async def end_conversation(turns: Turns) -> TurnReport:
    """Conclude a conversation: draw from what still waits, then record it as one episode if it had a goal.

    Concluding it again changes nothing, until something new is said in it.

    Args:
        turns: The conversation.

    Returns:
        What changed. Its `problem` says why an episode could not be drawn; the conversation then stays open.
    """
    record = turns.conversation(ended=True)
    known = (await turns.memory.records(turns.user_id, MemoryScope.STATE, [record.id])).get(record.id)
    if known is not None and known["ended"]:
        return TurnReport()
    first = await turns.extract()
    said_last = await turns.memory.dialog.get_context(turns.user_id, turns.session_id, MAX_MESSAGES)
    messages = said_last.messages[-MAX_MESSAGES:]
    if turns.extractor is None or not messages or not turns.memory.policy.extracts:
        await turns.memory.apply([put(turns.user_id, record)])
        return first
    try:
        extraction = await ask(turns, transcript_of(messages, {message.id for message in messages}))
    except ExtractionError as error:
        return replace(first, problem=str(error))
    stamp = turns.stamp()
    said = {message.id: message for message in messages}
    unread = await asyncio.to_thread(drafts.unread_facts, extraction.unread, messages, stamp)

    async def step() -> tuple[tuple[list[str], bool], list[Change]]:
        if not await _is_as_read(turns, record.id, known, messages):
            return ([], False), []
        stored = await load_facts(turns.memory.store, turns.user_id, extraction.ops, verbatim_in=turns.session_id)
        verbatim = [fact for fact in stored.values() if fact.verbatim and said.keys() & set(fact.source_ids)]
        # what was read with its turn has been decided since, perhaps taken back: only the rest is still to be promoted
        open_ = {source for fact in verbatim for source in fact.source_ids}
        operations = [operation for operation in extraction.ops if open_ & set(operation.source_ids)]
        # what was kept word for word, and has now been read in its conversation
        still = drafts.parts_of(unread, verbatim)
        facts, _, changes = await settled(
            turns, operations, stored, said, unread=still, beside=verbatim, read=open_, at=stamp.at
        )
        wished = wish_changes(turns.user_id, operations, said)
        changes += wished
        if extraction.episode is not None and turns.memory.policy.recall.episodic:
            made = drafts.episode(replace(extraction.episode, milestone=""), tuple(said), stamp)
            # one a conversation: concluded again, with what was said since, it replaces what was recorded
            id_ = EPISODE.id(str(Level.CONVERSATION), turns.session_id)
            changes.append(put(turns.user_id, made.model_copy(update={"id": id_, "level": Level.CONVERSATION})))
            chain = await load_chain(turns.memory, turns.user_id, turns.session_id)
            changes += await told_of_in_chain(turns.memory, turns.user_id, chain, id_)
        changes.append(put(turns.user_id, record))
        return ([fact.text for fact in facts if fact.current], bool(wished)), changes

    stored, wished = await transact(turns.memory.store, turns.user_id, step)
    done = first + TurnReport(stored, calls=extraction.calls)
    return done + TurnReport(problem=await grant_wishes(turns.memory.store, turns.user_id)) if wished else done


async def _is_as_read(turns: Turns, id_: str, known: object, messages: Sequence[Message]) -> bool:
    """Return whether nothing was said in a conversation, and nothing of it forgotten, since the model was asked."""
    state = await turns.memory.records(turns.user_id, MemoryScope.STATE, [id_])
    said = await turns.memory.records(turns.user_id, MemoryScope.DIALOG, [message.id for message in messages])
    now_said = {message_id: value["content"] for message_id, value in said.items()}
    return state.get(id_) == known and now_said == {message.id: message.content for message in messages}


async def quiet_conversations(turns: Turns) -> Sequence[str]:
    """Return an agent's conversations with a user that nobody has concluded and in which nothing was said for a while.

    Args:
        turns: Any conversation of the two; its policy says how long a while is.
    """
    before = now() - timedelta(seconds=turns.memory.policy.extraction.quiet_after)
    open_ = await _open_conversations(turns.memory, turns.user_id)
    return [c.session_id for c in open_ if c.agent_id == turns.agent_id and c.last_said_at <= before]


async def agents_with_work(memory: MemoryFacade, user_id: str) -> list[str]:
    """Return the agents whose conversations with a user are open, or have turns that wait.

    Args:
        memory: The facade.
        user_id: The owner.
    """
    waiting = [str(value["agent_id"]) for value in await memory.pending(user_id)]
    return list(dict.fromkeys([*waiting, *(c.agent_id for c in await _open_conversations(memory, user_id))]))


async def _open_conversations(memory: MemoryFacade, user_id: str) -> list[Conversation]:
    found = await memory.state.every(user_id, kind=CONVERSATION.name, ended=False)
    return [Conversation.from_value(value) for value in found]
