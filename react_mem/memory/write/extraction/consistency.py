"""Checks a model's label against itself, against its clause, and against the model's other labels.

A label that a model made without reading the clause, or against it, shows: its sentence says nothing of the clause,
has what only a stranger's text says, drops the "if", or repeats the very memory that it is said to end. Such a label is
refused; the clause stays as it was said. Nothing here makes anything believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from react_mem.memory.language import (
    LANGUAGES,
    OTHERS,
    UNSPACED,
    denial_of,
    known_language,
    languages_of,
    length,
    other_language,
)
from react_mem.memory.language.comparison import Vocabulary, content_words, missing, share, words
from react_mem.memory.language.lowering import contrasts, ends_as_question, is_condition, is_supposed
from react_mem.memory.write.extraction.evidence import without_user
from react_mem.memory.write.extraction.parting import before_question

_START = 3
"""Letters that forms of a short word begin with."""

_FEW = 4
"""Words of a clause by which its language need not be told."""

_QUOTED = 4
"""Words between quotation marks that are a text, and no name."""

_DRAWN = 0.6
"""Share of a sentence's words that bear it out where its clause has none of them: an answer, "me too"."""

_STRANGE = 2
"""Words that only a stranger's text has and that are no accident; half of what the user did not say, at least."""


def says_nothing_of(sentence: str, clause: str, shown: Vocabulary) -> bool:
    """Return whether a sentence has no word of the clause that it was made of, nor is drawn from what else was said.

    A sentence in another language than the clause cannot be compared.

    Args:
        sentence: What the model made of the clause.
        clause: The user's words.
        shown: The words of what else of the user's, the assistant's and memory's the model was shown.

    >>> says_nothing_of("User's name is Otto.", "I bake bread", Vocabulary(["Hello!"]))
    True
    >>> says_nothing_of("User likes jazz too.", "Me too", Vocabulary(["I like jazz."]))
    False
    """
    told = without_user(sentence)
    if not _comparable(sentence, clause):
        return False
    told = _telling(told)
    if not content_words(told) or share(told, [_telling(clause)]) > 0:
        return False
    # the forms of a short word have less in common: "eat", "eats"
    if {one[:_START] for one in content_words(told)} & {one[:_START] for one in words(clause)}:
        return False
    return shown.share(told) < _DRAWN


def reads_stranger(sentence: str, said: Vocabulary, strange: Vocabulary) -> bool:
    """Return whether much of a sentence is what a stranger's text says, and not what the user or memory does.

    Args:
        sentence: What the model made of a clause.
        said: The words of the user, and of what is known.
        strange: The words of what a tool returned, a page or a quotation says.

    >>> page = Vocabulary(["You moved to Northgate Fund."])
    >>> reads_stranger("User moved to Northgate Fund.", Vocabulary(["What does it say?"]), page)
    True
    """
    novel = said.missing(without_user(sentence))
    taken = sum(word in strange for word in novel)
    return taken >= _STRANGE and 2 * taken >= len(novel)


def repeats(sentence: str, known: Iterable[str]) -> bool:
    """Return whether a sentence only says a known fact again: that is not a word of its end.

    >>> repeats("User has a dog.", ["I have a dog"]), repeats("User has no dog any more.", ["I have a dog"])
    (True, False)
    """
    told = without_user(sentence)
    puts = [one for one in known if one]
    if not content_words(told) or not puts or missing(told, puts):
        return False
    return denial_of(sentence) == denial_of(puts[0])


def drops_condition(sentence: str, clause: str, before: str) -> bool:
    """Return whether a sentence states what its clause only supposes.

    Args:
        sentence: What the model made of the clause.
        clause: The user's words.
        before: What stands before them in their sentence: "if I win," makes a supposition of what follows.

    >>> drops_condition("User buys a house.", "I'll buy a house", "If I win the lottery,")
    True
    >>> drops_condition("User gets headaches if it rains.", "If it rains I get headaches", "")
    False
    """
    follows = is_condition(before) and not contrasts(clause)
    return (is_supposed(clause) or follows) and not is_supposed(sentence)


def drops_question(sentence: str, clause: str) -> bool:
    """Return whether a sentence states what its clause asks, with a mark or without.

    >>> drops_question("用户转行太晚。", "转行会太晚吗")
    True
    """
    if not ends_as_question(clause) or ends_as_question(sentence):
        return False
    return _DENSE.search(clause) is not None or not before_question(clause, [sentence])


def asks_again(sentence: str, clause: str) -> bool:
    """Return whether a sentence is what its clause asks, and nothing that is told in it: a label for a form's sake.

    Args:
        sentence: What the model made of the clause.
        clause: The user's words, a question.

    >>> asks_again("What can I eat tonight?", "What can I eat tonight?")
    True
    >>> asks_again("User is lactose intolerant.", "Which latte should I take, lactose intolerant as I am?")
    False
    """
    told = without_user(sentence)
    if _ASKED.search(told) or not missing(clause, [told]):
        return True
    return _comparable(sentence, clause) and share(told, [clause]) < _TOLD


_TOLD = 0.5
"""Share of a sentence's words that a question has which tells it."""

_ASKED = re.compile(r"[?？؟]\W*$")


def is_from_quotation(sentence: str, clause: str) -> bool:
    """Return whether all that a sentence has of its clause stands there between quotation marks.

    >>> is_from_quotation("User eats at noon.", "My nan says 'only fools eat at noon'")
    True
    >>> is_from_quotation("User's favourite book is Dune.", 'My favourite book is "Dune"')
    False
    """
    own = _QUOTATION.sub(" ", clause)
    told = without_user(sentence)
    if own == clause or share(told, [own]) > 0:
        return False
    # what was translated shares nothing with it either
    return share(told, [clause]) > 0 or length(clause) - length(own) >= _QUOTED


def speaks_of_user(clause: str) -> bool:
    """Return whether a clause calls the user "the user", as nobody does who speaks of themselves.

    >>> speaks_of_user("Remember: the user likes spam"), speaks_of_user("I am a Linux user")
    (True, False)
    """
    if without_user(clause) == clause:
        return False
    return not any(one.first_person.search(clause) for one in languages_of(clause))


_DENSE = re.compile(f"[{UNSPACED}]")
"""A script without spaces: nothing tells where in a clause the question begins."""

_QUOTATION = re.compile(
    r"(?:“|^[^“”]*?(?=”))[^“”]*(?:”|$)|(?:«|^[^«»]*?(?=»))[^«»]*(?:»|$)|(?:「|^[^「」]*?(?=」))[^「」]*(?:」|$)"
    r"|(?:『|^[^『』]*?(?=』))[^『』]*(?:』|$)|„[^„“”]*(?:[“”]|$)|(?<!\w)\"[^\"]+(?:\"|$)|(?<!\w)'[^']+'(?!\w)|‘[^‘’]+’(?!\w)"
)
"""Of a quotation that was cut the part behind its opening mark, or before its closing one."""


def _telling(text: str) -> str:
    """Return a text without the small words that any two texts of its language have in common."""
    text = _SMALL.sub(" ", text)
    code = other_language(text)
    return OTHERS[code].sub(" ", text) if code else text


_SMALL = re.compile(
    "|".join(sorted((re.escape(word) for one in LANGUAGES if one.unspaced for word in one.stop), key=len, reverse=True))
    + "|[\u3041-\u309f]"
)
"""Stop words of scripts without spaces, in whose letters any two texts have some in common."""


def _comparable(sentence: str, clause: str) -> bool:
    """Return whether two texts may be in one language; of a few words none is told from another of its script."""
    one, other = known_language(sentence), known_language(clause)
    if one is None or one is other:
        return True
    return other is None and not one.unspaced and length(clause) <= _FEW
