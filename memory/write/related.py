"""The facts that the model is shown beside what was said, so that it updates what is known rather than adds to it.

Vectors put paraphrases together, words find the names they miss; neither can tell a fact from its opposite (measured:
"User bought a bike" and "User sold a bike" are nearer than most paraphrases), so both only propose.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, cast

from langgraph.store.base import BaseStore, SearchItem, SearchOp

from react_mem.memory.language.comparison import linking_words
from react_mem.memory.language.text import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Fact

NEIGHBOURS = 20
"""Facts shown to the model: half of them near in meaning, half of them sharing words."""

_SCANNED = 500
"""The latest facts, whose words are compared."""

_SECONDS = 10.0
"""Until the facts are found by their words alone."""

log = logging.getLogger(__name__)


async def related_facts(store: BaseStore, user_id: str, said: str) -> list[Fact]:
    """Return the facts that may be about what was said, neighbours in meaning and in words in turn.

    Those that are over by their own dates are among them, so that telling them again adds no second one; those that
    something else has ended are not.

    Args:
        store: The store.
        user_id: The owner.
        said: What the user said.

    Returns:
        Facts, each once; one round trip. Where the embedder fails, those that share words.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    standing = {"kind": FACT.name, "retired_at": None}
    question = said[:MAX_INDEXED_CHARS]
    nearest = SearchOp(namespace, filter=standing, limit=NEIGHBOURS, query=question or None)
    of_late = SearchOp(namespace, filter=standing, limit=_SCANNED)
    try:
        async with asyncio.timeout(_SECONDS):
            near, latest = await _found(store, nearest, of_late)
    except Exception as error:  # whatever the embedder's client raises; an outage of it must not keep a turn unread
        log.warning("what is known about a turn is found by its words only: %s", cause_of(error))
        near, [latest] = [], await _found(store, of_late)
    return await asyncio.to_thread(_related, near, latest, question)


def _related(near: Sequence[SearchItem], latest: Sequence[SearchItem], said: str) -> list[Fact]:
    words = linking_words(said)
    shared = {item.key: len(words & linking_words(_put(item.value))) for item in latest}
    worded = sorted((item for item in latest if shared[item.key]), key=lambda item: -shared[item.key])
    merged = chain.from_iterable(zip_longest(near, worded))
    found = {item.key: item for item in merged if item is not None}
    return [Fact.from_value(item.value) for item in list(found.values())[:NEIGHBOURS]]


def _put(value: Mapping[str, Any]) -> str:
    """Return a fact's words in every way in which it is put."""
    also = (str(wording.get("text", "")) for wording in value.get("wordings") or ())
    return " ".join([str(value["text"]), str(value.get("about") or ""), str(value.get("reading") or ""), *also])


async def _found(store: BaseStore, *searches: SearchOp) -> list[list[SearchItem]]:
    return cast("list[list[SearchItem]]", await store.abatch(searches))
