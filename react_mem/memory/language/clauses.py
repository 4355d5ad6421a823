"""Segmentation of a message into clauses, which a model labels one by one, so that every quote is exact.

Only punctuation and length decide, which every language has; code, quotations, mail and pages are set apart before, by
`memory.language.own_words`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from react_mem.memory.language import UNSPACED, length
from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.language.sentence_ends import bounded
from react_mem.memory.language.statements import says_something, sentences

MAX_CLAUSE = 400  # characters; a longer clause is cut where a word ends
_JOINT = re.compile(
    rf",\s+|,(?=[{UNSPACED}])|[，；]|(?<=[\u3041-\u309f])、|;\s+|:\s+|：|\s[-–—]\s|—|\s(?=\()|(?=（)|(?<=\))\s|(?<=）)"
    # in a script without spaces a space is punctuation
    rf"|(?<=[{UNSPACED}])[ \u3000]+(?=[{UNSPACED}])"
)
_ASKS = re.compile(r"[?？؟][\s\"'”’»」』)）!！.…。]*$")

_QUOTATION = re.compile(
    r"“[^“”]{6,}”|«[^«»]{6,}»|„[^„“”]{6,}[“”]|「[^「」]{4,}」|『[^『』]{4,}』|【[^【】]{4,}】|(?<!\w)\"[^\"\n]{6,}\"(?!\w)"
    r"|(?<!\w)'[^'\n]{6,}'(?!\w)|‘[^‘’\n]{6,}’(?!\w)"
)
_QUOTED = 0.8
"""Share of a clause between quotation marks that makes a quotation of it, and not a title or a motto in a sentence."""

_LOOK = 120  # characters read on either side of a joint


@dataclass(frozen=True)
class Clause:
    """A part of a sentence, with the number of that within the message.

    `asks` is true at the end of a sentence with a question mark, whatever marks stand behind that, `quoted` if nearly
    all of the part stands between quotation marks, `spaced` if white space stands before it.
    """

    text: str
    sentence: int
    asks: bool
    spaced: bool = True
    quoted: bool = False


def cut(text: str) -> list[Clause]:
    """Return the clauses of a text, the user's own words.

    >>> [clause.text for clause in cut("I'm An, a nurse, and I have two cats. Is it late?")]
    ["I'm An,", 'a nurse,', 'and I have two cats.', 'Is it late?']
    """
    text = unwrapped(text)
    found: list[Clause] = []
    number = end = 0
    quotes = [quote.span() for quote in _QUOTATION.finditer(text)]
    for line in text.splitlines():
        for sentence in sentences(line):
            parts = [piece for part in _parts(sentence) for piece in bounded(part, MAX_CLAUSE)]
            asks = bool(_ASKS.search(sentence))
            for place, part in enumerate(parts, start=1):
                begin = text.index(part, end)
                spaced = begin == 0 or text[begin - 1].isspace()
                end = begin + len(part)
                found.append(Clause(part, number, asks and place == len(parts), spaced, _is_within(quotes, begin, end)))
            number += 1
    return found


def joined(clauses: Iterable[Clause]) -> str:
    """Return adjacent clauses as they were written.

    >>> joined(cut("我上个月搬到了河内，现在在一家医院工作。")), joined(cut("I like tea. I like cake."))
    ('我上个月搬到了河内，现在在一家医院工作。', 'I like tea. I like cake.')
    """
    return "".join(f" {clause.text}" if clause.spaced else clause.text for clause in clauses).strip()


def _parts(sentence: str) -> list[str]:
    parts: list[str] = []
    begin = 0
    for joint in _JOINT.finditer(sentence):
        before = sentence[max(begin, joint.start() - _LOOK) : joint.start()]
        after = sentence[joint.end() : joint.end() + _LOOK]
        following = _JOINT.search(after, 1)
        following_part = after[: following.start()] if following else after
        # "I'm from Hue, ideas?": one word may ask
        asks = following is None and _ASKS.search(sentence) and joint.end() + _LOOK >= len(sentence)
        # fewer words are an item of a list, a name or a form of address
        told = says_something(before) and (says_something(following_part) or (asks and length(after) > 0))
        if told:
            parts.append(sentence[begin : joint.end()].strip())
            begin = joint.end()
    parts.append(sentence[begin:].strip())
    return [part for part in parts if part]


def _is_within(spans: Sequence[tuple[int, int]], begin: int, end: int) -> bool:
    """Return true if nearly all of a stretch lies within some of the sorted spans."""
    first = bisect_left(spans, begin, key=lambda span: span[1])
    covered = 0
    for one, other in islice(spans, first, None):
        if one >= end:
            break
        covered += min(other, end) - max(one, begin)
    return covered >= _QUOTED * (end - begin)
