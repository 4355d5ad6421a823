"""Composition of located labels into operations on facts, within the evidence of the user's words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from react_mem.memory.language import UNSPACED, denial_of, length
from react_mem.memory.language.clauses import MAX_CLAUSE, cut
from react_mem.memory.language.comparison import content_words, missing, numbers, share, words
from react_mem.memory.language.folding import has_words, normalise
from react_mem.memory.language.hedging import assents, is_denied, spelt
from react_mem.memory.language.statements import forgets_all_about, is_pleasantry, may_state
from react_mem.memory.language.times import without_times
from react_mem.memory.model.operations import Operation, Relation
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.write.extraction.briefing import Briefing, wordings
from react_mem.memory.write.extraction.located import (
    CHANGING,
    ENDING,
    Located,
    label_of,
    part_of_each,
    sharing,
)
from react_mem.memory.write.extraction.parting import repeats, without_asking
from react_mem.memory.write.extraction.proposal import (
    MAX_TEXT,
    MAX_TOPIC_WORDS,
    ProposedFact,
    Refused,
    TopicalFact,
    about_whom,
    are_linked,
    denies_instead,
    fits_better,
    is_borne_out,
    own_dates,
    without_user,
)
from react_mem.memory.write.gate import Support, answered, is_brief, may_ask_to_forget
from react_mem.memory.write.when import over_by, resolve

_MAX_NEEDS = 8
_WITHOUT_SPACES = re.compile(f"[{UNSPACED}]")
_LEADING_WORDS = 2
"""Most words of an answer at the head of a longer sentence."""


_ASSENT_WORDS = 3
"""Most content words of a clause that begins with a yes and may only agree with the assistant."""


@dataclass
class Composer:
    """Composer of operations from located facts; appends reasons of refusals, and adds the clauses used."""

    briefing: Briefing
    endings: dict[int, set[str]]
    rejected: list[str] = field(default_factory=list)
    covered: set[int] = field(default_factory=set)
    _labels: Counter[int] = field(default_factory=Counter)
    _of_clause: dict[str, Operation] = field(default_factory=dict)
    _proposed: list[Located] = field(default_factory=list)

    def operations(self, facts: Sequence[Located]) -> list[Operation]:
        self._proposed = list(facts)
        # of facts that share a clause the part of each, if it is clear
        parts = {one: part for group in sharing(facts) for one, part in part_of_each(group).items()}
        for fact in facts:
            self._labels.update(fact.numbers)
        taken: dict[str, Operation] = {}
        made: list[tuple[Located, Operation]] = []
        # in the order in which they were said: what is said later may change what was said earlier
        for fact in sorted(facts, key=lambda fact: fact.numbers):
            try:
                operation = self._operation(fact, parts.get(id(fact), ""))
            except Refused as refused:
                self.rejected.append(str(refused))
                continue
            if operation.target_id and operation.text and operation.relation in CHANGING:
                before = taken.setdefault(operation.target_id, operation)
                if before is not operation and not _goes_on(operation, before):
                    operation = replace(operation, relation="unsure")
            self.covered.update(fact.numbers)
            for number in fact.numbers:
                self._of_clause.setdefault(str(number), operation)
            made.append((fact, operation))
        # what a fact needs may be said behind it
        return _distinct([replace(one, needs=self._needed(fact.proposed.needs, one)) for fact, one in made])

    def _operation(self, fact: Located, part: str) -> Operation:
        proposed, quote = fact.proposed, fact.quote
        message = self.briefing.messages[fact.clauses[0].message]
        text, origin = self._said(fact, part) if part else self._text(fact)
        if text in (part, quote):
            text = without_asking(text, fact.sentence)
        if not has_words(text) or (is_pleasantry(text) and origin is Origin.USER):
            raise Refused("it says nothing lasting")
        # an imported message says no more than the file that it is from
        origin = lowest([origin, message.origin])
        target_id, put = self._target(proposed, fact)
        relation = self._relation(fact, part, target_id, put, origin)
        said = (message.at or datetime.now(UTC), self.briefing.zone, own_dates(proposed.when.strip()[:40]))
        if relation in ("ends", "forget"):
            relation = self._retirement(fact, put, part)
        if relation in ("ends", "forget"):
            # the end needs no fact of its own: the message says it
            ending = Operation(relation, "", target_id=target_id, quote=quote, source_ids=(message.id,), origin=origin)
            ending = replace(ending, speaker=message.speaker)
            return replace(ending, valid_to=over_by(quote, *said)) if relation == "ends" else ending
        when = resolve(part or quote, *said)
        reading = fact.sentence
        shown = [quote, *self._context(fact), *put]
        # a sentence that helps to find the clause
        reads = reading != text and 0 < len(reading) <= MAX_TEXT and share(reading, [quote]) > 0
        about = about_whom(proposed.about, [*shown, *self.briefing.known], quote)
        return Operation(
            relation=relation,
            text=text,
            about=message.speaker or about if about == "user" else about,
            speaker=message.speaker,
            target_id=target_id,
            quote=quote if text != quote else "",
            reading=reading if reads and is_borne_out(reading, shown) else "",
            source_ids=(message.id,),
            origin=origin,
            topic=_unsaid_words(proposed, [text, quote]),
            **vars(when),
        )

    def _said(self, fact: Located, part: str) -> tuple[str, Origin]:
        """Return text and origin of a fact with a part of a clause: the part, or the sentence of an answer."""
        first = fact.clauses[0]
        if first.place == 0 and is_brief(part) and first.clause.text.startswith(part):
            answer = self._answered(replace(fact, clauses=(replace(first, clause=replace(first.clause, text=part)),)))
            if answer:
                return answer.text, answer.origin
        return part, Origin.USER

    def _text(self, fact: Located) -> tuple[str, Origin]:
        """Return the text and origin of a fact: its clause, or its sentence if the clause answers a question."""
        begins = fact.clauses[0].place == 0 and length(fact.quote) <= _LEADING_WORDS
        if is_brief(fact.quote) and (begins or self.briefing.sentence_of(fact.clauses[0]) == fact.quote):
            if answer := self._answered(fact):
                return answer.text, answer.origin
            if with_question := self._with_question(fact):
                return with_question, Origin.USER
            if length(fact.quote) <= 1 or is_pleasantry(fact.quote):
                raise Refused("its clause says nothing by itself, and nothing bears the sentence out")
            # "I'm vegan" states something by itself
        if not self._is_from_question(fact):
            return fact.quote, Origin.USER
        first, *_ = words(fact.quote)
        if not is_pleasantry(first) or length(" ".join(content_words(fact.quote))) > _ASSENT_WORDS:
            # it may state something by itself, but nothing that bears out a change of what is known
            return fact.quote, Origin.ASSENT if fact.proposed.rel in CHANGING else Origin.USER
        if self.briefing.tainted or len(fact.sentence) > MAX_TEXT:
            raise Refused("its clause says nothing by itself, and nothing bears the sentence out")
        return fact.sentence, Origin.ASSENT

    def _is_from_question(self, fact: Located) -> bool:
        """Return true if a sentence takes all its words from the assistant's question, none from the clause."""
        quote, sentence = fact.quote, without_user(fact.sentence)
        asked = self.briefing.before(fact.clauses[0].message)
        if not (asked and words(quote) and content_words(sentence)) or share(sentence, [quote]) > 0:
            return False
        drawn = is_borne_out(sentence, [asked]) and not missing(sentence, [asked])
        return drawn and bool(denial_of(quote)) == bool(denial_of(sentence))

    def _answered(self, fact: Located) -> Support | None:
        """Return the statement made by a brief answer to the assistant's question: "Yes", "Green", "Since 2019"."""
        asked = self.briefing.before(fact.clauses[0].message)
        if not asked or len(fact.sentence) > MAX_TEXT:
            return None
        before = [*self._context(fact), *self.briefing.known]
        return answered(fact.sentence, fact.quote, [asked], tainted=self.briefing.tainted, before=before)

    def _with_question(self, fact: Located) -> str:
        """Return a one-word answer behind its question ("Shoe size? 46"); empty if it is none."""
        quote = fact.quote
        asked = [one.text for one in cut(self.briefing.before(fact.clauses[0].message)) if one.asks][-1:]
        if self.briefing.tainted or not asked or length(quote) > 1 or fact.proposed.rel != "new":
            return ""
        says_no_more = is_pleasantry(quote) or assents(quote) or is_denied(quote)
        if says_no_more or not words(quote) or not set(words(quote)) <= set(words(fact.sentence)):
            return ""
        text = f"{asked[0]} {quote}"
        return text if len(text) <= MAX_TEXT else ""

    def _context(self, fact: Located) -> list[str]:
        """Return the user's words around a clause: "she" is named there."""
        own = fact.clauses[0].message
        return [
            numbered.clause.text
            for numbered in self.briefing.clauses.values()
            if numbered.message <= own and numbered.clause.text not in fact.quote
        ] + [
            said
            for said, message in zip(self.briefing.shown, self.briefing.messages, strict=True)
            if message.context and message.role == "user"
        ]

    def _target(self, proposed: ProposedFact, fact: Located) -> tuple[str | None, tuple[str, ...]]:
        label = label_of(proposed.target)
        if not label or proposed.rel == "new":
            return None, ()
        speaker = self.briefing.messages[fact.clauses[0].message].speaker
        known = self.briefing.targets.get(label)
        if known is not None:
            # another person says nothing of what is known of the user or somebody else, and has nothing forgotten
            own = proposed.rel != "forget" and normalise(known.about) == normalise(speaker)
            return (known.id, wordings(known)) if own or not speaker else (None, ())
        earlier = self._of_clause.get(label)
        if earlier is not None and speaker not in ("", earlier.speaker):
            return None, ()
        number = int(label) if label.isdecimal() and len(label) < 4 else 0
        numbered = self.briefing.clauses.get(number)
        if earlier is not None and earlier.text and numbered and numbered.message < fact.clauses[0].message:
            return _fact_of(earlier), (earlier.text, earlier.reading)
        return None, ()

    def _relation(
        self, fact: Located, part: str, target_id: str | None, put: Sequence[str], origin: Origin
    ) -> Relation:
        relation, quote = fact.proposed.rel, fact.quote
        if target_id is None:
            if relation == "forget":
                raise Refused("it forgets a memory that was not shown")
            return "new"
        if relation == "forget" and not may_ask_to_forget(fact.quote, fact.sentence, self.briefing.tainted):
            raise Refused("its clause does not ask to forget anything")
        linked = are_linked(quote, put)
        # what names nothing of a fact may still be its end ("we split up"), but then it is nothing else besides
        several = any(self._labels[number] > 1 for number in fact.numbers)
        alone = relation not in ("ends", "forget") or not several or self._is_wide(fact)
        of_another = relation not in ("ends", "forget") and fits_better(quote, put, self._others(fact), states=True)
        meant = (linked or (alone and not self.briefing.tainted)) and not of_another
        if relation == "same":
            if any(denies_instead(one.clause.text, put[0]) for one in fact.clauses):
                return "unsure"
            # a number that the fact does not have is not a repetition of it
            saying = part or quote
            if when := fact.proposed.when:
                said = self.briefing.messages[fact.clauses[0].message].at or datetime.now(UTC)
                saying = without_times(saying[:MAX_CLAUSE], said.date()) + saying[MAX_CLAUSE:]
            new = numbers(saying) - set(re.findall(r"\d+", when))
            return "same" if meant and new <= set[str]().union(*map(numbers, put), *map(spelt, put)) else "new"
        if relation not in CHANGING or (meant and origin in (Origin.USER, Origin.SPEAKER)):
            return relation
        if relation in ("ends", "forget"):
            raise Refused("the user's words do not name what is to be ended")
        # a request about a page is not a doubt of what is known
        return "unsure" if origin is not Origin.USER or may_state(quote) else "new"

    def _retirement(self, fact: Located, put: Sequence[str], part: str) -> Relation:
        """Return an end or a doubt, by the model's other labels on the same message."""
        relation, quote = fact.proposed.rel, fact.quote
        message = fact.clauses[0].message
        beside = [one for one in self._proposed if one.clauses[0].message == message]
        if any(one.proposed.rel == "same" and one.proposed.target == fact.proposed.target for one in beside):
            raise Refused("the same memory is said again")
        line = f"about {put[1]}: {put[0]}" if put[1:2] != ("",) and len(put) > 1 else ""
        if relation == "ends" and repeats(fact.sentence, [*put, line]):
            raise Refused("its sentence says what it is to end")
        here = [one for one in beside if set(one.numbers) & set(fact.numbers)]
        ends = [one for one in here if one.proposed.rel in ENDING]
        if any(len(self.endings.get(number, ())) > 1 for number in fact.numbers):
            raise Refused("one clause ends and forgets")
        if are_linked(quote, put):
            # what a clause states besides has words of its own, or the clause does not end anything
            return relation if part or len(ends) == len(here) else "unsure"
        if fits_better(quote, put, self._others(fact), states=False):
            raise Refused("the user's words name something else")
        ending = [one for one in beside if one.proposed.rel in ENDING]
        lone = {one.proposed.target for one in ending if not are_linked(one.quote, self._target(one.proposed, one)[1])}
        if len(lone) == 1 or self._is_wide(fact):
            return relation
        if not may_state(quote):
            raise Refused("the user's words do not name what is to be ended")
        return "unsure"

    def _is_wide(self, fact: Located) -> bool:
        """Return true if the user asks to forget all about a topic: the memories of it need not share its words."""
        return fact.proposed.rel == "forget" and not self.briefing.tainted and forgets_all_about(fact.quote)

    def _others(self, fact: Located) -> list[tuple[str, ...]]:
        """Return the memories beside a label's target, and of somebody else only where the label ends something."""
        about = fact.proposed.about
        return [
            wordings(memory)
            for label, memory in self.briefing.targets.items()
            if label != label_of(fact.proposed.target) and (memory.about == about or fact.proposed.rel in ENDING)
        ]

    def _needed(self, needs: Sequence[str], by: Operation) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for label in needs[:_MAX_NEEDS] if by.text else ():
            name = label_of(label)
            if name in self.briefing.targets:
                found[self.briefing.targets[name].id] = None
            elif name in self._of_clause and self._of_clause[name].text:
                found[_fact_of(self._of_clause[name])] = None
        return tuple(id_ for id_ in found if id_ != _fact_of(by))


def _unsaid_words(proposed: ProposedFact, said: Sequence[str]) -> str:
    topic = " ".join((proposed.topic if isinstance(proposed, TopicalFact) else "").split())[:MAX_TEXT]
    new = missing(topic, said)
    if _WITHOUT_SPACES.search(topic):
        # the index finds the words in it
        return topic[: 2 * MAX_TOPIC_WORDS] if new else ""
    return " ".join(new[:MAX_TOPIC_WORDS])


def _goes_on(operation: Operation, before: Operation) -> bool:
    """Return true if a later message may change a fact again: it names something of the successor."""
    later = not set(operation.source_ids) & set(before.source_ids)
    return later and are_linked(operation.text, [before.text, before.reading])


def _distinct(operations: Sequence[Operation]) -> list[Operation]:
    """Deduplicate operations on the same words of one message, unless they change several facts."""
    groups: dict[tuple[Any, ...], list[Operation]] = {}
    for place, one in enumerate(operations):
        groups.setdefault((normalise(one.text), one.source_ids) if one.text else (place,), []).append(one)
    found: list[Operation] = []
    for group in groups.values():
        telling = [one for one in group if one.relation not in ("new", "same")]
        kept = telling or [one for one in group if one.relation == "new"][:1] or group
        distinct = {(one.relation, one.target_id): replace(one, about=group[0].about) for one in reversed(kept)}
        found += reversed(distinct.values())
    return found


def _fact_of(operation: Operation) -> str:
    return operation.target_id if operation.relation == "same" and operation.target_id else operation.id
