"""Language data: one YAML file per language, loaded when the package is imported.

A language without a file is handled by structure alone: punctuation, script, code fences, length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import yaml

from react_mem._lazy import door
from react_mem.memory.language.folding import unmarked

if TYPE_CHECKING:
    from react_mem.memory.language.cues import settles as settles
    from react_mem.memory.language.folding import MAX_INDEXED_CHARS as MAX_INDEXED_CHARS
    from react_mem.memory.language.folding import edges as edges
    from react_mem.memory.language.folding import fold as fold
    from react_mem.memory.language.folding import normalise as normalise
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
    from react_mem.memory.language.statements import may_request as may_request
    from react_mem.memory.language.statements import sentences as sentences
    from react_mem.memory.language.statements import speaks_of_self as speaks_of_self
    from react_mem.memory.language.statements import statements_in as statements_in
    from react_mem.memory.language.statements import to_forget as to_forget
    from react_mem.memory.language.terms import SINGLE as SINGLE
    from react_mem.memory.language.terms import content_terms as content_terms
    from react_mem.memory.language.terms import index_terms as index_terms
    from react_mem.memory.language.terms import index_words as index_words
    from react_mem.memory.language.terms import words as words
else:
    __getattr__, __dir__, __all__ = door(__name__)

_FILE = re.compile(r"[a-z]{2}\.yaml")

DEFAULT = "en"
"""The language of answers to a text in an unknown language."""

UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
"""The letters of scripts without spaces between words, as a class of a regular expression."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(rf"(?:(?![{UNSPACED}])\w)+")


@dataclass(frozen=True)
class Language:
    """Data of one language's file; each pattern belongs to the key of its name.

    Args:
        called: Names of the language, in itself and others, in lower case.
        unspaced: True for a language without spaces between words.
        writes: Finds a letter of the language's script; the other patterns run on such texts alone.
        letters: Finds a letter that tells the language from the others of its script; None without such letters.
        words: Finds the small words that tell the language.
        asks: Finds a question without a question mark.
        unasked: Finds a statement that looks like a question.
        hollow: Words without information about anybody, such as "know".
        unfinished: Finds the end of an unfinished sentence: "My name is".
        tells_own: Finds the form of a statement with a word for oneself.
        tells: Finds the form of a statement about others that counts without a name, number or date.
        finite: Finds the form of a statement that counts with a name, number or date.
        denies: Finds a negation: "not", "never", "no longer".
        pleasantries: Words without lasting content, in any combination.
        chatter: Matches whole sentences without lasting content.
        requests: Matches the beginning of an order to the assistant.
        may_request: The same where a statement about the user may begin alike.
        forgets: Match a request to forget; the group `what` holds its object.
        totality: Finds the words by which a request to forget means all about its object.
        overview: Matches a request for everything in memory.
        small_talk: Finds questions about the assistant.
        sum_words: Words around a sum.
        number_words: The words for 0, 1, 2 and so on, each in its forms.
        stop: Stop words of questions.
        unsearched: Stop words of full-text search.
        endings: Endings in which forms of one word differ, in the order of trial.
        same: A word -> the first word of its group, which answer each other's questions.
        single: The first words of groups of which a person has one at a time.
        cues: Patterns of phrases by name, see `statements.phrases`.
        web: Patterns by their part in a question for the web.
        fields: Names of a profile's fields, folded.
        customer: Words for a customer and the customer's fields in a summary.
        wording: The phrases of the keyless model.
    """

    code: str
    called: frozenset[str]
    unspaced: bool
    writes: re.Pattern[str]
    letters: re.Pattern[str] | None
    words: re.Pattern[str]
    asks: re.Pattern[str]
    unasked: re.Pattern[str]
    first_person: re.Pattern[str]
    second_person: re.Pattern[str]
    small_words: frozenset[str]
    hollow: frozenset[str]
    unfinished: re.Pattern[str]
    tells_own: re.Pattern[str]
    tells: re.Pattern[str]
    finite: re.Pattern[str]
    denies: re.Pattern[str]
    pleasantries: frozenset[str]
    chatter: re.Pattern[str]
    requests: re.Pattern[str]
    may_request: re.Pattern[str]
    forgets: tuple[re.Pattern[str], ...]
    forgets_last: re.Pattern[str]
    totality: re.Pattern[str]
    forgets_all: re.Pattern[str]
    overview: re.Pattern[str]
    small_talk: re.Pattern[str]
    asks_time: re.Pattern[str]
    sum_words: tuple[str, ...]
    number_words: tuple[tuple[str, ...], ...]
    stop: frozenset[str]
    unsearched: frozenset[str]
    endings: tuple[str, ...]
    same: Mapping[str, str]
    single: frozenset[str]
    times: Mapping[str, Any]
    cues: Mapping[str, list[str]]
    web: Mapping[str, Any]
    fields: Mapping[str, Any]
    customer: Mapping[str, str]
    wording: Mapping[str, str]

    def asks_without_mark(self, sentence: str) -> bool:
        """Return true if the words of a sentence make a question of it."""
        return bool(self.asks.search(sentence)) and not self.unasked.search(sentence)


def languages_of(text: str) -> Iterator[Language]:
    """Yield the languages written in the script of a text."""
    return (language for language in LANGUAGES if language.writes.search(text))


def language_of(text: str) -> Language:
    """Return the language to answer a text in: by its script, then its small words, then its letters.

    >>> [language_of(text).code for text in ("Tôi sống ở đâu?", "我住在哪里", "どこに住んでるの", "¿Dónde vivo?")]
    ['vi', 'zh', 'ja', 'en']
    >>> language_of("My name is Lan and I live in Đà Nẵng.").code
    'en'
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


_KNOWN_SHARE = 0.25
"""The least share of small words in a text that is written in a language."""


def denial_of(text: str) -> bool | None:
    """Return true if a text denies something; None for a text in a language without a file.

    >>> denial_of("I don't eat meat"), denial_of("I eat fish"), denial_of("Nunca bebo vino tinto por la noche")
    (True, False, None)
    >>> denial_of("我不吃肉"), denial_of("Tôi không ăn thịt")
    (True, True)
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


def _outnumbered(folded: str, language: Language) -> str:
    """Return the code of the other language with more small words in a text than the given one; empty for none."""
    counts = {code: len(words.findall(folded)) for code, words in OTHERS.items()}
    best = max(counts, key=counts.__getitem__, default="")
    return best if best and counts[best] > len(language.words.findall(folded)) else ""


_SPACED_WORD = re.compile(r"[^\W\d_]+")


def length(text: str) -> float:
    """Return the number of words in a text; two letters of a script without spaces count as one.

    >>> length("a small dog"), length("小狗"), length("我对花生过敏")
    (3.0, 1.0, 3.0)
    """
    return len(_WORD.findall(text)) + len(_UNSPACED.findall(text)) / 2


def _read(file: Traversable) -> dict[str, Any]:
    # the loader in C, where there is one, takes a tenth of the time
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    read: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - a safe one
    return read


class _File:
    """The data of a language, read as words and patterns."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._typed_plain = str(data.get("typed_plain") or "").split()

    def patterns(self, name: str) -> list[re.Pattern[str]]:
        return [re.compile(source, re.IGNORECASE | re.VERBOSE) for source in self._sources(name)]

    def one_of(self, name: str) -> re.Pattern[str]:
        """Return the patterns under a name as one, which is faster: it runs on every sentence."""
        either = "|".join(f"(?:{source})" for source in self._sources(name)) or "(?!)"
        return re.compile(either, re.IGNORECASE | re.VERBOSE)

    def listed(self, name: str) -> frozenset[str]:
        return frozenset(str(self._data.get(name) or "").split())

    def any_word(self, name: str) -> re.Pattern[str]:
        """Return a pattern for the words under a name."""
        words = sorted(self.listed(name), key=len, reverse=True)
        # between letters without spaces there is no end of a word
        bound = "" if self._data.get("unspaced") else r"\b"
        return re.compile(f"{bound}(?:{'|'.join(map(re.escape, words)) or '(?!)'}){bound}", re.IGNORECASE)

    def groups(self, name: str) -> list[list[str]]:
        """Return the lines under a name, each as a list of words that count as one."""
        return [line.split() for line in self._data.get(name) or ()]

    def _sources(self, name: str) -> list[str]:
        found = list(self._data.get(name) or ())
        # without diacritics words of other languages look alike: only beside one that is of no other
        own = rf"^(?=[\x00-\x7f]*$)(?=.*\b(?:{'|'.join(self._typed_plain)})\b).*?"
        return [*found, *(f"{own}(?:{unmarked(source)})" for source in found if self._typed_plain)]


def _load(code: str, data: Mapping[str, Any]) -> Language:
    file = _File(data)
    single = file.groups("one_at_a_time")
    own: dict[str, Any] = {
        "code": code,
        "called": frozenset(data.get("called") or ()),
        "unspaced": bool(data.get("unspaced")),
        "writes": re.compile(data["writes"]),
        "letters": re.compile(data["letters"], re.IGNORECASE) if data.get("letters") else None,
        "words": file.any_word("words"),
        "first_person": file.any_word("first_person"),
        "second_person": file.any_word("second_person"),
        "small_words": file.listed("words"),
        "forgets": tuple(file.patterns("forgets")),
        "sum_words": tuple(data.get("sum_words") or ()),
        "number_words": tuple(number_words(data)),
        # a ? marks those of questions only, a * those of searches only
        "stop": frozenset(word.rstrip("?") for word in file.listed("stop") if not word.endswith("*")),
        "unsearched": frozenset(word.rstrip("*") for word in file.listed("stop") if not word.endswith("?")),
        "endings": tuple(str(data.get("endings") or "").split()),
        "same": {word: group[0] for group in (*file.groups("same"), *single) for word in group},
        "single": frozenset(group[0] for group in single),
    }
    as_listed = {"re.Pattern[str]": file.one_of, "frozenset[str]": file.listed}
    others: dict[str, Any] = {
        name: as_listed[field.type](name) if field.type in as_listed else data.get(name) or {}
        for name, field in Language.__dataclass_fields__.items()
        if name not in own
    }
    return Language(**own, **others)


def number_words(data: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the number words of a file for 0, 1, 2 and so on, each in its forms; `_` in a word is a space."""
    return (tuple(one.replace("_", " ").split("/")) for one in str(data.get("number_words") or "").split())


def either(sources: Iterable[str], *, unspaced: bool) -> str:
    """Return the source of a pattern for any of the sources, whole words where there are spaces."""
    found = "|".join(sources)
    # between letters without spaces there is no end of a word
    return f"(?:{found})" if unspaced else rf"\b(?:{found})\b"


def _read_all() -> dict[str, dict[str, Any]]:
    found = resources.files("react_mem.memory.language").iterdir()
    files = sorted((file for file in found if _FILE.fullmatch(file.name)), key=lambda file: file.name)
    # where nothing else decides between two, it is the default
    files.sort(key=lambda file: file.name != f"{DEFAULT}.yaml")
    return {file.name.removesuffix(".yaml"): _read(file) for file in files}


FILES: Mapping[str, Mapping[str, Any]] = _read_all()
"""Contents of each file by the code of its language; some have only the parts for `lowering` and `shared`."""

LANGUAGES = tuple(_load(code, data) for code, data in FILES.items() if "wording" in data)
"""The languages of the keyless model."""

_DEFAULT = LANGUAGES[0]

OTHERS = {
    code: _File(data).any_word("words") for code, data in FILES.items() if "wording" not in data and data.get("words")
}
"""The small words of the languages without a keyless model, by code."""

FORGETTING = tuple(_File(data).one_of("forgetting") for data in FILES.values())
"""Patterns of words that ask to forget, one of each language with a file."""


def words_under(name: str) -> frozenset[str]:
    """Return the words under a name in all files."""
    return frozenset(word for data in FILES.values() for word in str(data.get(name) or "").split())


def patterns_under(topic: str) -> list[dict[str, re.Pattern[str]]]:
    """Return the patterns of a topic by name, of each file that has it."""
    return [
        {
            name: re.compile(either(sources, unspaced=bool(data.get("unspaced"))), re.IGNORECASE)
            for name, sources in data[topic].items()
        }
        for data in FILES.values()
        if topic in data
    ]
