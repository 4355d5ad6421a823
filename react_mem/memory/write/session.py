"""A user's conversation with an agent, as everything that writes of it is handed it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.concepts import ContextChain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION
from react_mem.memory.model.operations import Extractor
from react_mem.memory.model.records import Message, now
from react_mem.memory.model.states import Conversation
from react_mem.memory.summaries.summarise import EXTRACTIVE, Summariser
from react_mem.memory.write.drafts import Stamp
from react_mem.memory.write.noticing import BranchesOf


@dataclass(frozen=True)
class TurnReport:
    """Report of an extraction.

    Args:
        stored: The texts that are new in memory.
        retired: The texts that are no longer believed.
        calls: How many model calls it took.
        waiting: How many turns still wait to be extracted.
        problem: What went wrong, for the user; empty when nothing did.
        summarised: How many summaries of the conversation were written.
        extractive: How many of them no model made.
        emptied: Whether nothing of the conversation was left that waits for the agent.
        unfinished: Whether a conversation is to be gone on with at once: one run concludes only so much of it.
        chain: The chain of the conversation as it was left, where that is known; of one extraction, not of several.
    """

    stored: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    calls: int = 0
    waiting: int = 0
    problem: str = ""
    summarised: int = 0
    extractive: int = 0
    emptied: bool = False
    unfinished: bool = False
    chain: ContextChain | None = field(default=None, compare=False, repr=False)

    def __add__(self, other: TurnReport) -> TurnReport:
        """Add up."""
        return TurnReport(
            [*self.stored, *other.stored],
            [*self.retired, *other.retired],
            self.calls + other.calls,
            self.waiting + other.waiting,
            "; ".join(filter(None, dict.fromkeys([self.problem, other.problem]))),
            self.summarised + other.summarised,
            self.extractive + other.extractive,
            self.emptied or other.emptied,
            self.unfinished or other.unfinished,
        )


@dataclass(frozen=True)
class Session:
    """One user in one conversation with one agent.

    Args:
        memory: The facade.
        extractor: Draws facts from turns; None keeps the user's statements word for word.
        user_id: The owner.
        session_id: The conversation.
        agent_id: The agent.
        summariser: Sums the conversation up; by default without a model.
        elsewhere: Whether the conversation is held elsewhere, and is no thread of ours.
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
        """Return what records that are written now have in common."""
        return Stamp(self.session_id, self.agent_id, now())

    def conversation(self, *, ended: bool) -> Conversation:
        """Return the record of this conversation as it is now."""
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
        """Return messages in the order in which they are asked for, those that are there."""
        values = await self.memory.records(self.user_id, MemoryScope.DIALOG, ids) if ids else {}
        return [Message.from_value(values[id_]) for id_ in dict.fromkeys(ids) if id_ in values]
