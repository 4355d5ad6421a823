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

from react_mem.memory.language import UNSPACED, length, pattern_of
from react_mem.memory.language.hedging import asks_from
from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.language.shown_parts import begins_anew, bounded, or_else
from react_mem.memory.language.statements import is_question, is_request, says_something, sentences

MAX_CLAUSE = 400  # characters; a longer clause is cut where a word ends
_EMOTICON = r"(?<!\w)[:;=xX8][-'^o]?[()DPp3|/\\]+(?!\w)|(?<=\s)[)(]{2,}|(?<=\w)[)]{2,}|[=:]\){2,}"
_SYMBOL = r"[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]+"
_FEELING = pattern_of(
    # faces, hands, and what is thrown or lit for joy
    r"[\u2639-\u263b\u270a-\u270d\u2728\U0001f389\U0001f38a\U0001f440\U0001f446-\U0001f450\U0001f480\U0001f4a9\U0001f4aa"
    r"\U0001f4af\U0001f525\U0001f600-\U0001f64f\U0001f90c\U0001f90f-\U0001f92f\U0001f970-\U0001f97a\U0001f9d0"
    r"\U0001fae0-\U0001faef\U0001faf0-\U0001faf8]|" + _EMOTICON
)
"""Sign of a feeling, which mostly stands behind the statement it belongs to.

The sign of a thing (a cat, a heart, an arrow) stands beside its word or in its place.
"""

_HALF = 3  # words that may be only the topic of a sentence: "My cat 😊 is called Mimi"

_JOINT = pattern_of(
    rf",\s+|,(?=[{UNSPACED}])|[，；]|(?<=[\u3041-\u309f])、|;\s+|:\s+|：|\s[-–—]\s|—|\s(?=\()|(?=（)|(?<=\))\s|(?<=）)"
    rf"|(?P<symbols>(?:\s*(?:{_SYMBOL}|{_EMOTICON})\s*)+)"
    # in a script without spaces a space is punctuation
    rf"|(?<=[{UNSPACED}])[ \u3000]+(?=[{UNSPACED}])"
)
_ASKS = pattern_of(r"[?？؟][\s\"'”’»」』)）!！.…。]*$")

_QUOTATION = pattern_of(
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


@or_else(lambda text: [])
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
        if told and (joint["symbols"] is None or _ends_at(joint["symbols"], before, after, asks=bool(asks))):
            parts.append(sentence[begin : joint.end()].strip())
            begin = joint.end()
    parts.append(sentence[begin:].strip())
    return [part for part in parts if part]


def _ends_at(symbols: str, before: str, after: str, *, asks: bool) -> bool:
    """Return true if a clause ends at symbols, such as emoji, instead of going on behind them.

    `before` and `after` are the text around the symbols; `asks` is true if `after` ends in a question mark.
    """
    if asks_from(after) == 0 or is_request(after):
        return True
    anew = after[0].isupper() or (symbols[-1].isspace() and re.match(f"[{UNSPACED}]", after))
    if asks and anew and says_something(after) and not is_question(before):
        return True
    feels = _FEELING.search(symbols) is not None
    if begins_anew(after):
        # "I love 🍕 the most": behind a thing only a capital letter shows a new beginning, where there are any
        return feels or not after[0].islower()
    return feels and length(before) > _HALF


def _is_within(spans: Sequence[tuple[int, int]], begin: int, end: int) -> bool:
    """Return true if nearly all of a stretch lies within some of the sorted spans."""
    first = bisect_left(spans, begin, key=lambda span: span[1])
    covered = 0
    for one, other in islice(spans, first, None):
        if one >= end:
            break
        covered += min(other, end) - max(one, begin)
    return covered >= _QUOTED * (end - begin)
