"""Redaction of a text: find the sentences that state a forgotten fact, and cut them out.

Words decide, in any of their forms. A sentence that states another, kept memory stays. In texts that the user did not
write, half of the fact's words suffice if one of them is a word that the user has used for nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from react_mem.memory.language import UNSPACED, length, other_language
from react_mem.memory.language.clauses import cut
from react_mem.memory.language.comparison import Vocabulary, content_words, missing, numbers, word_spans, words
from react_mem.memory.language.folding import fold
from react_mem.memory.language.hedging import JOINING
from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.language.statements import asks_to_forget, sentences, speaks_of_self
from react_mem.memory.language.terms import content_terms
from react_mem.memory.merging.blocks import caption_of

_HALF = 0.5
_LEFT = 2  # content words that the rest of a sentence needs at least: fewer say nothing
_START = 4  # letters shared by all forms of a word (`memory.language.comparison`)
_DENSE = re.compile(f"[{UNSPACED}]")
_JOINTS = " ,;:，；：、–—-"
_EDGE = ' .,;:!?…。，；：、！？–—-"“”'


@dataclass(frozen=True)
class _Sought:
    """Forgotten text, prepared for matching; the user uses the words `own` for nothing else."""

    run: str
    terms: frozenset[str]
    content: tuple[str, ...]
    numbers: frozenset[str]
    own: frozenset[str]
    starts: tuple[str, ...]


class Sayings:
    """Matcher of texts that state a forgotten fact, in any of its wordings.

    Args:
        kept: Texts to keep although they may share its words: other memories.
        said: All other texts of the user.
    """

    def __init__(self, texts: Iterable[str], kept: Sequence[str] = (), said: Sequence[str] = ()) -> None:
        self.kept = kept
        self._targets = [_target(text, [*kept, *said]) for text in dict.fromkeys(texts) if text.strip()]
        self._kept_runs = {_run(text) for text in kept} - {""}

    def tell(self, text: str) -> bool:
        """Return true if a text of the user's states the fact, other than in the words of a kept memory.

        >>> Sayings(("I like tea",)).tell("You know I like tea"), Sayings(("I like tea",)).tell("I like cake")
        (True, False)
        >>> Sayings(("I like tea",), ("I like green tea",)).tell("I like green tea.")
        False
        """
        told = [target for target in self._targets if _says(text, target)]
        if not told:
            return False
        run = f" {_run(text)} "
        covered = [kept for kept in self._kept_runs if f" {kept} " in run]
        for kept in sorted(covered, key=len, reverse=True):
            run = run.replace(f" {kept} ", " / ")
        return not covered or any(_says(run, target) for target in told)

    def may_be_in(self, text: str) -> bool:
        """Return true if a long text has a word of the fact at all: a quick test before its sentences are read.

        >>> Sayings(("I like tea",)).may_be_in("Green TEAS"), Sayings(("I like tea",)).may_be_in("Cakes only")
        (True, False)
        """
        folded = fold(text)
        return any(not target.starts or any(start in folded for start in target.starts) for target in self._targets)

    def hint(self, text: str) -> bool:
        """Return true if a sentence of someone else is about the fact.

        >>> Sayings(("I'm allergic to penicillin",)).hint("So no penicillin for you!")
        True
        >>> Sayings(("I'm allergic to penicillin",), ("Ann sells penicillin",)).hint("Penicillin is a drug.")
        False
        """
        for target in self._targets:
            if _says(text, target):
                return True
            # most texts have none of its words, and need not be read
            if not target.own or not any(start in fold(text) for start in target.starts):
                continue
            lacking = set(missing(" ".join(target.content), [text]))
            has = [word for word in target.content if word not in lacking]
            if len(has) >= _HALF * len(target.content) and target.own.intersection(has):
                return True
        return False

    def without(self, text: str, *, by_user: bool, tells: Callable[[str], bool] | None = None) -> str:
        """Return a text without the sentences that state the fact; of the user's own sentences the other clauses stay.

        >>> Sayings(("I work at Bosch",)).without("I like tea and I work at Bosch. It is late.", by_user=True)
        'I like tea. It is late.'
        >>> Sayings(("I work at Bosch",)).without("Noted: you work at Bosch. It is late.", by_user=False)
        'It is late.'
        """
        told = tells or (self.tell if by_user else self.hint)
        lines = [(line, sentences(line)) for line in unwrapped(text).splitlines()]
        if not any(told(sentence) for _, parts in lines for sentence in parts):
            return text
        splits = by_user and tells is None

        def left(sentence: str) -> str:
            if not told(sentence):
                return sentence
            return _ended(self.rest(sentence), sentence) if splits else ""

        kept = [" ".join(filter(None, map(left, parts))) for _, parts in lines]
        return "\n".join(line for line in kept if line.strip(_EDGE)).strip()

    def rest(self, sentence: str) -> str:
        """Return the other clauses of a user's sentence, in its own words; empty where there are none.

        >>> Sayings(("I live in Hue",)).rest("I live in Hue, I have a red car, and I like tea.")
        'I have a red car, and I like tea.'
        >>> Sayings(("I live in Hue",)).rest("I live in Hue and like iced coffee.")
        'I … like iced coffee.'
        """
        if asks_to_forget(sentence):
            return ""
        clauses = [clause.text for clause in cut(sentence)]
        if not any(map(self.tell, clauses)):
            # it is said by the whole of it
            return ""
        halves = [self._divided(clause)[0] if self.tell(clause) else "" for clause in clauses]
        pieces = [half if self.tell(clause) else clause for half, clause in zip(halves, clauses, strict=True)]
        left = " ".join(filter(None, pieces))
        if left == sentence:
            return ""
        left = left.strip(_JOINTS)
        if not left or self.tell(left) or len(content_terms(left)) < (1 if any(halves) else _LEFT):
            return ""
        # where it shows that the user speaks of themselves, what is left has to: "she never calls" is nobody's
        if speaks_of_self(sentence) and not (speaks_of_self(left) or other_language(sentence)):
            return ""
        return left

    def part(self, text: str) -> str:
        """Return the clause of a statement that states the fact; the whole statement where no clause does.

        >>> Sayings(("I work at Bosch",)).part("I like tea and I work at Bosch.")
        'I work at Bosch.'
        """
        for clause in cut(text):
            if self.tell(clause.text):
                return self._divided(clause.text)[1] or clause.text
        return text

    def _divided(self, clause: str) -> tuple[str, str]:
        """Return the rest of a clause and its part that states the fact; both empty for a clause that cannot be cut.

        The part is the longest run of words of the fact. A joining word ("and", "y") stands between it and other words;
        without spaces between words it need not, if the run has all words of the fact.
        """
        spans = list(word_spans(clause))
        for target in self._targets:
            own = Vocabulary(target.content)
            marks = [_mark(clause[begin:end], own) for begin, end in spans]
            runs: list[list[int]] = [[]]
            for at, mark in enumerate(marks):
                if mark == "other":
                    runs.append([])
                elif mark == "own":
                    runs[-1].append(at)
            run = max(runs, key=len)
            others = [at for at, mark in enumerate(marks) if mark == "other"]
            if not run or not others:
                continue
            dense = bool(_DENSE.search(clause)) and len(run) == marks.count("own")
            before = max((at for at in others if at < run[0]), default=-1)
            after = min((at for at in others if at > run[-1]), default=len(marks))
            joins = [at for at in range(before + 1, after) if marks[at] == "joining"]
            begins = next((at for at in joins if at < run[0]), run[0] if dense else None)
            ends = next((at for at in reversed(joins) if at > run[-1]), run[-1] if dense else None)
            if (before >= 0 and begins is None) or (after < len(marks) and ends is None):
                continue
            start = 0 if before < 0 or begins is None else spans[begins][0]
            stop = len(clause) if after == len(marks) or ends is None else spans[ends][1]
            head = clause[:start] if start else _subject(clause[: spans[run[0]][0]])
            gap = "…" if dense else " … "
            rest = gap.join(part for one in (head, clause[stop:]) if length(part := one.strip(_JOINTS)) >= 1 + dense)
            begin = spans[begins][1] if start and begins in joins else start
            part = clause[begin : len(clause) if after == len(marks) else spans[run[-1]][1]].strip(_JOINTS)
            return rest, part
        return "", ""


def _mark(word: str, own: Vocabulary) -> str:
    """Return the kind of a word in a clause: joining, own to the fact, other, or empty for nothing to go by."""
    if word.casefold() in JOINING:
        return "joining"
    if not content_words(word) or speaks_of_self(word):
        return ""
    return "own" if word in own else "other"


def _subject(words: str) -> str:
    return words if speaks_of_self(words) else ""


def says(sentence: str, what: str) -> bool:
    """Return true if a sentence has all content words and numbers of a text.

    >>> says("As I told you, I am allergic to penicillin", "I'm allergic to penicillin")
    True
    >>> says("I'm allergic to nuts", "I'm allergic to penicillin")
    False
    """
    return _says(sentence, _target(what, ()))


def same(one: str, other: str) -> bool:
    """Return true if two texts have the same content words, in any form and order.

    >>> same("I live in Hue.", "User lives in Hue"), same("I like tea", "I like green tea")
    (True, False)
    """
    return says(one, other) and says(other, one)


def contains(text: str, what: str) -> bool:
    """Return true if a text contains the words of another in sequence, and these have content.

    >>> contains("As I said, I'm allergic to penicillin.", "I'm allergic to penicillin")
    True
    >>> contains("I like green tea", "I like tea")
    False
    """
    return len(set(content_words(what))) >= _LEFT and f" {_run(what)} " in f" {_run(text)} "


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a nested JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from texts_in(part)


def led_without(value: Mapping[str, Any], hint: Callable[[str], bool]) -> dict[str, Any]:
    """Return the changed `tool_calls` and `thinking` of a message after redaction: thinking goes as a whole."""
    changed: dict[str, Any] = {}
    calls = value.get("tool_calls") or ()
    kept = [call for call in calls if not any(map(hint, texts_in(call)))]
    if len(kept) < len(calls):
        changed["tool_calls"] = kept
    if any(map(hint, sentences(str(value.get("thinking") or "")))):
        changed["thinking"] = ""
    return changed


def shown_without(content: Any, hint: Callable[[str], bool]) -> Any:
    """Return the content of a message without images, sounds and files with a caption about the fact."""
    if not isinstance(content, list):
        return content
    return [block for block in content if not ((caption := caption_of(block)) and hint(caption))]


def _target(text: str, others: Iterable[str]) -> _Sought:
    content = tuple(dict.fromkeys(content_words(text)))
    return _Sought(
        run=_run(text),
        terms=frozenset(content_terms(text)),
        content=content,
        numbers=frozenset(numbers(text)),
        own=frozenset(missing(" ".join(content), others)),
        starts=tuple(fold(word)[:_START] for word in content),
    )


def _says(text: str, target: _Sought) -> bool:
    if not target.terms:
        return bool(target.run) and f" {target.run} " in f" {_run(text)} "
    if not target.numbers <= numbers(text):
        return False
    if not target.starts or not all(start in fold(text) for start in target.starts):
        return target.terms <= content_terms(text)
    return target.terms <= content_terms(text) or not missing(" ".join(target.content), [text])


def _run(text: str) -> str:
    return " ".join(map(fold, words(text)))


def _ended(rest: str, sentence: str) -> str:
    """Return the rest of a sentence with the final mark of the whole."""
    end = sentence.rstrip()[-1:]
    return f"{rest}{end}" if rest and end in ".!。！…" and not rest.endswith(end) else rest
