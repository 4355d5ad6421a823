"""Line breaks within a text: wrapping within a sentence, as in mail and on terminals, and ends of clauses.

A break is white space unless something shows that another thing follows: a mark of structure (a blank line, an
item of a list, a heading, a table, a quotation), the end of a sentence, a label, a colon, or two lines that each
state or ask something, the second beginning as statements do. Lines as full as wrapping leaves them, with the end
of a sentence behind them, are wrapped, whatever they begin with.

The rules err towards joining: two statements in one say both, half of one may say the opposite.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from react_mem.memory.language import (
    FILES,
    has_capital_nouns,
    known_language,
    languages_of,
    length,
    other_language,
    pattern_of,
)
from react_mem.memory.language.declarations import declares, ends_in_name, has_structure
from react_mem.memory.language.folding import has_words
from react_mem.memory.language.hedging import JOINING, asks_from, has_sign
from react_mem.memory.language.shown_parts import begins_anew, ends_sentence, is_code, split_line

# Parts of sentences, as a line has them: whether one stands by itself or waits for more, as far as words show it.

_OPENING = "\"'“‘«„»「『(（*_¡¿ \t"
_SHORT = 3
_CLAUSE_END = pattern_of(r"[,;:，；：]\s*")


@dataclass(frozen=True)
class SentencePart:
    """A sentence, or the part of one on a line."""

    words: str

    @cached_property
    def bare(self) -> str:
        """The words without leading marks."""
        return self.words.lstrip(_OPENING)

    @property
    def first_letter(self) -> str:
        """The first character behind opening marks; empty without one."""
        return self.bare[:1]

    @cached_property
    def says_nothing(self) -> bool:
        """Return true for a greeting or thanks alone."""
        found = re.findall(r"[^\W_]+", self.words.casefold())
        return bool(found) and any(one.pleasantries.issuperset(found) for one in languages_of(self.words))

    @cached_property
    def asks(self) -> bool:
        """Return true for the beginning of a question or a request, with or without a mark at its end."""
        bare = self.bare.rstrip(" .!?…。！？")
        if asks_from(bare) == 0:
            return True
        return any(one.asks_without_mark(bare) or one.requests.search(bare) for one in languages_of(bare))

    @property
    def depends(self) -> bool:
        """Return true for the beginning of a subordinate part: "because", "nếu"."""
        return self._begins_a_part(self.bare)

    @cached_property
    def runs_on(self) -> bool:
        """Return true for an end that no sentence has: "in", "của", "の"."""
        bare = self.words.rstrip("\"'”’»")
        return any(ends.search(bare) for _, ends in self._halves) and not ends_in_name(bare)

    @cached_property
    def stands(self) -> bool:
        """Return true for a complete statement, question or request that waits for nothing more."""
        last = _CLAUSE_END.split(self.words)[-1]
        if self.runs_on or self.depends or self._begins_a_part(last.lstrip(_OPENING)) or has_sign(last, "conditions"):
            return False
        return declares(self.words) or self.asks

    def _begins_a_part(self, bare: str) -> bool:
        first = re.match(r"[^\W_]+", bare)
        return bool(first and first[0].casefold() in JOINING) or any(begins.match(bare) for begins, _ in self._halves)

    @cached_property
    def _halves(self) -> Sequence[tuple[re.Pattern[str], re.Pattern[str]]]:
        """Return the patterns of the sentence's language; of all languages where its small words do not tell."""
        language = known_language(self.words)
        code = language.code if language is not None else other_language(self.words)
        return (_HALVES[code],) if code in _HALVES else tuple(_HALVES.values())


def _halves(data: Mapping[str, Any]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of a language for the beginning and the end of a half sentence."""
    begins, ends = ("|".join(data["runs_on"][name]) for name in ("begins", "ends"))
    # between letters without spaces there is no end of a word
    bound = "" if data.get("unspaced") else r"\b"
    return pattern_of(f"(?:{begins}){bound}", re.IGNORECASE), pattern_of(f"{bound}(?:{ends})$", re.IGNORECASE)


_HALVES = {code: _halves(data) for code, data in FILES.items() if "runs_on" in data}


_BREAK = pattern_of("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

_MIN_WIDTH = 20  # least columns that text is wrapped at
_LOOK = 200  # characters read on either side of a break
_FEW = 2  # a statement on a line of its own has more words; two letters of a script without spaces are one
_MOST = 50
"""Breaks of a text whose words are parsed, a third of a millisecond each; behind them the next beginning decides."""

_ITEM = pattern_of(r"[ \t]*(?:[-*+•◦▪▫‣●○·☐☑✓✔][ \t]+|[\u2460-\u2473]|[(（]?[1１][.)、．）][ \t]*(?=\D))")
_NUMBERED = pattern_of(r"[ \t]*[(（]?(?:\d{1,3}|[^\W\d_])[.)、．）](?=\D)")
"""An item that does not begin a list: as in CommonMark it counts behind another item."""

_ALONE = pattern_of(r"[ \t]*(?:#{1,6}[ \t]|[>＞|｜]|`{3}|~~~|<[/!a-zA-Z]|\*\*[^*]+\*\*[ \t:：]*$)")
"""A heading, a table, a quotation, mark-up: nothing continues before or behind it."""

_LABEL = pattern_of(r"[ \t]*[^\W\d][^:：.!?。！？\n]{0,30}(?::[ \t]+|：)\S")
_CLOSING = pattern_of(r"[.!?…。！？、，\"'”’»」』)）]+")
_GOES_ON = pattern_of(r"[,;、，；(（\[&+/–—-][\"'”’»]*$")

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)
_ENDS_UNSPACED = pattern_of(f"[{_UNSPACED}]$")
_BEGINS_UNSPACED = pattern_of(f"[{_UNSPACED}]")
_ANY_UNSPACED = pattern_of(f"[{_UNSPACED}]")
_SPACE = pattern_of(r"\s")
_ENDS_IN_MARK = pattern_of("[\u3000-\u303f\uff00-\uff0f\uff1a-\uff1f]$")
_HYPHENATED = pattern_of(r"[^\W\d_]-$")


def unwrapped(text: str) -> str:
    r"""Return a text with its wrapping breaks replaced by blanks, or removed between letters without spaces.

    Quotations and code are to be set apart before (`memory.language.own_words`).

    >>> unwrapped("I do not eat meat,\nexcept chicken."), unwrapped("I live in Hue\nI like tea")
    ('I do not eat meat, except chicken.', 'I live in Hue\nI like tea')
    >>> unwrapped("我不吃肉，\n只吃鱼。"), unwrapped("Tôi không thích\nrau muống.")
    ('我不吃肉，只吃鱼。', 'Tôi không thích rau muống.')
    """
    if not _BREAK.search(text.strip()):
        return text
    return "\n".join(unwrapped_lines(text.splitlines()))


def quotes(text: str, words: str) -> bool:
    r"""Return true if a text has words as they stand, or would have without wrapping.

    >>> quotes("I do not like\nspinach.", "I do not like spinach.")
    True
    """
    return words in text or ("\n" in text and words in unwrapped(text))


def unwrapped_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, each joined with the lines that continue it."""
    left = _MOST
    for paragraph in _paragraphs(lines):
        if len(paragraph) == 1:
            yield paragraph[0]
            continue
        found = _Paragraph(paragraph, left)
        yield from found.joined()
        left = found.asked


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield runs of lines without a mark of structure between them."""
    for is_alone, block in groupby(lines, _is_alone):
        if is_alone:
            yield from ([line] for line in block)
            continue
        found = list(block)
        # behind other lines a single dash may be one of a sentence
        single = sum(bool(_ITEM.match(line)) for line in found) == 1
        paragraph = found[:1]
        for line in found[1:]:
            is_item = _ITEM.match(line) and not (single and line.lstrip().startswith("-"))
            if is_item or (_NUMBERED.match(line) and _NUMBERED.match(paragraph[0])):
                yield paragraph
                paragraph = []
            paragraph.append(line)
        yield paragraph


def _is_alone(line: str) -> bool:
    """Return true for a line that nothing continues: blank, a heading, code, a row of a table."""
    return bool(_ALONE.match(line)) or is_code(line) or not (has_words(line) or _CLOSING.fullmatch(line.strip()))


@dataclass
class _Paragraph:
    """Lines, two at least, that only words and widths can join; `asked` counts the breaks left to parse."""

    lines: Sequence[str]
    asked: int

    def joined(self) -> Iterator[str]:
        # in pieces: what is joined of a megabyte is not to be copied for each line
        pieces, end = [self.lines[0]], self.lines[0].rstrip()[-_LOOK:]
        for place, line in enumerate(self.lines[1:]):
            if self._ends[place] or self._is_apart(place, end, line):
                yield "".join(pieces)
                pieces, end = [line], line.rstrip()[-_LOOK:]
                continue
            more = line.strip()
            pieces[-1] = pieces[-1].rstrip()
            pieces += ("" if self._is_unspaced else _between(pieces[-1], more), more)
            end = f"{end.rstrip()}{pieces[-2]}{more[-_LOOK:]}"[-_LOOK:]
        yield "".join(pieces)

    @cached_property
    def _ends(self) -> list[bool]:
        """Return true for each break, and the end of the last line, at which a sentence ends."""
        behind = [*self.lines[1:], ""]
        return [ends_sentence(line, after) for line, after in zip(self.lines, behind, strict=True)]

    @cached_property
    def _is_closed(self) -> list[bool]:
        """Return true for each break with the end of a sentence somewhere behind it."""
        closed: list[bool] = []
        for ended in reversed(self._ends[1:]):
            closed.append(ended or (bool(closed) and closed[-1]))
        return closed[::-1]

    @cached_property
    def _is_filled(self) -> bool:
        """Return true if each unfinished line is as full as wrapping leaves it, in letters or in columns."""
        return self._is_filled_in(len) or self._is_filled_in(_columns)

    def _is_filled_in(self, measured: Callable[[str], int]) -> bool:
        widths = [measured(line.rstrip()) for line in self.lines]
        widest = max(_MIN_WIDTH, *widths)
        return all(
            ended or width + 1 + measured(_first_word(after)) > widest
            for ended, width, after in zip(self._ends[:-1], widths[:-1], self.lines[1:], strict=True)
        )

    @cached_property
    def _is_unspaced(self) -> bool:
        """Return true for lines in a script without spaces, and without one among them."""
        return not any(_SPACE.search(line.strip()) for line in self.lines) and any(
            map(_ANY_UNSPACED.search, self.lines)
        )

    @cached_property
    def _has_labels(self) -> bool:
        return sum(bool(_LABEL.match(line)) for line in self.lines) > 1

    @cached_property
    def _is_listed(self) -> bool:
        """Return true if each of several lines begins with a capital, in a language that capitalises names alone."""
        if len(self.lines) <= 2 or not all(SentencePart(line).first_letter.isupper() for line in self.lines):
            return False
        return not has_capital_nouns(" ".join(self.lines)[: 2 * _LOOK])

    def _is_apart(self, place: int, before: str, line: str) -> bool:
        """Return true if a line is separate from the text before it, where no sentence ends."""
        if self._has_labels and _LABEL.match(line):
            return True
        is_wrapped = self._is_closed[place] and self._is_filled
        if _ITEM.match(line):
            return not is_wrapped
        if _GOES_ON.search(before[-_AT_END:].rstrip()) or not has_words(line):
            return False
        after = line.strip()[:_LOOK]
        if self.asked <= 0:
            return not is_wrapped and begins_anew(after)
        # a text ends in no sentence that is over: what is behind the last end is open
        *_, last = ("", *split_line(before))
        said, following = SentencePart(last), SentencePart(next(split_line(after), after))
        is_new = not following.first_letter.islower()
        if is_new and (last.endswith((":", "：")) or following.says_nothing):
            return True
        if is_wrapped:
            # "I live in Hue, please be quick" may be wrapped before what asks, and is no question
            return following.words.endswith(("?", "？")) and following.asks and said.stands and not said.asks
        self.asked -= 1
        if following.asks and said.stands:
            return True
        if following.depends or said.runs_on:
            return False
        anew = begins_anew(following.bare)
        if anew and said.says_nothing:
            return True
        # of a long sentence the beginning is out of sight
        if not is_new and (said.first_letter.isupper() or len(before) >= _LOOK):
            return False
        if anew:
            return said.stands and following.stands and length(following.words) > _FEW
        return not self._is_closed[place] and (self._is_listed or self._are_alike(said, following, is_new=is_new))

    def _are_alike(self, said: SentencePart, following: SentencePart, *, is_new: bool) -> bool:
        """Return true if both are complete, where no word shows the beginning of a statement."""
        if _BEGINS_UNSPACED.match(following.bare):
            # where a subject is mostly left out, what has a predicate is a statement
            return said.stands and declares(following.words)
        both = f"{said.words} {following.words}"
        if begins_anew(said.bare) or known_language(both) is not None or has_capital_nouns(both):
            return False
        # in a language of which nobody has told how its statements begin; short words in small letters are of grammar
        *_, last = said.words.split() or [""]
        ends_short = len(last) <= _SHORT and last.isalpha() and last.islower() and last.isascii()
        return is_new and has_structure(following.words) and has_structure(said.words) and not ends_short


def _first_word(line: str) -> str:
    bare = line.strip()
    return bare[:1] if _BEGINS_UNSPACED.match(bare) else bare.split(None, 1)[0][:_LOOK] if bare else ""


def _columns(text: str) -> int:
    return len(text) if text.isascii() else sum(1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


def _between(before: str, after: str) -> str:
    """Return the separator of two joined lines: none between letters without spaces, and at a hyphen."""
    before = before[-_AT_END:]
    if _ENDS_IN_MARK.search(before) or (_ENDS_UNSPACED.search(before) and _BEGINS_UNSPACED.match(after)):
        return ""
    first = re.match(r"[^\W_]+", after)
    return "" if _HYPHENATED.search(before) and first and first[0].casefold() not in JOINING else " "


_AT_END = 4  # characters at the end of a line that decide its separator
