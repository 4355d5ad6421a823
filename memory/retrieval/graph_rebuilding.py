"""Linking all of a user's memories anew, from the records; and with those that say something like them.

Links are no memories: they follow from the records, so that an export does without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.graph.documents import Direction, Document, Stored, read_stored
from react_mem.memory.graph.links import Link, LinkKind, in_utc, links_of, node_of
from react_mem.memory.graph.relinking import relinked
from react_mem.memory.graph.upkeep import COMPLETE, link_changes
from react_mem.memory.index.question import Question
from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.model.arms import Arm
from react_mem.memory.model.changes import Change
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT, MESSAGE
from react_mem.memory.model.namespaces import links_namespace, meta_namespace, scope_namespace
from react_mem.memory.retrieval.any_store import recall
from react_mem.memory.store.owned import WHOLE, everything
from react_mem.memory.store.transactions import transact

NEAREST = 3
"""Memories that one is linked with because they say something like it: more of them make everything a neighbour."""

ALIKE = 0.95
"""Least similarity of two memories that are linked for it. Texts are nearer to each other than to a question: of the
three nearest messages of any other, in conversations of two people, half are above 0.925 and one in twenty above
this."""

_AT_ONCE = 5
"""Records that are compared in one round trip: each costs an embedding, and a read does not wait for those longer than
three seconds."""

MAX_COMPARED = 100
"""Facts that one run of maintenance compares with the others: seconds of the local model, which turns need too."""

_COMPARED_UP_TO = "compared_up_to"
_COMPARED_CHARS = 600
"""Characters of a record that say what it is about; the local model needs 0.1 s for 2,000."""

_COMPARED: dict[MemoryScope, dict[str, Any]] = {
    MemoryScope.SEMANTIC: {"kind": FACT.name, "current": True},
    MemoryScope.EPISODIC: {},
    MemoryScope.DIALOG: {"kind": MESSAGE.name},
}
"""Scopes that records of a scope are compared with."""


async def link_rest(store: BaseStore, user_id: str) -> int:
    """Do what is not done behind a turn: link what is from before there were links, and new facts with their like.

    It takes an embedding for each fact, of `MAX_COMPARED` at most; the next run goes on.

    Args:
        store: The store.
        user_id: The owner.

    Returns:
        How many documents have changed.
    """
    changed = 0 if await is_linked(store, user_id) else await relink(store, user_id)
    mark = await store.aget(meta_namespace(user_id), COMPLETE, refresh_ttl=False)
    if mark is None:
        # nothing is remembered
        return changed
    since = str(mark.value.get(_COMPARED_UP_TO, ""))
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    facts = await store.asearch(namespace, filter=_COMPARED[MemoryScope.SEMANTIC], limit=WHOLE, refresh_ttl=False)
    # facts of one turn are of one moment: their ids tell them apart
    places = {f"{in_utc(item.value['created_at'])} {item.key}": item.key for item in facts}
    new = sorted(place for place in places if place > since)[:MAX_COMPARED]
    if not new:
        return changed
    changed += await link_alike(store, user_id, MemoryScope.SEMANTIC, [places[place] for place in new])

    async def step() -> tuple[None, list[Change]]:
        now = await store.aget(meta_namespace(user_id), COMPLETE, refresh_ttl=False)
        # linked anew meanwhile, or to be
        up_to = {**mark.value, _COMPARED_UP_TO: new[-1]}
        return None, [_marked(user_id, up_to)] if now is not None and now.value == mark.value else []

    await transact(store, user_id, step)
    return changed


async def is_linked(store: BaseStore, user_id: str) -> bool:
    """Return whether all of a user's memories are linked: not where some are from before there were links."""
    return await store.aget(meta_namespace(user_id), COMPLETE, refresh_ttl=False) is not None


async def relink(store: BaseStore, user_id: str) -> int:
    """Link all of a user's memories anew, from the records; what a search found to be alike stays.

    Args:
        store: The store.
        user_id: The owner.

    Returns:
        How many documents have changed; none where everything was linked already.
    """

    async def step() -> tuple[int, list[Change]]:
        items = await everything(store, user_id)
        namespace = links_namespace(user_id)
        found = await store.asearch(namespace, limit=WHOLE, refresh_ttl=False)
        before: dict[str, Stored] = {item.key: read_stored(item.key, item.value) for item in found}
        after = _anew(items, before)
        changes: list[Change] = [
            PutOp(namespace, id_, stored.to_value(), index=False)
            for id_, stored in sorted(after.items())
            if stored != before.get(id_)
        ]
        changes += [PutOp(namespace, id_, None) for id_ in sorted(before.keys() - after.keys())]
        mark = await store.aget(meta_namespace(user_id), COMPLETE, refresh_ttl=False)
        marked = [_marked(user_id, {"kind": COMPLETE})] if items and mark is None else []
        return len(changes), [*changes, *marked]

    return await transact(store, user_id, step)


def _marked(user_id: str, value: dict[str, Any]) -> Change:
    return PutOp(meta_namespace(user_id), COMPLETE, value, index=False)


def _anew(items: Sequence[Item], before: Mapping[str, Stored]) -> dict[str, Stored]:
    records = {
        node.id: (node, links_of(item.value))
        for item in items
        if (node := node_of(item.namespace[2], item.value)) is not None
    }
    alike = [
        Link(id_, edge.to, LinkKind.SEMANTIC, edge.weight, edge.at)
        for id_, stored in before.items()
        if isinstance(stored, Document)
        for edge in stored.edges.values()
        if edge.direction is Direction.BOTH and id_ < edge.to
    ]
    known: dict[str, Stored | None] = {}
    while (done := relinked(known, records, alike=alike)).missing:
        known |= dict.fromkeys(done.missing)
    return {id_: stored for id_, stored in done.changed.items() if stored is not None}


async def link_alike(
    store: BaseStore, user_id: str, scope: MemoryScope, ids: Sequence[str], *, similarity: float = ALIKE
) -> int:
    """Link memories with those of the same scope that are most like them in meaning.

    Each costs an embedding: this belongs behind a turn, or into maintenance. A store that does not say how similar
    texts are on a calibrated scale links nothing.

    Args:
        store: The store.
        user_id: The owner.
        scope: Where the memories are kept.
        ids: The memories.
        similarity: How similar, from 0 to 1 and calibrated, two must be.

    Returns:
        How many documents have changed.
    """
    pairs: dict[tuple[str, str], Link] = {}
    for start in range(0, len(ids), _AT_ONCE):
        for link in await _alike(store, user_id, scope, ids[start : start + _AT_ONCE], similarity):
            # of two that are near each other, either may have been asked for the other
            known = pairs.get((link.source, link.target))
            if known is None or known.weight < link.weight:
                pairs[link.source, link.target] = link
    alike = list(pairs.values())

    async def step() -> tuple[int, list[Change]]:
        changes = await link_changes(store, user_id, {}, alike=alike)
        return len(changes), changes

    return await transact(store, user_id, step) if alike else 0


async def _alike(
    store: BaseStore, user_id: str, scope: MemoryScope, ids: Sequence[str], similarity: float
) -> list[Link]:
    namespace = scope_namespace(user_id, scope)
    stored = cast("list[Item | None]", await store.abatch([GetOp(namespace, id_) for id_ in dict.fromkeys(ids)]))
    items = [item for item in stored if item is not None and str(item.value.get("text") or "").strip()]
    answers = await recall(
        store,
        [
            RecallOp(
                namespace,
                Question(str(item.value["text"])[:_COMPARED_CHARS], (), "", (), asks_when=False),
                _COMPARED[scope],
                NEAREST,
                without=(item.key,),
                similarity=similarity,
                arms=frozenset({Arm.VECTOR}),
            )
            for item in items
        ],
    )
    nodes = {item.key: node for item in items if (node := node_of(str(scope), item.value)) is not None}
    found = []
    for item, answer in zip(items, answers, strict=True):
        for other in answer.found if isinstance(answer, Recall) else ():
            theirs = node_of(str(scope), other.item.value)
            if theirs is None or item.key not in nodes or other.similarity is None or other.similarity < similarity:
                continue
            at = max(nodes[item.key].at, theirs.at)
            one, two = sorted((item.key, theirs.id))
            found.append(Link(one, two, LinkKind.SEMANTIC, round(other.similarity, 4), at))
    return found
