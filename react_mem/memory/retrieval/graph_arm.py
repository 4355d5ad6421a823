"""The arm of the graph: what is linked with what the other arms have found counts for more, or is found by it.

It asks for the links of what was found, one round trip, and for the records of what only they lead to, another one
where there is any. Both come after the answer of the other arms, which is why it is off unless a policy names it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, Op, Result

from react_mem.memory.graph.derived import LinkDocument
from react_mem.memory.graph.link_reading import reader
from react_mem.memory.graph.links import LinkKind, Node
from react_mem.memory.graph.traverse import Subgraph, page_rank, received
from react_mem.memory.index.recall import GRAPH, Recall, RecallHit, RecallOp, scored
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.namespaces import Namespace, decode

log = logging.getLogger(__name__)

SEEDS = 10
"""Number of best hits from which the walk starts: about as many as a prompt has."""

_FOLLOWED = frozenset(LinkKind) - {LinkKind.TIMELINE}
"""Kinds of links that the walk follows: what was said next counts by the arm of the window already."""


async def with_links(
    store: BaseStore, ops: Sequence[Op | RecallOp], answers: Sequence[Result | Recall]
) -> list[Result | Recall]:
    """Return the answers of a read with what the links add to the recalls that have the arm.

    Where the links cannot be followed, these answers stay as they are and say so.

    Args:
        store: The store.
        ops: What was asked, of one owner.
        answers: What was answered.
    """
    try:
        return await _linked(store, ops, answers)
    except Exception as error:
        cause = cause_of(error)
        log.warning("memory is searched without its links: %s", cause)
        return [
            answer.without({Arm.GRAPH: cause})
            if isinstance(op, RecallOp) and isinstance(answer, Recall) and Arm.GRAPH in op.arms
            else answer
            for op, answer in zip(ops, answers, strict=True)
        ]


async def _linked(
    store: BaseStore, ops: Sequence[Op | RecallOp], answers: Sequence[Result | Recall]
) -> list[Result | Recall]:
    asked = [
        (place, op, answer)
        for place, (op, answer) in enumerate(zip(ops, answers, strict=True))
        if isinstance(op, RecallOp) and isinstance(answer, Recall) and Arm.GRAPH in op.arms
    ]
    found = {one.item.key: one for _, _, answer in asked for one in answer.found}
    best = max((one.item.score or 0.0 for one in found.values()), default=0.0)
    if best <= 0:
        return list(answers)
    user_id = decode(asked[0][1].namespace[1])
    part = await _around(store, user_id, found)
    seeds = sorted(found.values(), key=lambda one: (-(one.item.score or 0.0), one.item.key))[:SEEDS]
    gained = received(part, page_rank(part, {one.item.key: one.item.score or 0.0 for one in seeds}))
    most = max(gained.values(), default=0.0)
    shares = {id_: GRAPH * best * gain / most for id_, gain in gained.items() if gain > 0}
    others = await _others(store, asked, found, shares, part)
    merged = list(answers)
    for place, op, answer in asked:
        brought = [
            RecallHit(scored(item, 0.0), arms={}, similarity=None)
            for item in others
            if item.namespace == op.namespace and _meets(item.value, op)
        ]
        ranked = [_with(one, shares.get(one.item.key, 0.0)) for one in [*answer.found, *brought]]
        ranked.sort(key=lambda one: (-(one.item.score or 0.0), one.item.key))
        merged[place] = Recall(ranked[: op.limit], answer.missing)
    return merged


async def _around(store: BaseStore, user_id: str, ids: Iterable[str]) -> Subgraph:
    """Return some memories with what they are linked with, of which the links are not read."""
    part = Subgraph()
    for id_, document in (await reader(store, user_id)(list(ids))).items():
        edges = {key: edge for key, edge in document.edges.items() if edge.kind in _FOLLOWED}
        part.documents[id_] = LinkDocument(document.node, edges)
    for document in list(part.documents.values()):
        for edge in document.edges.values():
            part.documents.setdefault(edge.to, LinkDocument(Node(edge.to, "", edge.scope)))
    return part


async def _others(
    store: BaseStore,
    asked: Sequence[tuple[int, RecallOp, Recall]],
    found: Mapping[str, RecallHit],
    shares: Mapping[str, float],
    part: Subgraph,
) -> list[Item]:
    """Return what was not found and is linked with it so well that it has a place in an answer."""
    wanted: set[tuple[Namespace, str]] = set()
    for _, op, answer in asked:
        worst = min((one.item.score or 0.0 for one in answer.found), default=0.0)
        least = worst if len(answer.found) >= op.limit else 0.0
        near = [
            id_
            for id_, share in shares.items()
            if share > least and id_ not in found and id_ not in op.without
            if part.documents[id_].node.scope == op.namespace[2]
        ]
        near.sort(key=lambda id_: (-shares[id_], id_))
        wanted |= {(op.namespace, id_) for id_ in near[: op.limit]}
    ops = [GetOp(namespace, id_) for namespace, id_ in sorted(wanted)]
    items = cast("list[Item | None]", await store.abatch(ops)) if ops else []
    return [item for item in items if item is not None]


def _meets(value: Mapping[str, Any], op: RecallOp) -> bool:
    """Return whether a record meets the conditions of a recall."""
    return all(
        value.get(name) != wanted["$ne"] if isinstance(wanted, Mapping) else value.get(name) == wanted
        for name, wanted in op.conditions.items()
    )


def _with(one: RecallHit, share: float) -> RecallHit:
    item = scored(one.item, (one.item.score or 0.0) + share)
    return RecallHit(item, {**one.arms, Arm.GRAPH: share}, one.similarity, one.passage, one.partner)
