"""Topics of facts: whom they are about, the names in them, and the themes that they share with others."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from langgraph.store.base import BaseStore

from react_mem.memory.language.names import name_key
from react_mem.memory.model.kinds import CONCEPT, FACT
from react_mem.memory.store.owned import WHOLE

MOST_TOPICS = 8
"""Topics that are told of a fact: those of which most is known."""


async def topics_of_facts(
    store: BaseStore, user_id: str, facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[str]]:
    """Return the topics of facts, by id; of a fact without any nothing.

    Args:
        store: The store.
        user_id: The owner.
        facts: Records by id; what is no fact has no topics.
    """
    about = {id_: str(value.get("about") or "") for id_, value in facts.items() if FACT.matches(value)}
    if not about:
        return {}
    kept = await store.asearch(
        CONCEPT.namespace(user_id), filter={"kind": CONCEPT.name}, limit=WHOLE, refresh_ttl=False
    )
    # of thousands of names it takes longer than a loop may be held
    return await asyncio.to_thread(topics_in, about, [item.value for item in kept])


def topics_in(about: Mapping[str, str], concepts: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the topics of facts: first whom one is about, then the names in it, then its themes, the most told first.

    Args:
        about: Whom each fact is about, by its id; `user` or nothing for the owner.
        concepts: All concepts of the owner, as they are kept.

    >>> hue = {"name": "Hue", "source_ids": ["a", "b"]}
    >>> told = topics_in({"a": "user", "b": "Lan", "c": ""}, [hue])
    >>> told["a"], told["b"], "c" in told
    (['Hue'], ['Lan', 'Hue'], False)
    """
    found: dict[str, dict[str, str]] = {
        id_: {name_key(name): name} for id_, name in about.items() if name and name != "user"
    }
    for concept in sorted(concepts, key=_rank):
        for id_ in _among(concept, about):
            found.setdefault(id_, {}).setdefault(name_key(str(concept["name"])), str(concept["name"]))
    return {id_: list(topics.values())[:MOST_TOPICS] for id_, topics in found.items()}


def _rank(concept: Mapping[str, Any]) -> tuple[bool, int, str]:
    return bool(concept.get("theme")), -len(concept.get("source_ids") or ()), str(concept["name"])


def _among(concept: Mapping[str, Any], ids: Collection[str]) -> list[str]:
    return [id_ for id_ in concept.get("source_ids") or () if id_ in ids]
