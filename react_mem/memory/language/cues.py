"""Cues of a whole message: a decision, a question about a whole conversation, a question about the past."""

from __future__ import annotations

import unicodedata

from react_mem.memory.language import patterns_under
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import cue, is_question, sentences

_DECISION_CHARS = 4_000
"""Characters read: a decision is a short message or the beginning of a long one."""

_MOST_CHARS = 600
"""A longer text brings its own context."""

_MAX_QUESTION = 2_000

_SETTLES, _WHOLE = patterns_under("settles"), patterns_under("whole")
_LENGTH, _OF_A_THING, _PAST = cue("no_past"), cue("past_of_a_thing"), cue("past")


def settles(text: str) -> bool:
    """Return true for a message that closes or decides something; quotations and questions decide nothing.

    >>> settles("OK, let's go with PostgreSQL."), settles("Chốt phương án hai nhé."), settles("Have we decided yet?")
    (True, True, False)
    """
    said = _own_words(text[:_DECISION_CHARS])
    return any(
        one["says"].search(sentence) and not one["open"].search(sentence)
        for sentence in sentences(said)
        if not is_question(sentence)
        for one in _SETTLES
    )


def asks_whole(text: str) -> bool:
    """Return true for a question about everything the user said, and not about one thing.

    It says so by itself, or asks for an order, a count, a list or a summary of the user's own.

    >>> asks_whole("In what order did I mention my jobs?"), asks_whole("In what order should I install these?")
    (True, False)
    >>> asks_whole("Tóm tắt những gì tôi đã kể"), asks_whole("我抱怨过房东多少次？"), asks_whole("Where do I live?")
    (True, True, False)
    """
    if len(text) > _MOST_CHARS:
        return False
    said = " ".join(_own_words(text).split())
    return any(
        one["itself"].search(said) or (one["asked"].search(said) and one["own"].search(one["favour"].sub(" ", said)))
        for one in _WHOLE
        if not one["other"].search(said)
    )


def asks_about_the_past(question: str) -> bool:
    """Return true for a question about a former state: "where did I live before?".

    >>> asks_about_the_past("Where did I live before?"), asks_about_the_past("Where do I live?")
    (True, False)
    >>> asks_about_the_past("How old am I?"), asks_about_the_past("What is my old address?")
    (False, True)
    >>> asks_about_the_past("Trước đây tôi sống ở đâu?"), asks_about_the_past("以前はどこに住んでいましたか")
    (True, True)
    """
    asked = _LENGTH.sub(" ", normalise(question[:_MAX_QUESTION]))
    return bool(_PAST.search(asked) or _OF_A_THING.search(asked))


def _own_words(text: str) -> str:
    return unicodedata.normalize("NFC", own_words_in(text)).replace("’", "'")
