"""Memories to link, and what must hold of links whatever happened before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.base import BaseStore, Item

from react_mem.memory.graph.links import Direction, LinkDocument, derived, node_of, reader
from react_mem.memory.model.concepts import Alias, Concept
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import kind_named
from react_mem.memory.model.namespaces import encode
from react_mem.memory.model.operations import Change, delete, put
from react_mem.memory.model.records import Episode, Fact, Level, Message, Record, Summary
from react_mem.memory.model.states import Skill, StepExperience, TaskStep
from react_mem.memory.retrieval.graph_reading import MemoryGraph
from react_mem.memory.store.capabilities import everything
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
    changes += [delete(user_id, kind_named(one.kind), one.id) for one in gone]

    async def step() -> tuple[None, list[Change]]:
        return None, changes

    await transact(store, user_id, step)


async def documents(store: BaseStore, user_id: str = "ann") -> dict[str, LinkDocument]:
    """Return the memories of a user with their links, as one by one they are read."""
    return {item.key: await read_alone(store, user_id, item.key) for item in await nodes(store, user_id)}


async def links(store: BaseStore, user_id: str = "ann") -> set[tuple[str, str, str]]:
    """Return the links of a user, each once: from, why, to."""
    graph = await MemoryGraph(store).whole(user_id)
    return {(link.source, str(link.kind), link.target) for link in graph.links}


async def assert_whole(store: BaseStore, user_id: str = "ann") -> None:
    """Check what must always hold.

    No link without both its ends, seen alike from both; the same of a memory that is read alone; nothing of it stored.
    """
    items = await nodes(store, user_id)
    found = derived((item.namespace[2], item.value) for item in items)
    assert found.keys() == {item.key for item in items}
    back = {Direction.IN: Direction.OUT, Direction.OUT: Direction.IN, Direction.BOTH: Direction.BOTH}
    for id_, document in found.items():
        for edge in document.edges.values():
            there = found[edge.to].edges[id_, edge.kind, back[edge.direction]]
            assert (there.weight, there.at, there.scope) == (edge.weight, edge.at, document.node.scope)
            assert edge.scope == found[edge.to].node.scope
        assert await read_alone(store, user_id, id_) == document.strongest()
    assert await store.asearch(("memory", encode(user_id), "links")) == []


async def nodes(store: BaseStore, user_id: str) -> list[Item]:
    """Return the records of a user that are memories."""
    return [item for item in await everything(store, user_id) if node_of(item.namespace[2], item.value)]


async def read_alone(store: BaseStore, user_id: str, id_: str) -> LinkDocument:
    """Return a memory with its links, of which nothing else has been read."""
    return (await reader(store, user_id)([id_]))[id_]
