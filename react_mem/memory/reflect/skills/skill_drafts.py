"""Drafts of skills: procedures and lessons in words, each with its turns as evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from react_mem.memory.language.terms import index_terms
from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.asking import ModelQuestion, as_lines, objects, strings
from react_mem.memory.model.kinds import SKILL
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.skills import Skill, ToolUse
from react_mem.memory.reflect.skills.traces import Procedure, Trace, values
from react_mem.memory.scopes.procedural import skill_text

# Checks of texts about procedures: nothing given to a tool, nothing that only one conversation said.

MAX_CHARS = 200
"""Characters of one text of a skill, a line of a prompt."""

_GRAM = 3
"""Consecutive words by which a longer value counts as copied."""

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


MAX_SOURCES = 6
"""Turns that a skill names as its sources: enough to outlive most of them. Further turns confirm a skill without
writing and embedding it again.
"""


@dataclass(frozen=True)
class SkillDraft:
    """A skill with its turns, the oldest first."""

    skill: Skill
    evidence: SkillEvidence

    @property
    def source_ids(self) -> Sequence[str]:
        return self.skill.source_ids


def draft_of(
    id_: str,
    task_type: str,
    use_when: str,
    steps: Sequence[ToolUse],
    preferences: Sequence[str],
    evidence: SkillEvidence,
) -> SkillDraft:
    """Return a draft: a procedure starts on probation; a lesson, without steps to try, is active at once."""
    traces = evidence.traces
    skill = Skill(
        id=id_,
        text=skill_text(use_when, ((step.tool, step.action) for step in steps), preferences),
        task_type=task_type,
        use_when=use_when,
        tool_sops=tuple(steps),
        preferences=tuple(preferences),
        status="probation" if steps else "active",
        session_id=traces[-1].session_id,
        agent_id="",
        source_ids=tuple(trace.id for trace in traces),
        origin=origin(traces),
    )
    return SkillDraft(skill, evidence)


def origin(traces: Iterable[Trace], before: Iterable[Origin] = ()) -> Origin:
    """Return the least trusted origin among the steps of these turns and `before`."""
    return lowest([*before, *(step.origin for trace in traces for step in trace.steps)])


def tools_of(skill: Skill) -> tuple[str, ...]:
    return tuple(step.tool for step in skill.tool_sops)


def texts_of(skill: Skill) -> list[str]:
    return [skill.use_when, *(step.action for step in skill.tool_sops), *skill.preferences]


def procedure_id(task_type: str, tools: Sequence[str]) -> str:
    return SKILL.id("procedure", task_type, *tools)


def lesson_id(task_type: str, *about: str) -> str:
    return SKILL.id("lesson", task_type, *about)


# Proposals of a model about procedures: one call for a kind of task, without any value given to a tool.

T = TypeVar("T")

_SHOWN = 6
"""Latest turns of each procedure, and latest failed turns, in the prompt: the window of a small model."""

_MAX_TEXT = 200
_MIN_VALUE = 2

_HELD_BACK = "{...}"


@dataclass(frozen=True)
class ProcedureWording:
    """The model's unchecked words for one procedure."""

    use_when: str
    actions: tuple[str, ...]
    preferences: tuple[str, ...]


@dataclass(frozen=True)
class Proposals:
    """The model's answer: wordings by the procedure's position, lessons by the failing tool."""

    wordings: Mapping[int, ProcedureWording]
    lessons: Mapping[str, str]


def question_about(
    task_type: str, procedures: Sequence[Procedure], failed: Sequence[Trace], check: Callable[[Proposals], T]
) -> ModelQuestion[T]:
    """Return the question for the words of procedures and lessons; `check` turns the answer into checked drafts."""
    tools = sorted({step.tool for trace in failed for step in trace.steps if not step.success})
    orders = [{"name": f"p{n}", "task_type": task_type, "tools": one.tools} for n, one in enumerate(procedures)]
    turns = [{"procedure": f"p{n}", **_shown(t)} for n, one in enumerate(procedures) for t in one.traces[-_SHOWN:]]
    data = [as_lines("procedures", orders), as_lines("turns", [*turns, *map(_shown, failed[-_SHOWN:])])]
    return ModelQuestion(
        "learn_skills", "\n".join(data), _schema(len(procedures), tools), lambda said: check(_read(said))
    )


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


def _schema(procedures: int, tools: Sequence[str]) -> dict[str, Any]:
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    names = {"type": "string", "enum": [f"p{place}" for place in range(procedures)]}
    skill = {"procedure": names, "use_when": text, "actions": texts, "preferences": texts}
    # an enum may not be empty
    lesson = {"tool": {"type": "string", "enum": tools or [""]}, "text": text}
    lists = {
        name: {"type": "array", "items": object_schema(one)} for name, one in (("skills", skill), ("lessons", lesson))
    }
    return object_schema(lists, "learnt", "What was learnt.")


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
