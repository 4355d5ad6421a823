"""Finds the part of the user's words that a sentence was made of, where they say several things or ask something.

Every part is the user's own words, in their order; code sees which words stand where and understands none of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from react_mem.memory.language import UNSPACED, denial_of
from react_mem.memory.language.comparison import Vocabulary, content_words, may_link, missing, share, word_spans, words
from react_mem.memory.language.folding import fold
from react_mem.memory.language.shared import asks_from, joins
from react_mem.memory.write.extraction.evidence import is_borne_out, without_user

_POINTS = " \t,;:.!?…、，；：。！？"
"""Punctuation that ends the part before, where a clause is divided."""

_MARK = re.compile(r"[,;:.!?…](?=\s)|[、，；：。！？…]")

_MIN_TOLD = 2
_MIN_ASKED = 3
"""Words of a clause that a sentence was made of, and words behind them that ask, at least."""

_MOSTLY = 0.6
"""The share of the words before a question that sentences must have, where it is told from them by its own words."""

_SHORTENED = 3
"""Letters of a word that may stand for a longer one that begins so: "aug" for "August"."""

_RUN = 2
"""Letters of a script without spaces, side by side as in the sentence, that were drawn from it."""


def divided(text: str, sentences: Sequence[str]) -> list[str]:
    """Return a clause in as many parts as sentences were made of it, each part the user's own words for one of them.

    A part ends where a mark stands behind the last word that tells its sentence from the next, or behind words there
    that its sentence has too, or before a word that joins, so that no word is left out and none is in two parts.

    Args:
        text: The clause.
        sentences: What a model made of it.

    Returns:
        The parts, in the order of the sentences; the whole clause for each where they cannot be told apart.

    >>> divided("Vivo en Granada y toco la gaita", ["Toca la gaita.", "Vive en Granada."])
    ['y toco la gaita', 'Vivo en Granada']
    >>> divided("I like tea but never coffee", ["User likes tea.", "User likes coffee."])
    ['I like tea', 'but never coffee']
    >>> divided("I have two cats but Facu hates them", ["User has two cats.", "Facu hates cats."])
    ['I have two cats', 'but Facu hates them']
    """
    own = [Vocabulary(missing(one, [other for other in sentences if other is not one])) for one in sentences]
    spans = list(word_spans(text))
    told = [[at for at, (begin, end) in enumerate(spans) if text[begin:end] in mine] for mine in own]
    order = sorted(range(len(sentences)), key=lambda place: told[place][:1])
    firsts = [told[place][0] for place in order if told[place]]
    if len(firsts) < len(sentences) or len(set(firsts)) < len(firsts):
        return [text] * len(sentences)
    begins = [0]
    for before, place in pairwise(order):
        last = max(at for at in told[before] if at < told[place][0])
        begins.append(_end_of(text, spans[last : told[place][0] + 1], sentences[before]))
    parts = dict(
        zip(order, (text[a:b].lstrip(_POINTS).strip() for a, b in pairwise([*begins, len(text)])), strict=True)
    )
    return [parts[place] for place in range(len(sentences))]


def _end_of(text: str, spans: Sequence[tuple[int, int]], sentence: str) -> int:
    """Return where a part ends: behind the first of some words, and before the last of them."""
    (_, end), *between, (following, _) = spans
    if mark := _MARK.search(text, end, following):
        return mark.end()
    said = words(sentence)
    vocabulary = Vocabulary([sentence])
    for begin, behind in between:
        word = text[begin:behind]
        if _DENSE.match(word) or not (word in vocabulary or _is_short_for(word, said)):
            break
        end = behind
    # "tea and stuff and I never": the last of them begins what follows
    joints = [begin for begin, behind in between if begin > end and joins(text[begin:behind])]
    starts = [begin for begin, _ in between]
    for begin in reversed(joints):
        at = starts.index(begin)
        if not at or not joins(text[between[at - 1][0] : between[at - 1][1]]):
            return begin
    return end


_DENSE = re.compile(f"[{UNSPACED}]")


def _is_short_for(word: str, said: Sequence[str]) -> bool:
    folded = fold(word)
    return len(folded) >= _SHORTENED and any(fold(one).startswith(folded) for one in said)


def after_answer(text: str, others: Sequence[str]) -> tuple[str, str]:
    """Return the beginning of a clause that may answer a question by itself, and the rest, which says something else.

    Args:
        text: The clause.
        others: What a model made of the rest.

    Returns:
        What stands before a mark, or the first word where there is none; and what follows.

    >>> after_answer("Nope but we have an airfryer", ["airfryer"]), after_answer("not yet, airfryer", ["airfryer"])
    (('Nope', 'but we have an airfryer'), ('not yet,', 'airfryer'))
    """
    vocabulary = Vocabulary(map(without_user, others))
    spans = list(word_spans(text))
    first = next((at for at, (begin, end) in enumerate(spans) if text[begin:end] in vocabulary), 0)
    if not first:
        return "", text
    mark = _MARK.search(text, 0, spans[first][0])
    end = mark.end() if mark else spans[0][1]
    return text[:end].strip(), text[end:].strip()


def without_asking(text: str, sentence: str) -> str:
    """Return what a fact is said in without a question or a request that follows it without any mark.

    Args:
        text: The user's words.
        sentence: What a model made of them.

    >>> without_asking("I start at three every day which bread can I bake", "User starts at three every day.")
    'I start at three every day'
    >>> without_asking("I know what I want", "User knows what they want.")
    'I know what I want'
    """
    end = _told_until(text, sentence)
    begin = asks_from(text, end) if end else None
    if begin is None or len(list(word_spans(text[begin:]))) < _MIN_ASKED:
        return text
    head = text[:begin].rstrip(_POINTS)
    # what is denied behind it stays with it
    return text if denial_of(text[end:begin]) else head


def _told_until(text: str, sentence: str) -> int:
    """Return behind which place nothing of a text is in a sentence any more; 0 where nothing is."""
    told = without_user(sentence)
    vocabulary, said = Vocabulary([told]), words(told)
    joined = fold("".join(said))
    # "thu" is not a word to go by, but "thủ" is
    telling = {fold(word) for word in content_words(told) if may_link(word)}
    spans = list(word_spans(text))
    end = 0
    for at, (begin, behind) in enumerate(spans):
        word = text[begin:behind]
        if _DENSE.match(word):
            run = text[begin : spans[at + 1][1]] if at + 1 < len(spans) else ""
            if len(run) == _RUN and fold(run) in joined and not _KANA.fullmatch(run):
                end = spans[at + 1][1]
            elif end == begin and fold(text[spans[at - 1][0] : behind]) in joined:
                end = behind
        elif fold(word) in telling or (may_link(word.casefold()) and word in vocabulary) or _is_short_for(word, said):
            end = behind
    return end


_KANA = re.compile("[\u3041-\u309f]+")


def before_question(text: str, sentences: Sequence[str]) -> str:
    """Return the beginning of a clause that asks, as far as sentences were made of it; empty where none were.

    >>> before_question("I start at three and which bread can I bake?", ["User starts at three."])
    'I start at three'
    >>> before_question("Should I move to Berlin?", ["User moves to Berlin."])
    ''
    """
    sentence = " ".join(sentences)
    said = Vocabulary(content_words(without_user(sentence)))
    spans = list(word_spans(text))
    told = [
        place for place, (begin, end) in enumerate(spans) if content_words(text[begin:end]) and text[begin:end] in said
    ]
    if len(told) >= _MIN_TOLD and len(spans) - told[-1] - 1 >= _MIN_ASKED:
        head = text[: spans[told[-1]][1]]
        # what else it says would be the question: "should I", "debería"
        if is_borne_out(sentence, [head]) and not missing(head, [sentence]) and asks_from(head) is None:
            return head
    head = without_asking(text, sentence)
    if len(told) < _MIN_TOLD or head == text or not is_borne_out(sentence, [head]):
        return ""
    first = next((word for word in content_words(head) if may_link(word) or _DENSE.match(word)), "")
    # a question shows itself at its beginning
    return head if first in said and share(head, [sentence]) >= _MOSTLY and asks_from(head) is None else ""
