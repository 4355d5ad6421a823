"""Distillation: from the turns for one kind of task to checked drafts of skills, with or without a model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from react_mem.memory.language.terms import index_terms
from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.calls import ModelQuestion, as_lines, objects, strings
from react_mem.memory.model.states import Skill, ToolUse
from react_mem.memory.reflect.driver import Checked
from react_mem.memory.reflect.skill_drafts import (
    MAX_CHARS,
    MAX_SOURCES,
    SECRET,
    Procedure,
    SkillDraft,
    SkillEvidence,
    Trace,
    match,
    origin,
    plain_words,
    procedure_id,
    procedures,
    values,
)
from react_mem.memory.scopes.procedural import skill_text

# Wording of skills without a model: the occasion of a procedure, and the arguments of its tools.

_MAX_WORDS = 8
_MAX_ARGUMENTS = 6
_MAX_NAME = 40
TASK = "a task of the type {task_type}"
REQUEST = "a request"
ABOUT = "{what} about {words}"
TAKES = "{what} that takes {tools}"
WITH = "with {arguments}"
PLAIN = "without arguments"


def vocabulary(tools: Iterable[str], task_type: str, traces: Iterable[Trace]) -> list[str]:
    """Return the texts of always allowed words: the names of tools, task and arguments, and the forms above."""
    names = {name for trace in traces for step in trace.steps for name in step.input if _is_name(name)}
    forms = (TASK, REQUEST, ABOUT, TAKES, WITH, PLAIN)
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
    taken = [[trace.done[place].input for place in match(tools, trace.tools) or ()] for trace in traces]
    names = [
        [f"{{{name}}}" for name in taken[-1][place] if _is_name(name) and all(name in turn[place] for turn in taken)]
        for place in range(len(tools))
    ]
    return tuple(WITH.format(arguments=", ".join(one[:_MAX_ARGUMENTS]))[:MAX_CHARS] if one else PLAIN for one in names)


def _is_name(name: str) -> bool:
    return name.isidentifier() and len(name) <= _MAX_NAME


def _split(names: Iterable[str]) -> list[str]:
    """Split names into words: text search reads `check_stock` as two."""
    return [name.replace("_", " ").replace("-", " ").replace(".", " ") for name in names]


_MAX_PREFERENCES = 3


@dataclass(frozen=True)
class ProcedureWording:
    """The model's unchecked words for one procedure."""

    use_when: str
    actions: tuple[str, ...]
    preferences: tuple[str, ...]


def find(traces: Sequence[Trace], tools: Collection[str]) -> dict[str, list[Procedure]]:
    """Find procedures, by kind of task, with the agent's tools alone. Compute only: it may take a tenth of a second."""
    kinds: defaultdict[str, list[Trace]] = defaultdict(list)
    for trace in traces:
        kinds[trace.task_type].append(trace)
    # turns without a kind have only their tools in common, and one tool in common is nothing
    found = {kind: procedures(turns, shortest=1 if kind else 2) for kind, turns in kinds.items()}
    return {kind: [one for one in shared if set(one.tools) <= set(tools)] for kind, shared in found.items()}


def distil(
    task_type: str, wanted: Sequence[Procedure], said: Mapping[int, ProcedureWording], tools: Collection[str]
) -> Checked[SkillDraft]:
    """Put `wanted` procedures into words: the model's where they pass the checks, else plain ones."""
    drafts: list[SkillDraft] = []
    refused: list[str] = []
    for place, procedure in enumerate(wanted):
        turns = procedure.traces[-MAX_SOURCES:]
        evidence = SkillEvidence(turns, vocabulary(tools, task_type, turns))
        drafts.append(_procedure(task_type, procedure.tools, evidence, said.get(place), refused))
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
            pairs = zip(wording.actions, does, strict=True)
            does = tuple(own if passes("action", own) else plain for own, plain in pairs)
        else:
            refused.append(f"actions: {len(wording.actions)} for {len(tools)} tools")
        preferences = tuple(text for text in wording.preferences if passes("preference", text))[:_MAX_PREFERENCES]
    steps = [ToolUse(tool=tool, action=action) for tool, action in zip(tools, does, strict=True)]
    traces = evidence.traces
    skill = Skill(
        id=procedure_id(task_type, tools),
        text=skill_text(when, ((step.tool, step.action) for step in steps), preferences),
        task_type=task_type,
        use_when=when,
        tool_sops=tuple(steps),
        preferences=preferences,
        status="probation",
        session_id=traces[-1].session_id,
        agent_id="",
        source_ids=tuple(trace.id for trace in traces),
        origin=origin(traces),
    )
    return SkillDraft(skill, evidence)


# The question to a model: one call for a kind of task, without any value given to a tool.

_SHOWN = 6  # Latest turns of each procedure in the prompt: the window of a small model
_MAX_TEXT = 200
_MIN_VALUE = 2
_HELD_BACK = "{...}"


def question_about(
    task_type: str, procedures: Sequence[Procedure], tools: Collection[str]
) -> ModelQuestion[Checked[SkillDraft]]:
    """Return the question for the words of procedures; its answer is checked."""
    orders = [{"name": f"p{n}", "task_type": task_type, "tools": one.tools} for n, one in enumerate(procedures)]
    turns = [{"procedure": f"p{n}", **_shown(t)} for n, one in enumerate(procedures) for t in one.traces[-_SHOWN:]]
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    names = {"type": "string", "enum": [order["name"] for order in orders]}
    skill = {"procedure": names, "use_when": text, "actions": texts, "preferences": texts}
    schema = object_schema({"skills": {"type": "array", "items": object_schema(skill)}}, "learnt", "What was learnt.")
    data = f"{as_lines('procedures', orders)}\n{as_lines('turns', turns)}"
    return ModelQuestion("learn_skills", data, schema, lambda said: distil(task_type, procedures, _read(said), tools))


def _shown(trace: Trace) -> dict[str, Any]:
    """Return a turn for the prompt, with the names of arguments in place of their values."""
    given = [(value, f"{{{name}}}") for step in trace.steps for name, v in step.input.items() for value in values(v)]
    names = dict(sorted(given, key=lambda pair: len(pair[0])))
    pattern = "|".join(re.escape(v) for v in sorted(names, key=len, reverse=True) if len(v) >= _MIN_VALUE)

    def masked(text: str) -> str:
        whole = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda m: names[m[0]], text) if pattern else text
        return SECRET.sub(_HELD_BACK, whole)[:_MAX_TEXT]

    steps = [
        {"tool": step.tool, "arguments": list(step.input), **({"error": masked(step.error)} if step.error else {})}
        for step in trace.steps
    ]
    return {"asked": masked(trace.goal), "steps": steps, "came_off": trace.succeeded}


def _read(said: Mapping[str, Any]) -> dict[int, ProcedureWording]:
    """Return the model's words by the procedure's position."""
    return {
        int(one["procedure"][1:]): ProcedureWording(
            use_when=str(one.get("use_when") or "").strip(),
            actions=tuple(map(str.strip, strings(one.get("actions")))),
            preferences=tuple(map(str.strip, strings(one.get("preferences")))),
        )
        for one in objects(said.get("skills"))
        if re.fullmatch(r"p\d{1,3}", str(one.get("procedure")))
    }
