"""Lessons without a model: what had to come first where a tool failed, and which tool never works."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from react_mem.memory.reflect.skills.procedures import MIN_SUPPORT
from react_mem.memory.reflect.skills.traces import Trace

_HOPELESS = 6
"""Turns in which a tool must have failed, and in none worked, to be given up: what it lacked may yet be found."""

FIRST = "`{tool}` fails before `{first}`: use `{first}` first"
NEVER = "`{tool}` has failed each time: do without it"


@dataclass(frozen=True)
class Lesson:
    """Something that failed, and what to do about it.

    Args:
        tool: The tool that fails.
        first: The tool that has to be used before it; empty where nothing helps.
        traces: The turns in which it did.
        holds: Whether no turn says otherwise.
    """

    tool: str
    first: str
    traces: tuple[Trace, ...]
    holds: bool

    @property
    def text(self) -> str:
        """The lesson in words, which are those of tools only."""
        return (FIRST if self.first else NEVER).format(tool=self.tool, first=self.first)


def lessons(traces: Sequence[Trace]) -> list[Lesson]:
    """Find the lessons in turns for one kind of task, those that turns speak against as well.

    Args:
        traces: The turns, whether they succeeded or not.
    """
    found: list[Lesson] = []
    for tool in sorted({step.tool for trace in traces for step in trace.steps if not step.success}):
        failed = tuple(trace for trace in traces if any(s.tool == tool and not s.success for s in trace.steps))
        works = any(tool in trace.tools for trace in traces)
        remedies: dict[str, list[Trace]] = defaultdict(list)
        for trace in failed:
            for first in _remedies(tool, trace):
                remedies[first].append(trace)
        of_the_tool = [Lesson(tool, "", failed, holds=not works)]
        of_the_tool += [
            Lesson(tool, first, tuple(helped), holds=_always_before(first, tool, traces))
            for first, helped in remedies.items()
        ]
        held = [lesson for lesson in of_the_tool if lesson.holds]
        known = [lesson for lesson in held if len(lesson.traces) >= (MIN_SUPPORT if lesson.first else _HOPELESS)]
        # of what came before, only what helped most often
        found += sorted(known, key=lambda lesson: (-len(lesson.traces), lesson.first))[:1]
        found += [lesson for lesson in of_the_tool if not lesson.holds]
    return found


def _remedies(tool: str, trace: Trace) -> Iterable[str]:
    """Return what was done with success between a tool's failure and its success, and not before, the last first."""
    failed = next(place for place, step in enumerate(trace.steps) if step.tool == tool and not step.success)
    worked = next((p for p, s in enumerate(trace.steps) if p > failed and s.tool == tool and s.success), None)
    if worked is None:
        return []
    before = {step.tool for step in trace.steps[:failed] if step.success}
    between = [step.tool for step in trace.steps[failed + 1 : worked] if step.success and step.tool not in before]
    return dict.fromkeys(reversed(between))


def _always_before(first: str, tool: str, traces: Iterable[Trace]) -> bool:
    """Return whether a tool never worked without the other before it: else its failures were bad luck."""
    worked = [trace.tools[: trace.tools.index(tool)] for trace in traces if tool in trace.tools]
    return all(first in before for before in worked)
