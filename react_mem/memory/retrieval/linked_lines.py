"""Episodes and task steps that the facts which were found are linked with, as lines below theirs.

It asks after the answer of the search: one round trip for the links, and one for the records that they lead to, where
there are any.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.store.base import BaseStore

from react_mem.memory.graph.derived import LinkDocument
from react_mem.memory.graph.link_reading import reader
from react_mem.memory.graph.links import Node
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Fragment, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import EPISODE, FACT, TASK_STEP, origin_of
from react_mem.memory.model.origins import LABELS
from react_mem.memory.retrieval.graph_reading import MemoryGraph

log = logging.getLogger(__name__)

_LINES = 2
"""Lines below a fact, at most."""

_CHARS = 110
"""Characters of a line: two of them take about 60 tokens."""

_SHOWN = {MemoryScope.EPISODIC: EPISODE.name, MemoryScope.STATE: TASK_STEP.name}
"""Kinds that a fact is shown with, by their scope and in this order."""


async def with_linked(store: BaseStore, user_id: str, results: Sequence[MemoryResultItem]) -> list[MemoryResultItem]:
    """Return results of which each fact has what it is linked with, unless that is a result itself.

    Where the links cannot be followed, the results stay as they are.

    Args:
        store: The store.
        user_id: The owner.
        results: What was found.
    """
    facts = [item.id for item in results if item.source == FACT.name]
    if not facts:
        return list(results)
    try:
        documents = await reader(store, user_id)(facts)
        linked = _linked(facts, documents, {item.id for item in results})
        records = await MemoryGraph(store).records(user_id, [node for nodes in linked.values() for node in nodes])
    except Exception as error:
        log.warning("facts are shown without what they are linked with: %s", cause_of(error))
        return list(results)
    return [_with(item, linked.get(item.id, ()), records) for item in results]


def _linked(facts: Sequence[str], documents: Mapping[str, LinkDocument], taken: set[str]) -> dict[str, list[Node]]:
    """Return what each fact is shown with, each once: below the best of the facts that it is linked with."""
    order = list(_SHOWN)
    found = {}
    for id_ in facts:
        edges = documents[id_].edges.values() if id_ in documents else ()
        near = {edge.to: edge for edge in edges if edge.scope in order and edge.to not in taken}
        best = sorted(near.values(), key=lambda edge: (order.index(MemoryScope(edge.scope)), -edge.weight, edge.to))
        found[id_] = [Node(edge.to, _SHOWN[MemoryScope(edge.scope)], edge.scope) for edge in best[:_LINES]]
        taken |= {node.id for node in found[id_]}
    return found


def _with(item: MemoryResultItem, nodes: Sequence[Node], records: Mapping[str, dict[str, Any]]) -> MemoryResultItem:
    told = [
        Fragment(id=node.id, role=node.type.replace("_", " "), content=_told(records[node.id]))
        for node in nodes
        if node.id in records
    ]
    return item.model_copy(update={"linked": tuple(told)}) if told else item


def _told(value: Mapping[str, Any]) -> str:
    """Return what came of an episode and was learnt from it, or what a step is, behind who vouches for it."""
    came = ". ".join(str(part) for part in (value.get("outcome"), *value.get("lessons", ())) if part)
    return LABELS[origin_of(value)] + (came or str(value["text"]))[:_CHARS]
