"""What is known already and may be what is said anew: shown to the model, so that it updates rather than adds.

Vectors put paraphrases together, words find the names they miss; neither can tell a fact from its opposite (measured:
"User bought a bike" and "User sold a bike" are nearer than most paraphrases), so both only propose.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import cast

from langgraph.store.base import BaseStore, SearchItem, SearchOp

from memory.canonical import object_key
from memory.interface import MemoryScope
from memory.namespaces import scope_namespace
from memory.records import MAX_INDEXED_CHARS, Fact

NEIGHBOURS = 20
"""Facts shown to the model: half of them near in meaning, half of them sharing words."""

_SCANNED = 500
"""The latest facts, whose words are compared."""


async def related_facts(store: BaseStore, user_id: str, said: str) -> list[Fact]:
    """Return the current facts that may be about what was said, neighbours in meaning and in words in turn.

    Args:
        store: The store.
        user_id: The owner.
        said: What the user said.

    Returns:
        Facts, each once; one round trip.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    current = {"current": True, "kind": "fact"}
    near, latest = cast(
        "tuple[list[SearchItem], list[SearchItem]]",
        await store.abatch(
            [
                SearchOp(namespace, filter=current, limit=NEIGHBOURS, query=said[:MAX_INDEXED_CHARS] or None),
                SearchOp(namespace, filter=current, limit=_SCANNED),
            ]
        ),
    )
    words = set(object_key(said[:MAX_INDEXED_CHARS]).split())
    shared = {item.key: len(words & set(object_key(str(item.value["text"])).split())) for item in latest}
    worded = sorted((item for item in latest if shared[item.key]), key=lambda item: -shared[item.key])
    merged = chain.from_iterable(zip_longest(near, worded))
    found = {item.key: item for item in merged if item is not None}
    return [Fact.from_value(item.value) for item in list(found.values())[:NEIGHBOURS]]
