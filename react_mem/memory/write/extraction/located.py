"""Clauses cited by a label, their consistency with it, and the part of each label that shares a clause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from react_mem.memory.language.clauses import joined
from react_mem.memory.language.comparison import Vocabulary, share
from react_mem.memory.language.hedging import has_sign, is_hypothetical
from react_mem.memory.language.own_words import parts as parts_of
from react_mem.memory.language.statements import is_question, is_request
from react_mem.memory.model.operations import Relation
from react_mem.memory.model.origins import Origin
from react_mem.memory.write.extraction.briefing import MAX_CLAUSES, Briefing, Numbered
from react_mem.memory.write.extraction.parting import (
    asks_again,
    before_question,
    divided,
    drops_condition,
    drops_question,
    is_from_quotation,
    reads_stranger,
    says_nothing_of,
    speaks_of_user,
)
from react_mem.memory.write.extraction.proposal import (
    MAX_FACTS,
    MAX_TEXT,
    ProposedFact,
    ProposedOther,
    Refused,
    about_whom,
    without_user,
)
from react_mem.memory.write.gate import is_brief

ENDING: frozenset[Relation] = frozenset({"ends", "forget"})
CHANGING: frozenset[Relation] = frozenset({"changes", "ends", "corrects", "forget"})

_FROM_QUESTION = 0.5
"""Share of a sentence's words in the question before it, from which its clause may begin with the answer."""

_MAX_STRANGE = 8_000
"""Characters read of a message that somebody else may have written."""

_SPEAKERS = frozenset({Origin.USER, Origin.ASSENT, Origin.ASSISTANT, Origin.SPEAKER})


@dataclass(frozen=True)
class Located:
    """Proposed fact with the clauses that it cites."""

    proposed: ProposedFact
    numbers: tuple[int, ...]
    clauses: tuple[Numbered, ...]

    @property
    def quote(self) -> str:
        """The user's exact words; an ellipsis between clauses that are not neighbours."""
        return " … ".join(joined(one.clause for one in run) for run in runs(self.clauses))

    @property
    def sentence(self) -> str:
        """The model's sentence."""
        return " ".join(self.proposed.text.split())


def runs(clauses: Sequence[Numbered], *, within_sentences: bool = False) -> list[list[Numbered]]:
    """Group clauses into runs of neighbours, in the order of the conversation."""
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
    """Group the facts that share a clause; facts that share none are left out."""
    groups: list[list[Located]] = []
    for fact in facts:
        mine = [group for group in groups if any(set(one.numbers) & set(fact.numbers) for one in group)]
        groups = [group for group in groups if group not in mine]
        groups.append([*(one for group in mine for one in group), fact])
    return [group for group in groups if len(group) > 1]


def part_of_each(group: Sequence[Located]) -> dict[int, str]:
    """Return the part of the shared clauses for each fact, by `id()`; empty if it is not clear."""
    clauses = sorted({one for fact in group for one in fact.clauses}, key=lambda one: one.place)
    if len(runs(clauses)) != 1:
        return {}
    whole = joined(one.clause for one in clauses)
    parts = divided(whole, [fact.sentence for fact in group])
    # a whole is not a part: "Yes" to two questions says neither
    if any(part == whole or part not in fact.quote for fact, part in zip(group, parts, strict=True)):
        return {}
    return {id(fact): part for fact, part in zip(group, parts, strict=True)}


def label_of(target: str | None) -> str:
    """Return the normalised label of a target; empty without one."""
    return (target or "").strip().casefold().strip("[]")


def asks(text: str) -> bool:
    """Return true if a text is a question or a request, by the words of a known language."""
    return is_question(text) or is_request(text)


@dataclass
class Locator:
    """Resolver of labels to clauses, and record of the labels of each clause."""

    briefing: Briefing
    questions: set[int] = field(default_factory=set)
    standing: set[int] = field(default_factory=set)
    changing: set[int] = field(default_factory=set)
    about: dict[int, set[str]] = field(default_factory=dict)
    sentences: dict[int, list[str]] = field(default_factory=dict)
    endings: dict[int, set[str]] = field(default_factory=dict)

    def cited(self, cited: Sequence[int]) -> tuple[int, ...]:
        """Return the cited clauses: existing ones, of one message. Refuses others."""
        found = tuple(sorted(set(cited)))
        if not found:
            raise Refused("it cites nothing")
        if any(number not in self.briefing.clauses for number in found):
            raise Refused("it cites a clause that does not exist")
        if len({self.briefing.clauses[number].message for number in found}) > 1:
            raise Refused("it cites several messages")
        return found

    def note(self, items: Any) -> None:
        """Record the model's sentences and ends of each clause."""
        for item in items[:MAX_FACTS] if isinstance(items, list) else ():
            cited, text = (item.get("c"), item.get("text")) if isinstance(item, dict) else (None, None)
            if isinstance(cited, list) and isinstance(text, str):
                for number in (one for one in cited[:MAX_CLAUSES] if isinstance(one, int)):
                    relation = item.get("rel")
                    if isinstance(relation, str) and relation in ENDING:
                        self.endings.setdefault(number, set()).add(relation)
                    self.sentences.setdefault(number, []).append(text[:MAX_TEXT])

    def locate(self, proposed: ProposedFact) -> Located:
        """Return a fact with its clauses, or refuse it."""
        cited = self.cited(proposed.c)
        clauses = tuple(self.briefing.clauses[number] for number in cited)
        if proposed.rel == "forget":
            # which is asked for, mostly
            clauses = tuple(one for one in clauses if not one.clause.quoted)
        else:
            clauses = tuple(filter(None, (self._telling(number, proposed.text) for number in cited)))
        if not clauses:
            raise Refused("its clause asks or quotes")
        if problem := self._inconsistent(Located(proposed, cited, clauses)):
            raise Refused(problem)
        if proposed.rel in CHANGING:
            self.changing.update(cited)
        for number in cited:
            self.about.setdefault(number, set()).add(about_whom(proposed.about, self.briefing.shown))
        return Located(proposed, cited, clauses)

    def _inconsistent(self, fact: Located) -> str:
        """Return the reason why a label contradicts its own clause; empty if it does not."""
        sentence, quote, rel = fact.sentence, fact.quote, fact.proposed.rel
        if not sentence or rel == "forget":
            return ""
        first, last = (self.briefing.clauses.get(number) for number in (fact.numbers[0] - 1, fact.numbers[-1] + 1))
        one = fact.clauses[0]
        is_before = first is not None and (first.message, first.clause.sentence) == (one.message, one.clause.sentence)
        # what is known already is none the less said again: "as I may have told you"
        again = rel == "same" and label_of(fact.proposed.target) in self.briefing.targets
        supposed = is_hypothetical(self.briefing.sentence_of(one)) and not has_sign(quote, "takes_back")
        if not again and (
            supposed or drops_condition(sentence, quote, first.clause.text if first and is_before else "")
        ):
            return "its clause only supposes it"
        if drops_question(sentence, quote):
            return "its clause asks or quotes"
        if last is not None and last.message == one.message and has_sign(last.clause.text, "takes_back"):
            return "it is taken back"
        if is_from_quotation(sentence, quote) or speaks_of_user(quote):
            return "its clause asks or quotes"
        said, own, strange = self._heard
        # what is an answer has its words from the question
        asked = self.briefing.before(one.message)
        from_question = one.place == 0 and share(without_user(sentence), [asked]) >= _FROM_QUESTION
        answers = bool(asked) and (is_brief(quote) or from_question)
        if rel != "ends" and not answers and says_nothing_of(sentence, quote, said):
            return "its sentence says nothing of its clause"
        if reads_stranger(sentence, own, strange):
            return "its sentence says what somebody else's text says"
        return ""

    @cached_property
    def _heard(self) -> tuple[Vocabulary, Vocabulary, Vocabulary]:
        """Vocabularies of known and said texts, of these without the assistant's, and of strangers' texts."""
        own, said, strange = self.briefing.known, self.briefing.known, list[str]()
        last = max((one.message for one in self.briefing.clauses.values()), default=0)
        for place, (text, message) in enumerate(zip(self.briefing.shown, self.briefing.messages, strict=True)):
            if message.role == "tool" or message.origin not in _SPEAKERS:
                strange.append(message.text[:_MAX_STRANGE])
                continue
            # nobody answers what is said behind them
            said += [text] if place <= last else []
            if message.role == "user":
                own.append(text)
                strange += [part.text for part in parts_of(message.text[:_MAX_STRANGE]) if part.shown]
        return Vocabulary(said), Vocabulary(own), Vocabulary(strange)

    def _telling(self, number: int, sentence: str) -> Numbered | None:
        """Return the part of a clause that can state something; None for a question or a quotation."""
        numbered = self.briefing.clauses[number]
        clause = numbered.clause
        if clause.quoted or clause.text.endswith((":", "：")):
            # what introduces something that is shown says nothing by itself
            return None
        if not clause.asks and asks(clause.text) and asks(sentence or clause.text):
            return None
        if not clause.asks or (number in self.questions and not asks_again(sentence, clause.text)):
            # a clause that asks may tell something too, if the model says both of it
            return numbered
        told = before_question(clause.text, self.sentences.get(number, ()))
        if not told or asks(told):
            return None
        return replace(numbered, clause=replace(clause, text=told, asks=False))

    def set_aside(self, proposed: ProposedOther) -> tuple[int, ...]:
        """Record the clauses that a label takes for something other than a fact, and return their numbers."""
        cited = tuple(number for number in proposed.c if number in self.briefing.clauses)
        if not cited:
            raise Refused("it cites a clause that does not exist")
        if proposed.kind == "question":
            self.questions.update(cited)
        for number in cited if proposed.kind == "standing" else ():
            clause = self.briefing.clauses[number].clause
            if not clause.quoted and not is_question(clause.text):
                self.standing.add(number)
        return cited
