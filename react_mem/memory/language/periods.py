"""Detection of questions about the past, by the phrases of the languages' files."""

from __future__ import annotations

from react_mem.memory.language.cues import cue
from react_mem.memory.language.text import normalise

_MAX_QUESTION = 2_000
_LENGTH = cue("no_past")
_OF_A_THING = cue("past_of_a_thing")
_PAST = cue("past")


def asks_about_the_past(question: str) -> bool:
    """Return whether a question is about what was true before: "where did I live before?".

    >>> asks_about_the_past("Where did I live before?"), asks_about_the_past("Where do I live?")
    (True, False)
    >>> asks_about_the_past("How old am I?"), asks_about_the_past("What is my old address?")
    (False, True)
    >>> asks_about_the_past("Trước đây tôi sống ở đâu?"), asks_about_the_past("以前はどこに住んでいましたか")
    (True, True)
    """
    asked = _LENGTH.sub(" ", normalise(question[:_MAX_QUESTION]))
    return bool(_PAST.search(asked) or _OF_A_THING.search(asked))
