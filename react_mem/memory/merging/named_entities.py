"""Named entities of a fact: its subject, and the proper names in the user's own words.

Names are recognised by their capitals; in scripts without capitals only the subject is one. A missed name costs a link
between facts, never a fact.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from react_mem.memory.language.comparison import content_words, names
from react_mem.memory.language.folding import (
    MAX_INDEXED_CHARS,
    fold,
    grams,
    is_initials,
    is_marked,
    is_part,
    joined,
    likeness,
    name_key,
    normalise,
    numbers,
    spelling,
)
from react_mem.memory.language.statements import cue_words
from react_mem.memory.model.concepts import Alias, Concept, Merge, Pair
from react_mem.memory.model.records import Fact

_MAX_WORDS = 6
_MAX_CHARS = 60  # longest name; longer ones are phrases
_MAX_ABOUT = 240  # characters read of a fact's subject
_WORD = re.compile(r"[^\W_](?:[\w'’&.-]*[^\W_])?")
_SENTENCE = re.compile(r"(?<=[.!?…:])\s+|\n")
_TITLE = re.compile(r"\b([A-Z](?:(?![aeiouy])[a-z]){1,2})\.(?=\s)")
"""Dr., Mr., St.: words too short to end a sentence, without a vowel."""

_POSSESSIVE = re.compile(r"['’]s$")
_CONTRACTION = re.compile(r"[^\W_]['’][^\W_]*")
_WITHIN_NAMES = "of the de da del della di do dos du des van von der den la le el al bin ibn"
_WITHIN = frozenset(_WITHIN_NAMES.split())  # small words within a name: Bank of America, Leonardo da Vinci
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
    """Return the names in a fact as written, each once; never the user, and none of an unread statement.

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
    """Yield the names in a text; words in `known` are names in any position."""
    spelt = unicodedata.normalize("NFC", text)
    # addresses name nobody
    spelt = re.sub(r"\S+", lambda found: "," if "@" in found[0] or "://" in found[0] else found[0], spelt)
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


def _runs(sentence: str) -> Iterator[tuple[list[str], bool]]:
    """Yield runs of capitalised words, each with true if it begins its sentence."""
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


# Entity resolution: names -> concepts. Pure, and independent of the order of the names.


def resolve(aliases: Mapping[str, Alias], merges: Collection[Merge], apart: Iterable[Pair]) -> list[frozenset[str]]:
    """Return the concepts, as sets of alias ids.

    In turn, each unless a decision keeps the two apart:

    1. the same name spelt without marks or as one word: Hà Nội, Ha Noi and Hanoi; but not Hoa, where there are Hoà
       and Hoá;
    2. merges by a model;
    3. merges by the user, which older records hold, against any decision.
    """
    groups = {id_: frozenset([id_]) for id_ in aliases}
    others: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in apart:
        others[one].add(other)
        others[other].add(one)

    def join(one: str, other: str, *, forced: bool = False) -> None:
        a, b = groups.get(one), groups.get(other)
        if a is None or b is None or a is b:
            return
        if forced or all(b.isdisjoint(others.get(id_, ())) for id_ in a):
            groups.update(dict.fromkeys(whole := a | b, whole))

    def join_all(ids: Iterable[str]) -> None:
        for one, other in combinations(sorted(ids), 2):
            join(one, other)

    keys = {id_: name_key(alias.name) for id_, alias in aliases.items()}
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for id_ in sorted(keys):
        alike[spelling(keys[id_])].append(id_)
    for _, ids in sorted(alike.items()):
        marked = {joined(keys[id_]) for id_ in ids if is_marked(keys[id_])}
        for spelt in sorted(marked):
            join_all(id_ for id_ in ids if joined(keys[id_]) == spelt)
        join_all(id_ for id_ in ids if not is_marked(keys[id_]))
        if len(marked) == 1:
            join_all(ids)
    for merge in sorted(merges, key=lambda merge: (merge.by == "user", merge.kept, merge.moved)):
        for moved in sorted(merge.moved):
            join(merge.kept, moved, forced=merge.by == "user")
    return sorted(set(groups.values()), key=min)


def related(aliases: Mapping[str, Alias], merges: Iterable[Merge], start: Iterable[str]) -> set[str]:
    """Return the ids of all names that may be affected by changes of some names."""
    sharing: defaultdict[str, set[str]] = defaultdict(set)
    for id_, alias in aliases.items():
        sharing[spelling(name_key(alias.name))].add(id_)
    for number, merge in enumerate(merges):
        sharing[f"\x1f{number}"] |= {merge.kept, *merge.moved} & aliases.keys()
    blocks: defaultdict[str, set[str]] = defaultdict(set)
    for block, ids in sharing.items():
        for id_ in ids:
            blocks[id_].add(block)
    found: set[str] = set()
    left = {id_ for id_ in start if id_ in aliases}
    while left:
        found |= left
        left = {other for id_ in left for block in blocks[id_] for other in sharing.pop(block, ())} - found
    return found


# Candidate pairs of entity resolution: concepts alike by letters, initials or a part of a name.

_ALIKE = 0.5
"""Schwarzenegger and Schwarzeneger: 0.75; Christina and Christine: 0.6; Katherine and Catherine Johnson: 0.6."""

_COMMON = 50  # most names that may share a trigram before it tells nothing: more would be compared each with each


@dataclass(frozen=True)
class Candidate:
    """Two concepts that may be one, with the strength of the evidence, 0 to 1."""

    one: Concept
    other: Concept
    strength: float


def candidates(concepts: Collection[Concept]) -> list[Candidate]:
    """Return the ambiguous pairs, the strongest first. Compute only: a second for thousands."""
    found = {(pair.one.id, pair.other.id): pair for pair in initials(concepts)}
    for one, other in _pairs(concepts):
        if (one.id, other.id) in found:
            continue
        keys = ({name_key(alias.name) for alias in concept.aliases} for concept in (one, other))
        strength = max(max(_likeness(a, b), _likeness(b, a)) for a, b in product(*keys))
        if strength >= _ALIKE and may_be_one(one, other):
            found[one.id, other.id] = Candidate(one, other, strength)
    return sorted(found.values(), key=lambda pair: (-pair.strength, pair.one.id, pair.other.id))


def initials(concepts: Collection[Concept]) -> list[Candidate]:
    """Return the pairs in which a name of one has the initials of a name of the other."""
    short: defaultdict[str, list[tuple[Alias, Concept]]] = defaultdict(list)
    long: defaultdict[str, list[tuple[Alias, Concept]]] = defaultdict(list)
    for concept in concepts:
        for alias in concept.aliases:
            words = name_key(alias.name).split()
            if len(words) == 1:
                short[joined(words[0])].append((alias, concept))
            else:
                long["".join(word[0] for word in words)].append((alias, concept))
    found: dict[tuple[str, str], Candidate] = {}
    for letters, named in short.items():
        for (alias, concept), (other, whose) in product(named, long.get(letters, ())):
            one, two = sorted((concept, whose), key=lambda each: each.id)
            if one.id != two.id and is_initials(alias.name, other.name) and may_be_one(one, two):
                found[one.id, two.id] = Candidate(one, two, 1.0)
    return list(found.values())


def may_be_one(one: Concept, other: Concept) -> bool:
    """Return true if no decision and no surname speaks against two concepts being one."""
    ids = {alias.id for alias in one.aliases}, {alias.id for alias in other.aliases}
    if any({*pair} & ids[0] and {*pair} & ids[1] for pair in (*one.apart, *other.apart)):
        return False
    return not any(_contradict(a, b) for a, b in product(one.aliases, other.aliases))


def _pairs(concepts: Collection[Concept]) -> Iterable[tuple[Concept, Concept]]:
    sharing: defaultdict[str, dict[str, Concept]] = defaultdict(dict)
    for concept in concepts:
        for alias in concept.aliases:
            key = name_key(alias.name)
            for mark in {*grams(key), *(f"\x1f{word}" for word in key.split())}:
                sharing[mark][concept.id] = concept
    pairs = {
        (one, other): (members[one], members[other])
        for members in sharing.values()
        if len(members) <= _COMMON
        for one, other in combinations(sorted(members), 2)
    }
    return pairs.values()


def _likeness(one: str, other: str) -> float:
    if numbers(one) != numbers(other):
        return 0.0
    return max(
        likeness(one, other), 0.8 * is_part(one, other), 0.9 * (one != other and spelling(one) == spelling(other))
    )


def _contradict(one: Alias, other: Alias) -> bool:
    """Return true if two names differ for certain: in the surname, or in the marks of the same letters."""
    a, b = name_key(one.name), name_key(other.name)
    if joined(a) != joined(b) and spelling(a) == spelling(b) and is_marked(a) and is_marked(b):
        return True
    first, second = a.split(), b.split()
    if min(len(first), len(second)) < 2:
        return False
    own = [word for word in first if word not in second]
    others = [word for word in second if word not in first]
    return bool(own and others) and len(own) < len(first) and likeness(" ".join(own), " ".join(others)) < _ALIKE / 2
