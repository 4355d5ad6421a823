"""The gate before memory for what a model proposes on its own: only what the user's own words bear out passes.

It compares words, names and numbers, and knows no language. What the assistant said, a tool returned or a page says
bears nothing out; a yes of the user's does, unless what was proposed may come from a tool or a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.origins import Origin
from memory.own_words import own_words
from memory.statements import asks_to_forget, forget_last, is_pleasantry, sentences
from memory.wording import content_words, missing, names, numbers, same_word, share, words

_MOSTLY = 0.5
"""Share of a wording's words from which a clause of the user's is what it words: the clause itself is then kept, so
that nothing is lost or added by the wording."""

_BRIEF = 4
"""Content words that an answer has at most which says nothing without its question."""

_READ = 20_000
"""Characters of a message that are read, its end: what is said about a long text stands before or behind it."""

_COMMA = re.compile(r"[,;:–—]\s+|\s-\s|[，；：、]")
_ASKS = re.compile(r"[?？][\"'”’»)\]」』）！!]*\s*$")


@dataclass(frozen=True)
class Support:
    """The words of the user's that bear something out.

    Args:
        origin: `user`, or `assent` where they only agreed to it.
        text: What may be stored: a clause of theirs, or the wording where only several words of theirs bear it out.
        quote: Their exact words.
        said: The place of their message among those that were looked at.
    """

    origin: Origin
    text: str
    quote: str
    said: int


def support(text: str, own: Sequence[str], assistant: Sequence[str], tainted: bool) -> Support | None:
    """Return what bears a wording out, the latest of it; None where the user did not say it.

    Args:
        text: What somebody, such as a model, says that the user stated.
        own: The user's messages, the latest last; what they only show in them is no word of theirs.
        assistant: What the assistant said just before the latest of them.
        tainted: Whether what a tool returned or a page says was shown beside them: then only the user's full words
            count, and no yes.

    >>> support("User lives in Hue", ["I moved to Hue, by the way."], [], False).text
    'I moved to Hue, by the way.'
    >>> support("User lives in Hue", ["Where is Hue?"], [], False) is None
    True
    >>> support("User lives in Hue", ["Yes, I do."], ["Do you live in Hue?"], False).origin.value
    'assent'
    """
    wanted = text.strip()
    if not content_words(wanted):
        return None
    said = [(place, clause) for place, message in enumerate(own) for clause in clauses_of(message)]
    if (found := _clause(wanted, said, tainted)) is not None:
        place, clause = found
        return Support(Origin.USER, clause, clause, place)
    return None if tainted or not own else _answer(wanted, own, assistant)


def clauses_of(message: str) -> list[str]:
    """Return what a message of the user's states in their own words, sentence by sentence; what asks states nothing.

    >>> clauses_of("I'm lactose intolerant, which latte should I take? My boss wrote:\\n> I hate flying.")
    ["I'm lactose intolerant", 'My boss wrote:']
    """
    stated = []
    for sentence in sentences(own_words(message[-_READ:])):
        if not _ASKS.search(sentence):
            stated.append(sentence)
            continue
        commas = list(_COMMA.finditer(sentence))
        if commas:
            stated.append(sentence[: commas[-1].start()].strip())
    return [clause for clause in stated if clause]


def asks_to_lose(text: str, message: str) -> bool:
    """Return whether a message of the user's can be what a model takes for the wish to forget something.

    Their own words ask to forget, in a language that has a file, and name some of it; or they state all of it.

    Args:
        text: What a model wants to forget on the user's behalf.
        message: The user's message.

    >>> asks_to_lose("I'm allergic to nuts", "Forget my nut allergy."), asks_to_lose("I live in Hue", "Sum up Hue.")
    (True, False)
    """
    clauses = clauses_of(message)
    requests = [sentence for sentence in sentences(own_words(message[-_READ:])) if asks_to_forget(sentence)]
    return any(map(forget_last, requests)) or share(text, requests) > 0 or share(text, clauses) == 1


def unfounded(texts: Iterable[str], shown: Sequence[str]) -> list[str]:
    """Return the names and numbers of some texts that nothing shown has.

    Args:
        texts: What a model wrote.
        shown: What was said or returned by tools.
    """
    told = {word for one in shown for word in words(one)}
    known = set().union(*map(numbers, shown)) if shown else set()
    written = list(texts)
    named = dict.fromkeys(name for text in written for name in sorted(names(text)))
    unknown = [name for name in named if not any(same_word(name, word) for word in told)]
    return [*unknown, *sorted({number for text in written for number in numbers(text)} - known)]


def _clause(text: str, said: Sequence[tuple[int, str]], tainted: bool) -> tuple[int, str] | None:
    """Return the clause that a wording words, the one with most of its words, the latest of several."""
    least = 1.0 if tainted else _MOSTLY
    best: tuple[float, int, str] | None = None
    for place, clause in said:
        have = share(text, [clause])
        if have >= least and (best is None or have >= best[0]) and _bears_specifics(text, [clause]):
            best = (have, place, clause)
    return (best[1], best[2]) if best else None


def _answer(text: str, own: Sequence[str], assistant: Sequence[str]) -> Support | None:
    """Return what bears a wording out as an answer: a yes to what the assistant asked, or the value it asked for."""
    reply = own_words(own[-1][-_READ:]).strip()
    asked = [sentence for told in assistant for sentence in sentences(told[-_READ:]) if _ASKS.search(sentence)]
    if not reply or not asked or _ASKS.search(reply) or missing(text, [reply, *asked]):
        return None
    if not _bears_specifics(text, [reply, *asked]):
        return None
    named = [word for word in content_words(text) if not missing(word, [reply])]
    of_their_own = [word for word in named if missing(word, asked)]
    if of_their_own and len(content_words(reply)) <= _BRIEF and _bears_specifics(text, [reply]):
        return Support(Origin.USER, text, reply, len(own) - 1)
    if is_pleasantry(reply) or not missing(reply, asked) or len(content_words(reply)) <= 1:
        return Support(Origin.ASSENT, text, reply, len(own) - 1)
    return None


def _bears_specifics(text: str, known: Sequence[str]) -> bool:
    """Return whether all names and numbers of a text are in some words."""
    return not unfounded([text], known)
