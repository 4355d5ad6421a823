"""Whether a question is about what was true before. English, Vietnamese."""

from __future__ import annotations

import re

from react_mem.memory.records import normalise

_MAX_QUESTION = 2_000
_MEASURE = re.compile(r"\bhow (?:much|long|far|soon|many \w+) (?:before|earlier)\b")
"""What asks for a length: "how long before breakfast", and not for what was true before."""

_FORMER = re.compile(
    r"(?:^|\b(?:my|our|your|his|her|their|the|this|that|these|those|an|any|some|all|no|what|which|whose|and|or|of|about"
    r"|from|in|at|to|with)\s|\w['’]s\s)old(?= (?!enough\b)\w)"
)
"""Said of a thing before its name, "my old job". Elsewhere the word is a measure: "how old", "a year old"."""

_ASKS_PAST = re.compile(
    r"\b(?:before|previous\w*|former\w*|used to|in the past|earlier|originally|history|last (?:job|home|address)"
    r"|did i|was i|were we|trước (?:đây|kia|khi|đó)|hồi (?:trước|xưa)|ngày xưa|từng|cũ)\b"
)


def asks_about_the_past(question: str) -> bool:
    """Return whether a question is about what was true before: "where did I live before?".

    >>> asks_about_the_past("Where did I live before?"), asks_about_the_past("Where do I live?")
    (True, False)
    >>> asks_about_the_past("How old am I?"), asks_about_the_past("What is my old address?")
    (False, True)
    >>> asks_about_the_past("Trước đây tôi sống ở đâu?")
    True
    """
    asked = _MEASURE.sub(" ", normalise(question[:_MAX_QUESTION]))
    return bool(_ASKS_PAST.search(asked) or _FORMER.search(asked))
