"""Themes: what several facts, or a fact and an episode, speak of that has no name, such as a taste or a matter at work.

A theme is words that they have in common, whatever the language, or what a single fact says that the user prefers. What
is done is no theme ("started", "went to"): one ends a clause in some memory, as things do and verbs with an object do
not. They are counted behind the turns, from all facts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby

from react_mem.memory.language import UNSPACED
from react_mem.memory.language.comparison import content_words, may_link, words
from react_mem.memory.language.folding import fold
from react_mem.memory.language.standing import preferred_in
from react_mem.memory.model.concepts import Alias, Concept
from react_mem.memory.model.kinds import CONCEPT
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Episode, Fact

MAX_THEMES = 50
"""Themes of a user, those that most speak of: each is a record."""

_MOST_WORDS = 3
_STEM = 5
"""Letters of a word that count: "climate" and "climates"."""

_LEAST, _LEAST_OF_A_WORD = 2, 3
"""Memories that speak of a theme, and of one that is a single word: that may be a coincidence."""

_MOST_SOURCES = 50
"""Of these, the latest that it names."""

_CLAUSE = re.compile(r"[.!?,;:()。！？、，；：]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")

_Key = tuple[str, ...]


def themes(facts: Iterable[Fact], episodes: Iterable[Episode], named: Iterable[Concept]) -> list[Concept]:
    """Return the themes of a user. Compute only: a second for thousands of facts.

    Args:
        facts: All facts; what is over, and what only an unread statement says, is not a theme.
        episodes: All episodes, which tell by their goals what they were about.
        named: The concepts that have names: no theme says less than one of these.
    """
    told: list[tuple[str, Fact | Episode]] = [
        *((fact.text, fact) for fact in facts if fact.current and not fact.verbatim),
        *((episode.goal, episode) for episode in episodes),
    ]
    uses: defaultdict[_Key, dict[str, str]] = defaultdict(dict)
    said: dict[str, Fact | Episode] = {}
    for text, record in told:
        said[record.id] = record
        for key, phrase in _phrases(text):
            uses[key].setdefault(record.id, phrase)
    stated = {key for text, record in told if isinstance(record, Fact) for key in _stated(text)}
    last = {fold(clause[-1])[:_STEM] for text, _ in told for clause in map(words, _CLAUSE.split(text)) if clause}
    names = {key for concept in named for alias in concept.aliases for key, _ in _phrases(alias.name)}
    chosen: list[_Key] = []
    for key in sorted(uses, key=lambda key: (-len(key), key)):
        facts_of_it = [id_ for id_ in uses[key] if isinstance(said[id_], Fact)]
        enough = key in stated or len(uses[key]) >= (_LEAST if len(key) > 1 else _LEAST_OF_A_WORD)
        if facts_of_it and enough and _is_thing(key, last) and key not in names and not _is_said_by(key, uses, chosen):
            chosen.append(key)
    chosen.sort(key=lambda key: (-len(uses[key]), key))
    return [_theme(key, uses[key], said) for key in chosen[:MAX_THEMES]]


def without(theme: Concept, gone: Collection[str]) -> Concept | None:
    """Return a theme without some memories; None where the rest have nothing in common.

    What one that is left says is preferred is a theme again when they are counted anew.
    """
    [alias] = theme.aliases
    left = alias.without(gone)
    if left == alias:
        return theme
    return None if left is None or len(left.source_ids) < _LEAST else _concept(theme.id, left)


def _phrases(text: str) -> Iterator[tuple[_Key, str]]:
    """Yield what a text may have in common with another: some words that say something, side by side.

    >>> [phrase for _, phrase in _phrases("I prefer a cool climate.")]
    ['prefer', 'cool', 'cool climate', 'climate']
    """
    for telling, run in groupby(words(text), key=lambda word: bool(content_words(word))):
        side_by_side = list(run) if telling else []
        for start in range(len(side_by_side)):
            for end in range(start + 1, min(start + _MOST_WORDS, len(side_by_side)) + 1):
                phrase = side_by_side[start:end]
                if len(phrase) > 1 or may_link(phrase[0]):
                    space = "" if _UNSPACED.match(phrase[0]) else " "
                    yield tuple(fold(word)[:_STEM] for word in phrase), space.join(phrase)


def _stated(text: str) -> Iterator[_Key]:
    """Yield the theme that a statement of a preference has by itself, if it is of two words at least.

    >>> list(_stated("I prefer a cool climate.")), list(_stated("The climate is cool.")), list(_stated("I like tea"))
    ([('cool', 'clima')], [], [])
    """
    found = ([key for key, _ in _phrases(part) if len(key) > 1] for part in preferred_in(text))
    if keys := next(filter(None, found), None):
        yield max(keys, key=len)


def _is_thing(key: _Key, last: Collection[str]) -> bool:
    """Return whether words end a clause somewhere, as far as they are not cut off."""
    return len(key) == _MOST_WORDS or key[-1] in last


def _is_said_by(key: _Key, uses: Mapping[_Key, Mapping[str, str]], longer: Iterable[_Key]) -> bool:
    """Return whether a longer theme says the same of the same memories."""
    parts = {one for one in longer if any(one[at : at + len(key)] == key for at in range(len(one)))}
    return any(uses[key].keys() <= uses[one].keys() for one in parts)


def _theme(key: _Key, phrases: Mapping[str, str], said: Mapping[str, Fact | Episode]) -> Concept:
    latest = sorted(phrases, key=lambda id_: (said[id_].created_at, id_), reverse=True)[:_MOST_SOURCES]
    name = min(Counter(phrases.values()).items(), key=lambda used: (-used[1], used[0]))[0]
    origins = {id_: said[id_].origin for id_ in latest if said[id_].origin is not Origin.USER}
    since = min(said[id_].created_at for id_ in latest)
    alias = Alias(name=name, since=since, source_ids=tuple(sorted(latest)), origins=origins)
    return _concept(CONCEPT.id("theme", *key), alias)


def _concept(id_: str, alias: Alias) -> Concept:
    return Concept.of([alias]).model_copy(update={"id": id_, "theme": True})
