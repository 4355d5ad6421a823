"""Places of a person's name in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from react_mem.memory.language import fold, index_terms

Kind = Literal["name", "email", "number", "id", "address"]


@dataclass(frozen=True)
class Span:
    """A private value in a text.

    Args:
        start: Where it begins.
        end: Where it ends.
        kind: What it is.
        value: What all ways to write it have in common.
    """

    start: int
    end: int
    kind: Kind
    value: str


_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TOGETHER = re.compile(r"[ \t\u00a0]{1,2}|-|\. ")
"""Separators between two words of one name."""

_MAX_WORDS = 6


@dataclass(frozen=True)
class _Word:
    start: int
    end: int
    text: str

    @property
    def folded(self) -> str:
        return fold(self.text)

    @property
    def is_capital(self) -> bool:
        return self.text[0].isupper()

    @property
    def is_common(self) -> bool:
        return not index_terms(self.text)


def named(text: str, name: str) -> Iterator[Span]:
    """Find a name, or the part of it that stands for it, with or without diacritics.

    The whole name counts wherever it stands. A part of it is also a word, or part of somebody else's name: it counts
    with a capital, and with no other name beside it.

    Args:
        text: The text.
        name: The name.

    >>> [span.value for span in named("Nguyen Trai street, where An met nguyen van an", "Nguyễn Văn An")]
    ['an', 'nguyenvanan']
    >>> list(named("Quán ăn ngon ở đường Nguyễn Trãi", "Nguyễn Văn An"))
    []
    """
    own = _WORD.findall(name)
    if not own or len(own) > _MAX_WORDS:
        return
    if _UNSPACED.search(name):
        for match in re.finditer(re.escape(name), text):
            if len(name) > 1:
                yield Span(match.start(), match.end(), "name", fold(name))
        return
    found = [_Word(match.start(), match.end(), match.group()) for match in _WORD.finditer(text)]
    capitals = sum(word.is_capital for word in found)
    # who writes "ăn" does not mean "An"
    accented = fold(text) != text.casefold()
    # where nearly all words have one, a capital says nothing
    shouted = capitals > 0.9 * len(found)
    parts = {fold(part) for part in own}
    for first, last in _runs(text, found, parts):
        run = found[first:last]
        beside = [] if shouted else [*_neighbours(text, found, first, last, parts)]
        doubtful = not (accented or text[run[-1].end :].startswith(("'s", "’s"))) and (
            shouted or _starts_sentence(text, run[0])
        )
        if _is_meant(run, own, beside, doubtful=doubtful, unmarked=shouted or not capitals):
            yield Span(run[0].start, run[-1].end, "name", "".join(word.folded for word in run))


def _is_meant(
    run: Sequence[_Word], own: Sequence[str], beside: Sequence[_Word], *, doubtful: bool, unmarked: bool
) -> bool:
    """Return whether words that are also those of a name are that name.

    Args:
        run: The words.
        own: Those of the name.
        beside: Other names beside them.
        doubtful: Whether their capitals say nothing: that of "An" in "An apple".
        unmarked: Whether no capital of the text says anything.
    """
    said, whole = [word.folded for word in run], [fold(part) for part in own]
    if len(whole) > 1 and any(said[place : place + len(whole)] == whole for place in range(len(said))):
        return True
    if beside:
        return False
    if len(run) > 1:
        return all(word.is_capital for word in run) or (unmarked and not any(word.is_common for word in run))
    word = run[0]
    # "Mình", me, is not Minh; "Minh" may be written for him
    if word.text.casefold() not in {part.casefold() for part in own} and word.folded != word.text.casefold():
        return False
    if word.is_capital:
        return len(word.text) > 1 and not (word.is_common and doubtful)
    if len(own) > 1:
        # in Vietnamese the parts of names are words, or those of streets; typed without capitals they say nothing
        return unmarked and len(word.text) > 3 and "".join(own).isascii() and not word.is_common
    return len(word.text) > 2 and not word.is_common


def _runs(text: str, found: Sequence[_Word], parts: set[str]) -> Iterator[tuple[int, int]]:
    """Return where words of a name stand together: from, and up to."""
    place = 0
    while place < len(found):
        first = place
        while (
            place < len(found)
            and found[place].folded in parts
            and (place == first or _TOGETHER.fullmatch(text[found[place - 1].end : found[place].start]))
        ):
            place += 1
        if place > first:
            yield first, place
        else:
            place += 1


def _neighbours(text: str, found: Sequence[_Word], first: int, last: int, parts: set[str]) -> Iterator[_Word]:
    """Return the words beside that are names themselves, by their capital: these may be somebody else's together."""
    if first and _TOGETHER.fullmatch(text[found[first - 1].end : found[first].start]):
        before = found[first - 1]
        if before.is_capital and not _starts_sentence(text, before) and not before.is_common:
            yield before
    if last < len(found) and _TOGETHER.fullmatch(text[found[last - 1].end : found[last].start]):
        after = found[last]
        if after.is_capital and after.folded not in parts and not after.is_common:
            yield after


def _starts_sentence(text: str, word: _Word) -> bool:
    return not text[: word.start].strip(" \t\n\"'“‘(") or text[: word.start].rstrip()[-1] in ".!?:\n"
