"""Proof that a step is done: the user's own words or a tool's result, quoted word for word.

A planner's word alone proves nothing. Its quote is looked up in what was said; it has to be whole clauses, as
punctuation parts them, since words that are cut out of one may say the opposite of it, and none of them may ask
something. Each stretch of words proves one step, and only once.
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
"""The stretches of words that have proven a step: by the message's id, the first word and the one after the last."""

_MAX_CHARS = 2_000
"""Of a message: as much as a planner is shown of a request."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class TaskEvidence:
    """A message that may prove something.

    Args:
        id: Its id.
        text: What it says.
        by_user: Whether the user says it; else it is the result of a tool.
    """

    id: str
    text: str
    by_user: bool

    @cached_property
    def read(self) -> _Text:
        """Return what of it may be quoted; read once, however many quotes are looked up in it."""
        return _Text.of(self)


def evidence_in(messages: Sequence[BaseMessage]) -> list[TaskEvidence]:
    """Return what the user said and what tools returned, the latest first; what the agent says is not evidence."""
    found = []
    for message in reversed(messages):
        by_user = is_users(message)
        if by_user or (isinstance(message, ToolMessage) and message.status != "error"):
            # one character more tells that it goes on
            found.append(TaskEvidence(str(message.id), text_of(message)[: _MAX_CHARS + 1], by_user))
    return found


def all_taken(taken: Taken, message: BaseMessage) -> Taken:
    """Return the stretches that are taken once the whole of a message is: what sets a task proves none of its steps."""
    return {**taken, str(message.id): [[0, _MAX_CHARS]]}


def proven(
    plan: Plan, known: TaskGraph | None, evidence: Sequence[TaskEvidence], taken: Taken
) -> tuple[Plan, dict[str, list[list[int]]]]:
    """Return a plan whose steps are done only where that is proven. Not for an event loop: it reads long messages.

    The user's words prove any step. A tool's result proves a step that no tool takes; of one that a tool takes, the
    call itself tells.

    Args:
        plan: The plan, with its quotes.
        known: The task so far; what is done there needs no proof again.
        evidence: What may be quoted.
        taken: What has proven a step before.

    Returns:
        The plan, each claim without proof left out and named in its repairs, and the stretches that are taken now.
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
    """Take the stretch of words that is quoted; return whether there is one that is free."""
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
    """The words of a text, and where a quote of it may begin and end.

    Args:
        words: Its words.
        begins: The places where a clause begins.
        ends: The places after the last word of a clause.
        stops: The places of words that prove nothing: those of questions.
    """

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
            text._add(sentence, said.by_user and is_question(sentence))
        return text

    def _add(self, sentence: str, asks: bool) -> None:
        offset = len(self.words)
        starts = [match.start() for match in _WORD.finditer(sentence)]
        self.words.extend(_words(sentence))
        if asks:
            told = offset + len(_words(before_question(sentence)))
            self.stops.update(range(told, len(self.words)))
            self.ends.add(told)
        end = 0
        for clause in cut(sentence):
            begin = sentence.find(clause.text, end)
            end = begin + len(clause.text)
            inside = [place for place, start in enumerate(starts) if begin <= start < end]
            if inside:
                self.begins.add(offset + inside[0])
                self.ends.add(offset + inside[-1] + 1)

    def places(self, wanted: list[str]) -> list[int]:
        """Return where a quote begins, for each time that it stands there."""
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
    """Return a task as it is after tools were called.

    Args:
        task: The task.
        steps: What the agent did: `action`, `arguments`, `observation` and `error` each.

    Returns:
        The task, and the id of the step that was worked on last; None where none was.
    """
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
    """Return the step that a tool call takes: of those that name the tool, the one whose words it uses."""
    ready = task.frontier()
    same = [step for step in task.steps if step.tool == done["action"] and (step.is_over or step in ready)]
    if not same:
        return None
    said = set(index_terms(" ".join(map(str, done["arguments"].values()))))
    # a call that speaks of what is done already is that step's once more; where no word tells, the next one is meant
    best = max(same, key=lambda step: (len(said & set(index_terms(step.description))), not step.is_over))
    return None if best.is_over else best
