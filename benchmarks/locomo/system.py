"""Interface of a measured system: conversations are written to it and questions asked of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from benchmarks.locomo.dataset import Conversation, Session, Turn
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.metrics import Prompt
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope


@dataclass(frozen=True)
class Hit:
    """One result.

    Args:
        turn_id: The turn that it is; empty where it is none.
        item: As a prompt would have it.
    """

    turn_id: str
    item: MemoryResultItem


class System(Protocol):
    """A memory under measurement."""

    async def write(self, conversation: Conversation) -> None:
        """Store a conversation, for its owner."""

    async def search(self, conversation: Conversation, question: str) -> Sequence[Hit]:
        """Return the `LIMIT` best results for a question to this owner's memory, the best first."""

    async def prompt(self, conversation: Conversation, question: str) -> Prompt:
        """Return what of this owner's memory comes into the prompt that a question is asked with."""

    async def disk_bytes(self) -> int | None:
        """Return what is on disk once everything is written; None where nothing is."""


@dataclass(frozen=True)
class Setup:
    """Input of every system.

    Args:
        server_url: A database server; who needs a database makes one of its own.
        embedding: The specification of the embedding model, as `EMBEDDING_MODEL` has it.
        embeddings: The model, shared by all.
        dims: The length of its vectors.
    """

    server_url: str
    embedding: str
    embeddings: SharedEmbeddings
    dims: int


Opener = Callable[[Setup], AbstractAsyncContextManager[System]]


def spoken(turn: Turn) -> str:
    """Return a turn as a system without a field for the speaker gets it."""
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text


def as_item(turn: Turn, session: Session) -> MemoryResultItem:
    """Return a turn as a message in memory, so that everyone's context is rendered alike."""
    payload = {"text": spoken(turn), "created_at": session.said_at.isoformat(), "role": turn.role}
    return MemoryResultItem(scope=MemoryScope.DIALOG, id=turn.id, payload=payload, source="message")
