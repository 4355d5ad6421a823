"""Relations between tools: declared ones, and successions in a user's own experience."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from react_mem.memory.runtime import StepExperience
from react_mem.tools.routing.routes import Route

MIN_FOLLOWED = 2
"""Once may be chance."""

_DECLARED = 2
"""A declared relation counts as one that was seen as often as that: experience that says otherwise comes first."""

Follows = Mapping[str, Mapping[str, int]]
"""By tool: the tools that were called next in the same turn, with how often."""


@dataclass(frozen=True)
class Suggestion:
    """A next step that may be of use.

    Args:
        tool: The tool.
        text: What it is for.
        after: What it follows.
        times: How often this user's turns went on with it; 0 where that is only declared.
    """

    tool: str
    text: str
    after: str
    times: int


def what_followed(steps: Iterable[StepExperience]) -> Follows:
    """Return what followed what. A step that failed is followed by nothing, and follows nothing.

    Args:
        steps: What an agent did, in order.
    """
    found: dict[str, Counter[str]] = {}
    before: StepExperience | None = None
    for step in steps:
        if before is not None and step.tool != before.tool and _goes_on(before, step):
            found.setdefault(before.tool, Counter())[step.tool] += 1
        before = step
    return found


class Relations:
    """The relations of tools.

    Args:
        routes: The tools' routes. A declared relation to a tool that there is not, is none.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = {route.name: route for route in routes}
        self._next: dict[str, list[str]] = {}
        for route in routes:
            for name in route.after:
                if name in self._routes:
                    self._next.setdefault(name, []).append(route.name)

    def required(self, names: Iterable[str]) -> list[str]:
        """Return what tools cannot be used without, whatever that needs in turn included."""
        found: dict[str, None] = {}
        waiting = list(names)
        while waiting:
            new = [n for n in self._routes[waiting.pop(0)].requires if n in self._routes and n not in found]
            found |= dict.fromkeys(new)
            waiting += new
        return list(found)

    def partners(self, name: str, follows: Follows) -> list[str]:
        """Return what a tool is called with in one turn: what follows it, then what it follows, most often first.

        Args:
            name: The tool.
            follows: What followed what.
        """
        before = dict.fromkeys((n for n in self._routes[name].after if n in self._routes), _DECLARED)
        for earlier, later in follows.items():
            if later.get(name, 0) >= MIN_FOLLOWED and earlier in self._routes:
                before[earlier] = later[name]
        return list(dict.fromkeys([*_by_number(self._following(name, follows)), *_by_number(before)]))

    def suggestions(self, names: Sequence[str], follows: Follows, limit: int) -> list[Suggestion]:
        """Return next steps.

        Args:
            names: What will be done: what follows these is suggested, and not these themselves.
            follows: What followed what.
            limit: How many.
        """
        found: dict[str, Suggestion] = {}
        for name in names:
            for tool in _by_number(self._following(name, follows)):
                if tool not in names and tool not in found:
                    times = follows.get(name, {}).get(tool, 0)
                    about = first_sentence(self._routes[tool].description)
                    found[tool] = Suggestion(tool, about, name, times if times >= MIN_FOLLOWED else 0)
        return sorted(found.values(), key=lambda one: -one.times)[:limit]

    def _following(self, name: str, follows: Follows) -> dict[str, int]:
        seen = {t: n for t, n in follows.get(name, {}).items() if n >= MIN_FOLLOWED and t in self._routes}
        return {**dict.fromkeys(self._next.get(name, ()), _DECLARED), **seen}


def first_sentence(text: str) -> str:
    """Return the beginning of a description.

    >>> first_sentence("Look up a word. Use it for rare ones.")
    'Look up a word.'
    """
    line = text.strip().partition("\n")[0]
    end = line.find(". ")
    return (line[: end + 1] if end >= 0 else line)[:200]


def _goes_on(before: StepExperience, step: StepExperience) -> bool:
    same_turn = (before.session_id, before.source_ids) == (step.session_id, step.source_ids)
    return same_turn and before.success and step.success


def _by_number(counted: Mapping[str, int]) -> list[str]:
    return sorted(counted, key=lambda name: -counted[name])
