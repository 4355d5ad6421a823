"""Checks of texts about procedures: nothing given to a tool, nothing that only one conversation said.

The same checks hold for texts of a model and for those that are put together without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from react_mem.memory.language.terms import index_terms
from react_mem.memory.reflect.skills.traces import Trace

MAX_CHARS = 200
"""Of one text of a skill: it is a line of a prompt."""

_GRAM = 3
"""Words in a row by which a longer value counts as copied."""

SECRET = re.compile(
    r"[^\s@]+@[^\s@]+|\w+://\S+|\d{4,}|(?=[\w-]*\d)[\w-]{16,}"  # an address, a link, a number, what looks like a key
)


class SkillEvidence:
    """The turns that a text stands on.

    Args:
        traces: The turns.
        vocabulary: Texts whose words may always be used: what tools, their arguments and the task are called.
    """

    def __init__(self, traces: Sequence[Trace], vocabulary: Iterable[str]) -> None:
        self.traces = traces
        self._vocabulary = frozenset(term for text in vocabulary for term in index_terms(text))

    def problem_with(self, text: str) -> str:
        """Return why a text must not be kept; empty where it may.

        Args:
            text: The text.
        """
        if not text.strip():
            return "it is empty"
        if len(text) > MAX_CHARS:
            return f"it is longer than {MAX_CHARS} characters"
        if SECRET.search(text):
            return "it has an address, a link, a number or a key in it"
        said = index_terms(text)
        if any(gram in self._given for size in range(1, _GRAM + 1) for gram in _grams(said, size)):
            return "it copies what a tool was given"
        if any(0 < self._sources_with(term) < len(self.traces) for term in {*said} - self._vocabulary):
            return "it quotes some of the conversations that it comes from and not the others"
        return ""

    def is_said_by(self, text: str, trace: Trace) -> bool:
        """Return whether another turn stands for a text as well: it says what all the others say of it.

        Args:
            text: The text.
            trace: The turn.
        """
        if not self.traces:
            return False
        said = {*index_terms(text)} - self._vocabulary
        return all(term in trace.terms for term in said if self._sources_with(term) == len(self.traces))

    def _sources_with(self, term: str) -> int:
        return sum(term in trace.terms for trace in self.traces)

    @cached_property
    def _given(self) -> frozenset[tuple[str, ...]]:
        values = {value for trace in self.traces for value in trace.values}
        grams = {gram for value in values for gram in _grams(value, min(len(value), _GRAM))}
        # "2" and "a" are not secrets, and words of the trade are used for what they mean
        return frozenset(g for g in grams if len("".join(g)) > 1 and not self._vocabulary.issuperset(g))


def _grams(words: Sequence[str], size: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[place : place + size]) for place in range(len(words) - size + 1))
