"""A summary without a model: the sentences that say most, word for word and in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from react_mem.memory.language.hallucination import names, numbers
from react_mem.memory.language.statements import cue, is_pleasantry, is_question, sentences, speaks_of_self
from react_mem.memory.summaries.length import shortened
from react_mem.memory.summaries.sources import CUT, Source, bounded

MADE_BY = "extractive"
"""Mark of a summary that no model has made."""

_MIN_SENTENCE = 40
"""Characters of which a sentence says something; a shorter rest of the room stays empty."""

_SHARE = 2
"""No sentence takes more than this part of the room: one pasted line would push everything else out."""

_ROLE = re.compile(r"^(user|assistant|system|tool|agent|observer): ")
_DECIDES = cue("decides")


@dataclass(frozen=True)
class _Sentence:
    place: int
    role: str
    text: str
    worth: float


def extract_sentences(sources: Sequence[Source], length: int, *, named: bool = True) -> str:
    """Return sentences of the sources that name people, places, numbers and decisions, with who said them.

    What tells nothing, as small talk and most questions, is left out even where there is room.

    Args:
        sources: What is summed up, in the order of the conversation.
        length: Characters of all of them together, at most.
        named: Whether it is told who said them.

    Returns:
        The sentences, in their order; the beginning of the sources where none says much.

    >>> from datetime import datetime, timezone
    >>> at = datetime(2026, 11, 20, tzinfo=timezone.utc)
    >>> said = [Source("Hello! I moved to Hue in 2019. Is it far?", at, "user"), Source("Noted.", at, "assistant")]
    >>> extract_sentences(said, 600)
    'user: I moved to Hue in 2019.'
    """
    found = list(_sentences(bounded(sources), length))
    chosen: list[_Sentence] = []
    for sentence in sorted(found, key=lambda sentence: -sentence.worth):
        if sentence.worth >= 0 and len(_told([*chosen, sentence], named)) <= length:
            chosen.append(sentence)
    return _told(chosen, named) or shortened(_told(found, named), length) or CUT


def _sentences(sources: Sequence[Source], length: int) -> Iterator[_Sentence]:
    most = max(length // _SHARE, _MIN_SENTENCE)
    place = 0
    said: set[tuple[str, str]] = set()
    for source in sources:
        role = source.role
        for sentence in sentences(source.text):
            # a summary of this kind says who said what
            if not source.role and (told := _ROLE.match(sentence)):
                role, sentence = told[1], sentence[told.end() :]
            text = shortened(" ".join(sentence.split()), most)
            if text.strip(f"… {CUT}") and (role, text) not in said:
                said.add((role, text))
                place += 1
                yield _Sentence(place, role, text, _worth(text, role))


def _worth(sentence: str, role: str) -> float:
    if is_pleasantry(sentence):
        return -1.0
    worth: float = min(len(names(sentence)), 3) + min(len(numbers(sentence)), 2)
    worth += 3.0 * bool(_DECIDES.search(sentence)) - 3.0 * is_question(sentence)
    # what users say of themselves is what will be asked for later
    worth += 1.5 * (role == "user") + 2.0 * (role == "user" and speaks_of_self(sentence))
    return worth if len(sentence) >= _MIN_SENTENCE or worth > 0 else worth - 1.0


def _told(chosen: Sequence[_Sentence], named: bool) -> str:
    parts: list[str] = []
    role = ""
    for sentence in sorted(chosen, key=lambda sentence: sentence.place):
        told = named and sentence.role and sentence.role != role
        parts.append(f"{sentence.role}: {sentence.text}" if told else sentence.text)
        role = sentence.role
    return " ".join(parts)
