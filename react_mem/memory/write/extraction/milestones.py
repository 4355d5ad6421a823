"""Completion of an episode by code: the request that began it, and the snapshot by which a milestone is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from react_mem.memory.language.comparison import Vocabulary
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import ends_of, sentences
from react_mem.memory.model.operations import EpisodeDraft, TranscriptMessage
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.summaries.sources import Source, extract_sentences, shortened
from react_mem.memory.write.extraction.briefing import Briefing
from react_mem.memory.write.extraction.proposal import MAX_PART, MAX_SNAPSHOT, MAX_TITLE

_LEAST, _MOST = 3, 5
"""Sentences of a snapshot, as far as that much was told."""

_SAID = 0.7
"""The share of a sentence's words that a snapshot has already, from which it adds nothing."""


def completed(draft: EpisodeDraft | None, summary: str, briefing: Briefing) -> EpisodeDraft | None:
    """Return an episode with its situation, a milestone with its snapshot; one too where only the engine asks for it.

    Args:
        draft: What the model says, as far as the messages tell of it.
        summary: The turn's summary, likewise.
        briefing: What the model was shown.
    """
    asked = [message for message in briefing.messages if message.snapshot]
    if draft is None:
        request = _request(asked)
        if not request:
            return None
        draft = EpisodeDraft(request, situation=request, origin=vouched(briefing.messages))
    else:
        draft = replace(draft, situation=_situation(draft.goal, briefing))
    if asked and not draft.milestone:
        draft = replace(draft, milestone=shortened(draft.goal, MAX_TITLE))
    return replace(draft, snapshot=_snapshot(draft, summary, briefing)) if draft.milestone else draft


def vouched(messages: Sequence[TranscriptMessage]) -> Origin:
    """Return who vouches for what is told of messages: nobody more than the assistant."""
    return lowest([Origin.ASSISTANT, *(Origin.TOOL if one.role == "tool" else one.origin for one in messages)])


def _situation(goal: str, briefing: Briefing) -> str:
    """Return the request that says most of a goal, of equal ones the first."""
    shares: dict[str, float] = {}
    for message in briefing.messages:
        request = _request([message])
        if request:
            shares.setdefault(request, Vocabulary([request]).share(goal))
    return max(shares, key=lambda request: shares[request], default="")


def _request(messages: Sequence[TranscriptMessage]) -> str:
    """Return what the user says of their own in the first of some messages that says something."""
    said = (" ".join(" ".join(ends_of(own_words_in(one.text))).split()) for one in messages if one.role == "user")
    return next((shortened(text, MAX_PART) for text in said if text), "")


def _snapshot(draft: EpisodeDraft, summary: str, briefing: Briefing) -> str:
    """Return a few sentences: the model's own, then how it ended and what the summary adds; else the messages' own."""
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
