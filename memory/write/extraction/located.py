"""Proposed facts with the clauses that they cite, and the words that each of those who share a clause has of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from react_mem.memory.language.clauses import joined
from react_mem.memory.language.comparison import missing, share
from react_mem.memory.write.extraction.briefing import Numbered
from react_mem.memory.write.extraction.evidence import without_user
from react_mem.memory.write.extraction.parting import divided
from react_mem.memory.write.extraction.proposal import ProposedFact


@dataclass(frozen=True)
class Located:
    """A proposed fact with the clauses that it cites."""

    proposed: ProposedFact
    numbers: tuple[int, ...]
    clauses: tuple[Numbered, ...]

    @property
    def quote(self) -> str:
        """The user's exact words; an ellipsis stands for what is between clauses that are no neighbours."""
        return " … ".join(joined(one.clause for one in run) for run in runs(self.clauses))

    @property
    def sentence(self) -> str:
        """The sentence that the model made of them."""
        return " ".join(self.proposed.text.split())


def runs(clauses: Sequence[Numbered], *, within_sentences: bool = False) -> list[list[Numbered]]:
    """Return clauses in the order of the conversation, those that stand side by side together."""
    runs: list[list[Numbered]] = []
    for one in clauses:
        last = runs[-1][-1] if runs else None
        beside = last is not None and (last.message, last.place + 1) == (one.message, one.place)
        if last is not None and beside and (not within_sentences or last.clause.sentence == one.clause.sentence):
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def sharing(facts: Sequence[Located]) -> list[list[Located]]:
    """Return the facts that stand on a clause of others, together."""
    groups: list[list[Located]] = []
    for fact in facts:
        mine = [group for group in groups if any(set(one.numbers) & set(fact.numbers) for one in group)]
        groups = [group for group in groups if group not in mine]
        groups.append([*(one for group in mine for one in group), fact])
    return [group for group in groups if len(group) > 1]


def shows(fact: Located, group: Sequence[Located]) -> bool:
    """Return whether a fact's clauses have a word that tells its sentence from those of others."""
    others = [one.sentence for one in group if one is not fact]
    return share(" ".join(missing(without_user(fact.sentence), others)), [fact.quote]) > 0


def part_of_each(group: Sequence[Located]) -> dict[int, str]:
    """Return the part that each of some facts has of the clauses they share; nothing where it is not clear."""
    clauses = sorted({one for fact in group for one in fact.clauses}, key=lambda one: one.place)
    if len(runs(clauses)) != 1:
        return {}
    whole = joined(one.clause for one in clauses)
    parts = divided(whole, [fact.sentence for fact in group])
    # a whole is no part: "Yes" to two questions says neither
    if any(part == whole or part not in fact.quote for fact, part in zip(group, parts, strict=True)):
        return {}
    return {id(fact): part for fact, part in zip(group, parts, strict=True)}
