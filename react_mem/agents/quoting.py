"""Choice of the remembered sentence that best answers a question, by shared words alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from react_mem.memory import Fact, Message, Profile, Summary
from react_mem.memory.language import (
    LANGUAGES,
    content_terms,
    is_pleasantry,
    is_question,
    is_request,
    normalise,
    sentences,
    speaks_of_self,
    statements_in,
)

_BLOCK = re.compile(r"^<memories>[ \t]*$(.*?)^</memories>[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^# .*$", re.MULTILINE)
"""Heading of a part of a block: a line of a memory begins with a dash."""

_LINE = re.compile(
    r"^- \[(?P<kind>\w+)(?: [\da-f]{8})?(?: (?P<date>\d{4}-\d{2}-\d{2})(?: (?P<time>\d{2}:\d{2}:\d{2}(?:\.\d+)?))?)?"
    r"(?:, (?!(?:on|since|until) \d|\+)(?P<role>[^,\]]+))?(?:, [a-z]+ \d{4}-\d{2}-\d{2})*(?:, \+\d+ messages?)?\] "
    r"(?:\((?P<label>[a-z]+)\) )?(?P<text>.+)$"
)

_PARTS = {"banner", "stands_in", "more", "overview_more", "looking", "next_steps"}
"""Phrases that are not answers by themselves."""

OWN_ANSWER = re.compile(
    "|".join(
        re.escape(phrase.partition("{")[0])
        for language in LANGUAGES
        for name, phrase in language.wording.items()
        if name not in _PARTS
    )
    + r"|\[extractive: "
)
"""Beginnings of the model's own answers: one from an earlier conversation is not a memory of the user."""

SAID = "said"
"""The kind of a statement made earlier in this conversation: one sentence, already told apart from questions."""

_BY_USER = frozenset({Fact.kind_name(), Message.kind_name(), SAID})
_ROLES = frozenset({"", "user", "assistant", "system", "tool", "agent", "observer"})
_SECOND_HAND = 0.5
"""A summary, an episode or the assistant's words count half of the user's: they often repeat questions."""

_SPEAKER = re.compile(r"(?:^|(?<=\s))(?:user|assistant): ", re.MULTILINE)


@dataclass(frozen=True)
class Remembered:
    """A quotable memory.

    `kind` is `fact`, `message`, `episode`, `summary`, `profile`, `said` (earlier in this conversation) or
    `observation`, `role` the author of a message or the source of a memory that is not the user's. `date` (YYYY-MM-DD)
    and `time` (HH:MM:SS.ffffff) are empty if unknown.
    """

    text: str
    kind: str
    date: str = ""
    role: str = ""
    time: str = ""

    @property
    def order(self) -> str:
        """Sort key by time; a statement of this conversation has no date, and is the latest."""
        return f"{self.date} {self.time}" if self.date else "9999"

    @property
    def by_user(self) -> bool:
        """Return true for the user's words, or a fact about the user."""
        return self.kind in _BY_USER and self.role in ("", "user")


@dataclass(frozen=True)
class Quote:
    """The chosen sentence; `sure` if it shares words with the question, otherwise search alone found it related."""

    text: str
    source: Remembered
    sure: bool


def read_memories(text: str) -> list[Remembered]:
    r"""Return the memories in the fenced blocks of a prompt, the most relevant last.

    A briefing begins with its most important part, and ends each part with the most relevant memory.

    >>> read_memories("You are kind.\n<memories>\n- [fact 2026-11-22] User lives in Hue\n</memories>")[0].date
    '2026-11-22'
    """
    parts = (part for block in _BLOCK.findall(text) for part in reversed(_HEADING.split(block)))
    return [memory for part in parts for memory in read_lines(part, other=None)]


def read_lines(text: str, other: str | None = "observation") -> list[Remembered]:
    """Return one memory a line, from lines such as `- [fact 2026-11-22] ...`.

    `other` is the kind of lines in another form; None drops them.
    """
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if match := _LINE.match(line):
            role, text = match["label"] or match["role"] or "", match["text"]
            who = match["role"] or ""
            if match["kind"] == Message.kind_name() and who.startswith("user "):
                # the user, by name
                role = match["label"] or "user"
            elif who not in _ROLES and not text.startswith(f"about {who}: "):
                # somebody else in the user's conversation
                text = f"{who}: {text}"
            found.append(Remembered(text, match["kind"], match["date"] or "", role, match["time"] or ""))
        elif other is not None:
            found.append(Remembered(line.removeprefix("- "), kind=other))
    return found


def best_quote(question: str, remembered: Sequence[Remembered]) -> Quote | None:
    """Return the remembered sentence that best answers a question; None when nothing fits.

    The sentence with the most telling words of the question wins; of equal ones the latest of the user's, else the most
    relevant, which comes last. When none shares any, and the question is about the user, the most relevant of the
    user's own is taken.

    >>> best_quote("Where do I live?", [Remembered("I live in Hue.", "said"), Remembered("I like tea.", "said")]).text
    'I live in Hue.'
    """
    candidates = [(sentence, memory) for memory in _dated(remembered) for sentence in _quotable(memory, question)]
    found = [content_terms(sentence) for sentence, _ in candidates]
    wanted = content_terms(question)
    weights = {term: math.log(1 + len(found) / (1 + sum(term in one for one in found))) for term in wanted}
    scores = [
        sum(weights[term] for term in sorted(wanted & one)) * (1.0 if memory.by_user else _SECOND_HAND)
        for one, (_, memory) in zip(found, candidates, strict=True)
    ]
    if (best := max(scores, default=0.0)) > 0:
        tied = [one for one, score in zip(candidates, scores, strict=True) if score >= best - 1e-9]
        if all(memory.by_user for _, memory in tied):
            newest = max(memory.order for _, memory in tied)
            tied = [one for one in tied if one[1].order == newest]
        return Quote(*tied[-1], sure=True)
    if speaks_of_self(question):
        # What was said in this conversation is in the order of time, not of relevance: it says nothing here.
        found_by_search = [(s, memory) for s, memory in candidates if memory.by_user and memory.kind != SAID]
        if found_by_search:
            sentence, memory = found_by_search[-1]
            return Quote(sentence, memory, sure=False)
    return None


def all_told(remembered: Sequence[Remembered]) -> list[str]:
    """Return the user's statements, each sentence once, the newest first."""
    told: dict[str, tuple[str, str]] = {}
    for memory in _dated(remembered):
        if memory.by_user or memory.kind == Profile.kind_name():
            told_in = statements_in(memory.text) if memory.kind == Message.kind_name() else _quotable(memory, "")
            for sentence in told_in:
                known = told.get(normalise(sentence))
                if known is None or known[0] < memory.order:
                    told[normalise(sentence)] = (memory.order, sentence)
    # of equal ones what was said last comes first
    return [sentence for _, sentence in sorted(told.values(), key=lambda one: one[0])][::-1]


def _dated(remembered: Sequence[Remembered]) -> list[Remembered]:
    """Return memories; a statement of this conversation gets the date of a fact in the same words."""
    known = {normalise(memory.text): memory for memory in remembered if memory.date and memory.by_user}
    dated = []
    for memory in remembered:
        same = known.get(normalise(memory.text)) if memory.kind == SAID else None
        dated.append(replace(memory, date=same.date, time=same.time) if same else memory)
    return dated


def _quotable(memory: Remembered, question: str) -> Iterator[str]:
    """Yield the sentences of a memory that may answer: no questions, least of all the one asked."""
    if memory.kind == SAID:
        yield memory.text
        return
    # a summary that no model made quotes its speakers; an answer does not
    text = _SPEAKER.sub("", memory.text) if memory.kind == Summary.kind_name() else memory.text
    for sentence in sentences(text):
        said = not is_question(sentence) and not is_pleasantry(sentence) and not is_request(sentence)
        if said and normalise(sentence) != normalise(question):
            yield sentence
