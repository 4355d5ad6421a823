"""Experience as traces: the steps of one turn, in order, what was asked for and whether it succeeded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

from react_mem.memory.language.terms import index_terms
from react_mem.memory.model.skills import StepExperience
from react_mem.memory.scopes.experience import LoggedTurn

if TYPE_CHECKING:
    from react_mem.memory.facade import MemoryFacade


_MAX_VALUES = 200
_MAX_VALUE_CHARS = 1_000
"""Characters of a step's input that are read: a pasted document has no value that a procedure could name."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True)
class Trace(LoggedTurn):
    """Trace of an agent's turn, with what is learnt from it."""

    @property
    def id(self) -> str:
        """The record that stands for it: its first step falls with the turn, as they all do."""
        return self.steps[0].id

    @cached_property
    def done(self) -> tuple[StepExperience, ...]:
        """The steps that went well; of one that was repeated at once, the last."""
        well = [step for step in self.steps if step.success]
        return tuple(
            step for place, step in enumerate(well) if place + 1 == len(well) or well[place + 1].tool != step.tool
        )

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools of what went well, in order."""
        return tuple(step.tool for step in self.done)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words of what was asked for, given to tools, and came back as errors."""
        said = [self.goal, *(step.error for step in self.steps)]
        given = [value for step in self.steps for value in values(step.input)]
        return frozenset(term for text in (*said, *given) for term in index_terms(text[:_MAX_VALUE_CHARS]))

    @cached_property
    def values(self) -> frozenset[tuple[str, ...]]:
        """Return the values given to tools, each as its words."""
        return frozenset(
            words
            for step in self.steps
            for value in values(step.input)
            if (words := tuple(index_terms(value))) and value
        )

    def covers(self, tools: Sequence[str]) -> bool:
        """Return whether these tools were used with success, in this order, perhaps with others between."""
        return match(tools, self.tools) is not None


@dataclass(frozen=True)
class Experience:
    """Latest traces of an agent for a user.

    Args:
        traces: Its turns, the oldest first.
        last_used: When each skill was last followed; those never followed are not in it.
    """

    traces: Sequence[Trace] = ()
    last_used: Mapping[str, datetime] = field(default_factory=dict)


async def read_experience(memory: MemoryFacade, user_id: str, agent_id: str) -> Experience:
    """Read the latest experience of an agent with a user.

    Args:
        memory: The facade.
        user_id: The owner.
        agent_id: The agent.
    """
    turns, outcomes = await memory.experience.turns(user_id, agent_id)
    followed = {id_: outcome.created_at for outcome in outcomes for id_ in outcome.followed}
    return Experience([Trace(**vars(turn)) for turn in turns], followed)


def match(wanted: Sequence[str], done: Sequence[str]) -> list[int] | None:
    """Return where each of these stands in a sequence, in order; None where one is missing.

    >>> match("ac", "abc"), match("ca", "abc")
    ([0, 2], None)
    """
    places: list[int] = []
    start = 0
    for one in wanted:
        try:
            start = list(done).index(one, start) + 1
        except ValueError:
            return None
        places.append(start - 1)
    return places


def values(given: Any) -> Iterator[str]:
    """Yield what a tool was given, value by value, as text.

    >>> list(values({"what": "tea", "how": {"many": 20, "hot": True}, "for": ["Ann"]}))
    ['tea', '20', 'Ann']
    """
    open_ = [given]
    for _ in range(_MAX_VALUES):
        if not open_:
            return
        one = open_.pop(0)
        if isinstance(one, Mapping):
            open_[:0] = one.values()
        elif isinstance(one, list | tuple):
            open_[:0] = one
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            yield str(one)[:_MAX_VALUE_CHARS]


def plain_words(text: str) -> list[str]:
    """Return the words of a text as they are written.

    >>> plain_words("Order Ann's kettle, please")
    ['Order', "Ann's", 'kettle', 'please']
    """
    return _WORD.findall(text)


# Procedures without a model: which tools, in which order, the turns that succeeded have in common.

MIN_SUPPORT = 3
"""Turns that a procedure must have carried: two may be alike by chance, and waiting for more delays what is learnt."""

MAX_STEPS = 12
"""Steps of a procedure: more is not a procedure but one case, and would fill the prompt."""

_ODD_ONES = 10
"""One turn in so many may do without a step that all the others take."""

_MIN_SHARE = 1 / 3
"""Of the steps of its turns that a procedure explains: what explains less is what different procedures have in
common."""

_MIN_SUCCESS = 2 / 3
"""Of the turns that took its steps, how many must have succeeded: else something is missing in it."""


@dataclass(frozen=True)
class Procedure:
    """Tools in an order that carried several turns.

    Args:
        tools: The tools, in order.
        traces: The turns, the oldest first.
    """

    tools: tuple[str, ...]
    traces: tuple[Trace, ...]


_Step = tuple[str, int]
"""A tool, and the how-manieth use of it."""


def procedures(
    traces: Iterable[Trace], *, shortest: int, needs: Mapping[str, Collection[str]] | None = None
) -> list[Procedure]:
    """Find the procedures in turns for one kind of task, those that carried most turns first.

    It is an ordered subsequence of the successful tool calls of at least `MIN_SUPPORT` turns. What all turns that came
    off have in common is one procedure, if it explains enough of what they did; else they are parted by whether they
    use a tool, and each part is looked at by itself.

    Args:
        traces: The turns, whether they succeeded or not, the oldest first.
        shortest: How many tools a procedure has at least.
        needs: By tool, those without which it is known to fail.
    """
    every = list(traces)
    found: list[Procedure] = []
    open_ = [[trace for trace in every if trace.succeeded and trace.tools]]
    while open_:
        turns = open_.pop()
        if len(turns) < MIN_SUPPORT:
            continue
        uses = Counter(step for turn in turns for step in _steps(turn))
        enough = len(turns) - len(turns) // _ODD_ONES
        shared = {step for step, number in uses.items() if number >= enough}
        one = _in_order(shared, turns, needs or {})
        if one is not None and shortest <= len(one.tools) <= MAX_STEPS and _explains(one, turns, every):
            found.append(one)
            continue
        rest = [(number, step) for step, number in uses.items() if step not in shared]
        # where all of them do the same, parting them further finds nothing
        if rest:
            _, parting = max(rest)
            open_ += [
                [turn for turn in turns if parting not in _steps(turn)],
                [turn for turn in turns if parting in _steps(turn)],
            ]
    return sorted(found, key=lambda one: (-len(one.traces), one.tools))


def _in_order(
    shared: Iterable[_Step], turns: Sequence[Trace], needs: Mapping[str, Collection[str]]
) -> Procedure | None:
    """Return the steps that stand in one order in nearly all turns; None where there are none.

    Of steps that do not, the one that agrees least with the others goes first: a step of the procedure disagrees with
    detours only, a detour with all. A step that another one is known to need stays as long as that one.
    """
    wanted = set(shared)
    places = [{step: place for place, step in enumerate(_steps(turn))} for turn in turns]
    before = {
        (one, other): sum(one in at and other in at and at[one] < at[other] for at in places)
        for one in wanted
        for other in wanted
    }
    while wanted:
        enough = len(turns) - len(turns) // _ODD_ONES
        order = sorted(wanted, key=lambda one: (-sum(before[one, other] for other in wanted), one))
        tools = tuple(tool for tool, _ in order)
        carried = tuple(turn for turn in turns if turn.covers(tools))
        if len(carried) >= max(enough, MIN_SUPPORT):
            return Procedure(tools, carried)
        wanted.remove(max(wanted, key=lambda one: (sum(min(before[one, o], before[o, one]) for o in wanted), one)))
    return None


def _explains(one: Procedure, turns: Sequence[Trace], every: Iterable[Trace]) -> bool:
    # rounded once: a sum step by step would depend on the order of the turns
    share = fmean(len(one.tools) / len(turn.tools) for turn in turns)
    failed = sum(not trace.succeeded and trace.covers(one.tools) for trace in every)
    return share > _MIN_SHARE and len(one.traces) >= _MIN_SUCCESS * (len(one.traces) + failed)


def _steps(turn: Trace) -> list[_Step]:
    """Return the tools that a turn used with success, a second use told from the first.

    The number is that of the use, so that a procedure may take a tool twice.
    """
    seen: Counter[str] = Counter()
    found = []
    for tool in turn.tools:
        seen[tool] += 1
        found.append((tool, seen[tool]))
    return found
