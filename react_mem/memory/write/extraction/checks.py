"""Checks of a model's labels, one by one, against the clauses and memories shown. Every refusal is recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from react_mem.memory.language import denial_of
from react_mem.memory.language.clauses import joined
from react_mem.memory.language.comparison import Vocabulary, numbers
from react_mem.memory.language.folding import has_words
from react_mem.memory.language.hallucination import Told
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import asks_to_forget, ends_of, sentences
from react_mem.memory.llm.answers import Answer
from react_mem.memory.merging.facts import hold_episode
from react_mem.memory.model.operations import EpisodeDraft, Extraction, ProfileChange, TranscriptMessage, Unread
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.summaries.sources import Source, extract_sentences, shortened
from react_mem.memory.write.extraction.briefing import MAX_CLAUSES, Briefing
from react_mem.memory.write.extraction.composing import Composer
from react_mem.memory.write.extraction.located import Locator, runs
from react_mem.memory.write.extraction.proposal import (
    MAX_FACTS,
    MAX_LESSONS,
    MAX_OUTCOME,
    MAX_PART,
    MAX_PROFILE_CHANGES,
    MAX_SNAPSHOT,
    MAX_STEPS,
    MAX_TITLE,
    ProposedEpisode,
    ProposedOther,
    ProposedProfileChange,
    Refused,
    TopicalFact,
    are_linked,
    bounded,
    is_said,
)

# Completion of an episode by code: the request that began it, and the snapshot by which a milestone is told.

_LEAST, _MOST = 3, 5
"""Sentences of a snapshot, if the messages hold that many."""

_SAID = 0.7
"""Share of a sentence's words already in a snapshot, from which the sentence adds nothing."""


def completed(draft: EpisodeDraft | None, summary: str, briefing: Briefing) -> EpisodeDraft | None:
    """Return an episode with its situation, and a milestone with its snapshot; a requested snapshot makes one."""
    asked = [message for message in briefing.messages if message.snapshot]
    if draft is None:
        request = _request(asked)
        if not request:
            return None
        draft = EpisodeDraft(request, situation=request, origin=vouched(briefing.messages))
    else:
        # the request that shares most words with the goal; the first of equal ones
        requests = dict.fromkeys(filter(None, (_request([message]) for message in briefing.messages)))
        shares = {request: Vocabulary([request]).share(draft.goal) for request in requests}
        draft = replace(draft, situation=max(shares, key=lambda request: shares[request], default=""))
    if asked and not draft.milestone:
        draft = replace(draft, milestone=shortened(draft.goal, MAX_TITLE))
    return replace(draft, snapshot=_snapshot(draft, summary, briefing)) if draft.milestone else draft


def vouched(messages: Sequence[TranscriptMessage]) -> Origin:
    """Return the least trusted origin of some messages; never more than the assistant."""
    return lowest([Origin.ASSISTANT, *(Origin.TOOL if one.role == "tool" else one.origin for one in messages)])


def _request(messages: Sequence[TranscriptMessage]) -> str:
    """Return the user's own words in the first message that has any."""
    said = (" ".join(" ".join(ends_of(own_words_in(one.text))).split()) for one in messages if one.role == "user")
    return next((shortened(text, MAX_PART) for text in said if text), "")


def _snapshot(draft: EpisodeDraft, summary: str, briefing: Briefing) -> str:
    """Return a few sentences: the model's own, then outcome and summary; else extracts of the messages."""
    told = sentences(draft.snapshot)[:_MOST]
    for sentence in (*sentences(draft.outcome), *sentences(summary)):
        if len(told) < _LEAST and Vocabulary(told).share(sentence) < _SAID:
            told.append(sentence)
    if told:
        return shortened(" ".join(told), MAX_SNAPSHOT)
    sources = [
        Source.of_message(one.text, one.at or datetime.now(UTC), one.role)
        for one in briefing.messages
        if not one.context
    ]
    return " ".join(sentences(extract_sentences(sources, MAX_SNAPSHOT, named=False))[:_MOST])


MAX_FIELD = 40
MAX_VALUE = 200
MAX_SUMMARY = 500
_Proposed = TypeVar("_Proposed", bound=BaseModel)


def check(answer: Answer, briefing: Briefing) -> Extraction:
    """Turn a model's answer into an extraction: accepted labels, refusals with reasons, and clauses without a label."""
    locator = Locator(briefing)
    checker = _Checker(locator)
    payload = answer.payload
    others = checker.each(payload.get("others"), ProposedOther, locator.set_aside, MAX_CLAUSES)
    standing = [briefing.messages[briefing.clauses[number].message] for number in sorted(locator.standing)]
    locator.note(payload.get("facts"))
    facts = checker.each(payload.get("facts"), TopicalFact, locator.locate, MAX_FACTS)
    changes = checker.each(payload.get("profile"), ProposedProfileChange, checker.profile, MAX_PROFILE_CHANGES)
    composer = Composer(briefing, locator.endings, checker.rejected, checker.covered)
    ops = composer.operations(facts)
    profile: dict[str, ProfileChange] = {}
    for change in changes:
        if profile.setdefault(change.field, change) != change:
            checker.rejected.append("a second value for one profile field")
    episodes = [payload["episode"]] if payload.get("episode") else []
    episode = checker.each(episodes, ProposedEpisode, lambda proposed: check_episode(proposed, briefing), 1)
    summary = checker.summary(payload.get("summary"))
    checker.rejected += ["it could not be read"] * answer.leftovers
    checker.covered.update(number for numbers_ in others for number in numbers_)
    return Extraction(
        ops=tuple(ops),
        unread=tuple(checker.unread()),
        episode=completed(episode[0] if episode else None, summary, briefing),
        profile_changes=tuple(profile.values()),
        summary=summary,
        standing=tuple(dict.fromkeys(message.id for message in standing if message.origin is Origin.USER)),
        rejected=tuple(checker.rejected),
        complete=briefing.whole and not answer.broken_off and not checker.rejected,
    )


@dataclass
class _Checker:
    """State of one check: the refusals, and the clauses covered by a label."""

    locator: Locator
    rejected: list[str] = field(default_factory=list)
    covered: set[int] = field(default_factory=set)

    def each(self, items: Any, form: type[_Proposed], judge: Callable[[_Proposed], Any], limit: int) -> list[Any]:
        """Judge each item by itself; a malformed item costs only itself."""
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

    def profile(self, proposed: ProposedProfileChange) -> ProfileChange:
        briefing = self.locator.briefing
        cited = self.locator.cited(proposed.c)
        message = briefing.messages[briefing.clauses[cited[0]].message]
        name = re.sub(r"[\W_]+", "_", proposed.field.strip().casefold()).strip("_")
        value = " ".join(proposed.value.split())
        bounded(name, MAX_FIELD, "field")
        clauses = [one for number in cited if not (one := briefing.clauses[number].clause).quoted]
        said = " ".join(clause.text for clause in clauses)
        if all(clause.asks for clause in clauses):
            raise Refused("its clause asks or quotes")
        if any(briefing.messages[briefing.clauses[number].message].speaker for number in cited):
            raise Refused("its clause is another person's")
        about = set[str]().union(*(self.locator.about.get(number, ()) for number in cited))
        if about and not about & {"user", value}:
            raise Refused("its clause is about somebody else")
        if value:
            bounded(value, MAX_VALUE, "value")
            if not is_said(value, said) or not numbers(value) <= numbers(said):
                raise Refused("the user's words do not say it")
            if denial_of(said) and not denial_of(value):
                raise Refused("the user denies it")
        elif not are_linked(said, [name]):
            # small models fill forms with empty values
            ends = not self.locator.changing.isdisjoint(cited) or denial_of(said) or asks_to_forget(said)
            if briefing.tainted or not ends:
                raise Refused("the user's words do not name what is to be cleared")
        self.covered.update(cited)
        return ProfileChange(field=name, value=value, source_ids=(message.id,))

    def summary(self, value: Any) -> str:
        """Return a summary without unsupported sentences; empty if there is none, or if it is refused."""
        if value is None or value == "":
            return ""
        if not isinstance(value, str) or len(value) > MAX_SUMMARY:
            self.rejected.append("the summary is not a short text")
            return ""
        said, observed = self.locator.briefing.texts
        return Told([*said, *observed], self.locator.briefing.dates).held(" ".join(value.split()))

    def unread(self) -> list[Unread]:
        """Return the clauses with words, but without a label or not shown, neighbours in a sentence as one."""
        briefing = self.locator.briefing
        open_ = [one for number, one in briefing.clauses.items() if number not in self.covered]
        left = sorted([*open_, *briefing.hidden], key=lambda one: (one.message, one.place))
        open_ = [one for one in left if not (one.clause.asks or one.clause.quoted)]
        return [
            Unread(text, briefing.messages[run[0].message].id)
            for run in runs(open_, within_sentences=True)
            if has_words(text := joined(one.clause for one in run))
        ]


def check_episode(proposed: ProposedEpisode, briefing: Briefing) -> EpisodeDraft:
    """Return an episode without its unsupported parts, or refuse it."""
    bounded(proposed.goal, MAX_PART, "goal")
    too_long = len(proposed.outcome) > MAX_OUTCOME or len(proposed.snapshot) > MAX_SNAPSHOT
    if too_long or any(len(part) > MAX_PART for part in (*proposed.steps, *proposed.lessons)):
        raise Refused("a part of the episode is too long")
    if len(proposed.steps) > MAX_STEPS or len(proposed.lessons) > MAX_LESSONS:
        raise Refused("too many steps or lessons")
    milestone = " ".join(proposed.milestone.split())
    if len(milestone) > MAX_TITLE:
        raise Refused("milestone is too long")
    said, observed = briefing.texts
    draft = EpisodeDraft(
        goal=proposed.goal.strip(),
        steps=tuple(step.strip() for step in proposed.steps if step.strip()),
        outcome=proposed.outcome.strip(),
        lessons=tuple(lesson.strip() for lesson in proposed.lessons if lesson.strip()),
        milestone=milestone,
        snapshot=proposed.snapshot.strip(),
        importance=0.5 if proposed.importance is None else proposed.importance,
        origin=vouched(briefing.messages),
    )
    own = [own_words_in(one.text) for one in briefing.messages if one.role == "user" and one.origin is Origin.USER]
    held = hold_episode(draft, said, observed, briefing.dates, own)
    if held is None:
        raise Refused("no message tells of it")
    return held
