"""What may be believed of a label: the user's own words first, a model's sentence only where words bear it out.

No language is understood here. Code sees which words, numbers and names stand where; what they mean is the model's to
say. Data about a language may only lower what is believed, never raise it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from memory.hallucination import Told
from memory.language import denial_of
from memory.wording import Vocabulary, content_words, linking_words, missing, word_spans

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


_POINTS = " \t,;:.!?…、，；：。！？"
"""What ends the part before, where a clause is divided."""


def divided(words: str, sentences: Sequence[str]) -> list[str]:
    """Return a clause in as many parts as sentences were made of it, each part the user's own words for one of them.

    A part begins behind the last word that tells the sentence before it from the others, so that no word is left out
    and none is in two parts.

    Args:
        words: The clause.
        sentences: What a model made of it.

    Returns:
        The parts, in the order of the sentences; the whole clause for each where they cannot be told apart.

    >>> divided("Vivo en Granada y toco la gaita", ["Toca la gaita.", "Vive en Granada."])
    ['y toco la gaita', 'Vivo en Granada']
    >>> divided("I like tea but never coffee", ["User likes tea.", "User likes coffee."])
    ['I like tea', 'but never coffee']
    """
    own = [Vocabulary(missing(one, [other for other in sentences if other is not one])) for one in sentences]
    spans = list(word_spans(words))
    told = [[at for at, (begin, end) in enumerate(spans) if words[begin:end] in mine] for mine in own]
    order = sorted(range(len(sentences)), key=lambda place: told[place][:1])
    firsts = [told[place][0] for place in order if told[place]]
    if len(firsts) < len(sentences) or len(set(firsts)) < len(firsts):
        return [words] * len(sentences)
    begins = [0]
    for before, place in pairwise(order):
        last = max(at for at in told[before] if at < told[place][0])
        begins.append(spans[last][1])
    parts = dict(
        zip(order, (words[a:b].lstrip(_POINTS).strip() for a, b in pairwise([*begins, len(words)])), strict=True)
    )
    return [parts[place] for place in range(len(sentences))]


def before_question(words: str, sentence: str) -> str:
    """Return the beginning of a clause that asks, as far as sentences were made of it; empty where none were.

    >>> before_question("I start at three and which bread can I bake?", "User starts at three.")
    'I start at three'
    >>> before_question("Should I move to Berlin?", "User moves to Berlin.")
    ''
    """
    said = Vocabulary(content_words(without_user(sentence)))
    spans = list(word_spans(words))
    told = [
        place
        for place, (begin, end) in enumerate(spans)
        if content_words(words[begin:end]) and words[begin:end] in said
    ]
    if len(told) < _MIN_TOLD or len(spans) - told[-1] - 1 < _MIN_ASKED:
        return ""
    head = words[: spans[told[-1]][1]]
    # what else it says would be the question: "should I", "debería"
    return head if is_borne_out(sentence, [head]) and not missing(head, [sentence]) else ""


_MIN_TOLD = 2
_MIN_ASKED = 3
"""Words of a clause that a sentence was made of, and words behind them that ask, at least."""


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


_USER = re.compile(
    r"\b(?:(?:the|el|la|del|al|der|die|das|dem|den|des)\s+)?(?:user|usuari[oa]|(?:be)?nutzer(?:s|in)?|người\s+dùng)\b|用户|用戶|使用者|ユーザー|利用者",
    re.IGNORECASE,
)
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
