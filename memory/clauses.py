"""The clauses of a sentence: what of it can be read, and kept, apart from the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

COORDINATORS = (
    "and|but|or|because|so|though|although|while|nhưng|mà|và|vì|nên|còn|chứ|hoặc|hay"  # English and Vietnamese
)
_ADDING = frozenset({"and", "và"})
"""They say nothing of what they join, and are left out of the clause; "because" and "but" are not."""

_JOINT = re.compile(rf"(?:[,;:–—]\s|[，；：、]|(?P<word>\b(?:{COORDINATORS})\b))+", re.IGNORECASE)
# Chinese and Japanese put no space between words: each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")

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


def clauses(sentence: str) -> list[Clause]:
    """Split a sentence at its commas and conjunctions, as far as the parts say something.

    An item of a list is a part; a short part that is none, such as a place or a form of address, stays with its
    neighbour.

    Args:
        sentence: One sentence, in any script.

    >>> [part.text for part in clauses("I like tofu and never touch shellfish, really.")]
    ['I like tofu', 'never touch shellfish, really.']
    >>> [part.text for part in clauses("I like tea, coffee and cake, An")]
    ['I like tea', 'coffee', 'cake, An']
    """
    joints = [joint for joint in _JOINT.finditer(sentence) if joint.start() or not joint["word"]]
    begins = [0, *map(_after, joints)]
    ends = [*(joint.start() for joint in joints), len(sentence)]
    short = [len(_WORD.findall(sentence[begin:end])) < _MIN_WORDS for begin, end in zip(begins, ends, strict=True)]
    listed = _listed(joints, short)
    found: list[Clause] = []
    lead: int | None = None
    for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        item = bool(found) and listed[place]
        if short[place] and not item:
            if found:
                found[-1] = replace(found[-1], end=end)
            elif lead is None:
                lead = begin
            continue
        head = found[-1].head if short[place] and found else len(found)
        found.append(Clause("", begin if lead is None else lead, end, head))
        lead = None
    if not 0 < len(found) <= _MAX_CLAUSES:
        return [Clause(sentence.strip(), 0, len(sentence), 0)]
    return [replace(clause, text=sentence[clause.begin : clause.end].strip()) for clause in found]


def uncovered(sentence: str, is_covered: Callable[[str], bool]) -> list[str]:
    """Return what of a sentence is not covered, word for word: all of it, or the parts, each with what it depends on.

    >>> uncovered("I like tofu and never touch shellfish", lambda part: "tofu" in part)
    ['never touch shellfish']
    >>> uncovered("I like tea, coffee and cake", lambda part: "cake" not in part)
    ['I like tea, coffee and cake']
    >>> uncovered("I like tofu and never touch shellfish", lambda part: False)
    ['I like tofu and never touch shellfish']
    """
    parts = clauses(sentence)
    open_ = [place for place, part in enumerate(parts) if not is_covered(part.text)]
    if len(open_) == len(parts):
        return [sentence]
    runs: list[tuple[int, int]] = []
    for place in open_:
        head = parts[place].head
        if runs and head <= runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((head, place))
    return [sentence[parts[first].begin : parts[last].end].strip() for first, last in runs]


def _after(joint: re.Match[str]) -> int:
    """Return where the part behind a joint begins: at the conjunction, where that says how it is meant."""
    word = joint["word"]
    return joint.end() if word is None or word.casefold() in _ADDING else joint.start("word")


def _listed(joints: list[re.Match[str]], short: list[bool]) -> list[bool]:
    """Return for each part whether it is an item of a list, which a conjunction ends."""
    listed = [False] * (len(short) + 1)
    for place in range(len(short) - 1, 0, -1):
        listed[place] = bool(joints[place - 1]["word"]) or (short[place] and listed[place + 1])
    return listed
