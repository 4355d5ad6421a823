"""Distillation: from the turns for one kind of task to checked drafts of skills, with or without a model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from react_mem.memory.language.terms import index_terms
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.states import StepExperience, ToolUse
from react_mem.memory.reflect.driver import Checked
from react_mem.memory.reflect.skills.skill_drafts import (
    MAX_CHARS,
    MAX_SOURCES,
    MIN_SUPPORT,
    Procedure,
    ProcedureWording,
    Proposals,
    SkillDraft,
    SkillEvidence,
    Trace,
    draft_of,
    lesson_id,
    match,
    plain_words,
    procedure_id,
    procedures,
    values,
)

# Wording of skills without a model: the occasion of a procedure, and the arguments of its tools.

_MAX_WORDS = 8
_MAX_ARGUMENTS = 6
_MAX_NAME = 40

_MIN_COPIED = 3
"""Minimum length of a value that counts as handed on between tools: shorter ones match by chance."""

TASK = "a task of the type {task_type}"
REQUEST = "a request"
ABOUT = "{what} about {words}"
TAKES = "{what} that takes {tools}"
WITH = "with {arguments}"
HANDED_ON = "{argument} from {tool}"
PLAIN = "without arguments"


def vocabulary(tools: Iterable[str], task_type: str, traces: Iterable[Trace]) -> list[str]:
    """Return the texts of always allowed words: the names of tools, task and arguments, and the forms above."""
    names = {name for trace in traces for step in trace.steps for name in step.input if _is_name(name)}
    forms = (TASK, REQUEST, ABOUT, TAKES, WITH, HANDED_ON, PLAIN)
    return [*tools, task_type, *names, *_split(tools), *_split(names), *_split([task_type]), *forms]


def use_when(task_type: str, tools: Sequence[str], evidence: SkillEvidence) -> str:
    """Return the occasion of a procedure: the kind of task, and the words common to all its requests."""
    what = TASK.format(task_type=task_type) if task_type else REQUEST
    shared = frozenset.intersection(*(frozenset(index_terms(trace.goal)) for trace in evidence.traces))
    words = [
        word
        for word in dict.fromkeys(plain_words(evidence.traces[-1].goal))
        if (said := index_terms(word)) and shared.issuperset(said) and not evidence.problem_with(word)
    ][:_MAX_WORDS]
    for text in (
        ABOUT.format(what=what, words=", ".join(words)) if words else "",
        what if task_type else TAKES.format(what=what, tools=", ".join(tools)),
    ):
        if text and not evidence.problem_with(text):
            return text
    return TAKES.format(what=REQUEST, tools=", ".join(tools))[:MAX_CHARS]


def actions(tools: Sequence[str], traces: Sequence[Trace]) -> tuple[str, ...]:
    """Return the arguments of each tool by name, never by value."""
    # these are turns that cover the tools
    taken = [[trace.done[place] for place in match(tools, trace.tools) or ()] for trace in traces]
    return tuple(_action(place, tools, taken) for place in range(len(tools)))


def _action(place: int, tools: Sequence[str], taken: Sequence[Sequence[StepExperience]]) -> str:
    names = [
        name for name in taken[-1][place].input if _is_name(name) and all(name in steps[place].input for steps in taken)
    ][:_MAX_ARGUMENTS]
    said = []
    for name in names:
        source = next((j for j in range(place - 1, -1, -1) if all(_is_from(j, place, name, t) for t in taken)), None)
        argument = f"{{{name}}}"
        said.append(argument if source is None else HANDED_ON.format(argument=argument, tool=tools[source]))
    return WITH.format(arguments=", ".join(said))[:MAX_CHARS] if said else PLAIN


def _is_from(source: int, place: int, name: str, steps: Sequence[StepExperience]) -> bool:
    if steps[source].origin not in (Origin.USER, Origin.TOOL):
        # to do what a page says is nothing to learn
        return False
    given = list(values(steps[place].input[name]))
    # "kettle-1" does not come from "reserved-kettle-1"
    return bool(given) and all(
        len(one) >= _MIN_COPIED and re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", steps[source].output)
        for one in given
    )


def _is_name(name: str) -> bool:
    return name.isidentifier() and len(name) <= _MAX_NAME


def _split(names: Iterable[str]) -> list[str]:
    """Split names into words: text search reads `check_stock` as two."""
    return [name.replace("_", " ").replace("-", " ").replace(".", " ") for name in names]


# Lessons without a model: what had to come first where a tool failed, and which tool never works.

_HOPELESS = 6
"""Turns in which a tool must have failed, with no success in any, before a lesson advises against it."""

FIRST = "`{tool}` fails before `{first}`: use `{first}` first"
NEVER = "`{tool}` has failed each time: do without it"


@dataclass(frozen=True)
class Lesson:
    """A repeated failure of a tool and the tool to use before it, if any; it holds until a turn contradicts."""

    tool: str
    first: str
    traces: tuple[Trace, ...]
    holds: bool

    @property
    def text(self) -> str:
        """The lesson in words; it names tools only."""
        return (FIRST if self.first else NEVER).format(tool=self.tool, first=self.first)


def lessons(traces: Sequence[Trace]) -> list[Lesson]:
    """Find the lessons in successful and failed turns for one kind of task, refuted ones included."""
    found: list[Lesson] = []
    for tool in sorted({step.tool for trace in traces for step in trace.steps if not step.success}):
        failed = tuple(trace for trace in traces if any(s.tool == tool and not s.success for s in trace.steps))
        before = [trace.tools[: trace.tools.index(tool)] for trace in traces if tool in trace.tools]
        remedies: dict[str, list[Trace]] = defaultdict(list)
        for trace in failed:
            for first in _remedies(tool, trace):
                remedies[first].append(trace)
        of_the_tool = [Lesson(tool, "", failed, holds=not before)]
        # where it worked without the other before it, its failures were bad luck
        of_the_tool += [
            Lesson(tool, first, tuple(helped), holds=all(first in tools for tools in before))
            for first, helped in remedies.items()
        ]
        held = [lesson for lesson in of_the_tool if lesson.holds]
        known = [lesson for lesson in held if len(lesson.traces) >= (MIN_SUPPORT if lesson.first else _HOPELESS)]
        # of what came before, only what helped most often
        found += sorted(known, key=lambda lesson: (-len(lesson.traces), lesson.first))[:1]
        found += [lesson for lesson in of_the_tool if not lesson.holds]
    return found


def _remedies(tool: str, trace: Trace) -> Iterable[str]:
    """Return the new successful tools between a tool's failure and its success, the last first."""
    failed = next(place for place, step in enumerate(trace.steps) if step.tool == tool and not step.success)
    worked = next((p for p, s in enumerate(trace.steps) if p > failed and s.tool == tool and s.success), failed)
    before = {step.tool for step in trace.steps[:failed] if step.success}
    between = [step.tool for step in trace.steps[failed + 1 : worked] if step.success and step.tool not in before]
    return dict.fromkeys(reversed(between))


_MAX_PREFERENCES = 3


@dataclass(frozen=True)
class Findings:
    """Patterns in the turns for one kind of task, before wording; refuted lessons included."""

    task_type: str
    traces: Sequence[Trace]
    procedures: Sequence[Procedure]
    lessons: Sequence[Lesson]

    def drafted_lessons(self, tools: Collection[str]) -> list[SkillDraft]:
        """Return drafts of the lessons that hold and that no procedure already implies."""
        return [
            _lesson(self.task_type, (one.tool, one.first), one.text, one.traces, tools)
            for one in self.lessons
            if one.holds and not self._implies(one)
        ]

    @property
    def refuted(self) -> set[str]:
        """Ids of the lessons that turns contradict or a procedure implies."""
        over = [lesson for lesson in self.lessons if not lesson.holds or self._implies(lesson)]
        return {lesson_id(self.task_type, lesson.tool, lesson.first) for lesson in over}

    def _implies(self, lesson: Lesson) -> bool:
        return any(match([lesson.first, lesson.tool], one.tools) is not None for one in self.procedures)


def find(traces: Sequence[Trace], tools: Collection[str]) -> list[Findings]:
    """Find procedures and lessons by kind of task; those with other tools than the agent's are dropped.

    Compute only: hundreds of turns, the oldest first, take a tenth of a second.
    """
    kinds: dict[str, list[Trace]] = {}
    for trace in traces:
        kinds.setdefault(trace.task_type, []).append(trace)
    found = []
    for task_type, turns in kinds.items():
        learnt = [one for one in lessons(turns) if {one.tool, one.first} - {""} <= set(tools)]
        needs = {one.tool: [one.first] for one in learnt if one.holds and one.first}
        # turns without a kind have only their tools in common, and one tool in common is nothing
        shared = procedures(turns, shortest=1 if task_type else 2, needs=needs)
        found.append(Findings(task_type, turns, [one for one in shared if set(one.tools) <= set(tools)], learnt))
    return found


def distil(
    found: Findings, wanted: Sequence[Procedure], said: Proposals | None, tools: Collection[str]
) -> Checked[SkillDraft]:
    """Put `wanted` procedures into words: the model's where they pass the checks, else plain ones."""
    drafts: list[SkillDraft] = []
    refused: list[str] = []
    for place, procedure in enumerate(wanted):
        wording = said.wordings.get(place) if said else None
        evidence = _evidence(found.task_type, procedure.traces, tools)
        drafts.append(_procedure(found.task_type, procedure.tools, evidence, wording, refused))
    for tool, text in (said.lessons if said else {}).items():
        failed = [t for t in found.traces if any(s.tool == tool and not s.success for s in t.steps)]
        if tool not in tools or len(failed) < MIN_SUPPORT:
            refused.append(f"a lesson on a tool that did not fail in {MIN_SUPPORT} turns")
            continue
        lesson = _lesson(found.task_type, ("advice", tool), text, failed, tools)
        if problem := lesson.evidence.problem_with(text):
            refused.append(f"a lesson: {problem}")
        else:
            drafts.append(lesson)
    return Checked(drafts, refused)


def _procedure(
    task_type: str, tools: Sequence[str], evidence: SkillEvidence, wording: ProcedureWording | None, refused: list[str]
) -> SkillDraft:
    when, does = use_when(task_type, tools, evidence), actions(tools, evidence.traces)
    preferences: tuple[str, ...] = ()

    def passes(what: str, text: str) -> bool:
        problem = evidence.problem_with(text)
        if problem:
            refused.append(f"{what}: {problem}")
        return not problem

    if wording is not None:
        when = wording.use_when if passes("use_when", wording.use_when) else when
        if len(wording.actions) == len(tools):
            does = tuple(
                own if passes("action", own) else plain for own, plain in zip(wording.actions, does, strict=True)
            )
        else:
            refused.append(f"actions: {len(wording.actions)} for {len(tools)} tools")
        preferences = tuple(text for text in wording.preferences if passes("preference", text))[:_MAX_PREFERENCES]
    steps = [ToolUse(tool=tool, action=action) for tool, action in zip(tools, does, strict=True)]
    return draft_of(procedure_id(task_type, tools), task_type, when, steps, preferences, evidence)


def _lesson(
    task_type: str, about: tuple[str, str], text: str, traces: Sequence[Trace], tools: Collection[str]
) -> SkillDraft:
    evidence = _evidence(task_type, traces, tools)
    when = use_when(task_type, [one for one in about if one in tools], evidence)
    return draft_of(lesson_id(task_type, *about), task_type, when, (), (text,), evidence)


def _evidence(task_type: str, traces: Sequence[Trace], tools: Collection[str]) -> SkillEvidence:
    turns = traces[-MAX_SOURCES:]
    return SkillEvidence(turns, vocabulary(tools, task_type, turns))
