"""Drafts of skills: procedures and lessons in words, each with the turns it stands on."""

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
"""Of one text of a skill: it is a line of a prompt."""

_GRAM = 3
"""Words in a row by which a longer value counts as copied."""

SECRET = re.compile(
    r"[^\s@]+@[^\s@]+|\w+://\S+|\d{4,}|(?=[\w-]*\d)[\w-]{16,}"  # an address, a link, a number, what looks like a key
)


class SkillEvidence:
    """The turns that a text stands on.

    Args:
        traces: The turns.
        vocabulary: Texts whose words may always be used: what tools, their arguments and the task are called.
    """

    def __init__(self, traces: Sequence[Trace], vocabulary: Iterable[str]) -> None:
        self.traces = traces
        self._vocabulary = frozenset(term for text in vocabulary for term in index_terms(text))

    def problem_with(self, text: str) -> str:
        """Return why a text must not be kept; empty where it may.

        Args:
            text: The text.
        """
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
        """Return whether another turn stands for a text as well: it says what all the others say of it.

        Args:
            text: The text.
            trace: The turn.
        """
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
"""Turns that a skill names as its sources: enough for it to outlive most of them, and to be learnt again where it does
not. It is not written, and embedded, again for each turn that confirms it."""


@dataclass(frozen=True)
class SkillDraft:
    """A skill to be.

    Args:
        skill: The skill, whose id is its task and its tools, whatever its words.
        evidence: The turns that it stands on, the oldest first.
    """

    skill: Skill
    evidence: SkillEvidence

    @property
    def source_ids(self) -> Sequence[str]:
        """The records of the turns that it stands on."""
        return self.skill.source_ids


def draft_of(
    id_: str,
    task_type: str,
    use_when: str,
    steps: Sequence[ToolUse],
    preferences: Sequence[str],
    evidence: SkillEvidence,
) -> SkillDraft:
    """Return a draft: a procedure on probation; a lesson as it is, since there is nothing in it to try.

    Args:
        id_: The id of the skill.
        task_type: The kind of task.
        use_when: When it is used.
        steps: Its tools, and what to do with each; none of a lesson.
        preferences: What else to mind.
        evidence: The turns that it stands on.
    """
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
    """Return who vouches for a skill: what its turns heard least of all.

    Args:
        traces: The turns that it stands on.
        before: Who vouched for it before.
    """
    return lowest([*before, *(step.origin for trace in traces for step in trace.steps)])


def tools_of(skill: Skill) -> tuple[str, ...]:
    """Return the tools of a skill, in order."""
    return tuple(step.tool for step in skill.tool_sops)


def texts_of(skill: Skill) -> list[str]:
    """Return everything that a skill says."""
    return [skill.use_when, *(step.action for step in skill.tool_sops), *skill.preferences]


def procedure_id(task_type: str, tools: Sequence[str]) -> str:
    """Return the id of the skill for this kind of task and these tools."""
    return SKILL.id("procedure", task_type, *tools)


def lesson_id(task_type: str, *about: str) -> str:
    """Return the id of the lesson of this kind of task about this."""
    return SKILL.id("lesson", task_type, *about)


# Proposals of a model about procedures: one call for a kind of task, without any value given to a tool.

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
