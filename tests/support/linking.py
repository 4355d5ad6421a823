"""Memories to link, and what must hold of links whatever happened before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.base import BaseStore

from react_mem.memory.graph.documents import Direction, Document, Line, Stored, read_stored
from react_mem.memory.graph.links import node_of
from react_mem.memory.graph.relinking import MOST_LINKS, MOST_OTHERS
from react_mem.memory.model.changes import Change, delete, put
from react_mem.memory.model.concepts import Alias, Concept
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import links_namespace
from react_mem.memory.model.records import Episode, Fact, Level, Message, Record, Summary
from react_mem.memory.model.skills import Skill, StepExperience
from react_mem.memory.model.states import TaskStep
from react_mem.memory.store.owned import WHOLE, everything
from react_mem.memory.store.transactions import transact

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SCOPES = {
    "message": MemoryScope.DIALOG,
    "summary": MemoryScope.DIALOG,
    "fact": MemoryScope.SEMANTIC,
    "episode": MemoryScope.EPISODIC,
    "skill": MemoryScope.PROCEDURAL,
    "experience": MemoryScope.EXPERIENCE,
    "task_step": MemoryScope.STATE,
    "concept": MemoryScope.SEMANTIC,
}


def record(kind: str, id_: str, *sources: str, session: str = "monday", minute: int = 0, **more: Any) -> Record:
    """Return a record with as little in it as its kind takes."""
    origin: dict[str, Any] = {
        "id": id_,
        "text": more.pop("text", f"{kind} {id_}"),
        "session_id": session,
        "agent_id": "tester",
        "source_ids": sources,
        "created_at": START + timedelta(minutes=minute),
    }
    match kind:
        case "message":
            return Message(role="user", content=origin["text"], turn=more.pop("turn", minute), **origin, **more)
        case "summary":
            return Summary(**origin, **more)
        case "fact":
            return Fact(said_at=origin["created_at"], **origin, **more)
        case "episode":
            return Episode(goal=origin["text"], level=more.pop("level", Level.TASK), **origin, **more)
        case "skill":
            return Skill(use_when=origin["text"], **origin, **more)
        case "concept":
            # its id follows from its name
            return Concept.of([Alias(name=id_, since=origin["created_at"], source_ids=sources or ("nobody",))])
        case "task_step":
            return TaskStep(task_id="task", status="pending", **origin, **more)
        case _:
            return StepExperience(tool="search", success=True, **origin, **more)


async def store_records(store: BaseStore, *records: Record, gone: Sequence[Record] = (), user_id: str = "ann") -> None:
    """Write and remove records in one step, as everybody does who writes memories."""
    changes: list[Change] = [put(user_id, one, indexed=False) for one in records]
    changes += [delete(user_id, SCOPES[one.kind], one.id) for one in gone]

    async def step() -> tuple[None, list[Change]]:
        return None, changes

    await transact(store, user_id, step)


async def stored_links(store: BaseStore, user_id: str = "ann") -> dict[str, Stored]:
    """Return all that is kept about the links of a user."""
    held = await store.asearch(links_namespace(user_id), limit=WHOLE)
    return {item.key: read_stored(item.key, item.value) for item in held}


async def documents(store: BaseStore, user_id: str = "ann") -> dict[str, Document]:
    """Return the memories of a user with their links."""
    held = await stored_links(store, user_id)
    return {id_: stored for id_, stored in held.items() if isinstance(stored, Document)}


async def links(store: BaseStore, user_id: str = "ann") -> set[tuple[str, str, str]]:
    """Return the links of a user, each once: from, why, to."""
    return {
        (id_, str(edge.kind), edge.to)
        for id_, document in (await documents(store, user_id)).items()
        for edge in document.edges.values()
        if edge.direction is Direction.OUT or (edge.direction is Direction.BOTH and id_ < edge.to)
    }


async def assert_whole(store: BaseStore, user_id: str = "ann") -> None:
    """Check what must always hold: no link without both its ends, seen alike from both, not too many of them."""
    items = await everything(store, user_id)
    nodes = {node.id: node for item in items if (node := node_of(item.namespace[2], item.value))}
    held = await stored_links(store, user_id)
    found = {id_: stored for id_, stored in held.items() if isinstance(stored, Document)}
    assert found.keys() == nodes.keys()
    for id_, document in found.items():
        assert document.node == nodes[id_]
        for edge in document.edges.values():
            assert edge.to in found, f"{id_} is linked with {edge.to}, which is gone"
            back = found[edge.to].edges[(id_, edge.kind, edge.direction.reverse)]
            assert (back.weight, back.at, back.scope) == (edge.weight, edge.at, document.node.scope)
            assert edge.scope == found[edge.to].node.scope
        counts = Counter((kind, direction) for _, kind, direction in document.edges)
        assert all(count <= MOST_LINKS.get(kind, MOST_OTHERS) for (kind, _), count in counts.items())
    for stored in held.values():
        if isinstance(stored, Line):
            assert stored.last
            assert {id_ for _, id_ in stored.last} <= found.keys()
