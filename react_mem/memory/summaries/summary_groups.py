"""The context chain of a conversation: its latest messages, and the summaries that stand in the place of the others.

Pure: what is to be folded follows from the chain and the settings alone, and not from how many messages came at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.kinds import SUMMARY
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.policy import SummarySettings
from react_mem.memory.model.records import Summary, SummaryLevel

MASTER: Literal["master"] = "master"

MAX_WAITING = 200
"""Messages that wait in a chain at once, as many as `n_sum` may be: the chain is read in every turn. What else a
conversation has joins once these have been summed up."""


@dataclass(frozen=True)
class Fold:
    """Group of items that becomes one summary.

    Args:
        entries: What is summed up, in the order of the conversation.
        level: The level of the summary.
        master: The master that it updates; None where it is a new summary.
    """

    entries: tuple[ChainEntry, ...]
    level: SummaryLevel
    master: ChainEntry | None = None

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The records that are summed up."""
        return tuple(entry.id for entry in self.entries)

    @property
    def parts(self) -> tuple[ChainEntry, ...]:
        """All that the summary will stand for."""
        return self.entries if self.master is None else (self.master, *self.entries)

    @property
    def at(self) -> datetime:
        """Return when the last of it was said."""
        return max(entry.at for entry in self.parts)

    @property
    def extent(self) -> dict[str, int]:
        """Return where in the conversation it begins and ends, and how many messages it stands for."""
        return {
            "first_turn": min(entry.first_turn for entry in self.parts),
            "last_turn": max(entry.last_turn for entry in self.parts),
            "covers": sum(entry.covers for entry in self.parts),
        }

    @property
    def origin(self) -> Origin:
        """Return the summary's origin: the summariser's, and none above that of its sources."""
        return lowest([Origin.ASSISTANT, *(entry.origin for entry in self.parts)])

    def summary_id(self, session_id: str) -> str:
        """Return the id of the summary: of the same sources always the same, and of the master one a conversation."""
        sources = (session_id,) if self.level == MASTER else self.source_ids
        return SUMMARY.id(self.level, *sources)

    def is_of(self, chain: ContextChain) -> bool:
        """Return whether a chain still holds all of this as it was."""
        return set(self.parts) <= set(chain.entries)


def next_fold(chain: ContextChain, settings: SummarySettings) -> Fold | None:
    """Return what of a chain is to be summed up next; None where nothing is.

    The highest level goes first, and of messages the first `n_sum` count: a chain that is folded after each message and
    one that is folded after many become the same.

    Args:
        chain: The chain.
        settings: When to fold, and how much.
    """
    top = [entry for entry in chain.entries if _number(entry) >= settings.max_sum_lvl]
    if len(top) >= settings.sum_window:
        master = next((entry for entry in chain.entries if entry.level == MASTER), None)
        return Fold(tuple(top[: settings.sum_window]), MASTER, master)
    for level in range(settings.max_sum_lvl - 1, 0, -1):
        same = [entry for entry in chain.entries if _number(entry) == level]
        if len(same) >= settings.n_sum_sum:
            return Fold(tuple(same[: settings.n_sum_sum]), cast("SummaryLevel", str(level + 1)))
    messages = [entry for entry in chain.entries if entry.is_message][: settings.n_sum]
    if len(messages) < settings.n_sum:
        return None
    window = settings.sum_window
    return Fold(tuple(messages[-window:] if settings.window == "newest" else messages[:window]), "1")


def applied(chain: ContextChain, fold: Fold, summary: Summary) -> ContextChain:
    """Return the chain with a summary in the place of what it sums up, or of the master that it updates.

    Args:
        chain: The chain, which holds all of the fold.
        fold: What was summed up.
        summary: What it came to.
    """
    made = ChainEntry(
        id=summary.id,
        level=fold.level,
        text=summary.text,
        at=fold.at,
        origin=summary.origin,
        **fold.extent,
    )
    place, folded = fold.parts[0].id, set(fold.source_ids)
    entries = [
        made if entry.id == place else entry for entry in chain.entries if entry.id == place or entry.id not in folded
    ]
    return chain.model_copy(update={"entries": tuple(entries)})


def without(chain: ContextChain, ids: Sequence[str]) -> ContextChain:
    """Return the chain without the links of these records."""
    return chain.model_copy(update={"entries": tuple(entry for entry in chain.entries if entry.id not in ids)})


def shown(chain: ContextChain, first_turn: int) -> list[ChainEntry]:
    """Return what a prompt needs of a chain beside the messages that it shows word for word.

    Args:
        chain: The chain.
        first_turn: The place in the conversation from which on the prompt has everything.

    Returns:
        The summaries and messages that cover something before that place, in the order of the conversation.
    """
    return [entry for entry in chain.entries if entry.first_turn < first_turn]


def _number(entry: ChainEntry) -> int:
    """Return the level of a summary; 0 for a message, and for the master, which is above all levels."""
    return int(entry.level) if entry.level.isdecimal() else 0
