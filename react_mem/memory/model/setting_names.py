"""Second names of settings, each with its place among the settings of today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def in_place(given: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """Return settings with those that were given by a second name at their place.

    Args:
        given: Settings, by name.
        places: The place of each second name: a key, or `topic.key`. A mapping whose place is a topic is added to it.

    Raises:
        ValueError: If a setting is given by both names.

    >>> in_place({"models": {"chat": "auto"}, "embedding_model": "local"}, {"embedding_model": "models.embedding"})
    {'models': {'chat': 'auto', 'embedding': 'local'}}
    """
    placed = {name: value for name, value in given.items() if name not in places}
    for second, place in places.items():
        if second not in given:
            continue
        topic, _, name = place.partition(".")
        held = given_of(placed.get(topic, {}))
        more = {name: given[second]} if name else given_of(given[second])
        if isinstance(held, Mapping) and isinstance(more, Mapping):
            if twice := held.keys() & more.keys():
                raise ValueError(f"{second} and {place} both say {', '.join(sorted(twice))}; keep {place}")
            placed[topic] = {**held, **more}
        elif topic not in placed:
            placed[topic] = more
        elif not name:
            raise ValueError(f"{second} and {place} say the same; keep {place}")
        # what is wrong with a topic that is no mapping is said where it is checked
    return placed


def given_of(topic: Any) -> Any:
    """Return what is given of a topic by its keys, also where it is a model; anything else as it is."""
    return {name: getattr(topic, name) for name in topic.model_fields_set} if isinstance(topic, BaseModel) else topic
