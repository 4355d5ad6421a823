"""Evidence for a label: the user's own words first, a model's sentence only where words bear it out.

No language is understood here. Code sees which words, numbers and names stand where; what they mean is the model's to
say. Data about a language may only lower what is believed, never raise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from react_mem.memory.language import denial_of
from react_mem.memory.language.comparison import content_words, linking_words, missing
from react_mem.memory.language.cues import cue
from react_mem.memory.language.hallucination import Told

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
    # a model's word for the user is no name
    told = without_user(sentence)
    if not told.strip() or Told(sources).invented(told):
        return False
    novel = missing(told, sources)
    wanted = len(set(content_words(told)))
    return len(novel) <= max(_MAX_NOVEL, _MAX_NOVEL_SHARE * wanted) and len(novel) < max(wanted, 1)


def denies_instead(words: str, known: str) -> bool:
    """Return whether a text has all the words of a known fact and denies what that states, or the other way round.

    Args:
        words: The user's words.
        known: How the fact is put.

    >>> denies_instead("I don't like tea", "I like tea"), denies_instead("I don't eat meat", "I'm vegetarian")
    (True, False)
    """
    return {denial_of(words), denial_of(known)} == {True, False} and not missing(known, [words])


def without_user(sentence: str) -> str:
    """Return a sentence without what a model calls the user by.

    >>> without_user("Người dùng thích trà"), without_user("用户喜欢茶")
    (' thích trà', '喜欢茶')
    """
    return _USER.sub("", sentence)


_USER = cue("the_user")
"""In the languages that a model is likely to answer in; in others its sentence is only an aid to find a fact by."""


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
