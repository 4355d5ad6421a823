"""Entities of a fact: whom it is about, and the proper names in the user's own words.

A name is found by how it is written, in any language that writes names with capitals; in the others, whom a fact is
about is the only one. What is missed costs a link between facts; the facts themselves are all there.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Collection, Iterator

from react_mem.memory.language.comparison import content_words, names
from react_mem.memory.language.folding import fold
from react_mem.memory.language.names import name_key
from react_mem.memory.language.statements import cue_words
from react_mem.memory.language.text import MAX_INDEXED_CHARS, normalise
from react_mem.memory.model.records import Fact

_MAX_WORDS = 6
_MAX_CHARS = 60
"""Longer than this is a phrase and no name."""

_MAX_ABOUT = 240
"""Characters of whom a fact is about that are looked at."""

_WORD = re.compile(r"[^\W_](?:[\w'’&.-]*[^\W_])?")
_SENTENCE = re.compile(r"(?<=[.!?…:])\s+|\n")
_TITLE = re.compile(r"\b([A-Z](?:(?![aeiouy])[a-z]){1,2})\.(?=\s)")
"""Dr., Mr., St.: no sentence ends with a word that is too short to be one and has no vowel."""

_POSSESSIVE = re.compile(r"['’]s$")
_CONTRACTION = re.compile(r"[^\W_]['’][^\W_]*")
_WITHIN_NAMES = "of the de da del della di do dos du des van von der den la le el al bin ibn"
_WITHIN = frozenset(_WITHIN_NAMES.split())
"""Small words within a name: Bank of America, Leonardo da Vinci."""

_NOBODY = frozenset({"", "user", "assistant", "none", "unknown"})
_CALENDAR = frozenset(
    word.casefold()
    for word in (
        *calendar.month_name,
        *calendar.day_name,
        *calendar.month_abbr,
        *calendar.day_abbr,
        *cue_words("calendar").split(),
    )
    if word
)


def mentions(fact: Fact) -> list[str]:
    """Return the names that a fact uses, as they are written, each once.

    The user is not among them, nor is what only the words of an unread statement may name.

    Args:
        fact: A fact.

    >>> told = {"id": "f", "session_id": "s", "agent_id": "a"}
    >>> mentions(Fact(**told, about="Lan", text="She left Đà Nẵng for Bank of America."))
    ['Lan', 'Đà Nẵng', 'Bank of America']
    """
    if fact.verbatim:
        return []
    about = "" if normalise(fact.about) in _NOBODY else unicodedata.normalize("NFC", fact.about[:_MAX_ABOUT]).strip()
    known = {_POSSESSIVE.sub("", word) for word in _WORD.findall(about)}
    # names in any letters: so the model is told
    whole = [about] if len(about) <= _MAX_CHARS and len(about.split()) <= _MAX_WORDS and name_key(about) else []
    found = [
        *(list(_names(about, known)) or whole),
        *_names(fact.text[:MAX_INDEXED_CHARS], known, fact.reading[:MAX_INDEXED_CHARS]),
    ]
    return list({name_key(name): name for name in reversed(found)}.values())[::-1]


def _names(text: str, known: Collection[str], reading: str = "") -> Iterator[str]:
    """Yield the names in a text.

    Args:
        text: The text.
        known: Words that are names wherever they stand.
        reading: The same in a model's words; empty where there are none.
    """
    spelt = _without_addresses(unicodedata.normalize("NFC", text))
    written = {*known, *names(spelt), *names(unicodedata.normalize("NFC", reading))}
    for sentence in _SENTENCE.split(_TITLE.sub(r"\1", spelt)):
        words = _WORD.findall(sentence)
        if len(words) > 1 and sentence == sentence.upper() and not set(words) <= set(known):
            # in shouting capitals mark nothing
            continue
        for run, starts in _runs(sentence):
            sure = not starts or run[0] in written or run[0][1:] != run[0][1:].lower()
            # the first word of a sentence has a capital whatever it is
            if not sure and (len(run) == 1 or reading or not content_words(run[0])):
                run = run[1:]
            if name := _name(run, known, reading):
                yield name


def _without_addresses(text: str) -> str:
    return re.sub(r"\S+", lambda found: "," if "@" in found[0] or "://" in found[0] else found[0], text)


def _runs(sentence: str) -> Iterator[tuple[list[str], bool]]:
    """Yield words with a capital that follow each other, and whether they are the first of their sentence."""
    run: list[str] = []
    starts, end = True, 0
    for place, found in enumerate(_WORD.finditer(sentence)):
        word = _POSSESSIVE.sub("", found[0])
        apart = bool(sentence[end : found.start()].strip())
        if run and (apart or not (_is_capital(word) or word in _WITHIN or word.isdigit())):
            yield run, starts
            run = []
        if run or _is_capital(word):
            starts = starts if run else place == 0
            run = [*run, word]
        if run and word != found[0]:
            # "Lan's Rex" names two
            yield run, starts
            run = []
        end = found.end()
    if run:
        yield run, starts


def _name(run: list[str], known: Collection[str], reading: str) -> str:
    """Return words that follow each other as one name; empty where they are none."""
    if reading and fold(" ".join(run)) not in fold(reading):
        # "in Hue 3 years"
        run = [word for word in run if not word.isdigit()]
    while run and run[-1] in _WITHIN:
        run = run[:-1]
    while run and run[0] in _WITHIN:
        run = run[1:]
    name = " ".join(run)
    if not run or len(run) > _MAX_WORDS or len(name) > _MAX_CHARS or len(fold(name)) < 2:
        return ""
    first = run[0].casefold()
    return "" if first in _NOBODY or (first in _CALENDAR and run[0] not in known) else name


def _is_capital(word: str) -> bool:
    if _CONTRACTION.fullmatch(word) and word[2:] == word[2:].lower():
        # "I'm", but not "O'Brien"
        return False
    if len(word) == 1 and not content_words(word):
        return False
    return word[:1] != word[:1].lower() or (word[1:] != word[1:].lower() and word[:1].isalpha())
