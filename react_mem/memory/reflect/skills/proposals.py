"""Proposals of a model about procedures: one call for a kind of task, without any value given to a tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.asking import ModelQuestion, as_lines, objects, strings
from react_mem.memory.reflect.skills.procedures import Procedure
from react_mem.memory.reflect.skills.text_checks import SECRET
from react_mem.memory.reflect.skills.traces import Trace, values

T = TypeVar("T")

_SHOWN = 6
"""Turns of each procedure, and turns that failed, which the model is shown, the latest: a small model's window."""

_MAX_TEXT = 200
_MIN_VALUE = 2

_HELD_BACK = "{...}"


@dataclass(frozen=True)
class ProcedureWording:
    """Words of the model for one procedure, unchecked."""

    use_when: str
    actions: tuple[str, ...]
    preferences: tuple[str, ...]


@dataclass(frozen=True)
class Proposals:
    """Answer of the model.

    Args:
        wordings: Of procedures, by their place among those asked about.
        lessons: By the tool that fails.
    """

    wordings: Mapping[int, ProcedureWording]
    lessons: Mapping[str, str]


def question_about(
    task_type: str, procedures: Sequence[Procedure], failed: Sequence[Trace], check: Callable[[Proposals], T]
) -> ModelQuestion[T]:
    """Return the question how procedures are put into words.

    Args:
        task_type: The kind of task.
        procedures: What to word, at least one.
        failed: Turns in which something failed.
        check: Checks what the model says of them.
    """
    tools = sorted({step.tool for trace in failed for step in trace.steps if not step.success})
    orders = [{"name": f"p{n}", "task_type": task_type, "tools": one.tools} for n, one in enumerate(procedures)]
    turns = [{"procedure": f"p{n}", **_shown(t)} for n, one in enumerate(procedures) for t in one.traces[-_SHOWN:]]
    data = [as_lines("procedures", orders), as_lines("turns", [*turns, *map(_shown, failed[-_SHOWN:])])]
    return ModelQuestion(
        "learn_skills", "\n".join(data), _schema(len(procedures), tools), lambda said: check(_read(said))
    )


def _shown(trace: Trace) -> dict[str, Any]:
    """Return a turn without what was given to tools: names of arguments stand in its place."""
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


def _schema(procedures: int, tools: Sequence[str]) -> dict[str, Any]:
    texts = {"type": "array", "items": {"type": "string"}}
    text = {"type": "string"}
    skill = {
        "procedure": {"type": "string", "enum": [f"p{place}" for place in range(procedures)]},
        "use_when": text,
        "actions": texts,
        "preferences": texts,
    }
    # an enum may not be empty
    lesson = {"tool": {"type": "string", "enum": tools or [""]}, "text": text}
    lists = {"skills": skill, "lessons": lesson}
    return object_schema(
        {name: {"type": "array", "items": object_schema(item)} for name, item in lists.items()},
        "learnt",
        "What was learnt.",
    )


def _read(said: Mapping[str, Any]) -> Proposals:
    wordings = {
        int(one["procedure"][1:]): ProcedureWording(
            use_when=str(one.get("use_when") or "").strip(),
            actions=tuple(map(str.strip, strings(one.get("actions")))),
            preferences=tuple(map(str.strip, strings(one.get("preferences")))),
        )
        for one in objects(said.get("skills"))
        if re.fullmatch(r"p\d{1,3}", str(one.get("procedure")))
    }
    lessons = {str(one.get("tool")): str(one.get("text") or "").strip() for one in objects(said.get("lessons"))}
    return Proposals(wordings, lessons)
