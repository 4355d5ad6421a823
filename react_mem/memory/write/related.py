"""The facts that the model is shown beside what was said, so that it updates what is known rather than adds to it.

Vectors put paraphrases together, words find the names they miss; neither can tell a fact from its opposite (measured:
"User bought a bike" and "User sold a bike" are nearer than most paraphrases), so both only propose.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import cast

from langgraph.store.base import BaseStore, Item, SearchOp

from react_mem.memory.index.question import read_question
from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.language.text import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm, MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import off_loop, scope_namespace
from react_mem.memory.model.records import Fact, now
from react_mem.memory.retrieval.divided_store import recall

NEIGHBOURS = 20
"""Facts shown to the model: half of them near in meaning, half of them sharing words."""

_SECONDS = 10.0
"""Until the facts are found by their words alone."""

log = logging.getLogger(__name__)


async def related_facts(store: BaseStore, user_id: str, said: Sequence[str]) -> list[Fact]:
    """Return the facts that may be about what was said, neighbours in meaning and in words in turn.

    Those that are over by their own dates are among them, so that telling them again adds no second one; those that
    something else has ended are not.

    Args:
        store: The store.
        user_id: The owner.
        said: The messages of the user.

    Returns:
        Facts, each once. Where the embedder fails, those that share words.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    texts = [text for text in said if text.strip()]
    nearest = SearchOp(
        namespace,
        filter={"kind": FACT.name, "retired_at": None},
        limit=NEIGHBOURS,
        query=" ".join(texts)[:MAX_INDEXED_CHARS] or None,
    )
    # each message by itself: of all together only the longest words would count; many long ones take a while to read
    worded = await off_loop(sum(map(len, texts)), lambda: [_sharing_words(namespace, text) for text in texts])
    try:
        async with asyncio.timeout(_SECONDS):
            near, *shared = await recall(store, [nearest, *worded])
    except Exception as error:  # whatever the embedder's client raises; an outage of it must not keep a turn unread
        log.warning("what is known about a turn is found by its words only: %s", cause_of(error))
        near, shared = [], await recall(store, worded)
    words = _in_turn([hit.item for hit in answer.found] for answer in cast("list[Recall]", shared))
    merged = _in_turn([cast("list[Item]", near), words])
    return [Fact.from_value(item.value) for item in merged[:NEIGHBOURS]]


def _sharing_words(namespace: tuple[str, ...], text: str) -> RecallOp:
    # `current` is in the index, and `retired_at` is not: what something else has ended is neither
    conditions = {"kind": FACT.name, "current": True}
    return RecallOp(namespace, read_question(text, now()), conditions, NEIGHBOURS, arms=frozenset({Arm.LEXICAL}))


def _in_turn(found: Iterable[Sequence[Item]]) -> list[Item]:
    """Return the first of each, then the second of each, and so on; each item once."""
    items = chain.from_iterable(zip_longest(*found))
    return list({item.key: item for item in items if item is not None}.values())
