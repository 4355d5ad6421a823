"""Experience as traces: the steps of one turn, in order, what was asked for and whether it succeeded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
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
