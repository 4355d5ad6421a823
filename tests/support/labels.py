"""Answers of a scripted model to an extraction: labels for the user's clauses, in the form that is asked for.

Written out, with the numbers that a test knows:

    proposal(facts=[fact(1, "User lives in Hue.")], others=[other(2, "question")])

Or found by the words, from whatever the model is shown, so that one script serves every turn:

    def model(request):
        return Reply(json=labelled(request.text, Says("I live in Hue"), Says("I moved to Rome", "changes", "in Hue")))

What is not shown is left out; a clause that nobody speaks of is `chat`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from react_mem.memory.llm.answers import Answer
from react_mem.memory.model.operations import ExistingMemory, Extraction, TranscriptMessage
from react_mem.memory.write.extraction.briefing import brief
from react_mem.memory.write.extraction.checks import check

_CLAUSE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_MEMORY = re.compile(r"^(f\d+): (.*)$", re.MULTILINE)


def fact(
    c: int | Sequence[int],
    text: str = "",
    rel: str = "new",
    target: str | None = None,
    *,
    about: str = "user",
    when: str = "",
    needs: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a proposed fact."""
    numbers = [c] if isinstance(c, int) else list(c)
    return {
        "c": numbers,
        "about": about,
        "rel": rel,
        "target": target,
        "text": text,
        "when": when,
        "needs": list(needs),
    }


def other(c: int | Sequence[int], kind: str = "chat") -> dict[str, Any]:
    """Return clauses that state nothing lasting."""
    return {"c": [c] if isinstance(c, int) else list(c), "kind": kind}


def field(c: int | Sequence[int], name: str, value: str) -> dict[str, Any]:
    """Return a proposed field of the user's profile; an empty value clears it."""
    return {"c": [c] if isinstance(c, int) else list(c), "field": name, "value": value}


def episode(
    goal: str, outcome: str = "", *, steps: Sequence[str] = (), lessons: Sequence[str] = (), milestone: str = ""
) -> dict[str, Any]:
    """Return a proposed episode; one with a milestone is told by its outcome."""
    return {
        "goal": goal,
        "steps": list(steps),
        "outcome": outcome,
        "lessons": list(lessons),
        "milestone": milestone,
    }


def proposal(
    facts: Iterable[Mapping[str, Any]] = (),
    others: Iterable[Mapping[str, Any]] = (),
    profile: Iterable[Mapping[str, Any]] = (),
    episode: Mapping[str, Any] | None = None,
    summary: str = "",
) -> dict[str, Any]:
    """Return a whole answer."""
    return {
        "facts": list(facts),
        "others": list(others),
        "profile": list(profile),
        "episode": episode,
        "summary": summary,
    }


NOTHING = proposal()
"""An answer that labels nothing: every clause stays unread."""


@dataclass(frozen=True)
class Says:
    """Label that a model is to give some words, wherever it is shown them."""

    quote: str
    rel: str = "new"
    target: str | None = None
    text: str = ""
    about: str = "user"
    when: str = ""
    needs: Sequence[str] = ()


def clauses_in(prompt: str) -> dict[int, str]:
    """Return the numbered clauses that a prompt shows."""
    return {int(number): text for number, text in _CLAUSE.findall(prompt)}


def memories_in(prompt: str) -> dict[str, str]:
    """Return the memories that a prompt shows, by their ids in it."""
    return dict(_MEMORY.findall(prompt))


def labelled(
    prompt: str,
    *says: Says,
    profile: Iterable[tuple[str, str, str]] = (),
    rest: str | None = "chat",
    **fields: Any,
) -> dict[str, Any]:
    """Return the answer of a model that labels what it is shown."""
    clauses, memories = clauses_in(prompt), memories_in(prompt)

    def number_of(quote: str) -> int | None:
        return next((number for number, text in clauses.items() if quote in text), None)

    def id_of(words: str, before: int) -> str | None:
        known = (id_ for id_, text in memories.items() if words in text)
        earlier = (str(number) for number, text in clauses.items() if number < before and words in text)
        return next(iter((*known, *earlier)), None)

    facts, others = [], []
    told = [(number, one) for one in says if (number := number_of(one.quote))]
    for number, one in told:
        target = id_of(one.target, number) if one.target else None
        rel = one.rel if target or not one.target else "request" if one.rel == "forget" else "new"
        if rel in _KINDS:
            others.append(other(number, rel))
            continue
        needs = [id_ for words in one.needs if (id_ := id_of(words, number))]
        sentence = one.text or clauses[number]
        facts.append(fact(number, sentence, rel, target, about=one.about, when=one.when, needs=needs))
    fields_ = [field(number, name, value) for quote, name, value in profile if (number := number_of(quote))]
    if rest:
        others += [other(number, rest) for number in sorted(clauses.keys() - {number for number, _ in told})]
    return proposal(facts, others, fields_, **fields)


_KINDS = frozenset({"question", "request", "maybe", "chat"})


class Labeller:
    """An extractor whose model labels what it is shown as a test says; the labels are checked as always."""

    def __init__(self, *says: Says, **fields: Any) -> None:
        self.says, self.fields = says, fields
        self.prompts: list[str] = []

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        """Label what is shown."""
        briefing = brief(messages, existing, zone)
        self.prompts.append(f"{briefing.memories}\n{briefing.transcript}")
        return check(Answer(labelled(self.prompts[-1], *self.says, **self.fields)), briefing)


def prompt_of(messages: Sequence[BaseMessage]) -> str:
    """Return the text that a chat model is given, as `labelled` reads it."""
    return "\n".join(str(message.text) for message in messages if not isinstance(message, AIMessage))
