"""The part of a page that has to do with a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from react_mem.memory.language import index_terms, index_words

MAX_PAGE_CHARS = 2000
"""Of one page in the prompt: three pages are about 2,000 tokens."""

_PASSAGE_CHARS = 400
_MAX_PASSAGES = 600

_LEAD = 0.3
"""Bonus of a page's beginning: there it says what it is about."""

_NEARLY = 0.8
"""The share of its word triples that a page has in common with another from which on it is the same one, copied."""

GAP = " […] "


def relevant(text: str, question: str, limit: int = MAX_PAGE_CHARS) -> str:
    """Return the passages of a text that have most to do with a question, in the order of the text.

    Args:
        text: The text, paragraphs on lines of their own.
        question: The question.
        limit: Characters at most.

    >>> page = "About us.\\n" + "Cups cost " * 99 + ".\\nGold costs 150 million dong today.\\n" + "Bye. " * 99
    >>> relevant(page, "price of gold today", 40)
    'Gold costs 150 million dong today.'
    """
    if len(text) <= limit:
        return text.strip()
    passages = _passages(text, min(_PASSAGE_CHARS, limit))
    scores = _scores(passages, question)
    # what has nothing to do with the question only fills the prompt
    worth = [place for place, score in enumerate(scores) if score > 0]
    chosen: list[int] = []
    room = limit
    for place in sorted(worth, key=lambda place: (-scores[place], place)):
        cost = len(passages[place]) + len(GAP)
        if cost - len(GAP) * (not chosen) <= room:
            chosen.append(place)
            room -= cost
    parts: list[str] = []
    for before, place in zip([-1, *sorted(chosen)], sorted(chosen), strict=False):
        if parts:
            parts.append("\n" if place == before + 1 else GAP)
        parts.append(passages[place])
    return "".join(parts)


def is_copy(text: str, others: Sequence[str]) -> bool:
    """Return whether a text says nearly what another one says.

    >>> is_copy("The price of gold rose by two per cent today", ["THE PRICE of gold rose by two per cent today!"])
    True
    """
    mine = _triples(text)
    return any(
        len(mine & theirs) >= _NEARLY * min(len(mine), len(theirs)) > 0 for theirs in (_triples(it) for it in others)
    )


def _triples(text: str) -> set[tuple[str, ...]]:
    said = index_words(text)
    return {tuple(said[place : place + 3]) for place in range(max(1, len(said) - 2))} if said else set()


def _passages(text: str, size: int) -> list[str]:
    """Cut a text into pieces of about a size: lines put together, long ones cut at the end of a sentence."""
    pieces: list[str] = []
    for line in (line.strip() for line in text.split("\n")):
        while len(line) > size:
            cut = max(line.rfind(mark, size // 2, size) for mark in (". ", "! ", "? ", "。", "; ", ", ", " "))
            cut = size - 1 if cut < 0 else cut
            pieces.append(line[: cut + 1].strip())
            line = line[cut + 1 :].strip()
        if line and pieces and len(pieces[-1]) + len(line) < size // 2:
            pieces[-1] += "\n" + line
        elif line:
            pieces.append(line)
        if len(pieces) >= _MAX_PASSAGES:
            break
    return pieces[:_MAX_PASSAGES]


def _scores(passages: Sequence[str], question: str) -> list[float]:
    """Score passages by BM25 among themselves, and the beginning a little."""
    wanted = set(index_terms(question))
    counts = [Counter(term for term in index_terms(passage) if term in wanted) for passage in passages]
    having = Counter(term for count in counts for term in count)
    total = len(passages)
    weights = {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in having.items()}
    scores = [sum(weights[term] * n * 2.2 / (n + 1.2) for term, n in count.items()) for count in counts]
    # of the first three passages, the first most
    return [score + _LEAD * max(0.0, 1 - place / 3) for place, score in enumerate(scores)]
