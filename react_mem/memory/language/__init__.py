"""Language data: one YAML file per language, loaded when the package is imported.

A language without a file is handled by structure alone: punctuation, script, code fences, length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

import yaml

from react_mem._lazy import door
from react_mem.memory.language.folding import unmarked

if TYPE_CHECKING:
    from react_mem.memory.language.folding import MAX_INDEXED_CHARS as MAX_INDEXED_CHARS
    from react_mem.memory.language.folding import edges as edges
    from react_mem.memory.language.folding import fold as fold
    from react_mem.memory.language.folding import normalise as normalise
    from react_mem.memory.language.own_words import named_in as named_in
    from react_mem.memory.language.own_words import own_words_in as own_words_in
    from react_mem.memory.language.standing import standing_in as standing_in
    from react_mem.memory.language.statements import asks_for_overview as asks_for_overview
    from react_mem.memory.language.statements import cue as cue
    from react_mem.memory.language.statements import forget_all as forget_all
    from react_mem.memory.language.statements import forget_last as forget_last
    from react_mem.memory.language.statements import is_pleasantry as is_pleasantry
    from react_mem.memory.language.statements import is_question as is_question
    from react_mem.memory.language.statements import is_request as is_request
    from react_mem.memory.language.statements import listed as listed
    from react_mem.memory.language.statements import sentences as sentences
    from react_mem.memory.language.statements import speaks_of_self as speaks_of_self
    from react_mem.memory.language.statements import statements_in as statements_in
    from react_mem.memory.language.statements import to_forget as to_forget
    from react_mem.memory.language.terms import content_terms as content_terms
    from react_mem.memory.language.terms import index_terms as index_terms
    from react_mem.memory.language.terms import index_words as index_words
else:
    __getattr__, __dir__, __all__ = door(__name__)


class _LatePattern:
    """A regular expression that is compiled when it is first used: of hundreds a process mostly uses a few."""

    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(*self._given)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found


def pattern_of(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern of a regular expression, compiled when it is first used."""
    return cast("re.Pattern[str]", _LatePattern(source, flags))


_FILE = pattern_of(r"[a-z]{2}\.yaml")

DEFAULT = "en"  # the language of answers to a text in an unknown language
UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
"""The letters of scripts without spaces between words, as a class of a regular expression."""

_UNSPACED = pattern_of(f"[{UNSPACED}]")
_WORD = pattern_of(rf"(?:(?![{UNSPACED}])\w)+")


class Language:
    """Data of one language's file; each pattern belongs to the key of its name.

    A file without `wording` is no language to answer in: it has patterns for some of the keys only.
    """

    def __init__(self, code: str, data: Mapping[str, Any]) -> None:
        self.code = code
        self._data = data
        self._typed_plain = str(data.get("typed_plain") or "").split()
        # names of the language, in itself and others, in lower case
        self.called = frozenset[str](data.get("called") or ())
        self.unspaced = bool(data.get("unspaced"))
        # the other patterns run on texts with a letter of its script alone; `letters` tell it from others of the script
        self.writes = pattern_of(data.get("writes") or "(?!)")
        self.letters = pattern_of(data["letters"], re.IGNORECASE) if data.get("letters") else None
        self.words = self._any_word("words")
        self.small_words = self._listed("words")
        self.first_person = self._any_word("first_person")
        # a subject is left out as a rule
        self.subjectless = bool(data.get("subjectless"))
        # words without information about anybody, such as "know"
        self.hollow = self._listed("hollow")
        # questions without a question mark, and statements that look like them
        self.asks, self.unasked = self._one_of("asks"), self._one_of("unasked")
        # the end of an unfinished sentence: "My name is"
        self.unfinished = self._one_of("unfinished")
        # forms of statements about oneself
        self.tells_own = self._one_of("tells_own")
        self.denies = self._one_of("denies")
        # words without lasting content in any combination, and whole sentences without
        self.pleasantries = self._listed("pleasantries")
        self.chatter = self._one_of("chatter")
        # beginnings of an order to the assistant
        self.requests = self._one_of("requests")
        self.keeps = self._one_of("keeps")
        # in each the group `what` holds the object
        self.forgets = tuple(pattern_of(source, re.IGNORECASE | re.VERBOSE) for source in self._sources("forgets"))
        self.forgetting, self.forgets_last = self._one_of("forgetting"), self._one_of("forgets_last")
        self.forgets_all, self.totality = self._one_of("forgets_all"), self._one_of("totality")
        self.overview, self.small_talk = self._one_of("overview"), self._one_of("small_talk")
        self.asks_time = self._one_of("asks_time")
        # for 0, 1, 2 and so on, each in its forms; `_` in a word is a space
        counted = str(data.get("number_words") or "").split()
        self.number_words = tuple(tuple(one.replace("_", " ").split("/")) for one in counted)
        # a ? marks words of questions only, a * those of searches only
        stop = self._listed("stop")
        self.stop = frozenset(word.rstrip("?") for word in stop if not word.endswith("*"))
        self.unsearched = frozenset(word.rstrip("*") for word in stop if not word.endswith("?"))
        # endings in which forms of one word differ, in the order of trial
        self.endings = tuple(str(data.get("endings") or "").split())
        # words that answer each other's questions, by the first of them
        self.same = {word: words[0] for words in map(str.split, data.get("same") or ()) for word in words}
        self.times: dict[str, Any] = data.get("times") or {}
        self.web: dict[str, Any] = data.get("web") or {}
        self.fields: dict[str, Any] = data.get("fields") or {}
        self.cues: dict[str, list[str]] = data.get("cues") or {}
        self.customer: dict[str, str] = data.get("customer") or {}
        self.wording: dict[str, str] = data.get("wording") or {}

    def asks_without_mark(self, sentence: str) -> bool:
        """Return true if the words of a sentence make a question of it."""
        return bool(self.asks.search(sentence)) and not self.unasked.search(sentence)

    def _listed(self, name: str) -> frozenset[str]:
        return frozenset(str(self._data.get(name) or "").split())

    def _any_word(self, name: str) -> re.Pattern[str]:
        words = sorted(self._listed(name), key=len, reverse=True)
        return pattern_of(either(map(re.escape, words), unspaced=self.unspaced), re.IGNORECASE)

    def _one_of(self, name: str) -> re.Pattern[str]:
        """Return the patterns under a name as one, which is faster: it runs on every sentence."""
        sources = "|".join(f"(?:{source})" for source in self._sources(name)) or "(?!)"
        return pattern_of(sources, re.IGNORECASE | re.VERBOSE)

    def _sources(self, name: str) -> list[str]:
        found = list(self._data.get(name) or ())
        # without diacritics words of other languages look alike: only beside one that is of no other
        own = rf"^(?=[\x00-\x7f]*$)(?=.*\b(?:{'|'.join(self._typed_plain)})\b).*?"
        return [*found, *(f"{own}(?:{unmarked(source)})" for source in found if self._typed_plain)]


def languages_of(text: str) -> Iterator[Language]:
    """Yield the languages written in the script of a text."""
    return (language for language in LANGUAGES if language.writes.search(text))


def language_of(text: str) -> Language:
    """Return the language to answer a text in: by its script, then its small words, then its letters.

    >>> [language_of(text).code for text in ("Tôi sống ở đâu?", "我住在哪里", "どこに住んでるの", "¿Dónde vivo?")]
    ['vi', 'zh', 'ja', 'en']
    """
    folded = unicodedata.normalize("NFC", text)
    unspaced = len(_UNSPACED.findall(folded))
    spaced = sum(character.isalpha() for character in folded) - unspaced
    # a name in Latin letters within Chinese is longer than the words around it
    if 2 * unspaced > spaced:
        candidates = [one for one in LANGUAGES if one.unspaced and one.writes.search(folded)]
        told = (one for one in candidates if one.letters and one.letters.search(folded))
        return next(told, next((one for one in candidates if not one.letters), _DEFAULT))
    candidates = [one for one in LANGUAGES if not one.unspaced]
    counts = [len(language.words.findall(folded)) for language in candidates]
    best = [one for one, count in zip(candidates, counts, strict=True) if count == max(counts)]
    if len(best) == 1:
        return best[0]
    parts = folded.split()
    for one in best:
        looks = sum(bool(one.letters.search(part)) for part in parts) if one.letters else 0
        if looks and 3 * looks >= len(parts):
            return one
    return _DEFAULT


_KNOWN_SHARE = 0.25  # the least share of small words in a text that is written in a language


def denial_of(text: str) -> bool | None:
    """Return true if a text denies something; None for a text in a language without a file.

    >>> denial_of("I don't eat meat"), denial_of("I eat fish"), denial_of("Nunca bebo vino tinto por la noche")
    (True, False, None)
    """
    folded = unicodedata.normalize("NFC", text).casefold()
    if any(language.denies.search(folded) for language in languages_of(folded)):
        return True
    return False if known_language(folded) else None


def known_language(text: str) -> Language | None:
    """Return the language of a text where its script or enough of its small words tell; None elsewhere.

    >>> known_language("I live in Hue").code, known_language("Vivo en Hue con mi familia")
    ('en', None)
    """
    folded = unicodedata.normalize("NFC", text).casefold()
    language = language_of(folded)
    if _outnumbered(folded, language):
        return None
    words = _SPACED_WORD.findall(folded)
    known = language.small_words | language.stop | language.hollow
    told = language.unspaced or sum(word in known for word in words) >= _KNOWN_SHARE * len(words)
    return language if told else None


def other_language(text: str) -> str:
    """Return the code of the language of a text, of those with a file but without a keyless model; empty for none.

    >>> other_language("Ich wohne in Hue"), other_language("Vivo en Hue con mi hija"), other_language("I live in Hue")
    ('de', 'es', '')
    """
    folded = unicodedata.normalize("NFC", text).casefold()
    return _outnumbered(folded, language_of(folded))


def has_capital_nouns(text: str) -> bool:
    """Return true for a text in a language that writes every noun with a capital."""
    code = other_language(text)
    return bool(code and FILES[code].get("capital_nouns"))


def _outnumbered(folded: str, language: Language) -> str:
    """Return the code of the other language with more small words in a text than the given one; empty for none."""
    counts = {code: len(words.findall(folded)) for code, words in OTHERS.items()}
    best = max(counts, key=counts.__getitem__, default="")
    return best if best and counts[best] > len(language.words.findall(folded)) else ""


_SPACED_WORD = pattern_of(r"[^\W\d_]+")


def length(text: str) -> float:
    """Return the number of words in a text; two letters of a script without spaces count as one.

    >>> length("a small dog"), length("小狗"), length("我对花生过敏")
    (3.0, 1.0, 3.0)
    """
    return len(_WORD.findall(text)) + len(_UNSPACED.findall(text)) / 2


def either(sources: Iterable[str], *, unspaced: bool) -> str:
    """Return the source of a pattern for any of the sources, whole words where there are spaces."""
    found = "|".join(sources) or "(?!)"
    # between letters without spaces there is no end of a word
    return f"(?:{found})" if unspaced else rf"\b(?:{found})\b"


def _read_all() -> dict[str, dict[str, Any]]:
    found = resources.files("react_mem.memory.language").iterdir()
    files = sorted((file for file in found if _FILE.fullmatch(file.name)), key=lambda file: file.name)
    # where nothing else decides between two, it is the default
    files.sort(key=lambda file: file.name != f"{DEFAULT}.yaml")
    # the loader in C, where there is one, takes a tenth of the time
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {
        file.name.removesuffix(".yaml"): yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506
        for file in files
    }


FILES: Mapping[str, Mapping[str, Any]] = _read_all()
"""Contents of each file by the code of its language; some have only the parts that need no keyless model."""

EVERY = tuple(Language(code, data) for code, data in FILES.items())  # the languages with a file
LANGUAGES = tuple(one for one in EVERY if one.wording)  # the languages of the keyless model
_DEFAULT = LANGUAGES[0]

OTHERS = {one.code: one.words for one in EVERY if not one.wording and one.small_words}
"""The small words of the languages without a keyless model, by code."""


def words_under(name: str) -> frozenset[str]:
    """Return the words under a name in all files."""
    return frozenset(word for data in FILES.values() for word in str(data.get(name) or "").split())


def patterns_under(topic: str) -> list[dict[str, re.Pattern[str]]]:
    """Return the patterns of a topic by name, of each file that has it."""
    return [
        {
            name: pattern_of(either(sources, unspaced=bool(data.get("unspaced"))), re.IGNORECASE)
            for name, sources in data[topic].items()
        }
        for data in FILES.values()
        if topic in data
    ]
