"""Traces of turns, the procedures that they have in common, and drafts of skills with these turns as evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any

from react_mem.memory.language.terms import index_terms
from react_mem.memory.model.kinds import SKILL
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.states import Skill, StepExperience
from react_mem.memory.scopes.experience import LoggedTurn

if TYPE_CHECKING:
    from react_mem.memory.facade import MemoryFacade


# Experience as traces (the steps, request and success of a turn) and procedures, their common order.

_MAX_VALUES = 200
_MAX_VALUE_CHARS = 1_000  # Characters of one argument that are read: a pasted document has no useful value
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True)
class Trace(LoggedTurn):
    """A logged turn with the views that learning needs."""

    @property
    def id(self) -> str:
        """The record id of the first step, which is forgotten with the turn."""
        return self.steps[0].id

    @cached_property
    def done(self) -> tuple[StepExperience, ...]:
        """The successful steps; of immediate repetitions only the last."""
        well = [step for step in self.steps if step.success]
        return tuple([*same][-1] for _, same in groupby(well, attrgetter("tool")))

    @cached_property
    def tools(self) -> tuple[str, ...]:
        return tuple(step.tool for step in self.done)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words of the request, the arguments and the errors."""
        said = [self.goal, *(step.error for step in self.steps)]
        given = [value for step in self.steps for value in values(step.input)]
        return frozenset(term for text in (*said, *given) for term in index_terms(text[:_MAX_VALUE_CHARS]))

    @cached_property
    def values(self) -> frozenset[tuple[str, ...]]:
        """The arguments' values, each as its words."""
        given = (tuple(index_terms(value)) for step in self.steps for value in values(step.input))
        return frozenset(filter(None, given))

    def covers(self, tools: Sequence[str]) -> bool:
        """Return true if these tools succeeded in this order, possibly with others between."""
        return match(tools, self.tools) is not None


async def read_experience(memory: MemoryFacade, user_id: str, agent_id: str) -> tuple[list[Trace], dict[str, datetime]]:
    """Return the latest traces of an agent for a user, the oldest first, and the last use of each skill."""
    turns, outcomes = await memory.experience.turns(user_id, agent_id)
    followed = {id_: outcome.created_at for outcome in outcomes for id_ in outcome.followed}
    return [Trace(**vars(turn)) for turn in turns], followed


def match(wanted: Sequence[str], done: Sequence[str]) -> list[int] | None:
    """Return the positions of a subsequence; None if it is not one."""
    left = enumerate(done)
    places = [next((place for place, other in left if other == one), -1) for one in wanted]
    return None if -1 in places else places


def values(given: Any) -> Iterator[str]:
    """Yield the values of a tool's arguments as text."""
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
    """Return the words of a text as written."""
    return _WORD.findall(text)


# Procedures without a model: which tools, in which order, the turns that succeeded have in common.

MIN_SUPPORT = 3  # Minimum turns of a procedure: two may be alike by chance, and waiting for more delays learning
MAX_STEPS = 12  # Maximum steps of a procedure: a longer one describes a single case and fills the prompt
_ODD_ONES = 10  # One turn in so many may lack a step that all others have

# Minimum share of the turns' steps in the procedure: below it, the steps are common to different procedures
_MIN_SHARE = 1 / 3

_MIN_SUCCESS = 2 / 3  # Minimum success rate of the turns with its steps: below it, a step is missing


@dataclass(frozen=True)
class Procedure:
    """Tools in an order common to several turns, the oldest turn first."""

    tools: tuple[str, ...]
    traces: tuple[Trace, ...]


_Step = tuple[str, int]  # A tool and the ordinal of its use


def procedures(traces: Iterable[Trace], *, shortest: int) -> list[Procedure]:
    """Find the procedures in turns for one kind of task, those with most turns first.

    A procedure is an ordered subsequence of the successful tool calls of at least `MIN_SUPPORT` turns. The common steps
    of all successful turns are one procedure if they explain enough of the turns; else the turns are split by a tool,
    and each part is searched by itself.
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
        one = _in_order(shared, turns)
        if one is not None and shortest <= len(one.tools) <= MAX_STEPS and _explains(one, turns, every):
            found.append(one)
            continue
        rest = [(number, step) for step, number in uses.items() if step not in shared]
        # where all of them do the same, parting them further finds nothing
        if rest:
            _, parting = max(rest)
            without = [turn for turn in turns if parting not in _steps(turn)]
            open_ += [without, [turn for turn in turns if parting in _steps(turn)]]
    return sorted(found, key=lambda one: (-len(one.traces), one.tools))


def _in_order(shared: Iterable[_Step], turns: Sequence[Trace]) -> Procedure | None:
    """Return the steps with one order in nearly all turns, without the ones that agree least; None for none."""
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
    """Return the successful tools of a turn, numbered by use, so that a procedure may use a tool twice."""
    return [(tool, turn.tools[:place].count(tool) + 1) for place, tool in enumerate(turn.tools)]


# Checks of texts about procedures: nothing given to a tool, nothing that only one conversation said.

MAX_CHARS = 200  # Characters of one text of a skill, a line of a prompt
_GRAM = 3  # Consecutive words by which a longer value counts as copied
SECRET = re.compile(
    r"[^\s@]+@[^\s@]+|\w+://\S+|\d{4,}|(?=[\w-]*\d)[\w-]{16,}"  # an address, a link, a number, what looks like a key
)


class SkillEvidence:
    """The turns behind a text; the words of `vocabulary` (names of tools, arguments and tasks) are always allowed."""

    def __init__(self, traces: Sequence[Trace], vocabulary: Iterable[str]) -> None:
        self.traces = traces
        self._vocabulary = frozenset(term for text in vocabulary for term in index_terms(text))

    def problem_with(self, text: str) -> str:
        """Return the reason to refuse a text; empty for none."""
        if not text.strip():
            return "it is empty"
        if len(text) > MAX_CHARS:
            return f"it is longer than {MAX_CHARS} characters"
        if SECRET.search(text):
            return "it has an address, a link, a number or a key in it"
        said = index_terms(text)
        if any(gram in self._given for size in range(1, _GRAM + 1) for gram in _grams(said, size)):
            return "it copies what a tool was given"
        if any(0 < self._sources_with(term) < len(self.traces) for term in {*said} - self._vocabulary):
            return "it quotes some of the conversations that it comes from and not the others"
        return ""

    def is_said_by(self, text: str, trace: Trace) -> bool:
        """Return true if a further turn has all words of the text that are common to the other turns."""
        if not self.traces:
            return False
        said = {*index_terms(text)} - self._vocabulary
        return all(term in trace.terms for term in said if self._sources_with(term) == len(self.traces))

    def _sources_with(self, term: str) -> int:
        return sum(term in trace.terms for trace in self.traces)

    @cached_property
    def _given(self) -> frozenset[tuple[str, ...]]:
        values = {value for trace in self.traces for value in trace.values}
        grams = {gram for value in values for gram in _grams(value, min(len(value), _GRAM))}
        # "2" and "a" are not secrets, and words of the trade are used for what they mean
        return frozenset(g for g in grams if len("".join(g)) > 1 and not self._vocabulary.issuperset(g))


def _grams(words: Sequence[str], size: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[place : place + size]) for place in range(len(words) - size + 1))


# Turns that a skill names as its sources: enough to outlive most of them. Further turns confirm a skill without
# writing and embedding it again
MAX_SOURCES = 6


@dataclass(frozen=True)
class SkillDraft:
    """A skill with its turns, the oldest first."""

    skill: Skill
    evidence: SkillEvidence

    @property
    def source_ids(self) -> Sequence[str]:
        return self.skill.source_ids


def origin(traces: Iterable[Trace], before: Iterable[Origin] = ()) -> Origin:
    """Return the least trusted origin among the steps of these turns and `before`."""
    return lowest([*before, *(step.origin for trace in traces for step in trace.steps)])


def tools_of(skill: Skill) -> tuple[str, ...]:
    return tuple(step.tool for step in skill.tool_sops)


def texts_of(skill: Skill) -> list[str]:
    return [skill.use_when, *(step.action for step in skill.tool_sops), *skill.preferences]


def procedure_id(task_type: str, tools: Sequence[str]) -> str:
    return SKILL.id("procedure", task_type, *tools)
