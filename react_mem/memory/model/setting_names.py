"""Second names of settings: the flat names of the memory's authors, with the path of each setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

AUTHORS = {
    "use_dialog": "recall.dialog",
    "use_semantic": "recall.semantic",
    "use_procedural": "recall.procedural",
    "use_profile": "recall.profile",
    "write_experience": "learning.experience",
    "max_dialog_turns": "context.dialog_turns",
    "max_docs": "recall.max_docs",
    "max_skills": "recall.max_skills",
    "similarity_threshold": "recall.similarity",
    "max_memories": "recall.max_memories",
    "n_sum": "summaries.n_sum",
    "sum_window": "summaries.sum_window",
    "n_sum_sum": "summaries.n_sum_sum",
    "max_sum_lvl": "summaries.max_sum_lvl",
    "summary_model": "summaries.summary_model",
    "summary_length": "summaries.summary_length",
    "search_engines": "web.engines",
    "max_results": "web.max_results",
    "keyword_threshold": "web.keyword_threshold",
    "slm_model": "web.slm_model",
}
"""Names of settings in the authors' specification, with their paths. They stay: nothing warns of them."""

_TOPICS = frozenset(["profile", *(place.partition(".")[0] for place in AUTHORS.values())])


def in_place(given: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """Return settings with second names replaced by their paths: a key, or `topic.key`.

    A mapping with the path of a topic is merged into it. ValueError if a setting is given by both names.

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
    """Return the explicitly set fields of a model; any other value as it is."""
    return {name: getattr(topic, name) for name in topic.model_fields_set} if isinstance(topic, BaseModel) else topic


def in_topics(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a policy by topic, the authors' names replaced.

    An empty topic, as when all of it in a file is commented out, is left out. ValueError as of `in_place`.

    >>> in_topics({"recall": {"dialog": False}, "context": None, "max_docs": 8})
    {'recall': {'dialog': False, 'max_docs': 8}}
    """
    moved = {key: place for key, place in AUTHORS.items() if key in data}
    return in_place({key: value for key, value in data.items() if value is not None or key not in _TOPICS}, moved)
