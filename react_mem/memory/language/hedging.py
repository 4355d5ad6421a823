"""Small words of every language with a file: hedges, retractions, questions without a mark, yes and no, spelt numbers.

Hedges, listed under `lowers`, only lower a model's labels, so a language without a file, or a missing word, costs no
fact. The others decide where the user's words are split, and never their truth.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import Stemmer

from react_mem.memory.language import EVERY, FILES, UNSPACED, denial_of, languages_of, pattern_of, words_under
from react_mem.memory.language.comparison import content_words, numbers, words

_READ = 400  # characters read: a clause is no longer

_HEDGES = [
    {name: pattern_of(source, re.I | re.X) for name, source in data["lowers"].items()}
    for data in FILES.values()
    if "lowers" in data
]


def has_sign(text: str, *signs: str) -> bool:
    """Return true if a text has one of these signs of its language.

    `conditions` show a hypothetical condition, `supposes` a wish or a guess, `plans` what is to be done, `contrasts` a
    text set against the words before it, `takes_back` a retraction (the words before were a joke or a slip), `asks` an
    end that only a question has, `own_subject` the speaker as the subject.

    >>> has_sign("Wenn ich im Lotto gewinne", "conditions"), has_sign("要是我去了新西兰", "conditions")
    (True, True)
    """
    return any(one[sign].search(folded) for one, folded in _of_script(text) for sign in signs)


def is_hypothetical(sentence: str) -> bool:
    """Return true for a sentence about a hypothetical case; a rule ("if it rains, ...") and a wish count as true.

    >>> is_hypothetical("If I lived in Rome I would be happy."), is_hypothetical("If it rains I take the bus.")
    (True, False)
    """
    return any(
        one["hypothetical"].search(folded) or (one["conditions"].search(folded) and one["supposes"].search(folded))
        for one, folded in _of_script(sentence)
    )


def is_oneself(name: str) -> bool:
    """Return true for a name that is only a word for the speaker.

    >>> is_oneself("我"), is_oneself("I"), is_oneself("Tom"), is_oneself("con")
    (True, True, False, False)
    """
    if len(name.split()) == 1 and has_sign(name, "own_subject"):
        return True
    return any(one.unspaced and one.first_person.fullmatch(name) for one in languages_of(name))


def _of_script(text: str) -> Iterator[tuple[Mapping[str, re.Pattern[str]], str]]:
    folded = unicodedata.normalize("NFC", text[:_READ]).casefold()
    return ((one, folded) for one in _HEDGES if one["writes"].search(folded))


def asks_from(text: str, start: int = 0) -> int | None:
    """Return the start of the first question or request from `start` on, with or without punctuation; None for none.

    >>> text = "I start at three every day which bread can I bake"
    >>> text[asks_from(text) :], asks_from("Trabajo en un banco y tengo dos gatos")
    ('which bread can I bake', None)
    """
    return min((match.start() for one in _ASKING if (match := one.search(text, start))), default=None)


def denies(text: str) -> bool:
    """Return true for a text with a negation of a language without a keyless model.

    >>> denies("nee leider nich"), denies("Ja, genau")
    (True, False)
    """
    return not DENYING.isdisjoint(words(text))


def is_denied(text: str) -> bool:
    """Return true for a negation in any language with a file."""
    return denial_of(text) or denies(text)


def assents(text: str) -> bool:
    """Return true for a text that begins with a yes of a language without a keyless model.

    >>> assents("Sí, por desgracia"), assents("qué va")
    (True, False)
    """
    return not _ASSENTING.isdisjoint(words(text)[:1])


def spelt(text: str) -> set[str]:
    """Return the spelt numbers of a text, as digits.

    >>> sorted(spelt("Wir sind fünf Leute")), sorted(spelt("四人家族です"))
    (['5'], ['4'])
    """
    found = {_COUNTING[word] for word in words(text) if word in _COUNTING}
    return found | {number for word, number in _COUNTING.items() if word in text and _DENSE.search(word)}


def without_counting(text: str) -> str:
    """Return a text without its spelt numbers.

    >>> without_counting("zwei Katzen").strip(), without_counting("四人家族です")
    ('Katzen', '人家族です')
    """
    return _COUNTED.sub("", text)


_DENSE = pattern_of(f"[{UNSPACED}]")
_NO_LETTER_BEFORE = rf"(?<![^\W{UNSPACED}])"


def _asking(*, unspaced: bool) -> re.Pattern[str]:
    files = (data.get("asks_behind", ()) for data in FILES.values() if bool(data.get("unspaced")) is unspaced)
    sources = "|".join(f"(?:{one})" for listed in files for one in listed)
    return pattern_of(sources if unspaced else f"{_NO_LETTER_BEFORE}(?:{sources})", re.IGNORECASE | re.VERBOSE)


_ASKING = (_asking(unspaced=False), _asking(unspaced=True))
JOINING = words_under("joins")  # case-folded words that begin a new clause: "and", "aber"
DENYING = words_under("denying")  # case-folded negations of languages without a keyless model
_ASSENTING = words_under("assenting")
_COUNTING = {word: str(number) for one in EVERY for number, forms in enumerate(one.number_words) for word in forms}
_LONGEST_FIRST = sorted(_COUNTING, key=len, reverse=True)
_COUNTED = pattern_of(
    rf"{'|'.join(re.escape(word) for word in _LONGEST_FIRST if _DENSE.search(word))}"
    rf"|{_NO_LETTER_BEFORE}(?:{'|'.join(re.escape(word) for word in _LONGEST_FIRST if not _DENSE.search(word))})\b",
    re.IGNORECASE,
)


# Claims of texts: subject, numbers and polarity. Claims that differ in number or polarity alone contradict.

_LETTERS = pattern_of(rf"(?:(?![{UNSPACED}])[\w'’])+")
_VERB_ENDING = pattern_of(r"(?<=[\u30a0-\u30ff\u3400-\u9fff])[\u3040-\u309f]+(?=\s*(?:[。．.!?！？\n]|$))")
"""Kana at the end of a Japanese sentence: a denial ends otherwise there, and is the same before it."""
_stem = Stemmer.Stemmer("english")


class Claim(NamedTuple):
    """Claim of a text."""

    matter: tuple[str, ...]  # its content words in order, stemmed, without numbers and without negations
    told: frozenset[str]  # the numbers in it, as digits
    denied: bool
    said: tuple[str, ...]  # its content words, unchanged


def claim_of(text: str) -> Claim:
    """Return the claim of a text, in a language with a file or without.

    >>> claim_of("I have two cats")
    Claim(matter=('cat',), told=frozenset({'2'}), denied=False, said=('two', 'cats'))
    """
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())
    spans = sorted(found.span() for language in languages_of(plain) for found in language.denies.finditer(plain))
    denied = bool(spans) or denies(plain)
    rest = _affirmed(plain, spans) if denied else plain
    told = frozenset(numbers(rest) | spelt(rest))
    left = content_words(_VERB_ENDING.sub("", without_counting(rest)))
    matter = [word for word in left if not (word.isdigit() or (denied and word in DENYING))]
    return Claim(tuple(_stem.stemWords(matter)), told, denied, tuple(content_words(text)))


def _affirmed(plain: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text without the negations at the sorted spans; of one across two words the first word goes."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        if first := _LETTERS.match(plain, start):
            while start > at and _LETTERS.match(plain[start - 1]):
                start -= 1
            goes_on = _LETTERS.match(plain, end) and _LETTERS.match(plain, end - 1)
            end = first.end() if goes_on else max(first.end(), end)
        if end > at:
            parts.append(plain[at : max(at, start)])
            at = end
    return "".join([*parts, plain[at:]])
