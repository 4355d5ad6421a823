"""A model's labels, checked one by one against the clauses and memories shown. Nothing is dropped silently."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from react_mem.memory.language import denial_of, length
from react_mem.memory.language.clauses import cut, joined
from react_mem.memory.language.comparison import Vocabulary, content_words, missing, numbers, share, words
from react_mem.memory.language.own_words import parts as parts_of
from react_mem.memory.language.shared import assents, is_denied, spelt
from react_mem.memory.language.statements import asks_to_forget, is_pleasantry, is_question, is_request, may_state
from react_mem.memory.language.text import normalise
from react_mem.memory.llm.answers import Answer
from react_mem.memory.model.operations import (
    ExistingMemory,
    Extraction,
    Operation,
    ProfileChange,
    Relation,
    Unread,
)
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.write.extraction.briefing import MAX_CLAUSES, Briefing, Numbered
from react_mem.memory.write.extraction.consistency import (
    asks_again,
    drops_condition,
    drops_question,
    is_from_quotation,
    is_taken_back,
    reads_stranger,
    repeats,
    says_nothing_of,
    speaks_of_user,
)
from react_mem.memory.write.extraction.evidence import (
    are_linked,
    denies_instead,
    is_borne_out,
    names_instead,
    without_user,
)
from react_mem.memory.write.extraction.examples import own_dates, repeats_example
from react_mem.memory.write.extraction.located import Located, part_of_each, runs, sharing, shows
from react_mem.memory.write.extraction.parting import after_answer, before_question, divided, without_asking
from react_mem.memory.write.extraction.proposal import (
    MAX_FACTS,
    MAX_PROFILE_CHANGES,
    ProposedEpisode,
    ProposedFact,
    ProposedOther,
    ProposedProfileChange,
)
from react_mem.memory.write.extraction.refusals import Refused, bounded
from react_mem.memory.write.extraction.told import check_episode, check_summary
from react_mem.memory.write.extraction.whom import about_whom, is_said
from react_mem.memory.write.gate import Support, answered, is_brief
from react_mem.memory.write.when import over_by, resolve

MAX_TEXT = 300
MAX_FIELD = 40
MAX_VALUE = 200
_MAX_NEEDS = 8
_LEADING_WORDS = 2
"""Words of an answer that stands before the rest of its sentence: no more than this."""

_ASSENT_WORDS = 3
"""Content words of a clause that begins with a yes and may only agree with the assistant: no more than this."""

_FROM_QUESTION = 0.5
"""Share of a sentence's words that the question before has, where what follows may begin with the answer."""

_MAX_STRANGE = 8_000
"""Characters of a message that are read of what somebody else may have written."""

_SPEAKERS = frozenset({Origin.USER, Origin.ASSENT, Origin.ASSISTANT})
_ENDING: frozenset[Relation] = frozenset({"ends", "forget"})
_CHANGING: frozenset[Relation] = frozenset({"changes", "ends", "corrects", "forget"})
_Proposed = TypeVar("_Proposed", bound=BaseModel)


def check(answer: Answer, briefing: Briefing) -> Extraction:
    """Turn what was read into an extraction.

    Args:
        answer: What the model sent.
        briefing: What it was shown.

    Returns:
        What holds, what was refused and why, and the clauses that no label covers. Calls are left for the engine to
        count.
    """
    checker = _Checker(briefing)
    payload = answer.payload
    others = checker.each(payload.get("others"), ProposedOther, checker.set_aside, MAX_CLAUSES)
    checker.note(payload.get("facts"))
    facts = checker.each(payload.get("facts"), ProposedFact, checker.located, MAX_FACTS)
    changes = checker.each(payload.get("profile"), ProposedProfileChange, checker.profile, MAX_PROFILE_CHANGES)
    ops = checker.operations(facts)
    profile = checker.one_each(changes, lambda change: change.field, "a second value for one profile field")
    episodes = [payload["episode"]] if payload.get("episode") else []
    episode = checker.each(episodes, ProposedEpisode, lambda proposed: check_episode(proposed, briefing), 1)
    summary = checker.summary(payload.get("summary"))
    checker.rejected += ["it could not be read"] * answer.leftovers
    checker.covered.update(number for numbers_ in others for number in numbers_)
    return Extraction(
        ops=tuple(ops),
        unread=tuple(checker.unread()),
        episode=episode[0] if episode else None,
        profile_changes=tuple(profile),
        summary=summary,
        rejected=tuple(checker.rejected),
        complete=briefing.whole and not answer.broken_off and not checker.rejected,
    )


@dataclass
class _Checker:
    briefing: Briefing
    rejected: list[str] = field(default_factory=list)
    covered: set[int] = field(default_factory=set)
    labels: Counter[int] = field(default_factory=Counter)
    questions: set[int] = field(default_factory=set)
    ending: set[int] = field(default_factory=set)
    about: dict[int, set[str]] = field(default_factory=dict)
    sentences: dict[int, list[str]] = field(default_factory=dict)
    endings: dict[int, set[str]] = field(default_factory=dict)
    of_clause: dict[str, Operation] = field(default_factory=dict)
    proposed: list[Located] = field(default_factory=list)

    def each(self, items: Any, form: type[_Proposed], judge: Callable[[_Proposed], Any], limit: int) -> list[Any]:
        """Judge every item by itself; one that does not fit the form costs only itself."""
        if items is None:
            return []
        if not isinstance(items, list):
            self.rejected.append("not a list")
            return []
        kept = []
        for place, item in enumerate(items):
            try:
                if place >= limit:
                    raise Refused(f"more than {limit} of them")
                # a null, where nothing is known, costs no statement
                sent = {key: part for key, part in item.items() if part is not None} if isinstance(item, dict) else item
                kept.append(judge(form.model_validate(sent)))
            except ValidationError:
                self.rejected.append("not in the form that was asked for")
            except Refused as refused:
                self.rejected.append(str(refused))
        return kept

    def one_each(self, items: Sequence[Any], key: Callable[[Any], str], reason: str) -> list[Any]:
        """Keep the first item of each key."""
        kept: dict[str, Any] = {}
        for item in items:
            if key(item) in kept and kept[key(item)] != item:
                self.rejected.append(reason)
            kept.setdefault(key(item), item)
        return list(kept.values())

    def _cited(self, cited: Sequence[int]) -> tuple[int, ...]:
        found = tuple(sorted(set(cited)))
        if not found:
            raise Refused("it cites nothing")
        if any(number not in self.briefing.clauses for number in found):
            raise Refused("it cites a clause that does not exist")
        if len({self.briefing.clauses[number].message for number in found}) > 1:
            raise Refused("it cites several messages")
        return found

    def note(self, items: Any) -> None:
        """Note which sentences the model made of each clause, and which ends it reads in it."""
        for item in items[:MAX_FACTS] if isinstance(items, list) else ():
            cited, text = (item.get("c"), item.get("text")) if isinstance(item, dict) else (None, None)
            if isinstance(cited, list) and isinstance(text, str):
                for number in (one for one in cited[:MAX_CLAUSES] if isinstance(one, int)):
                    relation = item.get("rel")
                    if isinstance(relation, str) and relation in _ENDING:
                        self.endings.setdefault(number, set()).add(relation)
                    self.sentences.setdefault(number, []).append(text[:MAX_TEXT])

    def located(self, proposed: ProposedFact) -> Located:
        cited = self._cited(proposed.c)
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
        if proposed.rel in _CHANGING:
            self.ending.update(cited)
        for number in cited:
            self.about.setdefault(number, set()).add(about_whom(proposed.about, self.briefing.shown))
        return Located(proposed, cited, clauses)

    def _inconsistent(self, fact: Located) -> str:
        """Return how a label disagrees with its own clause; empty where it does not."""
        sentence, quote, rel = fact.sentence, fact.quote, fact.proposed.rel
        if not sentence or rel == "forget":
            return ""
        first, last = (self.briefing.clauses.get(number) for number in (fact.numbers[0] - 1, fact.numbers[-1] + 1))
        one = fact.clauses[0]
        is_before = first is not None and (first.message, first.clause.sentence) == (one.message, one.clause.sentence)
        # what is known already is none the less said again: "as I may have told you"
        again = rel == "same" and self._target(fact.proposed, fact)[0] is not None
        if not again and drops_condition(sentence, quote, first.clause.text if first and is_before else ""):
            return "its clause only supposes it"
        if drops_question(sentence, quote):
            return "its clause asks or quotes"
        if last is not None and last.message == one.message and is_taken_back(last.clause.text):
            return "it is taken back"
        if is_from_quotation(sentence, quote) or speaks_of_user(quote):
            return "its clause asks or quotes"
        said, own, strange = self._heard
        # what is an answer has its words from the question
        asked = self._before(one.message)
        from_question = one.place == 0 and share(without_user(sentence), [asked]) >= _FROM_QUESTION
        answers = bool(asked) and (is_brief(quote) or from_question)
        if rel != "ends" and not answers and says_nothing_of(sentence, quote, said):
            return "its sentence says nothing of its clause"
        if reads_stranger(sentence, own, strange):
            return "its sentence says what somebody else's text says"
        return ""

    @cached_property
    def _heard(self) -> tuple[Vocabulary, Vocabulary, Vocabulary]:
        """The words of what is known and was said, of it without the assistant's, and of what strangers may have said.

        Strange is what tools returned, pages, and what the user only shows.
        """
        known = [text for memory in self.briefing.targets.values() for text in _put(memory)]
        own, said, strange = list(known), list(known), list[str]()
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
        """Return what of a clause can state something: not a question, nor a quotation."""
        numbered = self.briefing.clauses[number]
        clause = numbered.clause
        if clause.quoted or clause.text.endswith((":", "：")):
            # what introduces something that is shown says nothing by itself
            return None
        if not clause.asks and _asks(clause.text) and _asks(sentence or clause.text):
            return None
        if not clause.asks or (number in self.questions and not asks_again(sentence, clause.text)):
            # a clause that asks may tell something too, if the model says both of it
            return numbered
        told = before_question(clause.text, self.sentences.get(number, ()))
        if not told or _asks(told):
            return None
        return replace(numbered, clause=replace(clause, text=told, asks=False))

    def set_aside(self, proposed: ProposedOther) -> tuple[int, ...]:
        cited = tuple(number for number in proposed.c if number in self.briefing.clauses)
        if not cited:
            raise Refused("it cites a clause that does not exist")
        if proposed.kind == "question":
            self.questions.update(cited)
        return cited

    def operations(self, facts: Sequence[Located]) -> list[Operation]:
        """Return what the facts come to."""
        facts, parts = self._parted(facts)
        self.proposed = facts
        for fact in facts:
            self.labels.update(fact.numbers)
        taken: dict[str, Operation] = {}
        made: list[tuple[Located, Operation]] = []
        # in the order in which they were said: what is said later may change what was said earlier
        for fact in sorted(facts, key=lambda fact: fact.numbers):
            try:
                operation = self._operation(fact, parts.get(id(fact), ""))
            except Refused as refused:
                self.rejected.append(str(refused))
                continue
            if operation.target_id and operation.text and operation.relation in _CHANGING:
                before = taken.setdefault(operation.target_id, operation)
                if before is not operation and not _goes_on(operation, before):
                    operation = replace(operation, relation="unsure")
            self.covered.update(fact.numbers)
            for number in fact.numbers:
                self.of_clause.setdefault(str(number), operation)
            made.append((fact, operation))
        # what a fact needs may be said behind it
        return _distinct([replace(one, needs=self._needed(fact.proposed.needs, one)) for fact, one in made])

    def _parted(self, facts: Sequence[Located]) -> tuple[list[Located], dict[int, str]]:
        """Return the facts, and the part of the words of each that share a clause, by their ids, where it is clear."""
        parts: dict[int, str] = {}
        for group in sharing(facts):
            parts |= part_of_each(group)
        facts = [fact if id(fact) in parts else self._besides(fact, facts) for fact in facts]
        for group in sharing([fact for fact in facts if id(fact) not in parts]):
            if len({fact.numbers for fact in group}) == 1:
                facts, found = self._behind_answer(facts, group)
                parts |= found or part_of_each(group)
        return facts, parts

    def _behind_answer(self, facts: list[Located], group: Sequence[Located]) -> tuple[list[Located], dict[int, str]]:
        """Tell an answer from what is stated behind it in one clause: "Nope, but we have two cats"."""
        first, *more = group[0].clauses
        silent = [fact for fact in group if not shows(fact, group)]
        others = [fact for fact in group if fact not in silent]
        own = [" ".join(missing(fact.sentence, [one.sentence for one in silent])) for fact in others]
        if more or first.place or len(silent) != 1 or not others or not self._before(first.message):
            return facts, {}
        lead, rest = after_answer(first.clause.text, own)
        if not lead or not is_brief(lead):
            return facts, {}
        answer = replace(silent[0], clauses=(replace(first, clause=replace(first.clause, text=lead)),))
        told = divided(rest, [fact.sentence for fact in others])
        found = {id(fact): part for fact, part in zip(others, told, strict=True)}
        return [answer if fact is silent[0] else fact for fact in facts], found

    @staticmethod
    def _besides(fact: Located, facts: Sequence[Located]) -> Located:
        """Return a fact without the clauses that another one, which has no others, stands on."""
        theirs = {n for other in facts if set(other.numbers) < set(fact.numbers) for n in other.numbers}
        own = [place for place, number in enumerate(fact.numbers) if number not in theirs]
        if not own or len(own) == len(fact.numbers) or len(fact.clauses) != len(fact.numbers):
            return fact
        numbers_ = tuple(fact.numbers[place] for place in own)
        return replace(fact, numbers=numbers_, clauses=tuple(fact.clauses[place] for place in own))

    def _operation(self, fact: Located, part: str) -> Operation:
        proposed, quote = fact.proposed, fact.quote
        message = self.briefing.messages[fact.clauses[0].message]
        text, origin = self._said(fact, part) if part else self._text(fact)
        if text in (part, quote):
            text = without_asking(text, fact.sentence)
        if is_pleasantry(text) and origin is Origin.USER:
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
            return replace(ending, valid_to=over_by(quote, *said)) if relation == "ends" else ending
        when = resolve(part or quote, *said)
        reading = fact.sentence
        shown = [quote, *self._context(fact), *put]
        known = [text for memory in self.briefing.targets.values() for text in _put(memory)]
        return Operation(
            relation=relation,
            text=text,
            about=about_whom(proposed.about, [*shown, *known], quote),
            target_id=target_id,
            quote=quote if text != quote else "",
            reading=reading if reading != text and self._reads(reading, quote, shown) else "",
            source_ids=(message.id,),
            origin=origin,
            event_at=when.event_at,
            valid_from=when.valid_from,
            valid_to=when.valid_to,
        )

    def _said(self, fact: Located, part: str) -> tuple[str, Origin]:
        """Return what is kept of a fact that has a part of a clause: it, or what it says as an answer."""
        first = fact.clauses[0]
        if first.place == 0 and is_brief(part) and first.clause.text.startswith(part):
            answer = self._answered(replace(fact, clauses=(replace(first, clause=replace(first.clause, text=part)),)))
            if answer:
                return answer.text, answer.origin
        return part, Origin.USER

    def _text(self, fact: Located) -> tuple[str, Origin]:
        """Return what is kept of a fact, and who vouches for it: the clause, or what it says as an answer."""
        begins = fact.clauses[0].place == 0 and length(fact.quote) <= _LEADING_WORDS
        if is_brief(fact.quote) and (begins or self._sentence(fact) == fact.quote):
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
            return fact.quote, Origin.ASSENT if fact.proposed.rel in _CHANGING else Origin.USER
        if self.briefing.tainted or len(fact.sentence) > MAX_TEXT:
            raise Refused("its clause says nothing by itself, and nothing bears the sentence out")
        return fact.sentence, Origin.ASSENT

    def _is_from_question(self, fact: Located) -> bool:
        """Return whether a clause has nothing of what is drawn from it, and the assistant's message all: "Yes I do"."""
        quote, sentence = fact.quote, without_user(fact.sentence)
        asked = self._before(fact.clauses[0].message)
        if not (asked and words(quote) and content_words(sentence)) or share(sentence, [quote]) > 0:
            return False
        drawn = is_borne_out(sentence, [asked]) and not missing(sentence, [asked])
        return drawn and bool(denial_of(quote)) == bool(denial_of(sentence))

    def _sentence(self, fact: Located) -> str:
        """Return the clauses of the sentence that a fact is in."""
        first = fact.clauses[0]
        same = [one for one in self.briefing.clauses.values() if one.message == first.message]
        return joined(one.clause for one in same if one.clause.sentence == first.clause.sentence)

    def _reads(self, sentence: str, quote: str, shown: Sequence[str]) -> bool:
        """Return whether a sentence is of use to find a clause by."""
        if not 0 < len(sentence) <= MAX_TEXT or share(sentence, [quote]) == 0 or repeats_example(sentence, shown):
            return False
        return is_borne_out(sentence, shown)

    def _answered(self, fact: Located) -> Support | None:
        """Return what a few words say as an answer to the assistant's question: "Yes", "Green", "Since 2019"."""
        asked = self._before(fact.clauses[0].message)
        if not asked or len(fact.sentence) > MAX_TEXT:
            return None
        known = [text for memory in self.briefing.targets.values() for text in _put(memory)]
        before = [*self._context(fact), *known]
        return answered(fact.sentence, fact.quote, [asked], tainted=self.briefing.tainted, before=before)

    def _with_question(self, fact: Located) -> str:
        """Return a word that answers a question behind it, "What size are you? 46"; empty where it is none."""
        quote = fact.quote
        asked = [one.text for one in cut(self._before(fact.clauses[0].message)) if one.asks][-1:]
        if self.briefing.tainted or not asked or length(quote) > 1 or fact.proposed.rel != "new":
            return ""
        says_no_more = is_pleasantry(quote) or assents(quote) or is_denied(quote)
        if says_no_more or not words(quote) or not set(words(quote)) <= set(words(fact.sentence)):
            return ""
        text = f"{asked[0]} {quote}"
        return text if len(text) <= MAX_TEXT else ""

    def _before(self, place: int) -> str:
        """Return what is shown of the assistant's message before another one."""
        return self.briefing.shown[place - 1] if place and self.briefing.messages[place - 1].role == "assistant" else ""

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
        """Return the id of the fact that is meant, and how it is put; nothing where there is none."""
        label = (proposed.target or "").strip().casefold().strip("[]")
        if not label or proposed.rel == "new":
            return None, ()
        known = self.briefing.targets.get(label)
        if known is not None:
            return known.id, _put(known)
        earlier = self.of_clause.get(label)
        number = int(label) if label.isdecimal() and len(label) < 4 else 0
        numbered = self.briefing.clauses.get(number)
        if earlier is not None and earlier.text and numbered and numbered.message < fact.clauses[0].message:
            return _fact_of(earlier), (earlier.text, earlier.reading)
        return None, ()

    def _relation(
        self, fact: Located, part: str, target_id: str | None, put: Sequence[str], origin: Origin
    ) -> Relation:
        """Return the relation as far as it is believed."""
        relation, quote = fact.proposed.rel, fact.quote
        if target_id is None:
            if relation == "forget":
                raise Refused("it forgets a memory that was not shown")
            return "new"
        others = [_put(memory) for memory in self.briefing.targets.values() if memory.id != target_id]
        linked = are_linked(quote, put)
        # what names nothing of a fact may still be its end ("we split up"), but then it is nothing else besides
        alone = relation not in ("ends", "forget") or all(self.labels[number] == 1 for number in fact.numbers)
        meant = (linked or (alone and not self.briefing.tainted)) and not names_instead(quote, put, others)
        if relation == "same":
            if any(denies_instead(one.clause.text, put[0]) for one in fact.clauses):
                return "unsure"
            # a number that the fact does not have is no repetition of it
            new = numbers(part or quote) - set(re.findall(r"\d+", fact.proposed.when))
            return "same" if meant and new <= set[str]().union(*map(numbers, put), *map(spelt, put)) else "new"
        if relation not in _CHANGING or (meant and origin is Origin.USER):
            return relation
        if relation in ("ends", "forget"):
            raise Refused("the user's words do not name what is to be ended")
        # a request about a page is no doubt of what is known
        return "unsure" if origin is not Origin.USER or may_state(quote) else "new"

    def _retirement(self, fact: Located, put: Sequence[str], part: str) -> Relation:
        """Return what a fact's end comes to beside what the model says elsewhere: the end, or a doubt."""
        relation, quote = fact.proposed.rel, fact.quote
        message = fact.clauses[0].message
        beside = [one for one in self.proposed if one.clauses[0].message == message]
        if any(one.proposed.rel == "same" and one.proposed.target == fact.proposed.target for one in beside):
            raise Refused("the same memory is said again")
        line = f"about {put[1]}: {put[0]}" if put[1:2] != ("",) and len(put) > 1 else ""
        if relation == "ends" and repeats(fact.sentence, [*put, line]):
            raise Refused("its sentence says what it is to end")
        here = [one for one in beside if set(one.numbers) & set(fact.numbers)]
        ends = [one for one in here if one.proposed.rel in _ENDING]
        if any(len(self.endings.get(number, ())) > 1 for number in fact.numbers):
            raise Refused("one clause ends and forgets")
        if are_linked(quote, put):
            # what a clause states besides has words of its own, or the clause does not end anything
            return relation if part or len(ends) == len(here) else "unsure"
        others = [_put(memory) for memory in self.briefing.targets.values() if _put(memory) != tuple(put)]
        if any(are_linked(quote, one) for one in others):
            raise Refused("the user's words name something else")
        lone = [one for one in beside if one.proposed.rel in _ENDING and not self._is_linked(one)]
        if len({one.proposed.target for one in lone}) == 1:
            return relation
        if not may_state(quote):
            raise Refused("the user's words do not name what is to be ended")
        return "unsure"

    def _is_linked(self, fact: Located) -> bool:
        """Return whether a fact's words name something of its target."""
        _, put = self._target(fact.proposed, fact)
        return are_linked(fact.quote, put)

    def _needed(self, needs: Sequence[str], by: Operation) -> tuple[str, ...]:
        """Return the ids of the facts that one needs, of those that are shown or said."""
        found: dict[str, None] = {}
        for label in needs[:_MAX_NEEDS] if by.text else ():
            name = label.strip().casefold().strip("[]")
            if name in self.briefing.targets:
                found[self.briefing.targets[name].id] = None
            elif name in self.of_clause and self.of_clause[name].text:
                found[_fact_of(self.of_clause[name])] = None
        return tuple(id_ for id_ in found if id_ != _fact_of(by))

    def profile(self, proposed: ProposedProfileChange) -> ProfileChange:
        cited = self._cited(proposed.c)
        numbered = self.briefing.clauses[cited[0]]
        message = self.briefing.messages[numbered.message]
        name = re.sub(r"[\W_]+", "_", proposed.field.strip().casefold()).strip("_")
        value = " ".join(proposed.value.split())
        bounded(name, MAX_FIELD, "field")
        clauses = [one for number in cited if not (one := self.briefing.clauses[number].clause).quoted]
        said = " ".join(clause.text for clause in clauses)
        if all(clause.asks for clause in clauses):
            raise Refused("its clause asks or quotes")
        about = set[str]().union(*(self.about.get(number, ()) for number in cited))
        if about and not about & {"user", value}:
            raise Refused("its clause is about somebody else")
        if value:
            bounded(value, MAX_VALUE, "value")
            if not is_said(value, said) or not numbers(value) <= numbers(said):
                raise Refused("the user's words do not say it")
            if denial_of(said) and not denial_of(value):
                raise Refused("the user denies it")
        elif not are_linked(said, [name]) and (self.briefing.tainted or not self._ends_something(cited, said)):
            raise Refused("the user's words do not name what is to be cleared")
        self.covered.update(cited)
        return ProfileChange(field=name, value=value, source_ids=(message.id,))

    def _ends_something(self, cited: Sequence[int], said: str) -> bool:
        """Return whether clauses say that something is over: an empty value is what a small model fills a form with."""
        return not self.ending.isdisjoint(cited) or bool(denial_of(said)) or asks_to_forget(said)

    def summary(self, value: Any) -> str:
        """Return the summary; one that is refused costs only itself."""
        try:
            return check_summary(value, self.briefing)
        except Refused as refused:
            self.rejected.append(str(refused))
            return ""

    def unread(self) -> list[Unread]:
        """Return the clauses that no label covers or that were not shown, those that stand together as one."""
        open_ = [one for number, one in self.briefing.clauses.items() if number not in self.covered]
        left = sorted([*open_, *self.briefing.hidden], key=lambda one: (one.message, one.place))
        open_ = [one for one in left if not (one.clause.asks or one.clause.quoted)]
        found = runs(open_, within_sentences=True)
        return [Unread(joined(one.clause for one in run), self.briefing.messages[run[0].message].id) for run in found]


def _goes_on(operation: Operation, before: Operation) -> bool:
    """Return whether a fact may be changed once more: by a later message that speaks of what took its place."""
    later = not set(operation.source_ids) & set(before.source_ids)
    return later and are_linked(operation.text, [before.text, before.reading])


def _distinct(operations: Sequence[Operation]) -> list[Operation]:
    """Return operations of which no two state the same words of one message, but where they change several facts."""
    groups: dict[tuple[Any, ...], list[Operation]] = {}
    for place, operation in enumerate(operations):
        groups.setdefault((normalise(operation.text), operation.source_ids) if operation.text else (place,), []).append(
            operation
        )
    found: list[Operation] = []
    for group in groups.values():
        telling = [one for one in group if one.relation not in ("new", "same")]
        kept = telling or [one for one in group if one.relation == "new"][:1] or group
        distinct = {(one.relation, one.target_id): replace(one, about=group[0].about) for one in reversed(kept)}
        found += reversed(distinct.values())
    return found


def _fact_of(operation: Operation) -> str:
    """Return the id of the fact that an operation leaves what it says in."""
    return operation.target_id if operation.relation == "same" and operation.target_id else operation.id


def _asks(text: str) -> bool:
    """Return whether a text asks or demands something by the words of a language that has a file."""
    return is_question(text) or is_request(text)


def _put(memory: ExistingMemory) -> tuple[str, ...]:
    return (memory.text, memory.about if memory.about != "user" else "", *memory.also)
