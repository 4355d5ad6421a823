"""Proof that a step is done: an exact quote of the user or of a tool's result.

A planner's word alone proves nothing. Its quote must stand in the conversation as whole clauses, since a fragment may
say the opposite of its clause, and outside questions. Each stretch of words proves one step only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from react_mem.memory.language.clauses import cut
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.statements import before_question, is_question, sentences
from react_mem.memory.language.terms import index_terms
from react_mem.memory.merging.transcript import is_users, text_of
from react_mem.memory.reflect.tasks.planning import Plan
from react_mem.memory.reflect.tasks.task_store import Step, TaskGraph

Taken = Mapping[str, Sequence[Sequence[int]]]
"""Words used as proof: by message id, pairs of the first word and the word after the last."""

_MAX_CHARS = 2_000
"""Characters of a message, as many as a planner sees of a request."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class TaskEvidence:
    """A message as evidence: the user's, or else a tool's result."""

    id: str
    text: str
    by_user: bool

    @cached_property
    def read(self) -> _Text:
        """The words of the message, read once for all quotes."""
        return _Text.of(self)


def evidence_in(messages: Sequence[BaseMessage]) -> list[TaskEvidence]:
    """Return the messages of the user and the results of tools, the latest first; the agent's words are no evidence."""
    found = []
    for message in reversed(messages):
        by_user = is_users(message)
        if by_user or (isinstance(message, ToolMessage) and message.status != "error"):
            # one character more tells that it goes on
            found.append(TaskEvidence(str(message.id), text_of(message)[: _MAX_CHARS + 1], by_user))
    return found


def all_taken(taken: Taken, message: BaseMessage) -> Taken:
    """Mark a whole message as used: the request of a task proves none of its steps."""
    return {**taken, str(message.id): [[0, _MAX_CHARS]]}


def proven(
    plan: Plan, known: TaskGraph | None, evidence: Sequence[TaskEvidence], taken: Taken
) -> tuple[Plan, dict[str, list[list[int]]]]:
    """Check the plan's claims of completion. CPU-bound on long messages: run in a thread.

    The user's words prove any step. A tool's result proves only a step without a tool of its own; for the others the
    call itself counts. Completed steps of the known task need no new proof; words `taken` before prove nothing more.

    Returns:
        The plan, with unproven claims reset and listed in its repairs, and the words used as proof now.
    """
    steps_before = known.steps if known else ()
    done = {normalise(step.description) for step in steps_before if step.status == "done"}
    by_tool = {key for step in steps_before if step.tool for key in (step.id, normalise(step.description))}
    spans = {id_: [list(span) for span in stretches] for id_, stretches in taken.items()}
    steps: list[Step] = []
    repairs = list(plan.repairs)
    for step in plan.graph.steps:
        text = normalise(step.description)
        if step.status == "done" and text not in done:
            tool = bool(step.tool) or not by_tool.isdisjoint((step.id, text))
            allowed = [said for said in evidence if said.by_user or not tool]
            if not _take(plan.proofs.get(step.id, ""), allowed, spans):
                repairs.append(f"nothing shows that step {step.id} is done")
                step = replace(step, status="pending")
        steps.append(step)
    return replace(plan, graph=replace(plan.graph, steps=tuple(steps)), repairs=tuple(repairs)), spans


def _take(quote: str, evidence: Sequence[TaskEvidence], taken: dict[str, list[list[int]]]) -> bool:
    """Mark the quoted words as used; return false if no unused occurrence exists."""
    wanted = _words(_folded(quote))
    if not wanted:
        return False
    for said in evidence:
        for first in said.read.places(wanted):
            end = first + len(wanted)
            spans = taken.setdefault(said.id, [])
            if all(end <= begun or first >= ended for begun, ended in spans):
                spans.append([first, end])
                return True
    return False


@dataclass(frozen=True)
class _Text:
    """The words of a text, the bounds of its clauses, and the words of questions (`stops`), which prove nothing."""

    words: list[str]
    begins: set[int]
    ends: set[int]
    stops: set[int]

    @classmethod
    def of(cls, said: TaskEvidence) -> _Text:
        found = sentences(_folded(said.text))
        if len(said.text) > _MAX_CHARS:
            del found[-1:]  # the rest of it may say the opposite
        text = cls([], set(), set(), set())
        for sentence in found:
            offset = len(text.words)
            starts = [match.start() for match in _WORD.finditer(sentence)]
            text.words.extend(_words(sentence))
            if said.by_user and is_question(sentence):
                told = offset + len(_words(before_question(sentence)))
                text.stops.update(range(told, len(text.words)))
                text.ends.add(told)
            end = 0
            for clause in cut(sentence):
                begin = sentence.find(clause.text, end)
                end = begin + len(clause.text)
                inside = [place for place, start in enumerate(starts) if begin <= start < end]
                if inside:
                    text.begins.add(offset + inside[0])
                    text.ends.add(offset + inside[-1] + 1)
        return text

    def places(self, wanted: list[str]) -> list[int]:
        return [
            first
            for first in sorted(self.begins)
            if first + len(wanted) in self.ends
            and self.words[first : first + len(wanted)] == wanted
            and self.stops.isdisjoint(range(first, first + len(wanted)))
        ]


def _folded(text: str) -> str:
    # one character may become many; compatibility forms stay until the clauses are cut: "，" parts them, "," need not
    return unicodedata.normalize("NFC", text[:_MAX_CHARS])[:_MAX_CHARS]


def _words(text: str) -> list[str]:
    return [unicodedata.normalize("NFKC", word).casefold() for word in _WORD.findall(text)]


# Progress of a task by its agent's steps: told without a model where a tool takes a step.

_MAX_ERROR = 200


def observed(task: TaskGraph, steps: Sequence[Mapping[str, Any]]) -> tuple[TaskGraph, str | None]:
    """Update a task by the agent's tool calls; return it with the id of the last step worked on, or None."""
    current = None
    for done in steps:
        step = _taken(task, done)
        if step is None:
            continue
        current = step.id
        error = " ".join(str(done["error"]).split())[:_MAX_ERROR]
        task = task.marked(step.id, "failed" if error else "done", error)
    return task, current


def _taken(task: TaskGraph, done: Mapping[str, Any]) -> Step | None:
    """Return the step of a tool call: of the steps with this tool, the one with most words in common."""
    ready = task.frontier()
    same = [step for step in task.steps if step.tool == done["action"] and (step.is_over or step in ready)]
    if not same:
        return None
    said = set(index_terms(" ".join(map(str, done["arguments"].values()))))
    # a call that speaks of what is done already is that step's once more; where no word tells, the next one is meant
    best = max(same, key=lambda step: (len(said & set(index_terms(step.description))), not step.is_over))
    return None if best.is_over else best
