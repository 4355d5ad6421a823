"""Token budgets: shares of a model's window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from langchain_core.language_models import BaseChatModel

ASSUMED_WINDOW = 16_000
"""Tokens: what nearly every model in use reads, local ones as they are commonly started included."""


class Section(StrEnum):
    """A part of the prompt; what always fits first, then by priority, then what a turn adds to it."""

    SYSTEM = "system"
    TOOLS = "tools"
    PROFILE = "profile"
    QUESTION = "question"
    WEB_PAGES = "web_pages"
    MEMORIES = "memories"
    OUTLINE = "outline"
    SUMMARIES = "summaries"
    CONVERSATION = "conversation"
    WORKING_MEMORY = "working_memory"


SHARES: dict[Section, int] = {
    Section.WEB_PAGES: 25,
    Section.MEMORIES: 25,
    Section.SUMMARIES: 15,
    Section.CONVERSATION: 35,
}
"""Per cent of the room that each is sure of, in the order of priority in which they get what the others leave."""


_OUTLINE = 70
"""Per cent of the budget of memories that an outline of all that was said takes, where a question is about that."""

_WITH_OUTLINE = 87
"""Per cent of their room that memories and an outline take together: memories alone seldom fill it, short lines do."""


@dataclass(frozen=True)
class Window:
    """Context window of a model.

    Args:
        tokens: The tokens of it.
        known: Whether that is known of the model; what is only assumed is not a reason to cut what the user just said.
    """

    tokens: int
    known: bool

    @classmethod
    def of(cls, policy_says: int | None, model: BaseChatModel | None) -> Window:
        """Return the window of a model: what the policy says, else the model of itself, else what is common.

        Args:
            policy_says: `MemoryPolicy.context.window`.
            model: The model; None where nobody knows which one reads it.
        """
        known = policy_says or (None if model is None else _told_by(model))
        return cls(known or ASSUMED_WINDOW, known is not None)


def _told_by(model: BaseChatModel) -> int | None:
    tokens = (model.profile or {}).get("max_input_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else None


def allocate(room: int, wanted: Mapping[Section, int]) -> dict[Section, int]:
    """Return what each section may take: its share or less, and of what the others leave as much as it wants.

    Args:
        room: The tokens there are for all of them.
        wanted: What each would take if there were no limit.

    Returns:
        The budget of each section in `SHARES`; together never more than the room.

    >>> allocate(1000, {Section.MEMORIES: 100, Section.CONVERSATION: 5000})[Section.CONVERSATION]
    900
    >>> {str(section): tokens for section, tokens in allocate(100, dict.fromkeys(SHARES, 90)).items()}
    {'web_pages': 25, 'memories': 25, 'summaries': 15, 'conversation': 35}
    """
    room = max(room, 0)
    budget = {section: min(wanted.get(section, 0), sure(room, section)) for section in SHARES}
    left = room - sum(budget.values())
    for section in SHARES:
        more = min(wanted.get(section, 0) - budget[section], left)
        budget[section] += more
        left -= more
    return budget


def sure(room: int, section: Section) -> int:
    """Return what a section gets whatever the others want.

    Args:
        room: The tokens there are for all of them.
        section: One of `SHARES`.
    """
    return max(room, 0) * SHARES[section] // 100


def outline_room(room: int, most: int) -> int:
    """Return what an outline gets: what stands there anyhow, as the profile, takes from single memories first.

    Args:
        room: The tokens that it has with single memories.
        most: What memories may take, with all that stands there anyhow.
    """
    return min(most * _OUTLINE, room * _WITH_OUTLINE) // 100


def beside_outline(room: int, outline: int) -> int:
    """Return what single memories get of the room that they have with an outline.

    Args:
        room: The tokens of both.
        outline: What the outline takes; 0 where there is none, and memories get all.
    """
    return max(room * _WITH_OUTLINE // 100 - outline, 0) if outline else room
