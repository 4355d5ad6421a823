"""Search in an owner's files by meaning and words, with the passage that matches and where it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from react_mem.integrations.deep_agents.owned_files import OwnedFiles
from react_mem.memory import MemoryFacade, MemoryPolicy, MemoryQuery, MemoryResultItem, MemoryScope, Origin
from react_mem.memory.records import origin_of

PASSAGE_CHARS = 1_000
"""Characters of a passage: the piece of a text that the index compares is about as long."""

_OUTSIDE = "files"
"""Conversation of a search that an application makes outside of one."""

_SPARE = 5
"""Files that are looked at for each one that is wanted, where only those in one folder count."""


class FoundFile(NamedTuple):
    """A file that says what was looked for.

    Args:
        path: Its path.
        passage: The part of it that does; empty of a file that its path alone has found.
        first_line: The line of the file in which the passage begins, from 1.
        last_line: The line in which it ends.
        origin: Who vouches for it.
        modified_at: When it was last written, as ISO 8601.
    """

    path: str
    passage: str
    first_line: int
    last_line: int
    origin: Origin
    modified_at: str


async def search_files(files: OwnedFiles, policy: MemoryPolicy, query: str, limit: int) -> tuple[list[FoundFile], str]:
    """Return the files that say something, the most relevant first, and what could not be searched.

    Args:
        files: The files.
        policy: How much is found, and how.
        query: What to look for.
        limit: How many, at most.

    Raises:
        ValueError: If nothing is looked for.
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
