"""A user's conversation with an agent: the common argument of all its writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from langgraph.store.base import BaseStore, PutOp, SearchItem, SearchOp

from react_mem.errors import LegalHoldError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.concepts import ContextChain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.operations import Extractor, Operation
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import Message, now, record_id
from react_mem.memory.model.states import Conversation
from react_mem.memory.rights.forgetting import forget
from react_mem.memory.rights.hidden import Hiding, erase_due
from react_mem.memory.store.owned import WHOLE
from react_mem.memory.summaries.summarise import EXTRACTIVE, Summariser
from react_mem.memory.write.drafts import Stamp
from react_mem.memory.write.following import BranchesOf


@dataclass(frozen=True)
class TurnReport:
    """Report of an extraction: texts new in memory or no longer believed, model calls, and turns that still wait.

    Args:
        problem: Notice of a problem to the user; else empty.
        summarised: Summaries written.
        emptied: True if nothing of the conversation waits for the agent any more.
        unfinished: True if a conversation is to be continued at once: one run concludes only so much of it.
        chain: The conversation's chain after one extraction, if known.
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


@dataclass(frozen=True)
class Session:
    """One user in one conversation with one agent; without an extractor the user's statements are kept verbatim.

    A conversation `elsewhere` is no thread of ours.
    """

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

    def stamp(self) -> Stamp:
        """Return the shared fields of records written now."""
        return Stamp(self.session_id, self.agent_id, now())

    def conversation(self, *, ended: bool) -> Conversation:
        """Return the record of this conversation as of now."""
        at = now()
        return Conversation(
            id=CONVERSATION.id(self.session_id),
            text="",
            created_at=at,
            last_said_at=at,
            ended=ended,
            session_id=self.session_id,
            agent_id=self.agent_id,
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
    """Return the note of the user's own requests to forget, for the batch that retires their facts.

    `grant_wishes` erases them.
    """
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
    """Hide the noted records, and erase records hidden long enough; return a notice of problems. Idempotent.

    Without `found` the notes are read.
    """
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
