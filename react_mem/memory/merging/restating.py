"""A fact that others vouch for and that its owner then says: from then on it is theirs, in their words.

In the words of the fact it is taken over where it is. In other words it becomes a fact of its own that takes the place
of the other, which stays as history: so nothing that only others said passes for the owner's, and once what the owner
said is forgotten, the other is believed again, with the origin that it had.
"""

from __future__ import annotations

from collections.abc import Iterable

from react_mem.memory.language.text import normalise
from react_mem.memory.model.origins import Origin, is_higher
from react_mem.memory.model.records import Fact, Wording

_OWNERS = frozenset({Origin.USER, Origin.ASSENT})
"""Origins of the owner's own statements and assents. Nobody else's other words take the place of a fact."""


def is_told_anew(fact: Fact, new: Fact) -> bool:
    """Return whether a fact is said by who is trusted more, in a message that was not known to say it.

    Args:
        fact: The fact.
        new: The same, as it is said now.
    """
    heard = {*fact.source_ids, *fact.withdrawn}
    return is_higher(new.origin, fact.origin) and not heard.issuperset(new.source_ids)


def is_put_anew(fact: Fact, new: Fact) -> bool:
    """Return whether what its owner says takes the place of a fact: they put it in other words.

    Args:
        fact: The fact.
        new: The same, as it is said now.
    """
    return new.origin in _OWNERS and is_told_anew(fact, new) and normalise(new.text) != normalise(fact.text)


def ways(fact: Fact) -> set[str]:
    """Return how a fact is put, as texts are compared."""
    return {normalise(fact.text), *(normalise(wording.text) for wording in fact.wordings)}


def says_again(heir: Fact, fact: Fact) -> bool:
    """Return whether a fact that took the place of another says the same, and is only trusted more.

    Args:
        heir: The fact that took its place.
        fact: The fact that is over.
    """
    return is_higher(heir.origin, fact.origin) and normalise(fact.text) in ways(heir)


def unsourced(wordings: Iterable[Wording]) -> tuple[Wording, ...]:
    """Return wordings without who used them: they tell how else a fact is put, and bear nothing out."""
    return tuple(wording.model_copy(update={"source_ids": ()}) for wording in wordings)


def put_anew(own: Fact, fact: Fact) -> Fact:
    """Return the owner's own fact with what was known of the one whose place it takes: other wordings, what needs it.

    Args:
        own: The fact in the owner's words.
        fact: The fact in the words of others.
    """
    others = (Wording(text=fact.text, said_at=fact.said_at, source_ids=()), *unsourced(fact.wordings))
    known = ways(own)
    more = tuple(one for one in others if normalise(one.text) not in known)
    needed_by = tuple(id_ for id_ in dict.fromkeys((*own.needed_by, *fact.needed_by)) if id_ != own.id)
    return own.model_copy(update={"wordings": (*more, *own.wordings), "needed_by": needed_by})
