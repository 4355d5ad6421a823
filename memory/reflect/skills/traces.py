"""Experience as traces: the steps of one turn, in order, what was asked for and whether it came off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from react_mem.memory.language.indexed_words import terms
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.skills import StepExperience, TurnOutcome

if TYPE_CHECKING:
    from react_mem.memory.facade import MemoryFacade

MAX_STEPS_READ = 2_000
"""Steps of an agent with a user that one run learns from, the latest: some 300 turns, a few megabytes, and on a busy
machine a tenth of a second to read."""

_MAX_VALUES = 200
_MAX_VALUE_CHARS = 1_000
"""What is looked at of a step's input: a pasted document has no value that a procedure could name."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True)
class Trace:
    """What an agent did in one turn.

    Args:
        session_id: The conversation.
        turn_id: The message that it answers; empty where nobody said.
        task_type: What kind of task it was.
        goal: What was asked for; empty where that is not known.
        steps: What it did, in order.
        succeeded: Whether it came off.
    """

    session_id: str
    turn_id: str
    task_type: str
    goal: str
    steps: tuple[StepExperience, ...]
    succeeded: bool

    @property
    def id(self) -> str:
        """The record that stands for it: its first step falls with the turn, as they all do."""
        return self.steps[0].id

    @property
    def at(self) -> datetime:
        """When it ended."""
        return self.steps[-1].created_at

    @property
    def is_mixed(self) -> bool:
        """Whether it came off though a step failed."""
        return self.succeeded and not all(step.success for step in self.steps)

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
        return frozenset(term for text in (*said, *given) for term in terms(text[:_MAX_VALUE_CHARS]))

    @cached_property
    def values(self) -> frozenset[tuple[str, ...]]:
        """What was given to tools, each value as its words."""
        return frozenset(
            words for step in self.steps for value in values(step.input) if (words := tuple(terms(value))) and value
        )

    def covers(self, tools: Sequence[str]) -> bool:
        """Return whether these tools were used with success, in this order, perhaps with others between."""
        return match(tools, self.tools) is not None


@dataclass(frozen=True)
class Experience:
    """What an agent did for a user lately.

    Args:
        traces: Its turns, the oldest first.
        last_used: When each skill was last followed; those never followed are not in it.
    """

    traces: Sequence[Trace]
    last_used: Mapping[str, datetime]


async def read_experience(memory: MemoryFacade, user_id: str, agent_id: str) -> Experience:
    """Read the latest experience of an agent with a user.

    Args:
        memory: The facade.
        user_id: The owner.
        agent_id: The agent.
    """
    steps = await memory.experience.latest_steps(user_id, agent_id, MAX_STEPS_READ)
    outcomes = await memory.experience.latest_outcomes(user_id, agent_id, MAX_STEPS_READ)
    turns = {(outcome.session_id, outcome.turn_id): outcome for outcome in outcomes}
    asked = await memory.records(user_id, MemoryScope.DIALOG, (id_ for step in steps for id_ in step.source_ids[:1]))
    traces = to_traces(steps, turns, {id_: str(value.get("text", "")) for id_, value in asked.items()})
    # of the oldest turn the beginning may be missing
    whole = traces[1:] if len(steps) == MAX_STEPS_READ else traces
    return Experience(whole, {id_: outcome.created_at for outcome in outcomes for id_ in outcome.followed})


def to_traces(
    steps: Iterable[StepExperience],
    outcomes: Mapping[tuple[str, str], TurnOutcome],
    asked: Mapping[str, str],
) -> list[Trace]:
    """Put steps together, a trace a turn and kind of task, the oldest first.

    Args:
        steps: The steps, in order.
        outcomes: What became of turns, by conversation and turn. Of a turn that nobody judged, the last step tells.
        asked: What messages say, by their ids.
    """
    groups: dict[tuple[str, str, str], list[StepExperience]] = {}
    for step in steps:
        turn_id = step.source_ids[0] if step.source_ids else ""
        groups.setdefault((step.session_id, turn_id, step.task_type), []).append(step)
    traces = []
    for (session_id, turn_id, task_type), taken in groups.items():
        outcome = outcomes.get((session_id, turn_id))
        traces.append(
            Trace(
                session_id=session_id,
                turn_id=turn_id,
                task_type=task_type or (outcome.task_type if outcome else ""),
                goal=(outcome.text if outcome else "") or asked.get(turn_id, ""),
                steps=tuple(taken),
                succeeded=outcome.success if outcome else taken[-1].success,
            )
        )
    return sorted(traces, key=lambda trace: trace.at)


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
