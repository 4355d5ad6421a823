"""The clauses of a sentence: what of it can be read, and kept, apart from the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from memory.statements import is_relative

COORDINATORS = (
    "and|but|or|because|so|though|although|while|nhưng|mà|và|vì|nên|còn|chứ|hoặc|hay"  # English and Vietnamese
)
_ADDING = frozenset({"and", "và"})
"""They say nothing of what they join, and are left out of the clause; "because" and "but" are not."""

_EXCEPTING = "except|excepting|excluding|apart from|other than|unless|ngoại trừ|ngoài trừ|trừ|không kể"
"""What takes something out of a claim, in English and Vietnamese."""

_JOINT = re.compile(
    rf"(?:(?P<comma>,\s|[，、])|(?P<colon>:\s|：)|(?P<dash>[–—]\s|(?<=\s)-\s)|(?P<semicolon>;\s|；)"
    rf"|(?P<word>\b(?:{COORDINATORS})\b))+",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    rf"\([^()]{{1,300}}\)|（[^（）]{{1,300}}）|\b(?:{_EXCEPTING})\b(?:(?!\b(?:{COORDINATORS})\b)[^,;:()–—，；：（）])*",
    re.IGNORECASE,
)
# Chinese and Japanese put no space between words: each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_NUMBER = re.compile(r"\d")

_MIN_WORDS = 3
"""Words that say something by themselves: "never touch shellfish". Fewer go with what they stand beside."""

_MAX_CLAUSES = 40
"""A sentence of more is none: a table, a list, a dump."""


@dataclass(frozen=True)
class Clause:
    """A part of a sentence.

    Args:
        text: The part.
        begin: Where it begins.
        end: Where it ends.
        head: The place among the clauses of the one without which it says nothing: in "I like tea and cake" the first.
    """

    text: str
    begin: int
    end: int
    head: int


@dataclass(frozen=True)
class _Piece:
    """What stands between two joints of a sentence.

    Args:
        begin: Where it begins.
        end: Where it ends.
        words: How many words it has.
        numbered: Whether it has a number.
        relative: Whether it tells of what is named before it: "who is a locksmith".
        joint: What is before it: the names of the groups of `_JOINT`.
    """

    begin: int
    end: int
    words: int
    numbered: bool
    relative: bool
    joint: frozenset[str]

    @property
    def short(self) -> bool:
        """Whether it says nothing by itself."""
        return self.words < _MIN_WORDS


def clauses(sentence: str) -> list[Clause]:
    """Split a sentence at its commas, semicolons, colons, dashes and conjunctions, as far as the parts say something.

    An item of a list is a part, and so is a short part with a number, or between two others. The last short one, such
    as a place or a form of address, stays with its neighbour.

    Args:
        sentence: One sentence, in any script.

    >>> [part.text for part in clauses("I like tofu and never touch shellfish, really.")]
    ['I like tofu', 'never touch shellfish, really.']
    >>> [part.text for part in clauses("I like tea, coffee and cake, An")]
    ['I like tea', 'coffee', 'cake, An']
    >>> [part.text for part in clauses("Shopping list: eggs, leeks.")]
    ['Shopping list: eggs', 'leeks.']
    >>> [part.text for part in clauses("I love dogs; cats, not so much.")]
    ['I love dogs', 'cats, not so much.']
    """
    found: list[Clause] = []
    lead: int | None = None
    aside: int | None = None
    sections = list(_sections(_pieces(_without_asides(sentence))))
    dashes = sum("dash" in section[0].joint for section in sections)
    for section in sections:
        begin = section[0].begin if lead is None else lead
        # what is between two dashes, and what follows them, belongs to what is before them
        if aside is None and found and dashes > 1 and "dash" in section[0].joint:
            aside = found[-1].head
        parts = _parts(section, begin)
        if not parts and not found:
            lead = begin
            continue
        if not parts:
            # "I love dogs; cats, no": what is too short belongs to what is before it
            alone = sum(piece.words for piece in section) >= _MIN_WORDS
            parts = [Clause("", begin, section[-1].end, 0 if alone else -1)]
        first = len(found)
        for part in parts:
            head = found[-1].head if part.head < 0 and found else first + max(part.head, 0)
            found.append(replace(part, head=head if aside is None else aside))
        lead = None
    if not 0 < len(found) <= _MAX_CLAUSES:
        return [Clause(sentence.strip(), 0, len(sentence), 0)]
    return [replace(clause, text=sentence[clause.begin : clause.end].strip()) for clause in found]


def uncovered(sentence: str, is_covered: Callable[[str], bool]) -> list[str]:
    """Return what of a sentence is not covered, word for word: all of it, or the parts, each with what it depends on.

    An aside or an exception that is not covered is returned with the clause that it is in: without it, that says more
    than the user did.

    Args:
        sentence: One sentence.
        is_covered: Tells whether a part is covered; it is asked about clauses without their asides, and about those.

    >>> uncovered("I like tofu and never touch shellfish", lambda part: "tofu" in part)
    ['never touch shellfish']
    >>> uncovered("I like tea, coffee and cake", lambda part: "cake" not in part)
    ['I like tea, coffee and cake']
    >>> uncovered("I like tofu and never touch shellfish", lambda part: False)
    ['I like tofu and never touch shellfish']
    """
    parts = clauses(sentence)
    bare = _without_asides(sentence)
    asides = [aside for aside in _ASIDE.finditer(sentence) if not is_covered(aside[0].strip("()（） "))]
    open_ = [
        place
        for place, part in enumerate(parts)
        if not is_covered(bare[part.begin : part.end].strip()) or any(_host(aside, parts) == place for aside in asides)
    ]
    if len(open_) == len(parts):
        return [sentence]
    runs: list[tuple[int, int]] = []
    for place in open_:
        head = parts[place].head
        if runs and head <= runs[-1][1] + 1:
            runs[-1] = (min(head, runs[-1][0]), place)
        else:
            runs.append((head, place))
    return [sentence[parts[first].begin : parts[last].end].strip() for first, last in runs]


def last_of(sentence: str) -> str:
    """Return the last clause of a sentence, as `uncovered` asks about it: without its asides."""
    last = clauses(sentence)[-1]
    return _without_asides(sentence)[last.begin : last.end].strip()


def _host(aside: re.Match[str], parts: list[Clause]) -> int:
    """Return the place of the clause that an aside is in, or behind."""
    return max((place for place, part in enumerate(parts) if part.begin <= aside.start()), default=0)


def _without_asides(sentence: str) -> str:
    """Return a sentence with blanks for what is said by the way in it, so that every place stays where it is."""
    return _ASIDE.sub(lambda aside: " " * len(aside[0]), sentence)


def _pieces(sentence: str) -> list[_Piece]:
    joints = [joint for joint in _JOINT.finditer(sentence) if joint.start() or not joint["word"]]
    begins = [0, *map(_after, joints)]
    ends = [*(joint.start() for joint in joints), len(sentence)]
    names = [frozenset[str](), *(frozenset(k for k, v in joint.groupdict().items() if v) for joint in joints)]
    return [
        _Piece(
            begin,
            end,
            len(_WORD.findall(sentence[begin:end])),
            bool(_NUMBER.search(sentence[begin:end])),
            begin > 0 and is_relative(sentence[begin:end]),
            joint,
        )
        for begin, end, joint in zip(begins, ends, names, strict=True)
    ]


def _sections(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """Yield what stands between semicolons or dashes: nothing in one is a part of what is said in another."""
    section: list[_Piece] = []
    for piece in pieces:
        if section and not piece.joint.isdisjoint({"semicolon", "dash"}):
            yield section
            section = []
        section.append(piece)
    yield section


def _parts(section: list[_Piece], begin: int) -> list[Clause]:
    """Return the parts of a section that begins here; none where it says nothing by itself."""
    found: list[Clause] = []
    items = _items(section)
    started = False
    title: int | None = None
    for place, piece in enumerate(section):
        if "colon" in piece.joint and place:
            title = len(found) - 1 if found else 0
            if found and piece.short:
                # "I like three things: tea, tofu and cake": the first is said of the things
                found[-1] = replace(found[-1], end=piece.end)
                continue
        elif piece.short and not (found and items[place]) and title is None:
            if found:
                found[-1] = replace(found[-1], end=piece.end)
            continue
        head = len(found)
        if found and title is not None:
            head = found[title].head
        elif found and (piece.short or piece.relative or _goes_on(section, place)):
            head = found[-1].head
        found.append(Clause("", piece.begin if started else begin, piece.end, head))
        started = True
    return found


def _goes_on(section: list[_Piece], place: int) -> bool:
    """Return whether a piece goes on with what a relative clause stood in: "my boss, who is ill, lent me a ladder"."""
    return section[place - 1].relative and "word" not in section[place].joint


def _after(joint: re.Match[str]) -> int:
    """Return where the part behind a joint begins: at the conjunction, where that says how it is meant."""
    word = joint["word"]
    return joint.end() if word is None or word.casefold() in _ADDING else joint.start("word")


def _items(section: list[_Piece]) -> list[bool]:
    """Return for each part whether it is an item of a list, or says something between others."""
    items = [False] * len(section)
    for place in range(len(section) - 1, 0, -1):
        piece, before = section[place], section[place - 1]
        # a conjunction ends a list: in "coffee and cake, An" the last is no item
        beside = place < len(section) - 1 or (place > 1 and before.short and "word" not in before.joint)
        items[place] = "word" in piece.joint or (piece.short and (piece.numbered or beside))
    return items
