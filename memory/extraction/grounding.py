"""Whether a message says what a model claims that it says: by its words, its negations and its mood.

Deterministic and cheap, for English and Vietnamese; it errs towards "no", because a claim that is refused can be kept
word for word, and a false one that is believed cannot be told from a true one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from memory.clauses import COORDINATORS
from memory.extraction.mood import Mood, allowed_moods, is_conditional, moods
from memory.statements import is_question, is_relative, sentences

# Words that carry no content of their own. Negations are among them: polarity is compared on its own. With their
# diacritics: "đã" (already) is one, the "Đà" of Đà Nẵng is not.
_FUNCTION_WORDS = """
    a an the of in on at to for from by with and or is are was were be been being am i me my mine you your he she it we
    us our they them their his her its this that these those user users person named name called has have had do does
    did as about very really just now who which also currently some any s m ve re ll d t not no never don doesn isn aren
    wasn didn can cannot won
    người dùng là ở và của có các những tôi mình em anh chị bạn rất cũng đã đang sẽ được bị cho với này kia thì mà tại
    không khong ko chưa chẳng chả
"""
_STOP = frozenset(_FUNCTION_WORDS.split())
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten"
_NUMBERS = {word: str(value) for value, word in enumerate(_NUMBER_WORDS.split())}

_IDIOMS = re.compile(
    r"\b(?:(?:don't|do not|dont|never) forget|(?:đừng|chớ|không được|dung) (?:có )?quên|dung quen)\b"
    r"|\b(?:not only|no problem|no worries|no doubt|can't wait|why not|không những|không chỉ|không sao|không có gì)\b"
    r"|^(?:no|nope|không|dạ không)\s*,"
)
_ASKING_TAIL = re.compile(r"\b(?:không|khong|ko|chưa|chua|k|hok)\s*(?:ạ|nhỉ|vậy|hả|thế)?\s*\?+$")
_NEGATION = re.compile(
    # what negates once though it has two parts comes first
    r"\b(?:chưa từng|chưa bao giờ|không bao giờ|không còn|không hề|no longer|used to|gave up|can't stand)\b"
    r"|\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|dont|doesnt|didnt|isnt|arent|wasnt|cant|wont)\b"
    r"|n't\b"
    r"|\b(?:dislikes?|disliked|hates?|hated|avoids?|avoided|stopped|quit|quits|former|formerly|ex)\b"
    r"|\b(?:không|khong|ko|chẳng|chả|chưa|đừng|chớ|ghét|tránh|kiêng|ngừng|từng)\b"
)
_UNACCENTED = re.compile(r"\b(?:chua|chang|ghet|kieng)\b")
_SUPPOSED = re.compile(r"\b(?:suppose|supposing|imagine|pretend|hypothetically)\b")

_CLAUSE = re.compile(rf" ?(?:[,;:–—] |\b(?:{COORDINATORS})\b) ?")
_ASIDE = re.compile(r"[,–—] $")
_ANEW = re.compile(
    r"^(?:i|i'm|i've|i'd|we|my|he|she|it|they|but|only|just|instead|"
    r"tôi|mình|tớ|em|anh|chị|con|nó|họ|chúng|chỉ|nhưng|mà|còn)\b"
)
# "I moved from Hanoi to Da Nang" says of Hanoi what "no longer" says.
_LEFT_BEHIND = re.compile(
    r"\b(?:mov\w+|switch\w+|chang\w+|relocat\w+|transfer\w+|chuyển|đổi|dọn)\b[^,;]*?\b(?:from|từ)\s+(.+?)"
    r"(?=\s+(?:to|into|over|đến|tới|vào|sang|ra|về|lên|xuống)\b|[,;.!?]|$)"
)
_AT_PRESENT = re.compile(r"^(?:now|currently|today|these days|still|giờ|bây giờ|hiện|nay|vẫn)\b")
_OPPOSED = re.compile(r"\b(?:but|though|although|while|nhưng|mà|còn|chứ)\b")

# Chinese and Japanese put no space between words: each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")

_ASSENT = re.compile(
    r"^(?:(?:oh|ah|haha|à|ồ)[,!. ]+)?(?:yes|yeah|yep|yup|aye|right|correct|exactly|precisely|sure|ok|okay|true|indeed"
    r"|absolutely|definitely|certainly|of course|bingo|(?:that's|that is|you're|you are|quite) (?:right|true|it)"
    r"|you got it|đúng|vâng|dạ|ừ|ừm|ừa|phải|chuẩn|chính xác|chính là|tất nhiên|dĩ nhiên|quá đúng|dung roi|phai roi)\b"
)
_MAX_ASSENT_WORDS = 6

_MEANT: dict[Mood, str] = {
    "unsure": "perhaps so, not stated",
    "planned": "planned, and not yet so",
    "over": "said to be over",
}
_MIN_STEM = 4
"""Letters of a stem: shorter ones belong to different words, as in car, care and caring."""

_COMMON_START = 3
"""Letters that all forms of a word begin with, for `_similar`."""

_MIN_INSIDE = 5
_MAX_LEAD_WORDS = 5
"""A clause before a comma that is no longer than this says when or how of what follows: "next month, I move"."""


@dataclass(frozen=True)
class _Clause:
    text: str
    negative: bool
    asserted: bool
    moods: frozenset[Mood] = frozenset()


def fold(text: str) -> str:
    """Take away case and diacritics: what a user may leave out and a model restores.

    >>> fold("Đà Nẵng")
    'da nang'
    """
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return bare.replace("đ", "d").replace("Đ", "D").casefold()


def content_words(text: str) -> list[str]:
    """Return the words that carry content; all words where none does."""
    return list(_content_words(text))


def is_grounded(claim: str, source: str) -> bool:
    """Tell whether every content word of a claim occurs in the source, up to case, diacritics and inflection.

    >>> is_grounded("green teas", "I love green tea"), is_grounded("black tea", "I love green tea")
    (True, False)
    >>> is_grounded("Hà Nội", "toi o Hanoi")
    True
    """
    needed, said = content_words(claim), _wording(source)
    return bool(needed) and (all(map(said.has, needed)) or said.has_inside("".join(needed)))


def coverage(claim: str, source: str) -> float:
    """Return the share of the claim's content words that occur in the source."""
    needed, said = content_words(claim), _wording(source)
    return sum(map(said.has, needed)) / len(needed) if needed else 0.0


def shares_words(one: str, other: str) -> bool:
    """Tell whether two texts have a content word in common."""
    said = _Wording(content_words(other))
    return any(map(said.has_form_of, set(content_words(one))))


def says_something(text: str) -> bool:
    """Tell whether a text has a word that carries content.

    >>> says_something("I love tea"), says_something("and you")
    (True, False)
    """
    return any(word not in _STOP for word in _spelt(text))


def is_negative(text: str) -> bool:
    """Tell whether a statement denies something.

    >>> is_negative("User does not eat meat"), is_negative("Tôi chưa bao giờ đi Huế"), is_negative("I like tea")
    (True, True, False)
    """
    return _negations(text) % 2 == 1


def is_assent(text: str) -> bool:
    """Tell whether a message only agrees with what was said before it.

    >>> is_assent("Yes, that one"), is_assent("Yes, but not there")
    (True, False)
    >>> is_assent("Yes, and I also have a cat and two dogs")
    False
    """
    plain = _plain(text).strip()
    agrees = bool(_ASSENT.search(plain)) and len(plain.split()) <= _MAX_ASSENT_WORDS
    return agrees and not (is_negative(plain) or is_question(plain) or _OPPOSED.search(plain))


def objection(about: str, negative: bool, source: str, *, assented: bool = False, claim: str = "") -> str:
    """Return why a source does not state something about these words, or nothing when it does.

    Args:
        about: The words that it is about.
        negative: Whether the statement denies it.
        source: What was said.
        assented: Whether the user said yes to the source, so that what it asks is stated.
        claim: The whole statement; when it is given, it must also be meant as the source is: a plan as a plan.

    >>> objection("meat", False, "I don't eat meat, but I eat fish")
    'says the opposite of its source'
    >>> objection("fish", False, "I don't eat meat, but I eat fish")
    ''
    >>> objection("Berlin", False, "Should I move to Berlin?")
    'asked or supposed, not stated'
    """
    mentions = [clause for clause in _clauses(source) if is_grounded(about, clause.text)]
    if not mentions:
        # the words stand in several clauses: judge the sentences, or else the whole, as one
        whole = [s for s in sentences(source) if is_grounded(about, s)] or [source]
        mentions = [_Clause(s, is_negative(s), not _is_open(s), moods(s)) for s in whole]
    asserted = [clause for clause in mentions if clause.asserted or assented]
    if not asserted:
        return "asked or supposed, not stated"
    allowed = allowed_moods(claim)
    # "used to live" denies what "lived until 2019" affirms, and both say the same
    stated = [c for c in asserted if c.negative is negative or "over" in c.moods & allowed]
    if not stated:
        return "says the opposite of its source"
    if claim:
        unmet = [clause.moods - allowed for clause in stated]
        # what is denied may well be over: "I no longer live there"
        unmet = [mood - {"over"} if negative else mood for mood in unmet]
        if all(unmet):
            return next(reason for mood, reason in _MEANT.items() if any(mood in clause for clause in unmet))
    return ""


@lru_cache(maxsize=16)
def _clauses(source: str) -> tuple[_Clause, ...]:
    return tuple(_read_clauses(source))


def _read_clauses(source: str) -> Iterator[_Clause]:
    for sentence in sentences(source):
        asks = is_question(sentence)
        plain = " ".join(_plain(sentence).split())
        for left in _LEFT_BEHIND.finditer(plain):
            yield _Clause(left[1], negative=True, asserted=not asks)
        plain = _LEFT_BEHIND.sub(lambda left: left[0].removesuffix(left[1]), plain)
        cuts = [0, *(cut.end() for cut in _CLAUSE.finditer(plain)), len(plain)]
        before: _Clause | None = None
        supposed = False
        for i, (begin, end) in enumerate(pairwise(cuts)):
            text = plain[begin:end]
            joint = plain[cuts[i - 1] : begin] if i else ""
            # "I don't eat pork, beef or lamb": a clause without a start of its own continues the one before it
            continues = before is not None and not _ANEW.search(text) and not _OPPOSED.search(joint)
            last = i == len(cuts) - 2
            # what follows a condition depends on it: "if I were rich, I would travel and paint"
            supposed = is_conditional(text) or (supposed and not _OPPOSED.search(joint))
            # "my neighbour, who is a locksmith": it is asked nothing in the middle of what is stated
            told_of = bool(_ASIDE.search(joint)) and is_relative(text)
            open_ = (asks and last) or supposed or _is_open(text, asks=not told_of)
            open_ = open_ or (continues and before is not None and not before.asserted)
            count = _negations(text)
            carried = count == 0 and continues and before is not None and before.negative
            meant = moods(text)
            if before is not None and (continues or _leads(before.text)) and not _AT_PRESENT.search(text):
                meant |= before.moods
            before = _Clause(text, count % 2 == 1 or carried, not open_, meant)
            yield before


def _leads(text: str) -> bool:
    return len(text.split()) <= _MAX_LEAD_WORDS and not _ANEW.search(text)


def _is_open(text: str, *, asks: bool = True) -> bool:
    return (asks and is_question(text)) or bool(_SUPPOSED.search(_plain(text))) or is_conditional(text)


def _negations(text: str) -> int:
    plain = _ASKING_TAIL.sub("", _IDIOMS.sub(" ", _plain(text).strip()))
    count = len(_NEGATION.findall(plain))
    # without its diacritics "chưa" (not yet) is "chua" (sour): only in a text that is written without any
    return count + (len(_UNACCENTED.findall(plain)) if plain.isascii() else 0)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold().replace("’", "'").replace("_", " ")


def _words(text: str) -> list[str]:
    return [_NUMBERS.get(word, word) for word in _WORD.findall(fold(text))]


def _spelt(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


class _Wording:
    """The words of a text, as they are looked for: many times in the same text."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = frozenset(words)
        self._together = "".join(words)
        self._alike: dict[str, list[str]] = {}
        for word in self.words:
            self._alike.setdefault(word[:_COMMON_START], []).append(word)

    def has(self, word: str) -> bool:
        return self.has_form_of(word) or self.has_inside(word)

    def has_form_of(self, word: str) -> bool:
        return word in self.words or any(_similar(word, other) for other in self._alike.get(word[:_COMMON_START], ()))

    def has_inside(self, word: str) -> bool:
        # "Hanoi" for "Hà Nội", and scripts that put no space between words; a short Latin word would be anywhere
        return (len(word) >= _MIN_INSIDE or not word.isascii()) and word in self._together


@lru_cache(maxsize=256)
def _content_words(text: str) -> tuple[str, ...]:
    # a claim is looked for in each clause of a message
    return tuple(_words(" ".join(word for word in _spelt(text) if word not in _STOP)) or _words(text))


@lru_cache(maxsize=256)
def _wording(text: str) -> _Wording:
    # twenty proposals are judged against the same message, and each of its clauses
    return _Wording(_words(text))


def _similar(one: str, other: str) -> bool:
    """Tell whether two words are forms of one: dog and dogs, allergic and allergy, live and living."""
    if one == other or _singular(one) == _singular(other):
        return True
    if one.isdigit() or other.isdigit():
        return False
    if _stem(one) == _stem(other) != "":
        return True
    longer = max(len(one), len(other))
    common = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    # 0.6: "japan" and "japanese" are one, "hanoi" and "hanover" are two
    return common >= max(4, -(-longer * 6 // 10))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _stem(word: str) -> str:
    """Return what the forms of an English verb have in common, smok(e, es, ed, ing), empty for a short word."""
    stem = re.sub(r"(?:ing|es|ed|e|s)$", "", word) if word.isascii() else ""
    return stem if len(stem) >= _MIN_STEM else ""
