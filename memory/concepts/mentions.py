"""Who and what a fact names: proper names, found by rules, in any language that writes them with capitals.

In a language without capitals a name is taken from what its predicate says it is: whoever somebody is married to has
one. What is missed costs a link between facts; the facts themselves are all there.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from memory.canonical import holders, predicate_key, subject_key
from memory.concepts.naming import name_key
from memory.concepts.records import ConceptType
from memory.extraction.grounding import fold
from memory.records import Fact, normalise

_MAX_WORDS = 6
_MAX_CHARS = 60
"""Longer than this is a phrase and no name."""

_MAX_CASELESS = 12
"""Letters of a name in a script without capitals: Chinese and Japanese names have up to six, Thai ones twice that."""

_WORD = re.compile(r"[^\W_](?:[\w'’&.-]*[^\W_])?|[,;:()]")
_POSSESSIVE = re.compile(r"['’]s$")
_WITHIN_NAMES = "of the de da del della di do dos van von der den la le el al bin ibn y e und và & du des"
_WITHIN = frozenset(_WITHIN_NAMES.split())
"""Small words within a name: Bank of America, Leonardo da Vinci."""

_NOBODY = frozenset({"user", "assistant", "none", "unknown", "he", "she", "they", "it", "người", "người_dùng", "i"})
_CALENDAR = frozenset(
    word.casefold()
    for word in (*calendar.month_name, *calendar.day_name, *calendar.month_abbr, *calendar.day_abbr, "thứ", "tháng")
    if word
)
_UNSAID = {"said", "noted"}
"""Predicates of what nobody has taken apart."""

_RELATIONS = """
    wife husband spouse partner fiance fiancee girlfriend boyfriend son daughter child mother father mom dad parent
    brother sister sibling friend colleague coworker boss manager teacher doctor neighbour neighbor uncle aunt cousin
    nephew niece grandmother grandfather roommate
    vợ chồng con_trai con_gái mẹ bố ba cha anh_trai chị_gái em_trai em_gái bạn bạn_thân đồng_nghiệp sếp cô_giáo
    thầy_giáo bác_sĩ ông_nội bà_nội ông_ngoại bà_ngoại
"""
_PERSON = re.compile(
    rf"(?:^|_)(?:{'|'.join(_RELATIONS.split())})s?(?:_|$)|^(?:is_)?married_to|^knows$|^met$|^dating|^kết_hôn_với|^cưới|^quen"
)
_PLACE = re.compile(
    r"^(?:lives_in|visit\w*|travel\w*|went_to|flew_to|was_born_in|born_in|birthplace|hometown|(?:comes_)?from|is_from"
    r"|grew_up_in|capital_of|country|city|quê|quê_ở|sinh_ra_ở|đi_du_lịch|đến_từ)"
)
_ORGANISATION = re.compile(r"^(?:works_at|studies_at|studied_at|graduated_from|university|school|học_tại|học_ở)")
_OF_PEOPLE = {"works_as", "works_at", "age", "birthday", "marital_status", "nationality", "speaks", "email", "phone"}
"""Predicates that only people are the subject of."""

_ALSO = re.compile(
    r"^(?:is_)?(?:also_(?:known|called)(?:_as)?|known_as|aka|nickname|nicknamed|alias|short_for|stands_for|full_name"
    r"|formerly_known_as|còn_gọi_là|tên_khác|biệt_danh|viết_tắt_của|tên_đầy_đủ)$"
)
"""Predicates that give one thing two names."""

_KINDS = re.compile(r"\b(?:dog|cat|bird|fish|hamster|rabbit|puppy|kitten|parrot|chó|mèo|thỏ|chim|cá)\b")


@dataclass(frozen=True)
class Mention:
    """A name that a fact uses.

    Args:
        name: As it is written.
        type: What the fact says it is; empty where it does not.
    """

    name: str
    type: ConceptType = ""


def mentions(fact: Fact) -> list[Mention]:
    """Return the names that a fact uses, each once.

    The user is not among them, nor is what only the words of an unread statement may name.

    Args:
        fact: A fact.

    >>> from memory.records import now
    >>> told = {"id": "f", "session_id": "s", "agent_id": "a"}
    >>> sister = Fact(**told, subject="user", predicate="has_sister", object="Lan", text="User's sister is Lan.")
    >>> mentions(sister)
    [Mention(name='Lan', type='person')]
    """
    if fact.verbatim or fact.predicate in _UNSAID:
        return []
    predicate = predicate_key(fact.predicate).name
    found: dict[str, Mention] = {}
    if subject_key(fact.subject) != "user":
        # the subject is `user` or a name: so the model is told
        found |= _typed(_names(fact.subject, fact.text, known=True), _type_of_subject(predicate))
    type_ = _type_of_object(fact, predicate)
    for key, mention in _typed(_names(fact.object, fact.text, known=bool(type_)), type_).items():
        found.setdefault(key, mention)
    return list(found.values())


def same_names(fact: Fact) -> tuple[Mention, Mention] | None:
    """Return the two names that a fact says are one thing's; None where it says nothing of the kind.

    Args:
        fact: A fact.
    """
    named = mentions(fact)
    key = re.sub(r"\W+", "_", normalise(fact.predicate)).strip("_")
    if len(named) != 2 or not fact.current or not fact.affirmed or not _ALSO.search(key):
        return None
    return named[0], named[1]


def _typed(names: Iterator[str], type_: ConceptType) -> dict[str, Mention]:
    found: dict[str, Mention] = {}
    for name in names:
        # what comes after the first is where or with whom: "Lan from Hue"
        found.setdefault(name_key(name), Mention(name, "" if found else type_))
    return found


def _names(text: str, sentence: str, *, known: bool) -> Iterator[str]:
    """Yield the names in a part of a fact.

    Args:
        text: The subject or the object.
        sentence: The fact as a sentence, which tells a name from a word that only begins with a capital.
        known: Whether it is a name by where it stands.
    """
    spelt = unicodedata.normalize("NFC", text).strip()
    if len(spelt) > 4 * _MAX_CHARS or "://" in spelt or "@" in spelt:
        return
    run: list[str] = []
    for word in [*_WORD.findall(spelt), ""]:
        bare = _POSSESSIVE.sub("", word)
        if word and (_is_capital(bare) or (run and (bare in _WITHIN or bare.isdigit()))):
            run.append(bare)
            if bare == word:
                continue
        # "Lan's sister" names Lan
        yield from _name(run, sentence, known=known)
        run = []
    if known and _is_caseless(spelt):
        yield spelt


def _name(run: list[str], sentence: str, *, known: bool) -> Iterator[str]:
    while run and run[-1] in _WITHIN:
        run = run[:-1]
    name = " ".join(run)
    if not run or len(run) > _MAX_WORDS or len(name) > _MAX_CHARS or len(fold(name)) < 2:
        return
    first = run[0].casefold()
    if first in _NOBODY or (first in _CALENDAR and not known) or (holders(name) and len(run) == 1):
        return
    if known or len(run) > 1 or _is_name_in(name, sentence):
        yield name


def _is_name_in(name: str, sentence: str) -> bool:
    """Return whether a word is written as a name anywhere but at the start: with more capitals, or in the middle."""
    if name[1:] != name[1:].lower():
        return True
    before = [sentence[: found.start()] for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence)]
    return any(text and text[-1] not in ".!?…:" for text in (text.rstrip(" \"'“‘(") for text in before))


def _is_capital(word: str) -> bool:
    return word[:1] != word[:1].lower() or (word[1:] != word[1:].lower() and word[:1].isalpha())


def _is_caseless(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    marks = sum(unicodedata.category(char) in {"Mn", "Mc"} for char in text)
    return (
        0 < len(letters) <= _MAX_CASELESS
        and all(char.lower() == char.upper() for char in letters)
        and len(letters) + marks + text.count(" ") == len(text)
    )


def _type_of_subject(predicate: str) -> ConceptType:
    if predicate in _OF_PEOPLE or _PERSON.search(predicate):
        return "person"
    return "place" if predicate in {"capital_of", "located_in"} else ""


def _type_of_object(fact: Fact, predicate: str) -> ConceptType:
    if predicate == "has_pet" or (predicate in {"owns", "has"} and _KINDS.search(normalise(fact.object))):
        return "animal"
    if _PERSON.search(predicate):
        return "person"
    if _PLACE.search(predicate):
        return "place"
    return "organisation" if _ORGANISATION.search(predicate) else ""
