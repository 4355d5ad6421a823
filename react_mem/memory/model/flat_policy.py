"""The flat form of a memory policy, read as the nested form: its authors' names, and those of earlier versions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from react_mem.memory.model.setting_names import in_place

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
"""Names by which the memory's authors call settings, each with its place. They stay: nothing warns of them."""

FORMER = {
    "use_episodic": "recall.episodic",
    "arms": "recall.arms",
    "reranker": "recall.reranker",
    "read_timeout": "recall.timeout",
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
    "learn": "learning.skills",
    "consolidate": "learning.knowledge",
    "resolve_concepts": "learning.concepts",
    "deduplicate": "learning.duplicates",
    "use_task_graph": "tasks.enabled",
    "external_search": "web",
}
"""Names of earlier versions, each with its place."""

_PLACES = AUTHORS | FORMER

_TOPICS = frozenset(["profile", *(place.partition(".")[0] for place in _PLACES.values())])


def in_topics(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by topic; those of the flat form at their place, with a warning for names of earlier versions.

    A topic with nothing in it, as when all below it in a file is commented out, is left out.

    Raises:
        ValueError: If a setting is given in both forms.

    >>> in_topics({"recall": {"dialog": False}, "context": None, "max_docs": 8})
    {'recall': {'dialog': False, 'max_docs': 8}}
    """
    moved = {key: place for key, place in _PLACES.items() if key in data and not _is_topic(key, data[key])}
    held = {key: value for key, value in data.items() if value is not None or key in moved or key not in _TOPICS}
    by_topic = in_place(held, moved)
    if former := ", ".join(f"{key} as {place}" for key, place in moved.items() if key in FORMER):
        warnings.warn(f"Memory settings are nested by topic; write {former}", FutureWarning, stacklevel=4)
    return by_topic


def _is_topic(key: str, value: Any) -> bool:
    return key in _TOPICS and (value is None or isinstance(value, Mapping | BaseModel))
