"""The flat form that a memory policy had in earlier versions, read as the nested form of today."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

MOVED = {
    "use_dialog": "recall.dialog",
    "use_semantic": "recall.semantic",
    "use_episodic": "recall.episodic",
    "use_procedural": "recall.procedural",
    "use_profile": "recall.profile",
    "max_memories": "recall.max_memories",
    "max_docs": "recall.max_docs",
    "max_skills": "recall.max_skills",
    "similarity_threshold": "recall.similarity",
    "arms": "recall.arms",
    "reranker": "recall.reranker",
    "read_timeout": "recall.timeout",
    "max_dialog_turns": "context.dialog_turns",
    "max_message_chars": "context.message_chars",
    "memory_tokens": "context.memory_tokens",
    "context_window": "context.window",
    "answer_tokens": "context.answer_tokens",
    "compress_every": "context.compress_every",
    "compress_above": "context.compress_above",
    "keep_raw_steps": "context.keep_raw_steps",
    "extraction": "extraction.mode",
    "engine": "extraction.engine",
    "debounce": "extraction.debounce",
    "quiet_after": "extraction.quiet_after",
    "recover_after": "extraction.recover_after",
    "extraction_timeout": "extraction.timeout",
    "use_summaries": "summaries.enabled",
    "write_experience": "learning.experience",
    "learn": "learning.skills",
    "consolidate": "learning.knowledge",
    "resolve_concepts": "learning.concepts",
    "deduplicate": "learning.duplicates",
    "use_task_graph": "tasks.enabled",
    "external_search": "web",
}
"""Each key of the flat form, with its place in the nested one."""

_TOPICS = frozenset(["profile", *(place.partition(".")[0] for place in MOVED.values())])


def in_topics(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by topic; a key of the flat form where its place is now, with a warning that names it.

    A topic with nothing in it, as when all below it in a file is commented out, is left out.

    Raises:
        ValueError: If a setting is given in both forms.

    >>> in_topics({"recall": {"dialog": False}, "context": None})
    {'recall': {'dialog': False}}
    """
    moved = {key: place for key, place in MOVED.items() if key in data and not _is_topic(key, data[key])}
    by_topic = {
        key: value for key, value in data.items() if key not in moved and not (key in _TOPICS and value is None)
    }
    if not moved:
        return by_topic
    for key, place in moved.items():
        topic, _, name = place.partition(".")
        given, more = given_of(by_topic.get(topic, {})), {name: data[key]} if name else given_of(data[key])
        if not (isinstance(given, Mapping) and isinstance(more, Mapping)):
            # what is wrong with it is said where it is checked
            by_topic.setdefault(topic, more)
            continue
        if twice := given.keys() & more.keys():
            raise ValueError(f"{key} and {place} both say {', '.join(sorted(twice))}; keep {place}")
        by_topic[topic] = {**given, **more}
    places = ", ".join(f"{key} as {place}" for key, place in moved.items())
    warnings.warn(f"Memory settings are nested by topic; write {places}", FutureWarning, stacklevel=4)
    return by_topic


def given_of(topic: Any) -> Any:
    """Return what is given of a topic by its keys, also where it is a model; anything else as it is."""
    return {name: getattr(topic, name) for name in topic.model_fields_set} if isinstance(topic, BaseModel) else topic


def _is_topic(key: str, value: Any) -> bool:
    return key in _TOPICS and (value is None or isinstance(value, Mapping | BaseModel))
