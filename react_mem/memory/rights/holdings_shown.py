"""Views for an owner: profile, waiting turns, skills, graph and usage."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item
from pydantic import BaseModel, ConfigDict, Field

from react_mem.memory.branches.tree import part_of
from react_mem.memory.graph.export import Graph
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import MESSAGE, PENDING, SKILL
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.profile_schema import Profile, ProfileValue
from react_mem.memory.model.shown import MemorySource, MemoryUsage
from react_mem.memory.model.skills import Skill
from react_mem.memory.model.states import MAX_FAILURES, PendingTurn
from react_mem.memory.retrieval.graph_reading import MemoryGraph
from react_mem.memory.rights.showing import source_of
from react_mem.memory.scopes.profile import ProfileMemoryStore
from react_mem.memory.store.owned import WHOLE, everything
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.statistics import usage_of

_NODE_CHARS = 600
"""Characters of a memory in the graph, as many as fit beside a drawing."""


class FormerValue(BaseModel):
    """Former value of a field of the profile."""

    value: str
    since: datetime
    origin: Origin


class ShownField(FormerValue):
    """A field of the profile."""

    name: str
    provenance: list[MemorySource] = Field(description="The messages that say it.")
    previous: list[FormerValue] = Field(description="What it held before, the oldest first.")


class OwnersProfile(BaseModel):
    """The profile of a user."""

    fields: list[ShownField]


class WaitingTurn(BaseModel):
    """A turn from which nothing has been drawn yet."""

    id: str
    session_id: str
    agent: str
    since: datetime = Field(description="When it was said.")
    text: str = Field(description="The beginning of what the user said.")
    attempts: int
    parked: bool = Field(description="Whether it is not tried any more.")
    retry_at: datetime | None = Field(description="When it is tried next; null for at once.")
    why: str = Field(description="Why it waits: the last error; empty where nobody has tried yet.")


class WaitingTurns(BaseModel):
    """The turns that wait, the oldest first."""

    items: list[WaitingTurn]


class ShownSkill(BaseModel):
    """A skill that agents have learnt or been given."""

    id: str
    title: str = Field(description="When it is used.")
    text: str
    task_type: str
    uses: int
    successes: int
    state: str = Field(description="`probation`, `active` or `archived`.")


class SkillList(BaseModel):
    """The skills, those that are used most first."""

    items: list[ShownSkill]


class ShownNode(BaseModel):
    """A memory in the graph."""

    id: str
    kind: str
    text: str
    current: bool


class ShownLink(BaseModel):
    """A link between two memories of the graph."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    relation: str


class ShownGraph(BaseModel):
    """Memories with the links among them: of many, the newest."""

    nodes: list[ShownNode] = Field(description="The oldest first.")
    links: list[ShownLink]
    left_out: int = Field(description="How many older memories there are beside these.")
    cut: str = Field(description="What of the whole is shown, in words; empty where it is all.")


async def show_profile(store: BaseStore, user_id: str) -> OwnersProfile:
    """Return an owner's profile, field by field, each with its source messages."""
    profile = await ProfileMemoryStore(store).get_profile(user_id)
    if profile is None:
        return OwnersProfile(fields=[])
    ids = {part_of(source) for entry in profile.fields.values() for source in entry.source_ids}
    ops = [GetOp(MESSAGE.namespace(user_id), id_, refresh_ttl=False) for id_ in sorted(ids)]
    found = await store.abatch(ops) if ops else []
    said = {item.key: item for item in found if isinstance(item, Item)}
    return OwnersProfile(fields=_fields(profile, said))


async def list_waiting(store: BaseStore, user_id: str) -> WaitingTurns:
    """Return the turns of an owner that wait for extraction, each with the reason."""
    found = await store.asearch(PENDING.namespace(user_id), limit=WHOLE, refresh_ttl=False)
    turns = sorted((PendingTurn.from_value(item.value) for item in found), key=lambda turn: turn.created_at)
    return WaitingTurns(
        items=[
            WaitingTurn(
                id=turn.id,
                session_id=turn.session_id,
                agent=turn.agent_id,
                since=turn.created_at,
                text=turn.text,
                attempts=turn.attempts,
                parked=turn.failures >= MAX_FAILURES,
                retry_at=turn.retry_at,
                why=turn.last_error,
            )
            for turn in turns
        ]
    )


async def list_skills(store: BaseStore, user_id: str) -> SkillList:
    """Return the skills of an owner, the most used first."""
    of_kind = {"kind": SKILL.name}
    found = await store.asearch(SKILL.namespace(user_id), filter=of_kind, limit=WHOLE, refresh_ttl=False)
    skills = sorted((Skill.from_value(item.value) for item in found), key=lambda skill: (-skill.trials, skill.id))
    return SkillList(
        items=[
            ShownSkill(
                id=skill.id,
                title=skill.use_when,
                text=skill.text,
                task_type=skill.task_type,
                uses=skill.trials,
                successes=skill.successes,
                state=skill.status,
            )
            for skill in skills
        ]
    )


async def show_graph(store: BaseStore, user_id: str, *, kinds: Collection[str] = (), limit: int = 2_000) -> ShownGraph:
    """Return an owner's memories with the links among them, at most the `limit` newest.

    Args:
        kinds: The kinds; empty for all.
    """
    graph, older = await MemoryGraph(store).newest(user_id, limit, kinds=kinds)
    return await asyncio.to_thread(_graph, graph, older)


async def count_usage(store: BaseStore, user_id: str) -> MemoryUsage:
    """Return the counts and bytes of an owner's memories; a store without statistics is read as a whole."""
    if not isinstance(store, MemoryStore):
        return await _counted(store, user_id)
    async with store.pool.connection() as conn:
        return await usage_of(conn, user_id)


async def _counted(store: BaseStore, user_id: str) -> MemoryUsage:
    items = await everything(store, user_id)
    kept = [item for item in items if item.namespace[2] in set(MemoryScope)]
    waiting = [item.value for item in items if PENDING.matches(item.value)]
    return MemoryUsage(
        kinds=dict(Counter(str(item.value.get("kind", "")) for item in kept)),
        texts=0,
        bytes=await asyncio.to_thread(lambda: sum(len(str(item.value).encode("utf-8", "replace")) for item in kept)),
        waiting=len(waiting),
        parked=sum(int(value.get("failures", 0)) >= MAX_FAILURES for value in waiting),
    )


def _fields(profile: Profile, said: Mapping[str, Item]) -> list[ShownField]:
    fields = []
    for name, entry in sorted(profile.fields.items()):
        sources = dict.fromkeys(map(part_of, entry.source_ids))
        fields.append(
            ShownField(
                name=name,
                **_value(entry),
                provenance=[source_of(said[id_], [entry.value]) for id_ in sources if id_ in said],
                previous=[FormerValue(**_value(one)) for one in entry.previous],
            )
        )
    return fields


def _value(entry: ProfileValue) -> dict[str, Any]:
    return {"value": entry.value, "since": entry.updated_at, "origin": entry.origin}


def _graph(graph: Graph, older: int) -> ShownGraph:
    return ShownGraph(
        nodes=[
            ShownNode(
                id=node.id,
                kind=node.type,
                text=(node.text or node.name)[:_NODE_CHARS],
                current=node.current,
            )
            for node in graph.nodes
        ],
        links=[ShownLink(source=link.source, target=link.target, relation=link.kind.value) for link in graph.links],
        left_out=older,
        cut=f"the {len(graph.nodes):,} newest of {len(graph.nodes) + older:,} memories" if older else "",
    )
