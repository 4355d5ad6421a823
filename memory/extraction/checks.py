"""What a model proposes, checked item by item against the transcript and what is known. Nothing is dropped silently."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from memory.canonical import predicate_key
from memory.extraction.answers import Answer
from memory.extraction.briefing import Briefing
from memory.extraction.contract import (
    EpisodeDraft,
    Extraction,
    Operation,
    ProfileChange,
    Rejected,
)
from memory.extraction.grounding import coverage, is_assent, is_grounded, is_negative, objection
from memory.extraction.keywords import check_keywords
from memory.extraction.mood import allowed_moods, moods
from memory.extraction.proposal import (
    MAX_LESSONS,
    MAX_OPS,
    MAX_PROFILE_CHANGES,
    MAX_STEPS,
    ProposedEpisode,
    ProposedOperation,
    ProposedProfileChange,
)
from memory.extraction.supersession import is_corrected, named_best, supersedes, takes_back
from memory.own_words import own_words
from memory.records import Level, normalise

MAX_SUBJECT = 80
MAX_PREDICATE = 60
MAX_OBJECT = 200
MAX_TEXT = 300
MAX_FIELD = 40
MAX_PART = 300
MAX_SUMMARY = 500
MAX_TITLE = 80
MAX_SNAPSHOT = 900
_MAX_RAW = 1_000

# A sentence about a grounded object may use words of its own ("is allergic to" for "can't have"), but not mostly.
_MIN_TEXT_COVERAGE = 0.6

_Proposed = TypeVar("_Proposed", bound=BaseModel)


class _Refused(Exception):  # noqa: N818 - a signal within this module
    """A proposal that is not believed; the message is the reason."""


class _Withdrawn(_Refused):
    """A proposal whose words the user takes back: they are not to be kept word for word either."""


def check(answer: Answer, briefing: Briefing) -> Extraction:
    """Turn what was read into an extraction.

    Args:
        answer: What the model sent.
        briefing: What it was shown.

    Returns:
        What holds, and what was refused and why. An update of a fact that the cited messages do not change is taken as
        an addition, and the update refused; an update that names no fact is an addition. Usage and calls are left for
        the engine to fill in.
    """
    checker = _Checker(briefing)
    payload = answer.payload
    operations = checker.each(payload.get("ops"), ProposedOperation, checker.operation, MAX_OPS)
    changes = checker.each(payload.get("profile_changes"), ProposedProfileChange, checker.profile, MAX_PROFILE_CHANGES)
    ops = checker.one_each(_merged(operations), lambda op: op.target_id, "a second operation on one memory")
    profile = checker.one_each(_merged(changes), lambda change: change.field, "a second value for one profile field")
    episode = checker.each([payload["episode"]] if payload.get("episode") else [], ProposedEpisode, checker.episode, 1)
    summary = checker.summary(payload.get("summary"))
    keywords = check_keywords(payload.get("keywords"), briefing)
    for leftover in answer.leftovers:
        checker.refuse(leftover, "it could not be read")
    return Extraction(
        ops=tuple(ops),
        episode=episode[0] if episode else None,
        profile_changes=tuple(profile),
        summary=summary,
        keywords=keywords.words,
        keywords_refused=tuple(Rejected(_raw(raw), reason) for raw, reason in keywords.refused),
        rejected=tuple(checker.rejected),
        complete=briefing.whole and not answer.broken_off and not checker.rejected,
    )


@dataclass(frozen=True)
class _Evidence:
    """What the user says in the cited messages, and what they assent to there."""

    ids: tuple[str, ...]
    said: str
    assented: str

    def refuse_unless(self, about: str, negative: bool, claim: str) -> None:
        """Refuse a claim about these words that the evidence does not make."""
        if is_grounded(about, self.said):
            reason = objection(about, negative, self.said, claim=claim)
        elif is_grounded(about, self.assented):
            reason = objection(about, negative, self.assented, assented=True, claim=claim)
        else:
            reason = "not grounded in the cited messages"
        if reason:
            raise _Refused(reason)


class _Checker:
    def __init__(self, briefing: Briefing) -> None:
        self.briefing = briefing
        self.rejected: list[Rejected] = []

    def refuse(self, raw: Any, reason: str) -> None:
        self.rejected.append(Rejected(_raw(raw), reason, self._cited(raw)))

    def each(self, items: Any, form: type[_Proposed], judge: Callable[[_Proposed, Any], Any], limit: int) -> list[Any]:
        """Judge every item by itself; one that does not fit the form costs only itself."""
        if items is None:
            return []
        if not isinstance(items, list):
            self.refuse(items, "not a list")
            return []
        kept = []
        for place, item in enumerate(items):
            try:
                if place >= limit:
                    raise _Refused(f"more than {limit} of them")
                kept.append(judge(form.model_validate(item), item))
            except ValidationError:
                self.refuse(item, "not in the form that was asked for")
            except _Withdrawn as withdrawn:
                self.rejected.append(Rejected(_raw(item), str(withdrawn)))
            except _Refused as refused:
                self.refuse(item, str(refused))
        return kept

    def one_each(self, items: Sequence[Any], key: Callable[[Any], str | None], reason: str) -> list[Any]:
        """Keep the first item of each key; items without one are all kept."""
        kept: dict[str, Any] = {}
        for place, item in enumerate(items):
            name = key(item)
            if name is not None and name in kept:
                self.rejected.append(Rejected(_shown(item), reason, item.source_ids))
            else:
                kept[name if name is not None else f"\0{place}"] = item
        return list(kept.values())

    def operation(self, proposed: ProposedOperation, raw: Any) -> Operation:
        evidence = self._evidence(proposed.source_ids)
        alias = (proposed.target_id or "").strip().casefold()
        # small models call everything an update: one that names no memory overwrites none
        op = "add" if proposed.op == "update" and not alias else proposed.op
        target = self.briefing.targets.get(alias) if op != "add" else None
        if target is None and op != "add":
            raise _Refused("it changes a memory that does not exist")
        if op == "retract":
            known = {name: memory.text for name, memory in self.briefing.targets.items()}
            target = self.briefing.targets[named_best(known, alias, evidence.said)]
        operation = Operation(
            op=op,
            target_id=target.id if target else None,
            subject=" ".join(proposed.subject.split()),
            predicate=" ".join(proposed.predicate.split()),
            object=" ".join(proposed.object.split()),
            text=" ".join(proposed.text.split()),
            source_ids=evidence.ids,
        )
        if operation.op == "retract":
            if target is None or not takes_back(target.text, evidence.said):
                raise _Refused("the cited message does not take the memory back")
            return operation
        _bounded(operation.subject, MAX_SUBJECT, "subject")
        _bounded(operation.predicate, MAX_PREDICATE, "predicate")
        _bounded(operation.object, MAX_OBJECT, "object")
        _bounded(operation.text, MAX_TEXT, "text")
        _stated(operation, evidence)
        if is_corrected(operation.object, evidence.said):
            raise _Withdrawn("the user corrects it in the same breath")
        if target is not None and normalise(target.text) == normalise(operation.text):
            return replace(operation, op="add", target_id=None)  # said once more, not changed
        if target is not None and not supersedes(target.text, operation, evidence.said):
            self.refuse(raw, "the cited message does not change the memory; kept as a new one")
            return replace(operation, op="add", target_id=None)
        return operation

    def profile(self, proposed: ProposedProfileChange, raw: Any) -> ProfileChange:
        evidence = self._evidence(proposed.source_ids)
        field = re.sub(r"[\W_]+", "_", proposed.field.strip().casefold()).strip("_")
        value = " ".join(proposed.value.split())
        _bounded(field, MAX_FIELD, "field")
        _bounded(value, MAX_OBJECT, "value")
        evidence.refuse_unless(value, is_negative(value), f"{field} {value}")
        return ProfileChange(field=field, value=value, source_ids=evidence.ids)

    def episode(self, proposed: ProposedEpisode, raw: Any) -> EpisodeDraft:
        _bounded(proposed.goal, MAX_PART, "goal")
        parts = [proposed.situation, proposed.outcome, *proposed.steps, *proposed.lessons]
        if any(len(part) > MAX_PART for part in parts):
            raise _Refused("a part of the episode is too long")
        if len(proposed.steps) > MAX_STEPS or len(proposed.lessons) > MAX_LESSONS:
            raise _Refused("too many steps or lessons")
        if not 0 <= proposed.importance <= 1:
            raise _Refused("importance is not between 0 and 1")
        draft = EpisodeDraft(
            goal=proposed.goal.strip(),
            situation=proposed.situation.strip(),
            steps=tuple(step.strip() for step in proposed.steps if step.strip()),
            outcome=proposed.outcome.strip(),
            lessons=tuple(lesson.strip() for lesson in proposed.lessons if lesson.strip()),
            level=Level.TASK if proposed.level == "milestone" else Level(proposed.level),
            importance=proposed.importance,
        )
        return self._milestone(proposed, draft) if proposed.level == "milestone" else draft

    def _milestone(self, proposed: ProposedEpisode, draft: EpisodeDraft) -> EpisodeDraft:
        title, snapshot = (" ".join(text.split()) for text in (proposed.milestone_title, proposed.snapshot))
        cited = [alias.strip().casefold() for alias in proposed.source_ids]
        if any(alias not in self.briefing.messages for alias in cited):
            raise _Refused("it cites a message that does not exist")
        # small models call every turn a milestone: one that is not called anything, or that nothing shows, is a task
        if not (title and snapshot and cited):
            return draft
        _bounded(title, MAX_TITLE, "milestone_title")
        _bounded(snapshot, MAX_SNAPSHOT, "snapshot")
        return replace(draft, level=Level.MILESTONE, milestone_title=title, snapshot=snapshot)

    def summary(self, value: Any) -> str:
        if value is None or value == "":
            return ""
        if not isinstance(value, str) or len(value) > MAX_SUMMARY:
            self.refuse(value, "the summary is not a short text")
            return ""
        return " ".join(value.split())

    def _evidence(self, aliases: Sequence[str]) -> _Evidence:
        cited = list(dict.fromkeys(alias.strip().casefold() for alias in aliases))
        if not cited:
            raise _Refused("it cites nothing")
        shown = self.briefing.messages
        if any(alias not in shown for alias in cited):
            raise _Refused("it cites a message that does not exist")
        mine = [alias for alias in cited if shown[alias].role == "user"]
        if not mine:
            raise _Refused("it cites nothing that the user said")
        # each message starts a line, and so a sentence of its own
        said = "\n".join(own_words(shown[alias].text) for alias in mine)
        assented = "\n".join(self._assented(alias) for alias in mine)
        return _Evidence(tuple(shown[alias].id for alias in cited), said, assented)

    def _assented(self, alias: str) -> str:
        """Return what the user agrees to, where the message is a mere "yes"."""
        shown = list(self.briefing.messages.items())
        place = list(self.briefing.messages).index(alias)
        before = shown[place - 1][1] if place else None
        agrees = is_assent(shown[place][1].text) and before is not None and before.role == "assistant"
        return before.text if before is not None and agrees else ""

    def _cited(self, raw: Any) -> tuple[str, ...]:
        aliases = raw.get("source_ids") if isinstance(raw, Mapping) else None
        known = self.briefing.messages
        return (
            tuple(known[a].id for a in aliases if isinstance(a, str) and a in known)
            if isinstance(aliases, list)
            else ()
        )


def _raw(item: Any) -> str:
    text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str)
    return text[:_MAX_RAW]


def _bounded(text: str, limit: int, name: str) -> None:
    if not text.strip():
        raise _Refused(f"{name} is empty")
    if len(text) > limit:
        raise _Refused(f"{name} is too long")


def _stated(operation: Operation, evidence: _Evidence) -> None:
    """Refuse what the user did not say: other words, the opposite, a question."""
    negative = is_negative(operation.text)
    evidence.refuse_unless(operation.object, negative, operation.text)
    known = f"{evidence.said} {evidence.assented} {operation.predicate} {operation.subject}".replace("_", " ")
    if not is_grounded(operation.object, operation.text) or coverage(operation.text, known) < _MIN_TEXT_COVERAGE:
        raise _Refused("its text says something else")
    parts = f"{operation.predicate} {operation.object}"
    both_over = "over" in allowed_moods(operation.text) & allowed_moods(parts)
    if is_negative(parts) is not negative and not both_over:
        raise _Refused("its text contradicts its parts")
    if moods(operation.text) & {"planned", "unsure"} and predicate_key(operation.predicate).single:
        raise _Refused("its text is a plan, its parts say that it is so")


def _merged(items: Sequence[Any]) -> list[Any]:
    """Merge items that say the same into one that cites the messages of all."""
    kept: dict[tuple[str, ...], Any] = {}
    for item in items:
        key = _identity(item)
        if key in kept:
            sources = tuple(dict.fromkeys([*kept[key].source_ids, *item.source_ids]))
            kept[key] = replace(kept[key], source_ids=sources)
        else:
            kept[key] = item
    return list(kept.values())


def _identity(item: Operation | ProfileChange) -> tuple[str, ...]:
    if isinstance(item, ProfileChange):
        return (item.field, normalise(item.value))
    if item.op == "retract":
        return (item.op, item.target_id or "")
    return (item.op, item.target_id or "", *map(normalise, (item.subject, item.predicate, item.object)))


def _shown(item: Operation | ProfileChange) -> str:
    text = f"{item.op}: {item.text}" if isinstance(item, Operation) else f"{item.field}: {item.value}"
    return text[:_MAX_RAW]
