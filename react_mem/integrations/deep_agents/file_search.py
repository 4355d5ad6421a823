"""Hybrid search in an owner's files, with the matching passage and its lines."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from react_mem.integrations.deep_agents.owned_files import OwnedFiles
from react_mem.memory import MemoryFacade, MemoryPolicy, MemoryQuery, MemoryResultItem, MemoryScope, Origin
from react_mem.memory.records import origin_of

PASSAGE_CHARS = 1_000
"""Characters of a passage: about the length of an indexed piece."""

_OUTSIDE = "files"
"""Session id of a search by an application."""

_SPARE = 5
"""Candidates for each wanted file, where only one folder is searched."""


class FoundFile(NamedTuple):
    """A matching file.

    Args:
        passage: The matching part; empty if the path alone matches.
        first_line: First line of the passage, from 1.
        last_line: Last line of the passage.
        modified_at: Last written, as ISO 8601.
    """

    path: str
    passage: str
    first_line: int
    last_line: int
    origin: Origin
    modified_at: str


async def search_files(files: OwnedFiles, policy: MemoryPolicy, query: str, limit: int) -> tuple[list[FoundFile], str]:
    """Return the matching files, the most relevant first, and the problems of the search.

    Raises:
        ValueError: If the query is blank.
    """
    if not query.strip():
        raise ValueError("say what to look for, in a few words")
    wanted = max(limit, 1) * (_SPARE if files.folder else 1)
    recall = policy.recall.model_copy(update={"max_memories": wanted})
    owner = files.owner
    found = await MemoryFacade(owner.store, policy.model_copy(update={"recall": recall})).read(
        MemoryQuery(
            user_id=owner.user_id,
            session_id=owner.session_id or _OUTSIDE,
            agent_id=files.agent_id,
            scopes=[MemoryScope.FILES],
            query=query,
            # a search that the agent asks for shows what is nearest, be it far
            extra={"cut": False},
        )
    )
    inside = [item for item in found if _is_searched(item.payload, files.folder)][:limit]
    shown = await asyncio.to_thread(lambda: [_found(item, len(files.folder)) for item in inside])
    return shown, "; ".join(f"{arm}: {cause}" for arm, cause in found.missing.items())


def _is_searched(value: Mapping[str, Any], folder: str) -> bool:
    # LangGraph's own stores list behind what they find what is in no index of theirs
    return str(value.get("path")).startswith(f"{folder}/") and bool(value.get("text") or value.get("keywords"))


def _found(item: MemoryResultItem, folder: int) -> FoundFile:
    value: Mapping[str, Any] = item.payload
    text = str(value.get("text") or "")
    matched = next((part.content for part in item.fragments if part.id == item.id), "") or text
    passage = matched.strip()[:PASSAGE_CHARS]
    first = text.count("\n", 0, max(text.find(passage), 0)) + 1
    return FoundFile(
        path=str(value["path"])[folder:],
        passage=passage,
        first_line=first,
        last_line=first + passage.count("\n"),
        origin=origin_of(value),
        modified_at=str(value.get("modified_at") or ""),
    )
