"""What the model is told it remembers: a fenced, dated block under a token budget."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memory.interface import Fragment, MemoryResultItem, MemoryScope
from memory.records import normalise

MAX_LINE_CHARS = 600
"""A memory's share of the prompt; the whole text stays in the store."""

MAX_PARTNER_CHARS = 200
"""The share of the answer, or the question, that a message brings: enough to see what it is about."""

CHARS_PER_TOKEN = 3
"""English runs at about 4 characters a token, Vietnamese at about 2.5: a bound that holds for both, roughly."""


@dataclass(frozen=True)
class MemoryBlock:
    """The memories that fit, rendered.

    Args:
        text: One memory a line, the most relevant last; empty where there is none.
        items: The memories in it, the most relevant first.
        dropped: How many did not fit.
    """

    text: str = ""
    items: list[MemoryResultItem] = field(default_factory=list)
    dropped: int = 0


def render_memories(results: Sequence[MemoryResultItem], max_tokens: int) -> MemoryBlock:
    """Render what was read for the prompt.

    The profile always comes first. The rest is taken best first, a scope in turn so that none starves another, and
    stands with the most relevant last, nearest to the query. What is said twice word for word is shown once: a message
    that says what a fact says is left out, and so is an answer beside its question where it has a line of its own.

    Args:
        results: What `Memory.read` returned.
        max_tokens: The budget, in tokens.

    Returns:
        The block.
    """
    profile, about_user, dropped = _profile(results, max_tokens * CHARS_PER_TOKEN)
    ranked = _by_turns([item for item in results if item.scope is not MemoryScope.PROFILE])
    keys = [normalise(_own(item)) for item in ranked]
    own_line = {item.id for item in ranked} | set(keys)
    kept: list[tuple[MemoryResultItem, str]] = []
    said: set[str] = set()
    room = max_tokens * CHARS_PER_TOKEN - sum(len(line) + 1 for line in about_user)
    for item, key in zip(ranked, keys, strict=True):
        if not key or key in said:
            continue
        said.add(key)
        beside = {
            text: part
            for part in item.fragments
            if (text := normalise(part.content)) and own_line.isdisjoint((part.id, text)) and text not in said
        }
        # the memory itself counts more than what was said beside it
        ways = (_line(item, beside.values()), _line(item, ()))
        line = next((way for way in ways if len(way) <= room), None)
        if line is None:
            dropped += 1
            continue
        said.update(beside)
        room -= len(line) + 1
        kept.append((item, line))
    if not kept and not profile:
        return MemoryBlock(dropped=dropped)
    lines = about_user + [line for _, line in reversed(kept)]
    return MemoryBlock("\n".join(lines), [*profile, *(item for item, _ in kept)], dropped)


def _profile(results: Sequence[MemoryResultItem], room: int) -> tuple[list[MemoryResultItem], list[str], int]:
    """Return the profile with a line a field, as many as half the room takes, and how many it does not take."""
    items = [item for item in results if item.scope is MemoryScope.PROFILE and item.payload.get("fields")]
    lines = [
        "- [profile] " + _flat(f"{name}: {entry['value']}")
        for item in items
        for name, entry in item.payload["fields"].items()
    ]
    kept: list[str] = []
    for line in lines:
        if sum(len(other) + 1 for other in kept) + len(line) <= room // 2:
            kept.append(line)
    return items, kept, len(lines) - len(kept)


def fence(text: str) -> str:
    """Return text that cannot end the block it stands in, nor open another.

    >>> fence("a </memories> b")
    'a ‹/memories› b'
    >>> fence("< /memories> <|im_end|> 1 < 2 > 0")
    '‹ /memories› ‹|im_end|› 1 < 2 > 0'
    """
    # the marks of chat templates as well: some servers read them in what is only text
    return re.sub(r"<(\s*/\s*[\w-]+[^<>]*|[\w-]+[^<>]*|\|[^<>]*\|)>", r"‹\1›", text)


def _by_turns(results: Sequence[MemoryResultItem]) -> list[MemoryResultItem]:
    """Order results best first, facts before messages of the same rank, each scope seeding its best."""
    scopes: dict[MemoryScope, list[MemoryResultItem]] = {}
    for item in results:
        scopes.setdefault(item.scope, []).append(item)
    in_turn = dict.fromkeys((MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.DIALOG, *scopes))
    longest = max(map(len, scopes.values()), default=0)
    return [scopes[scope][rank] for rank in range(longest) for scope in in_turn if rank < len(scopes.get(scope, ()))]


def _line(item: MemoryResultItem, beside: Iterable[Fragment]) -> str:
    payload = item.payload
    date = str(payload.get("created_at", ""))[:10]
    role = f", {payload['role']}" if "role" in payload else ""
    kind = item.source
    if payload.get("current") is False:
        kind = "former fact"
        date = f"until {str(payload['valid_to'])[:10]}" if payload.get("valid_to") else date
    # on lines of their own: they are not what the memory itself says
    own = f"- [{kind} {date}{role}] {_flat(_own(item))}"
    return own + "".join(f"\n  ({part.role}: {_flat(part.content, MAX_PARTNER_CHARS)})" for part in beside)


def _own(item: MemoryResultItem) -> str:
    """Return what an item says: of a long text, the part that matched."""
    matched = [fragment.content for fragment in item.fragments if fragment.id == item.id]
    return matched[0] if matched else str(item.payload.get("text", ""))


def _flat(text: str, limit: int = MAX_LINE_CHARS) -> str:
    flat = fence(re.sub(r"\s+", " ", text).strip())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
