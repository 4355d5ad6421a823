"""Matching of a model's words with a remembered fact; unclear ones are asked about, as to end a wrong one is worse."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.language import denial_of
from react_mem.memory.language.comparison import share
from react_mem.memory.language.standing import as_stated
from react_mem.memory.language.text import normalise
from react_mem.memory.llm.answers import fence
from react_mem.memory.model.records import Fact

_CLEAR = 0.8
"""Shared words, as F1, from which a description means a fact: "the fact that I am allergic to peanuts" has 0.8."""

_APART = 0.25
"""Margin to the next fact: one word of four."""

_CUT = 40
"""Characters from which the beginning of a long fact, as it is shown, stands for all of it."""


def meant_facts(what: str, facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that are meant: those that say just this, else the one that clearly fits best.

    Args:
        what: A fact's text as it was shown, or words that only it has.
        facts: The facts it may be.

    Returns:
        One fact, or several that say the same; none where it is not clear.
    """
    exact = [fact for fact in facts if _is_named(what, fact)]
    if exact:
        # the words of the user that such a fact was drawn from, where they are kept as well
        return exact + [fact for fact in facts if fact.verbatim and fact not in exact and _says(what, fact)]
    alike = [fact for fact in facts if bool(denial_of(fact.text)) is bool(denial_of(what))]
    same = [fact for fact in alike if _says(what, fact)]
    if same:
        return same if sum(not fact.verbatim for fact in same) <= 1 else []
    whole = [fact for fact in alike if share(what, [fact.text]) == 1]
    if len(whole) == 1:
        return whole
    ranked = sorted(((_fit(what, fact.text), place) for place, fact in enumerate(alike)), reverse=True)
    if not whole and ranked and ranked[0][0] >= _CLEAR and (len(ranked) == 1 or ranked[1][0] <= ranked[0][0] - _APART):
        return [alike[ranked[0][1]]]
    return []


def _is_named(what: str, fact: Fact) -> bool:
    named, text = normalise(what), normalise(fence(fact.text))
    shortened = len(named) >= _CUT and what.rstrip().endswith("…")
    return named in (text, normalise(fact.text), normalise(as_stated(fact.text))) or (
        shortened and text.startswith(named)
    )


def _says(what: str, fact: Fact) -> bool:
    """Return whether a fact has the same words that carry meaning, and no others."""
    return _fit(what, fact.text) == 1 and bool(denial_of(what)) is bool(denial_of(fact.text))


def _fit(one: str, other: str) -> float:
    forth, back = share(one, [other]), share(other, [one])
    return 2 * forth * back / (forth + back) if forth + back else 0.0
