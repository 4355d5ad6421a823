"""Which remembered sentence answers a question best, by shared words alone."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory.records import normalise
from memory.statements import is_pleasantry, is_question, sentences, speaks_of_self

_BLOCK = re.compile(r"^<memories>[ \t]*$(.*?)^</memories>[ \t]*$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^- \[(\w+)(?: (\d{4}-\d{2}-\d{2}))?(?:, (\w+))?\] (.+)$")

_STOP_WORDS = """
a an and are am as at be been but by can could did do does for from had has have he her him his how i i'm if in is it
its know me mine my of on or our please remember remind said say she should so tell that the their them then there these
they this those to told us user was we were what when where which who whom whose why will with would you your yours s m
t re ve d
tôi mình tớ tao bạn anh chị em là của và có không ở đâu gì nào ai mấy bao nhiêu khi thì mà này đó kia cái những các một
được bị cho với về trong như thế vậy rồi đã đang sẽ hả ạ nhỉ ơi hãy nhớ biết sao tại chưa phải hay gồm
"""
_STOP = frozenset(_STOP_WORDS.split())

SAID = "said"
"""The kind of a statement made earlier in this conversation: one sentence, already told apart from questions."""

_BY_USER = frozenset({"fact", "message", SAID})
_SECOND_HAND = 0.5
"""A summary, an episode or what the assistant said counts half of what the user said: it often repeats questions."""

_FRAME_WORDS = 3
"""Sentences that begin with this many equal words ("I live in ...") say the same of two values; the later one holds."""


@dataclass(frozen=True)
class Remembered:
    """Something that may be quoted.

    Args:
        text: What was remembered.
        kind: `fact`, `message`, `episode`, `summary`, `profile`; `said` earlier in this conversation; or `observation`.
        date: Its day, as YYYY-MM-DD; empty where it is not known.
        role: Who said it, for a message.
    """

    text: str
    kind: str
    date: str = ""
    role: str = ""

    @property
    def by_user(self) -> bool:
        """Whether the user said it, or it is a fact about them."""
        return self.kind in _BY_USER and self.role in ("", "user")


@dataclass(frozen=True)
class Quote:
    """The sentence chosen.

    Args:
        text: One sentence, word for word.
        source: Where it stands.
        sure: Whether it shares words with the question; otherwise search alone found it related.
    """

    text: str
    source: Remembered
    sure: bool


def read_memories(text: str) -> list[Remembered]:
    """Return the memories in the fenced blocks of a prompt, in their order: the most relevant last.

    >>> read_memories("You are kind.\\n<memories>\\n- [fact 2026-11-22] User lives in Hue\\n</memories>")[0].date
    '2026-11-22'
    """
    return [memory for block in _BLOCK.findall(text) for memory in read_lines(block, other=None)]


def read_lines(text: str, other: str | None = "observation") -> list[Remembered]:
    """Return one memory a line.

    Args:
        text: Lines such as `- [fact 2026-11-22] ...`.
        other: The kind that a line of another form gets; None leaves such lines out.
    """
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if match := _LINE.match(line):
            found.append(Remembered(match[4], kind=match[1], date=match[2] or "", role=match[3] or ""))
        elif other is not None:
            found.append(Remembered(line.removeprefix("- "), kind=other))
    return found


def best_quote(question: str, remembered: Sequence[Remembered]) -> Quote | None:
    """Choose the remembered sentence that answers a question best.

    The sentence that shares the most telling words with the question wins; of equal ones the most relevant. When none
    shares any, and the question is about the user, what search found most relevant of the user's own is taken.

    Args:
        question: What is asked.
        remembered: The most relevant last.

    Returns:
        The quote; None when nothing fits.

    >>> best_quote("Where do I live?", [Remembered("I live in Hue.", "said"), Remembered("I like tea.", "said")]).text
    'I live in Hue.'
    """
    candidates = [(sentence, memory) for memory in remembered for sentence in _quotable(memory, question)]
    terms = [_terms(sentence) for sentence, _ in candidates]
    wanted = _terms(question)
    weights = {term: math.log(1 + len(terms) / (1 + sum(term in found for found in terms))) for term in wanted}
    scores = [
        sum(weights[term] for term in sorted(wanted & found)) * (1.0 if memory.by_user else _SECOND_HAND)
        for found, (_, memory) in zip(terms, candidates, strict=True)
    ]
    if max(scores, default=0.0) > 0:
        tied = [candidate for candidate, score in zip(candidates, scores, strict=True) if score >= max(scores) - 1e-9]
        sentence, memory = _latest_of_frame(tied)
        return Quote(sentence, memory, sure=True)
    if speaks_of_self(question):
        # What was said in this conversation is in the order of time, not of relevance: it says nothing here.
        found_by_search = [(s, memory) for s, memory in candidates if memory.by_user and memory.kind != SAID]
        if found_by_search:
            sentence, memory = found_by_search[-1]
            return Quote(sentence, memory, sure=False)
    return None


def _quotable(memory: Remembered, question: str) -> Iterator[str]:
    """Yield the sentences of a memory that may answer: no question does, least of all the one asked."""
    if memory.kind == SAID:
        yield memory.text
        return
    for sentence in sentences(memory.text):
        if not is_question(sentence) and not is_pleasantry(sentence) and normalise(sentence) != normalise(question):
            yield sentence


def _latest_of_frame(tied: Sequence[tuple[str, Remembered]]) -> tuple[str, Remembered]:
    """Return the last of equally good sentences, or a later statement of the same thing."""
    frame = _words(tied[-1][0])[:_FRAME_WORDS]
    same = [one for one in tied if _words(one[0])[:_FRAME_WORDS] == frame and len(frame) == _FRAME_WORDS]
    # What was said in this conversation has no date: it is later than anything remembered.
    return (
        max(same, key=lambda one: one[1].date or "9999") if same and all(one[1].by_user for one in same) else tied[-1]
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def _terms(text: str) -> set[str]:
    """Return the telling words of a text, folded so that forms of one word, with or without diacritics, are equal."""
    return {_stem(_fold(word)) for word in _words(text) if word not in _STOP and word not in _STOP_FOLDED}


def _fold(word: str) -> str:
    """Strip diacritics.

    >>> _fold("đường")
    'duong'
    """
    decomposed = unicodedata.normalize("NFD", word.replace("đ", "d"))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _stem(word: str) -> str:
    """Cut what varies at the end of an English word; short words, such as Vietnamese syllables, stay as they are.

    >>> _stem("lives") == _stem("living") == _stem("live"), _stem("allergic") == _stem("allergies")
    (True, True)
    """
    if not word.isascii():
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    # Six letters tell English words apart well enough, and "allergic" from "allergy" not at all.
    return word[:6]


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_fold, words))


_STOP_FOLDED = _folded(_STOP)
"""For those who type Vietnamese without diacritics; compared with the unfolded word, so that "tối" is not "tôi"."""
