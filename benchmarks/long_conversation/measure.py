"""Holding the conversation, and what it came to."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.long_conversation.conversation import Detail, Said
from benchmarks.long_conversation.model import CHAT, SMALL, Call, Counter
from benchmarks.long_conversation.systems import Talk
from benchmarks.progress import counted

MARKS = (10, 50, 100, 250, 500)
"""Turns at which the prompt is looked at."""

_WINDOW = 10
"""Turns up to a mark that count for it: some call a tool, most do not."""

Metrics = dict[str, float]


@dataclass
class Held:
    """A conversation that was held.

    Args:
        name: With which system.
        turns: The calls of each turn.
        seconds: How long the user waited, in all.
        verbatim: The details whose own message stood in the prompt that asked for them.
        answered: The details that were answered.
        degraded: Events that say something was missing.
    """

    name: str
    turns: list[list[Call]] = field(default_factory=list)
    seconds: float = 0.0
    verbatim: list[Detail] = field(default_factory=list)
    answered: list[Detail] = field(default_factory=list)
    degraded: int = 0

    def metrics(self, details: Sequence[Detail], baseline: Held | None) -> Metrics:
        """Return what it came to: tokens of prompts, calls, and what of the details was known at the end.

        Args:
            details: What was asked for.
            baseline: The conversation that time is compared with, where it can be.
        """
        calls = [call for turn in self.turns for call in turn]
        chats = [call for call in calls if call.model == CHAT]
        small = [call for call in calls if call.model == SMALL]
        sent = [sum(call.prompt_tokens for call in turn if call.model == CHAT) for turn in self.turns]
        return {
            **{f"prompt_tokens.turn_{mark}": _mean(sent[:mark][-_WINDOW:]) for mark in marks(len(self.turns))},
            "peak": max(call.prompt_tokens for call in chats),
            "total": sum(sent),
            "small_total": sum(call.prompt_tokens for call in small),
            "calls": len(chats),
            "small_calls": len(small),
            "waited_for": sum(not call.behind for call in small),
            "asked": len(details),
            "recovered": len(self.verbatim),
            "shown_to_small": len(frozenset().union(*(call.verbatim for call in small))),
            "answered": len(self.answered),
            "turn_3_recovered": int(details[0] in self.verbatim),
            "turn_3_answered": int(details[0] in self.answered),
            "degraded": self.degraded,
            **({"time_over_react": round(self.seconds / baseline.seconds, 2)} if baseline else {}),
        }


async def hold(talk: Talk, said: Sequence[Said], counter: Counter) -> Held:
    """Hold the conversation with one system.

    Args:
        talk: The conversation.
        said: What the user says.
        counter: What counts the model's calls.
    """
    held = Held(talk.name)
    for turn in counted(said, talk.name, "turns"):
        counter.behind = False
        started = time.perf_counter()
        answer = await talk.say(turn.text)
        held.seconds += time.perf_counter() - started
        counter.behind = True
        await talk.rest(turn.turn)
        calls = counter.take()
        held.turns.append(calls)
        if turn.asks_for is None:
            continue
        if turn.asks_for.value in answer:
            held.answered.append(turn.asks_for)
        if any(turn.asks_for in call.verbatim for call in calls if call.model == CHAT):
            held.verbatim.append(turn.asks_for)
    held.degraded = talk.degraded
    return held


def marks(turns: int) -> list[int]:
    """Return the turns at which a conversation of so many is looked at; always its last."""
    return list(dict.fromkeys([*(mark for mark in MARKS if mark < turns), turns]))


def _mean(values: Sequence[int]) -> int:
    return round(statistics.mean(values))
