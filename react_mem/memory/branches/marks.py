"""Marks by which a fork of a conversation is noticed: bookkeeping of an owner, not memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import record_id


@dataclass(frozen=True)
class Marks:
    """Position up to which memory has a conversation.

    Args:
        tip: The record of the last message of its last finished turn; empty where there is none.
        trunk: What its thread held before memory noted what follows on what; read only where it is asked for.
    """

    tip: str = ""
    trunk: tuple[str, ...] = ()


def branch_key(session_id: str) -> str:
    """Return the key under which an owner's bookkeeping has the tip of a conversation."""
    return record_id("branch", session_id)


def trunk_key(session_id: str) -> str:
    """Return the key under which an owner's bookkeeping has what a conversation began with."""
    return record_id("trunk", session_id)


def tip_of(item: Item | None) -> str:
    """Return the tip of a conversation, as `branch_key` has it."""
    return str(item.value["tip"]) if item is not None else ""


def put_tip(user_id: str, session_id: str, tip: str) -> Change:
    """Return the write of the tip of a conversation."""
    return PutOp(meta_namespace(user_id), branch_key(session_id), {"tip": tip}, index=False)


def put_trunk(user_id: str, session_id: str, trunk: Sequence[str]) -> Change:
    """Return the write of what a conversation began with."""
    return PutOp(meta_namespace(user_id), trunk_key(session_id), {"trunk": list(trunk)}, index=False)


def without_marks(user_id: str, session_id: str) -> list[Change]:
    """Return the removal of what is kept of a conversation."""
    namespace = meta_namespace(user_id)
    return [PutOp(namespace, key(session_id), None) for key in (branch_key, trunk_key)]


async def read_marks(store: BaseStore, user_id: str, session_id: str) -> Marks:
    """Return where memory has a conversation, with what it began with.

    Args:
        store: The store.
        user_id: The owner.
        session_id: The conversation.
    """
    namespace = meta_namespace(user_id)
    found = await store.abatch([GetOp(namespace, key(session_id)) for key in (branch_key, trunk_key)])
    branch, trunk = (item if isinstance(item, Item) else None for item in found)
    return Marks(tip_of(branch), tuple(trunk.value["trunk"]) if trunk is not None else ())


def forgotten_branches(user_id: str, session_id: str, aside: Iterable[Item]) -> list[Change]:
    """Return the removal of what is kept of the branches of a conversation.

    Args:
        user_id: The owner.
        session_id: The conversation.
        aside: What has been set aside.
    """
    gone = [item for item in aside if item.value.get("session_id") == session_id]
    return [*(PutOp(item.namespace, item.key, None) for item in gone), *without_marks(user_id, session_id)]
