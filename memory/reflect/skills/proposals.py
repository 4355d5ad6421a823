"""What a model says about procedures: one call for a kind of task, which shows no value that was given to a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel

from react_mem.memory.llm.fencing import block, fence, row
from react_mem.memory.llm.form import FormModel
from react_mem.memory.llm.schema import object_schema
from react_mem.memory.reflect.skills.procedures import Procedure
from react_mem.memory.reflect.skills.text_checks import SECRET
from react_mem.memory.reflect.skills.traces import Trace, values
from react_mem.prompts import load_prompt

_SHOWN = 6
"""Turns of each procedure, and turns that failed, which the model is shown, the latest: a small model's window."""

_MAX_TEXT = 200
_MIN_VALUE = 2

_HELD_BACK = "{...}"


@dataclass(frozen=True)
class Wording:
    """What the model says of one procedure; nothing in it is checked."""

    use_when: str
    actions: tuple[str, ...]
    preferences: tuple[str, ...]


@dataclass(frozen=True)
class Proposals:
    """What the model says.

    Args:
        wordings: Of procedures, by their place among those asked about.
        lessons: By the tool that fails.
    """

    wordings: Mapping[int, Wording]
    lessons: Mapping[str, str]


class Proposer:
    """Asks a model for words.

    Args:
        model: Any chat model that fills a schema. It is not changed; its retries and its streaming are off.
        deadline: Seconds that an answer may take.
        stand_ins: The models to ask in its place where it fails, in order.
    """

    def __init__(self, model: BaseChatModel, deadline: float, stand_ins: Sequence[BaseChatModel] = ()) -> None:
        self._model = FormModel(model, "learning", stand_ins)
        self._deadline = deadline
        self._instructions = load_prompt("learn_skills")

    async def propose(self, task_type: str, procedures: Sequence[Procedure], failed: Sequence[Trace]) -> Proposals:
        """Ask for words, in one call.

        Args:
            task_type: The kind of task.
            procedures: What to word, at least one.
            failed: Turns in which something failed.

        Returns:
            What the model says, as far as it can be read.

        Raises:
            ExtractionError: If the model cannot be reached, refuses, is late or says nothing that can be read.
        """
        tools = sorted({step.tool for trace in failed for step in trace.steps if not step.success})
        said = await self._model.fill(
            self._instructions,
            _briefing(task_type, procedures, failed),
            _schema(len(procedures), tools),
            seconds=self._deadline,
            run_name="learn_skills",
        )
        return _read(said)


def _briefing(task_type: str, procedures: Sequence[Procedure], failed: Sequence[Trace]) -> str:
    named = [row({"name": f"p{place}", "tools": one.tools}) for place, one in enumerate(procedures)]
    turns = [f"<turns task_type={fence(json.dumps(task_type, ensure_ascii=False))}>"]
    for place, one in enumerate(procedures):
        turns += [row({"procedure": f"p{place}", **_shown(trace)}) for trace in one.traces[-_SHOWN:]]
    turns += [row(_shown(trace)) for trace in failed[-_SHOWN:]]
    return "\n".join([block("procedures", named), *turns, "</turns>"])


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
        int(one["procedure"][1:]): Wording(
            use_when=str(one.get("use_when") or "").strip(),
            actions=_texts(one.get("actions")),
            preferences=_texts(one.get("preferences")),
        )
        for one in _objects(said.get("skills"))
        if re.fullmatch(r"p\d{1,3}", str(one.get("procedure")))
    }
    lessons = {str(one.get("tool")): str(one.get("text") or "").strip() for one in _objects(said.get("lessons"))}
    return Proposals(wordings, lessons)


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one.strip() for one in value if isinstance(one, str)) if isinstance(value, list) else ()
