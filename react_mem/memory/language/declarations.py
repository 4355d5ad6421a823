"""Detection of statements about the writer or the writer's own.

Without a model only such a sentence becomes a fact: every other one is still found as a message, whereas a false fact
is quoted back forever. In a language with a keyless model it has the first person; in others, and where a subject is
mostly left out, structure decides.
"""

from __future__ import annotations

import re
import unicodedata

from react_mem.memory.language import (
    LANGUAGES,
    UNSPACED,
    Language,
    language_of,
    languages_of,
    other_language,
    pattern_of,
)
from react_mem.memory.language.folding import has_words

_MAX_CHARS = 400  # a longer sentence is prose, not chat: it is kept as it is
QUOTED = pattern_of(r"(?<!\w)'[^']+'(?!\w)|\"[^\"]+\"|“[^“”]+”|‘[^‘’]+’|«[^«»]+»|「[^「」]+」|『[^『』]+』")
# without the letters of scripts that put no space before and behind it
_PART = rf"[^\s@{UNSPACED}\u3000-\u303f\uff00-\uffef]"
_ADDRESS = pattern_of(
    rf"(?:[a-z][a-z\d+.-]*://|www\.){_PART}+(?:@{_PART}+)?|{_PART}+@{_PART}+\.[^\W\d_{UNSPACED}]+", re.IGNORECASE
)
_VALUE = " 0 "
_END = pattern_of(r"\W+$")
_CLAUSE_END = pattern_of(r"[,;:]\s|[，；：、](?=.)")
_WORD = pattern_of(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\W_])+")
_CLITIC = pattern_of(r"(?:n['’]t|['’]\w+)\b", re.IGNORECASE)

_LETTER = pattern_of(r"[^\W\d_]")

_MIN_WORDS = 3
_MIN_LETTERS = 6  # least words, or letters of a script without spaces, of a statement in a language without a file
_FUNCTION_WORDS = {one.code: one.stop | one.pleasantries | one.hollow for one in LANGUAGES}
_SPACED_FUNCTION_WORDS = frozenset().union(*(_FUNCTION_WORDS[one.code] for one in LANGUAGES if not one.unspaced))


def declares(sentence: str) -> bool:
    """Return true if a sentence plainly states something of the user or theirs.

    It says more than function words, and has the first person as its subject or its owner.

    >>> declares("My alarm code is 7731."), declares("good point"), declares("You're wrong."), declares("My name is")
    (True, False, False, False)
    """
    if len(sentence) > _MAX_CHARS:
        return has_words(sentence)
    if sentence.rstrip().endswith((":", "：")):
        # the last clause only introduces the text behind it
        ends = [found.start() for found in _CLAUSE_END.finditer(sentence)]
        if not ends or not declares(sentence[: ends[-1]].strip()):
            return False
    # what is quoted, and an address, tells by its words nothing of the sentence, and stands in it as a number does
    text = _ADDRESS.sub(_VALUE, unicodedata.normalize("NFC", sentence))
    bare = _END.sub("", QUOTED.sub(_VALUE, text).strip())
    if not _LETTER.search(bare):
        return False
    language = language_of(bare)
    known = language.writes.search(bare) and any(_is_known(one, bare) for one in languages_of(bare))
    if not known or language.subjectless or other_language(bare):
        return has_structure(text)
    told = [word for word in _WORD.findall(_CLITIC.sub(" ", text)) if word.casefold() not in _SPACED_FUNCTION_WORDS]
    if not told or (language.unfinished.search(bare) and not ends_in_name(bare)):
        return False
    return any(one.first_person.search(bare) and one.tells_own.search(bare) for one in languages_of(bare))


def ends_in_name(text: str) -> bool:
    """Return true if the last word is written as a name, though it may look like a word of grammar.

    >>> ends_in_name("I live in Hội An"), ends_in_name("my blood type is A"), ends_in_name("It is an")
    (True, True, False)
    """
    *before, last = text.split() or [""]
    own = any(one.first_person.match(last) for one in languages_of(last))
    return bool(before) and last[:1].isupper() and not own and not text.isupper()


def has_structure(text: str) -> bool:
    """Return true if a text has enough words for a statement, in any language."""
    words = _WORD.findall(text)
    unspaced = re.findall(f"[{UNSPACED}]", text)
    return len(words) >= _MIN_WORDS or len(unspaced) >= _MIN_LETTERS


def _is_known(language: Language, text: str) -> bool:
    """Return true if a text has a word of a language: the script alone does not tell it."""
    known = _FUNCTION_WORDS[language.code] | language.small_words
    found = (word.casefold() for word in _WORD.findall(_CLITIC.sub(" ", text)))
    # "a" and "à" are words of half of Europe
    return language.unspaced or any(
        one in known and (len(one) > 1 or language.first_person.match(one)) for one in found
    )
