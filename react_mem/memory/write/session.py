"""A user's conversation with an agent: the common argument of all its writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langgraph.store.base import BaseStore, PutOp, SearchItem, SearchOp

from react_mem.errors import ExtractionError, LegalHoldError, ModelUnavailable
from react_mem.memory import telemetry
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.causes import cause_of, scrub
from react_mem.memory.merging.authors import Owner
from react_mem.memory.model.concepts import ContextChain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, FACT, MESSAGE, PENDING
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.operations import Change, Extractor, Operation, delete, put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, Message, now, record_id
from react_mem.memory.model.states import MAX_FAILURES, Conversation, PendingTurn
from react_mem.memory.rights.forgetting import forget
from react_mem.memory.rights.hidden import Hiding, erase_due
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.store.transactions import transact
from react_mem.memory.summaries.summarise import EXTRACTIVE, Summariser
from react_mem.memory.work.items import Work, is_dead, put_work
from react_mem.memory.write.following import BranchesOf


@dataclass(frozen=True)
class TurnReport:
    """Report of an extraction: texts new in memory or no longer believed, model calls, and turns that still wait.

    Args:
        problem: Notice of a problem to the user; else empty.
        emptied: True if nothing of the conversation waits for the agent any more.
        unfinished: True if a conversation is to be continued at once: one run concludes only so much of it.
        chain: The conversation's chain after one extraction, if known, which spares the fold a read.
    """

    stored: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    calls: int = 0
    waiting: int = 0
    problem: str = ""
    summarised: int = 0
    emptied: bool = False
    unfinished: bool = False
    chain: ContextChain | None = field(default=None, compare=False, repr=False)

    def __add__(self, other: TurnReport) -> TurnReport:
        return TurnReport(
            [*self.stored, *other.stored],
            [*self.retired, *other.retired],
            self.calls + other.calls,
            self.waiting + other.waiting,
            "; ".join(filter(None, dict.fromkeys([self.problem, other.problem]))),
            self.summarised + other.summarised,
            self.emptied or other.emptied,
            self.unfinished or other.unfinished,
        )


async def owner_of(memory: MemoryFacade, user_id: str, thread: Sequence[BaseMessage], start: int = 0) -> Owner:
    """Return the owner; with the name in the profile, if a message from `start` on names its author otherwise."""
    owner = Owner(user_id, thread=thread)
    if not any(map(owner.speaker, thread[start:])):
        return owner
    profile = await memory.profile.get_profile(user_id)
    return replace(owner, name=profile.known_values().get("name", "") if profile is not None else "")


@dataclass(frozen=True)
class Session:
    """One user in one conversation with one agent; a conversation `elsewhere` is no thread of ours."""

    memory: MemoryFacade
    extractor: Extractor | None
    user_id: str
    session_id: str
    agent_id: str
    summariser: Summariser = EXTRACTIVE
    elsewhere: bool = False

    @property
    def branches(self) -> BranchesOf:
        """The branches of the conversation."""
        return BranchesOf(self.memory.store, self.user_id, self.session_id)

    @property
    def where(self) -> dict[str, str]:
        """The fields of a record that say where it was said."""
        return {"session_id": self.session_id, "agent_id": self.agent_id}

    def conversation(self, *, ended: bool) -> Conversation:
        """Return the record of this conversation as of now."""
        at = now()
        return Conversation(
            id=CONVERSATION.id(self.session_id),
            text="",
            created_at=at,
            last_said_at=at,
            ended=ended,
            **self.where,
        )

    async def messages(self, ids: Collection[str]) -> list[Message]:
        """Return the existing messages among some ids, in that order."""
        values = await self.memory.records(self.user_id, MemoryScope.DIALOG, ids) if ids else {}
        return [Message.from_value(values[id_]) for id_ in dict.fromkeys(ids) if id_ in values]


# The user's wishes to forget something, as an extraction reads them: noted with what it writes, granted behind it.

_KIND = "wish"


def wish_changes(
    user_id: str, agent_id: str, operations: Iterable[Operation], said: Mapping[str, Message]
) -> list[Change]:
    """Return the note of the user's own requests to forget, for the batch that retires their facts."""
    others = {id_ for id_, message in said.items() if message.origin is not Origin.USER}
    wanted = [op for op in operations if op.relation == "forget" and op.target_id and op.origin is Origin.USER]
    asked = [op for op in wanted if others.isdisjoint(op.source_ids)]
    if not asked:
        return []
    ids = [str(op.target_id) for op in asked]
    said_in = [id_ for op in asked for id_ in op.source_ids]
    key = record_id(_KIND, *ids, *said_in)
    value = {"kind": _KIND, "ids": ids, "said": [op.quote for op in asked], "agent": agent_id, "said_in": said_in}
    return [PutOp(meta_namespace(user_id), key, value, index=False)]


def wishes_of(user_id: str) -> SearchOp:
    """Return the search for an owner's noted requests to forget."""
    return SearchOp(meta_namespace(user_id), filter={"kind": _KIND}, limit=WHOLE, refresh_ttl=False)


async def grant_wishes(store: BaseStore, user_id: str, found: Sequence[SearchItem] | None = None) -> str:
    """Hide the noted records, read without `found`, and erase those hidden long enough; return problems. Idempotent."""
    notes = found if found is not None else cast("list[list[SearchItem]]", await store.abatch([wishes_of(user_id)]))[0]
    problems: dict[str, None] = {}
    for note in sorted(notes, key=lambda item: (item.created_at, item.key)):
        try:
            hides = Hiding(str(note.value.get("agent", "")), note.value.get("said_in", ()))
            ids, said = note.value["ids"], note.value["said"]
            receipt = await forget(store, user_id, ids=ids, said=said, note=note.key, hides=hides)
        except LegalHoldError as held:
            # not believed any more, and granted once the hold is lifted
            problems[str(held)] = None
        else:
            problems |= dict.fromkeys(receipt.problems)
    # where no worker does
    await erase_due(store, user_id)
    return "; ".join(problems)


# Claims of waiting turns: one worker at a time, backoff while a model is down, and a limit of failures.

_FIRST_RETRY, _LAST_RETRY = 15.0, 3600.0  # seconds: bounds of the backoff after a model's outage, doubling
_MAX_DOUBLINGS = 10

_BATCH = 8  # most turns in one model call: what fits a small model's window
_CLAIM_MARGIN = 30.0  # seconds by which a claim outlives the model call's timeout: reading and writing take far less
_AT_ONCE = 20  # unread statements queued at a time: a year of them is worked off a few with each turn
_MAX_NOTE = 600  # characters of a message in its note


def next_due(turn: PendingTurn, at: datetime) -> datetime | None:
    """Return the earliest time at which a turn may be claimed; None for a parked one."""
    if turn.failures >= MAX_FAILURES:
        return None
    waits = [turn.retry_at, None if is_dead(turn.claimed_by) else turn.claimed_until]
    return max((time for time in waits if time is not None), default=at)


def freed(turn: PendingTurn, failure: Exception | None) -> PendingTurn:
    """Return a turn without its claim: claimable at once, or after the backoff of a failed attempt."""
    free: dict[str, Any] = {"claimed_by": "", "claimed_until": None}
    if failure is not None:
        outage = isinstance(failure, ExtractionError) and failure.retryable
        asked = failure.retry_after if isinstance(failure, ModelUnavailable) else None
        wait = max(min(_FIRST_RETRY * 2 ** min(turn.attempts, _MAX_DOUBLINGS), _LAST_RETRY), asked or 0.0)
        free |= {
            "attempts": turn.attempts + 1,
            "failures": turn.failures + (not outage),
            "retry_at": now() + timedelta(seconds=wait) if outage else None,
            "last_error": in_short(failure),
        }
    return turn.model_copy(update=free)


def in_short(failure: Exception) -> str:
    """Return an error in a line, without secrets, to be kept with the owner's records."""
    return scrub(failure) if isinstance(failure, ExtractionError) and str(failure) else cause_of(failure)


@dataclass(frozen=True)
class ClaimableTurns:
    """Turns that wait for extraction; `due` ones are of one conversation.

    Args:
        more: True if others are due.
        wishes: Requests to forget that a crash left, from the same round trip.
        alone: True if nothing else of this conversation waits with the agent.
    """

    due: list[PendingTurn]
    more: bool
    wishes: list[SearchItem]
    alone: bool


async def waiting(session: Session) -> ClaimableTurns:
    """Return the turns to extract now: from this conversation first, then turns left behind by other workers."""
    at = now()
    asked = [SearchOp(PENDING.namespace(session.user_id), limit=WHOLE, refresh_ttl=False), wishes_of(session.user_id)]
    found, wishes = cast("list[list[SearchItem]]", await session.memory.store.abatch(asked))
    turns = sorted((PendingTurn.from_value(item.value) for item in found), key=lambda turn: turn.created_at)
    # another agent's turns are read by its own model, under its own policy
    own = [turn for turn in turns if turn.agent_id == session.agent_id]
    free = [turn for turn in own if (due_at := next_due(turn, at)) is not None and due_at <= at]
    stale = at - timedelta(seconds=session.memory.policy.extraction.recover_after)
    mine = [turn for turn in free if turn.session_id == session.session_id]
    left = [turn for turn in free if turn.session_id != session.session_id and turn.created_at < stale]
    # one conversation at a time: what is drawn belongs to it
    group = mine or [turn for turn in left if turn.session_id == left[0].session_id]
    due = group[:_BATCH]
    drawn = {turn.id for turn in due}
    alone = all(turn.id in drawn for turn in own if turn.session_id == session.session_id)
    return ClaimableTurns(due, len(mine) + len(left) > len(due), wishes, alone)


@dataclass(frozen=True)
class ClaimedTurns:
    """Turns of one conversation that a worker has claimed."""

    session: Session
    due: Sequence[PendingTurn]
    worker: str

    async def still_mine(self) -> list[PendingTurn]:
        """Return the turns still claimed by this worker, as stored; others take over once a claim runs out."""
        known = {str(value["id"]): value for value in await self.session.memory.pending(self.session.user_id)}
        stored = [PendingTurn.from_value(known[turn.id]) for turn in self.due if turn.id in known]
        return [turn for turn in stored if turn.claimed_by == self.worker]

    async def write(
        self, step: Callable[[Sequence[PendingTurn]], Awaitable[tuple[TurnReport, list[Change]]]], lost: TurnReport
    ) -> TurnReport:
        """Write the changes that a step makes of the turns; if some are not ours, release the others, return `lost`."""

        async def whole() -> tuple[TurnReport, list[Change]]:
            mine = await self.still_mine()
            if len(mine) == len(self.due):
                return await step(mine)
            # forgotten meanwhile, left behind with their branch, or read by somebody else: nothing of it is written
            return replace(lost, waiting=len(mine)), [put(self.session.user_id, freed(turn, None)) for turn in mine]

        return await transact(self.session.memory.store, self.session.user_id, whole)

    async def release(self, failure: Exception | None = None) -> None:
        """Release the claims of turns that could not be finished; without a failure the attempt was broken off."""

        async def step() -> tuple[None, list[Change]]:
            return None, [put(self.session.user_id, freed(turn, failure)) for turn in await self.still_mine()]

        await transact(self.session.memory.store, self.session.user_id, step)
        self.count_parked(failure)

    async def finish(self) -> None:
        """Delete the notes of turns from which nothing is extracted."""

        async def step() -> tuple[None, list[Change]]:
            return None, [delete(self.session.user_id, PENDING, turn.id) for turn in await self.still_mine()]

        await transact(self.session.memory.store, self.session.user_id, step)

    def count_parked(self, failure: Exception | None) -> None:
        """Count the turns that are parked after a failure."""
        parked = sum(freed(turn, failure).failures >= MAX_FAILURES for turn in self.due)
        if failure and parked:
            telemetry.count("extraction.changes", parked, change="parked")


async def claim(session: Session, worker: str) -> ClaimableTurns:
    """ClaimedTurns the turns to extract now, for a worker."""

    async def step() -> tuple[ClaimableTurns, list[Change]]:
        found = await waiting(session)
        until = now() + timedelta(seconds=session.memory.policy.extraction.timeout + _CLAIM_MARGIN)
        due = [turn.model_copy(update={"claimed_by": worker, "claimed_until": until}) for turn in found.due]
        return replace(found, due=due), [put(session.user_id, turn) for turn in due]

    return await transact(session.memory.store, session.user_id, step)


async def offer_unread(session: Session) -> None:
    """Queue the messages of statements that no model has read, each once, like the messages of a new turn."""
    memory, user_id = session.memory, session.user_id
    unread = {"kind": FACT.name, "unread": True, "agent_id": session.agent_id}

    async def step() -> tuple[None, list[Change]]:
        found = await memory.store.asearch(FACT.namespace(user_id), filter=unread, limit=_AT_ONCE, refresh_ttl=False)
        facts = [Fact.from_value(item.value) for item in found]
        if not facts:
            return None, []
        # what waits anyway, since it has been said again, is not to wait twice
        known = {id_ for value in await memory.pending(user_id) for id_ in value["source_ids"]}
        ids = [id_ for fact in facts for id_ in fact.source_ids if id_ not in known]
        values = (await memory.records(user_id, MemoryScope.DIALOG, ids)).values()
        said = [Message.from_value(value) for value in values if MESSAGE.matches(value)]
        changes = [put(user_id, fact.model_copy(update={"unread": False})) for fact in facts]
        changes += [
            put(
                user_id,
                PendingTurn(
                    id=PENDING.id(message.id),
                    text=message.text[:_MAX_NOTE],
                    created_at=message.created_at,
                    # it has joined its conversation's chain when it was said
                    chained=True,
                    session_id=message.session_id,
                    agent_id=session.agent_id,
                    source_ids=(message.id,),
                ),
            )
            for message in said
        ]
        at = int(now().timestamp() * 1000)
        for session_id in dict.fromkeys(message.session_id for message in said):
            work = Work(kind="extract", agent=session.agent_id, session=session_id, due_at=at)
            changes.append(put_work(user_id, work))
        return None, changes

    await transact(memory.store, user_id, step)
