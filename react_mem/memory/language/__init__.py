"""Language data: one YAML file a language, read when the package is imported.

A language without a file is handled by structure alone: punctuation, script, code fences, length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import yaml

from react_mem._lazy import door
from react_mem.memory.language.folding import unmarked

if TYPE_CHECKING:
    from react_mem.memory.language.folding import MAX_INDEXED_CHARS as MAX_INDEXED_CHARS
    from react_mem.memory.language.folding import fold as fold
    from react_mem.memory.language.folding import normalise as normalise
    from react_mem.memory.language.own_words import own_words_in as own_words_in
    from react_mem.memory.language.settling import settles as settles
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
"""The language of answers to a text that none of the files claims."""

UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
"""The letters of scripts that put no space between words, as a class of a regular expression."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(rf"(?:(?![{UNSPACED}])\w)+")


@dataclass(frozen=True)
class Language:
    """Data of one language's file.

    Args:
        code: The name of the file, such as `en`.
        called: What it is called, in itself and others, in lower case.
        unspaced: Whether it puts no space between words.
        writes: Finds a letter that the language is written in; its patterns are tried on such texts only.
        letters: Finds a letter that tells the language from the others of its script; None where there is none.
        words: Finds the small words that tell the language.
        asks: Find a question that has no question mark.
        unasked: Find what looks like a question and is a statement.
        first_person: Finds words for oneself.
        second_person: Finds words for who is spoken to.
        small_words: The small words that tell the language, as they are.
        hollow: Words that say nothing about anybody by themselves, such as "know".
        unfinished: Finds an end at which a sentence says nothing yet: "My name is".
        tells_own: Finds the form in which a sentence with a word for oneself states something.
        tells: Finds the form of a statement about others that is kept without a name, number or date.
        finite: Finds the form of a statement; with a name, a number or a date it is kept.
        denies: Finds what denies: "not", "never", "no longer".
        pleasantries: Words that say nothing lasting, however they are combined.
        chatter: Match whole sentences that say nothing lasting.
        requests: Match the beginning of what the assistant is told to do.
        may_request: Match what may be that, and may as well tell of the user.
        forgets: Match a request to forget; the group `what` is what.
        forgets_last: Match a request to forget what was said last.
        totality: Finds what says that all about something is to be forgotten.
        forgets_all: Match a request to forget everything.
        overview: Match a request for all that is known of the user.
        small_talk: Find questions about the assistant.
        asks_time: Find questions for the time or the date.
        sum_words: What may stand around a sum.
        number_words: The words for 0, 1, 2 and so on, each in its forms.
        stop: Stop words of questions.
        unsearched: Stop words of searches by words.
        abbreviations: Words before a full stop that ends no sentence.
        abbreviations_before_numbers: Those that are abbreviated before a number only.
        endings: Endings that forms of one word differ in, in the order in which they are tried.
        stemmer: The name of its Snowball stemmer; empty where it has none.
        same: A word -> the first word of its group, whose words answer each other's questions.
        single: The first words of groups of which a person has one at a time.
        times: The words for times of a script without spaces; `memory.language.times.unspaced` reads them.
        cues: Phrases by what they show, as patterns; `memory.language.cues` reads them.
        web: Patterns by their part in a question for the web; `memory.language.cues` reads them.
        fields: Names of a profile's fields by what they hold, folded.
        customer: What a customer and the fields known of them are called in a summary.
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
    abbreviations: frozenset[str]
    abbreviations_before_numbers: frozenset[str]
    endings: tuple[str, ...]
    stemmer: str
    same: Mapping[str, str]
    single: frozenset[str]
    times: Mapping[str, Any]
    cues: Mapping[str, list[str]]
    web: Mapping[str, Any]
    fields: Mapping[str, Any]
    customer: Mapping[str, str]
    wording: Mapping[str, str]

    def asks_without_mark(self, sentence: str) -> bool:
        """Return whether a sentence is a question by its words."""
        return bool(self.asks.search(sentence)) and not self.unasked.search(sentence)


def languages_of(text: str) -> Iterator[Language]:
    """Yield the languages that a text may be written in, by its script."""
    return (language for language in LANGUAGES if language.writes.search(text))


def language_of(text: str) -> Language:
    """Return the language to answer a text in: by its script, then by its small words, then by its letters.

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
"""Of the words of a text, those of a language's small words that show that it is written in it."""


def denial_of(text: str) -> bool | None:
    """Return whether a text denies something; None where no file knows the language that it is written in.

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
    """Return the language that a text is in, where its script or enough of its small words tell; None elsewhere.

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
    """Return the code of the language that a text is in, of those with a file that no answers are written in.

    It has more of its small words than of those of any other; empty where none has.

    >>> other_language("Ich wohne in Hue"), other_language("Vivo en Hue con mi hija"), other_language("I live in Hue")
    ('de', 'es', '')
    """
    folded = unicodedata.normalize("NFC", text).casefold()
    return _outnumbered(folded, language_of(folded))


def _outnumbered(folded: str, language: Language) -> str:
    """Return the code of the other language that has more small words in a text than a language; empty for none."""
    counts = {code: len(words.findall(folded)) for code, words in OTHERS.items()}
    best = max(counts, key=counts.__getitem__, default="")
    return best if best and counts[best] > len(language.words.findall(folded)) else ""


_SPACED_WORD = re.compile(r"[^\W\d_]+")


def length(text: str) -> float:
    """Return how many words a text has; two letters of a script without spaces count as one.

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
        """Return the patterns under a name."""
        return [re.compile(source, re.IGNORECASE | re.VERBOSE) for source in self._sources(name)]

    def one_of(self, name: str) -> re.Pattern[str]:
        """Return the patterns under a name as one, which is faster: this is asked about every sentence."""
        either = "|".join(f"(?:{source})" for source in self._sources(name)) or "(?!)"
        return re.compile(either, re.IGNORECASE | re.VERBOSE)

    def listed(self, name: str) -> frozenset[str]:
        """Return the words under a name."""
        return frozenset(str(self._data.get(name) or "").split())

    def any_word(self, name: str) -> re.Pattern[str]:
        """Return a pattern for the words under a name."""
        words = sorted(self.listed(name), key=len, reverse=True)
        # between letters without spaces there is no end of a word
        bound = "" if self._data.get("unspaced") else r"\b"
        return re.compile(f"{bound}(?:{'|'.join(map(re.escape, words)) or '(?!)'}){bound}", re.IGNORECASE)

    def groups(self, name: str) -> list[list[str]]:
        """Return the words that a line each counts as one."""
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
        "stemmer": str(data.get("stemmer") or ""),
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
    """Yield the words for 0, 1, 2 and so on that a file lists, each in its forms; of two words with `_` between."""
    return (tuple(one.replace("_", " ").split("/")) for one in str(data.get("number_words") or "").split())


def _read_all() -> dict[str, dict[str, Any]]:
    found = resources.files("react_mem.memory.language").iterdir()
    files = sorted((file for file in found if _FILE.fullmatch(file.name)), key=lambda file: file.name)
    # where nothing else decides between two, it is the default
    files.sort(key=lambda file: file.name != f"{DEFAULT}.yaml")
    return {file.name.removesuffix(".yaml"): _read(file) for file in files}


FILES: Mapping[str, Mapping[str, Any]] = _read_all()
"""Contents of each file by the code of its language; some have only parts: what `lowering` and `shared` read."""

LANGUAGES = tuple(_load(code, data) for code, data in FILES.items() if "wording" in data)
"""The languages that a conversation can be held in without a model."""

_DEFAULT = LANGUAGES[0]

OTHERS = {
    code: _File(data).any_word("words") for code, data in FILES.items() if "wording" not in data and data.get("words")
}
"""The small words of the languages that no answers are written in, by their codes."""

FORGETTING = tuple(_File(data).one_of("forgetting") for data in FILES.values())
"""Find words that ask to forget, in every language with a file."""
