"""Wording of skills without a model: the occasion of a procedure, and the arguments of its tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from react_mem.memory.language.terms import index_terms
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.skills import StepExperience
from react_mem.memory.reflect.skills.skill_drafts import MAX_CHARS, SkillEvidence
from react_mem.memory.reflect.skills.traces import Trace, match, plain_words, values

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
