"""The user's wishes to forget something, as an extraction reads them: noted with what it writes, granted behind it.

The note is part of the batch that ends the facts, and goes with the batch that hides them: a process that dies in
between leaves it to whoever extracts next for this user. Nothing is erased because a model read so: see
`memory.rights.hidden`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from langgraph.store.base import BaseStore, PutOp, SearchItem, SearchOp

from react_mem.errors import LegalHoldError
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import Message, record_id
from react_mem.memory.rights.forgetting import forget
from react_mem.memory.rights.hidden import Hiding, erase_due
from react_mem.memory.store.owned import WHOLE

_KIND = "wish"


def wish_changes(
    user_id: str, agent_id: str, operations: Iterable[Operation], said: Mapping[str, Message]
) -> list[Change]:
    """Return the note of what the user asks to forget, for the batch in which it is no longer believed.

    Args:
        user_id: The owner.
        agent_id: The agent that they spoke with.
        operations: What was read; only what the user says themselves asks for anything.
        said: The messages that are cited.
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
    """Return the search for what is noted of an owner's wishes."""
    return SearchOp(meta_namespace(user_id), filter={"kind": _KIND}, limit=WHOLE, refresh_ttl=False)


async def grant_wishes(store: BaseStore, user_id: str, found: Sequence[SearchItem] | None = None) -> str:
    """Hide what is noted, and erase what has been hidden for its time; what was granted is not granted again.

    Args:
        store: The store.
        user_id: The owner.
        found: The notes; by default those that are there now.

    Returns:
        What went wrong, for the user; empty when nothing did.
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
