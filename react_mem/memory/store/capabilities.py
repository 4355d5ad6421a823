"""Operations that a store may have beside LangGraph's interface; callers have a plain way for every other store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from langgraph.store.base import BaseStore, Op, PutOp, Result

from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.model.namespaces import Namespace

if TYPE_CHECKING:
    from react_mem.memory.model.receipt import Check
    from react_mem.memory.store.audit.audit_log import AuditLog
    from react_mem.memory.store.calibration import Calibration
    from react_mem.memory.store.embeddings import EmbeddingModel
    from react_mem.memory.store.keys.key_ring import KeyRing
    from react_mem.memory.store.left_traces import Traces
    from react_mem.memory.store.listing import ConversationPlace, Listed, ListedConversations, ListPlace, Wanted
    from react_mem.memory.store.owned import OwnedPage
    from react_mem.memory.store.room import Stored
    from react_mem.memory.store.transactions import Guard


class StoreCapabilities:
    """Base of a store with such operations. The default of each says that the store lacks it: None, or nothing to do.

    Attributes:
        recalls: True if the store has `arecall`.
        guards: True if the store has `abatch_if`, also between processes.
        pages_by_key: True if `apage` follows the order of the items' keys.
        embedding: The embedding model; None if unknown.
        keys: The data keys of owners; None where nothing is encrypted.
        audit: The audit log; None without one.
        receipt_key: Signs receipts; None takes a key that memory makes.
    """

    __slots__ = ()

    recalls: bool = False
    guards: bool = False
    pages_by_key: bool = True
    embedding: EmbeddingModel | None = None
    keys: KeyRing | None = None
    audit: AuditLog | None = None
    receipt_key: Ed25519PrivateKey | None = None

    @property
    def calibration(self) -> Calibration | None:
        """Return the meaning of the embedder's cosines."""
        return None

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        """Run reads and recalls in one batch; return their results, in order."""
        raise NotImplementedError

    async def abatch_if(self, ops: Sequence[Op], guard: Guard) -> bool:
        """Write the batch and return true if the guard holds; otherwise write nothing."""
        raise NotImplementedError

    async def aerase_if(self, ops: Sequence[PutOp], guard: Guard) -> bool:
        """Delete everything of the guard's owner, with `ops` the deletes, and return true if the guard holds."""
        return await self.abatch_if(ops, guard)

    async def apage(self, namespace: Namespace, behind: tuple[str, str], limit: int) -> OwnedPage | None:
        """Return the next items of an owner's namespace and those below it, in an order that no write changes.

        `behind` is that of the page before; two empty texts for the first page.
        """

    async def alisted(self, wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed | None:
        """Return an owner's next records behind a place (None for the first page), the latest first."""

    async def arevision(self, owner: str) -> str | None:
        """Return a token that changes with every write of an owner."""

    async def aconversations(
        self, namespace: Namespace, behind: ConversationPlace | None, limit: int
    ) -> ListedConversations | None:
        """Return an owner's next conversations behind a place (None for the first page), the latest first."""

    async def alinked(
        self, namespaces: Sequence[Namespace], ids: Sequence[str]
    ) -> list[tuple[Namespace, dict[str, Any]]] | None:
        """Return records of an owner with the fields that their links come from, without texts."""

    async def ameasure(self, user_id: str) -> Stored | None:
        """Return the size of an owner's memory."""

    async def atraces(self, traces: Traces) -> list[Check] | None:
        """Return the rows of an erased record in each table, and the tables that were not read."""

    async def amake_up_vectors(self, namespace: Namespace = ()) -> int:
        """Make the missing vectors of a namespace and those below it, and return their number."""
        return 0


_NONE = StoreCapabilities()


def capabilities(store: BaseStore) -> StoreCapabilities:
    return store if isinstance(store, StoreCapabilities) else _NONE
