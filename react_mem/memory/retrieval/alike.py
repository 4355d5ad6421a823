"""Memories that say something like each other: noted in one of the two, by which they are linked.

Behind the turns facts are compared, and nothing else: summaries and episodes of two people are all near each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.graph.links import in_utc
from react_mem.memory.index.question import Question
from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.model.interface import Arm, MemoryScope
from react_mem.memory.model.kinds import FACT, MESSAGE, kind_of
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.receipt import Change
from react_mem.memory.retrieval.any_store import recall
from react_mem.memory.store.owned import WHOLE
from react_mem.memory.store.transactions import Guard, compare_and_set, transact

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

_COMPARED_UP_TO = "compared"
"""The key, among the bookkeeping of a user, of the fact up to which facts have been compared."""

_COMPARED_CHARS = 600
"""Characters of a record that say what it is about; the local model needs 0.1 s for 2,000."""

_COMPARED: dict[MemoryScope, dict[str, Any]] = {
    MemoryScope.SEMANTIC: {"kind": FACT.name, "current": True},
    MemoryScope.EPISODIC: {},
    MemoryScope.DIALOG: {"kind": MESSAGE.name},
}
"""Scopes that records of a scope are compared with."""


async def note_new_alike(store: BaseStore, user_id: str) -> int:
    """Note which facts say something like those that are new since the last time.

    It takes an embedding for each fact, of `MAX_COMPARED` at most; the next run goes on.

    Args:
        store: The store.
        user_id: The owner.

    Returns:
        How many pairs are new.
    """
    mark = await store.aget(meta_namespace(user_id), _COMPARED_UP_TO, refresh_ttl=False)
    since = str(mark.value["up_to"]) if mark is not None else ""
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    facts = await store.asearch(namespace, filter=_COMPARED[MemoryScope.SEMANTIC], limit=WHOLE, refresh_ttl=False)
    # facts of one turn are of one moment: their ids tell them apart
    places = {f"{in_utc(item.value['created_at'])} {item.key}": item.key for item in facts}
    new = sorted(place for place in places if place > since)[:MAX_COMPARED]
    if not new:
        return 0
    noted = await note_alike(store, user_id, MemoryScope.SEMANTIC, [places[place] for place in new])
    held = Guard(meta_namespace(user_id), _COMPARED_UP_TO, mark.value if mark is not None else None)
    await compare_and_set(store, held, {"up_to": new[-1]})
    return noted


async def note_alike(
    store: BaseStore, user_id: str, scope: MemoryScope, ids: Sequence[str], *, similarity: float = ALIKE
) -> int:
    """Note which memories of the same scope are most like some in meaning.

    Each costs an embedding: this belongs behind a turn, or into maintenance. A store that does not say how similar
    texts are on a calibrated scale tells nothing.

    Args:
        store: The store.
        user_id: The owner.
        scope: Where the memories are kept.
        ids: The memories.
        similarity: How similar, from 0 to 1 and calibrated, two must be.

    Returns:
        How many pairs are new.
    """
    pairs: dict[tuple[str, str], float] = {}
    for start in range(0, len(ids), _AT_ONCE):
        for one, other, alike in await _nearest(store, user_id, scope, ids[start : start + _AT_ONCE], similarity):
            pair = (min(one, other), max(one, other))
            pairs[pair] = max(pairs.get(pair, 0.0), alike)
    namespace = scope_namespace(user_id, scope)

    async def step() -> tuple[int, list[Change]]:
        wanted = [GetOp(namespace, id_) for id_ in sorted({id_ for pair in pairs for id_ in pair})]
        found = cast("list[Item | None]", await store.abatch(wanted))
        noted = {item.key: dict(item.value) for item in found if item is not None}
        before = {id_: value.get("alike", {}) for id_, value in noted.items()}
        new = [(one, other) for one, other in pairs if {one, other} <= noted.keys() and other not in before[one]]
        for one, other in new:
            noted[one]["alike"] = {**noted[one].get("alike", {}), other: pairs[one, other]}
        return len(new), [
            PutOp(namespace, id_, noted[id_], kind_of(noted[id_]).index(noted[id_]))
            for id_ in sorted({one for one, _ in new})
        ]

    return await transact(store, user_id, step) if pairs else 0


async def _nearest(
    store: BaseStore, user_id: str, scope: MemoryScope, ids: Sequence[str], similarity: float
) -> list[tuple[str, str, float]]:
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
    return [
        (item.key, other.item.key, round(other.similarity, 4))
        for item, answer in zip(items, answers, strict=True)
        for other in (answer.found if isinstance(answer, Recall) else ())
        if other.similarity is not None and other.similarity >= similarity
    ]
