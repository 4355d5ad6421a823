"""What may be believed of a label: the user's own words first, a model's sentence only where words bear it out.

No language is understood here. Code sees which words, numbers and names stand where; what they mean is the model's to
say. Where a language has a file, a sentence that denies what its clause does not (or the other way round) is not taken:
data about a language may only lower what is believed, never raise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory.language import denial_of
from memory.wording import content_words, linking_words, missing, names, numbers

_MAX_NOVEL = 2
_MAX_NOVEL_SHARE = 0.34
"""Content words of a sentence that may be its own, such as "lives" for "I moved": two, or a third of them."""


def is_borne_out(sentence: str, sources: Sequence[str]) -> bool:
    """Return whether a sentence can have been drawn from texts: no new number, no new name, hardly a new word.

    Args:
        sentence: What a model made of them.
        sources: The texts.

    >>> said = ["I moved to Rome"]
    >>> is_borne_out("User lives in Rome.", said), is_borne_out("User lives in Milan.", said)
    (True, False)
    """
    if not sentence.strip() or not numbers(sentence) <= set[str]().union(*map(numbers, sources)):
        return False
    novel = missing(sentence, sources)
    if any(missing(name, sources) for name in names(sentence)):
        return False
    wanted = len(set(content_words(sentence)))
    return len(novel) <= max(_MAX_NOVEL, _MAX_NOVEL_SHARE * wanted) and len(novel) < max(wanted, 1)


def may_stand_for(sentence: str, words: str) -> bool:
    """Return whether a sentence may be kept in the place of the words that it was made of.

    Only in a language whose denials are known: in others a sentence that leaves out a "not" looks like any other.

    Args:
        sentence: What a model made of them.
        words: The user's words.
    """
    denied, stated = denial_of(words), denial_of(sentence)
    return denied is not None and stated is not None and denied == stated


def are_linked(words: str, target: Iterable[str]) -> bool:
    """Return whether a text names something that a known fact names."""
    known = set[str]().union(*map(linking_words, target))
    return bool(linking_words(words) & known)


def names_instead(words: str, target: Iterable[str], others: Sequence[Sequence[str]]) -> bool:
    """Return whether a text plainly speaks of another known fact than the one that it is said to change.

    Args:
        words: The user's words.
        target: How the fact is put that is to be changed.
        others: How each of the other facts is put that were shown.
    """
    said = linking_words(words)
    shared = len(said & set[str]().union(*map(linking_words, target)))
    return not shared and any(len(said & set[str]().union(*map(linking_words, one))) >= _PLAINLY for one in others)


_PLAINLY = 2
"""Words in common with another fact that are no accident."""
