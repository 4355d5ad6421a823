"""Text as the words that find it: folded, stemmed, without what every sentence has."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import Stemmer

from react_mem.memory.language.folding import fold

_MARKS = "".join(chr(code) for code in range(0x300, 0x2000) if unicodedata.category(chr(code)).startswith("M"))
"""Signs that are part of a word though they are no letters: the vowels of Hindi or Thai, an accent with no letter of
its own."""

_WORD = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*")
_POSSESSIVE = re.compile(r"['’](?:s|d|m|ll|re|ve|t)\b")
_UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{_UNSPACED_SCRIPTS}]")
"""Scripts that do not put spaces between words: two characters in a row are taken for a word."""
_RUN = re.compile(f"[{_UNSPACED_SCRIPTS}][{_UNSPACED_SCRIPTS}{_MARKS}]*|[^{_UNSPACED_SCRIPTS}]+")

_COMMON = frozenset(
    _WORD.findall(
        """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn did didn do does doesn doing don done down during each either
    else ever few for from further get gets getting go goes going gonna got had hadn has hasn have haven having
    he her here hers herself hey hi him himself his how i if in into is isn it its itself just know let like ll
    lot lots made make many may maybe me mention mentioned might mine more most much must my myself need no nor
    not now of off oh ok okay on once one only or other our ours ourselves out over own per quite rather re
    really said same say she should shouldn since so some something still such sure tell than thank thanks that
    the their theirs them themselves then there these they thing things think this those though through till to
    told too under until up upon us use used usually ve very want was wasn way we well went were weren what
    whatever when where which while who whom whose why will with within without won would wouldn wow yeah yes
    yet you your yours yourself yourselves d m t s hello good great la va cua co khong mot cac nhung cho voi thi
    ma nay toi ban minh em anh chi o duoc da dang se rang rat nao gi ai khi bao nhieu dau sao hay de tu trong
    ngoai tren duoi cung con nua roi nhe nha vay
        """
    )
)
"""Function words, and what people say in every other sentence. English, and Vietnamese without its marks."""

_stem = Stemmer.Stemmer("english")


def words(text: str) -> list[str]:
    """Return the words of a text, folded, in order.

    >>> words("Ann's café")
    ['ann', 'cafe']
    """
    found: list[str] = []
    for word in _WORD.findall(_POSSESSIVE.sub(" ", fold(text))):
        found += _pairs(word) if _UNSPACED.search(word) else [word]
    return found


def terms(text: str) -> list[str]:
    """Return what of a text counts when texts are compared by words, in order, repetitions included.

    A word is stemmed as English: of other languages' words, which are stemmed in the same way wherever they stand,
    little is lost. One with diacritics counts as it stands as well: with them it says more.

    >>> terms("She was painting the kitchens")
    ['paint', 'kitchen']
    >>> terms("bánh mì")
    ['banh', 'bánh', 'mi', 'mì']
    >>> terms("喜欢Python")
    ['喜欢', 'python']
    """
    found: list[str] = []
    for word in _WORD.findall(_POSSESSIVE.sub(" ", unicodedata.normalize("NFKC", text).casefold())):
        found += _terms_of(word)
    return found


@lru_cache(maxsize=50_000)
def _terms_of(word: str) -> tuple[str, ...]:
    if word.isascii():
        return () if word in _COMMON or (len(word) == 1 and not word.isdigit()) else (_stem.stemWord(word),)
    if _UNSPACED.search(word):
        return tuple(term for run in _pairs(word) for term in ((run,) if _UNSPACED.search(run) else _terms_of(run)))
    folded = fold(word)
    if not folded or folded in _COMMON or (len(folded) == 1 and not folded.isdigit()):
        return ()
    return tuple(dict.fromkeys((_stem.stemWord(folded), unicodedata.normalize("NFC", word))))


def _pairs(word: str) -> list[str]:
    """Return a word of which some is in a script without spaces as pairs of characters, and the rest as it is."""
    found: list[str] = []
    for run in _RUN.findall(word):
        pairs = [run[place : place + 2] for place in range(max(1, len(run) - 1))]
        found += pairs if _UNSPACED.search(run) else [run]
    return found
