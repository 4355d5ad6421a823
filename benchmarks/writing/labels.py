"""The script's answer in the protocol of `react_mem`: a label for every clause in the prompt (`write.extraction`)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.writing.answers import INVENTED_NAME, Statement, find, statements
from benchmarks.writing.case import Case, Manner, Pattern, Turn

_FENCED = re.compile(r"^<(memories|conversation)>\n(.*?)^</\1>", re.DOTALL | re.MULTILINE)
_MEMORY = re.compile(r"^(f\d+): (.*?)(?: \(\d{4}-\d\d-\d\d\))?$")
_CLAUSE = re.compile(r"^\[(\d+)\] (.*)$")
_MESSAGE = re.compile(r"^user:$")
_ASKS = re.compile(r"[?？؟]\W*$")


@dataclass
class Shown:
    """The model's view: memories by label, and the numbered clauses of each message of the user."""

    memories: dict[str, str] = field(default_factory=dict)
    messages: list[dict[str, str]] = field(default_factory=list)


def read(prompt: str) -> Shown:
    shown = Shown()
    for tag, block in _FENCED.findall(prompt):
        for row in block.splitlines():
            if tag == "memories" and (memory := _MEMORY.match(row)):
                shown.memories[memory[1]] = memory[2]
            elif tag == "conversation" and _MESSAGE.match(row):
                shown.messages.append({})
            elif tag == "conversation" and (clause := _CLAUSE.match(row)) and shown.messages:
                shown.messages[-1][clause[1]] = clause[2]
    return shown


def label(case: Case, manner: Manner, prompt: str, around: Collection[str] = ()) -> dict[str, Any]:
    shown = read(prompt)
    answer: dict[str, Any] = {"facts": [], "others": [], "profile": [], "episode": None, "summary": ""}
    known = {id_: text for id_, text in shown.memories.items() if not {text, text.partition(": ")[2]} & set(around)}
    for clauses in shown.messages:
        turn = _turn(case, clauses)
        said = statements(case, turn, manner, known) if turn else []
        _label(answer, turn, clauses, said, known)
        if manner == "hostile" and clauses:
            first = [int(number) for number in clauses][:1]
            answer["profile"].append({"c": first, "field": "name", "value": INVENTED_NAME})
        known |= clauses
    return answer


def _label(
    answer: dict[str, Any],
    turn: Turn | None,
    clauses: Mapping[str, str],
    said: Sequence[Statement],
    known: Mapping[str, str],
) -> None:
    spans = _Spans(turn.say, clauses) if turn else None
    taken: set[str] = set()
    kinds: dict[str, str] = {}
    for statement in said:
        numbers = spans.of(statement.quote) if spans else []
        if statement.drop is not None:
            kinds |= dict.fromkeys(numbers, statement.drop)
        elif numbers:
            taken.update(numbers)
            answer["facts"].append(
                {
                    "c": [int(number) for number in numbers],
                    "about": statement.about,
                    "rel": statement.rel,
                    "target": statement.target,
                    # of a wish to forget its words are quoted
                    "text": statement.quote if statement.rel == "forget" else statement.text,
                    "when": statement.when,
                    "needs": _needs(statement, turn, spans, known),
                }
            )
    for number, text in clauses.items():
        if number not in taken:
            kind = kinds.get(number, "question" if _ASKS.search(text) else "chat")
            answer["others"].append({"c": [int(number)], "kind": kind})


def _needs(statement: Statement, turn: Turn | None, spans: _Spans | None, known: Mapping[str, str]) -> list[str]:
    """Return the labels of a statement's dependencies: memories, earlier clauses, or clauses of its own message."""
    found: list[str] = []
    for need in statement.needs:
        if (memory := find(need, known)) is not None:
            found.append(memory)
            continue
        pattern = Pattern(says=(need,))
        for line in turn.correct if turn else ():
            if line.quote != statement.quote and (pattern.matches(line.quote) or pattern.matches(line.sentence)):
                found += spans.of(line.quote)[:1] if spans else []
    return found


def _turn(case: Case, clauses: Mapping[str, str]) -> Turn | None:
    texts = [_plain(text) for text in clauses.values()]
    said = [turn for turn in case.turns if all(text in _plain(turn.say) for text in texts)]
    exact = [turn for turn in said if all(text.strip() in turn.say for text in clauses.values())]
    # of turns that differ in case and spaces only, the last
    return min(reversed(exact or said), key=lambda turn: len(_plain(turn.say)), default=None) if texts else None


class _Spans:
    """Positions of a message's numbered clauses in the user's text."""

    def __init__(self, say: str, clauses: Mapping[str, str]) -> None:
        self._say = _plain(say)
        self._of: dict[str, tuple[int, int]] = {}
        begin = 0
        for number, text in clauses.items():
            plain = _plain(text)
            begin = max(self._say.find(plain, begin), 0)
            self._of[number] = (begin, begin + len(plain))
            begin += len(plain)

    def of(self, quote: str) -> list[str]:
        """Return the numbers of the clauses that overlap a quote."""
        plain = _plain(quote)
        begin = self._say.find(plain)
        if not plain or begin < 0:
            return []
        end = begin + len(plain)
        return [number for number, (first, last) in self._of.items() if first < end and begin < last]


def _plain(text: str) -> str:
    """Keep letters and digits only, independent of cuts and spaces."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())
    return re.sub(r"[\W_]+", "", folded)
