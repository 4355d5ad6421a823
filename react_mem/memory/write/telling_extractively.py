"""Extractive account of turns: sentences that were said, word for word, where no model tells of them."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.statements import is_pleasantry, sentences
from react_mem.memory.model.operations import EpisodeDraft, Extraction
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import Message
from react_mem.memory.summaries.sources import Source, extract_sentences, shortened

_MAX_SUMMARY = 500
_MAX_GOAL = 300
"""Characters, as a model's are bounded (`write.extraction.checks`)."""


def told_of(messages: Sequence[Message], *, whole: bool = False) -> Extraction:
    """Return the summary of messages; of a whole conversation, what was wanted first and what was said of it.

    Args:
        messages: The messages, in order.
        whole: Whether they are a conversation, which is an episode.
    """
    sources = [Source.of_message(whole_text(vars(message)), message.created_at, message.role) for message in messages]
    if not sources:
        return Extraction()
    summary = extract_sentences(sources, _MAX_SUMMARY)
    wanted = next((goal for source in sources if source.role == "user" and (goal := _wanted(source.text))), "")
    if not whole or not wanted:
        return Extraction(summary=summary)
    origin = lowest([Origin.ASSISTANT, *(message.origin for message in messages)])
    return Extraction(episode=EpisodeDraft(goal=wanted, outcome=summary, origin=origin), summary=summary)


def _wanted(text: str) -> str:
    """Return the first sentence that is more than a greeting."""
    first = next((one for one in sentences(text[: 10 * _MAX_GOAL]) if not is_pleasantry(one)), "")
    return shortened(" ".join(first.split()), _MAX_GOAL)
