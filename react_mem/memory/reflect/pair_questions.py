"""Questions about pairs, for deduplication and entity resolution: a model says which of them are two of the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.asking import ModelQuestion, as_lines, strings
from react_mem.memory.model.records import Fact
from react_mem.memory.reflect.driver import Checked, D

MAX_PAIRS = 20
"""Pairs of one model call; a run makes one."""


def question_about(
    prompt: str,
    pairs: Sequence[tuple[Any, Any]],
    verdicts: Sequence[str],
    drafts: Callable[[Mapping[str, set[int]]], Sequence[D]],
) -> ModelQuestion[Checked[D]]:
    """Return a question to which the answer is a list of pairs for each verdict.

    Args:
        prompt: The name of the prompt.
        pairs: The two sides of each, as the model is shown them.
        verdicts: What may be said of a pair.
        drafts: Makes drafts of the places of the pairs of which each is said.
    """
    places = {f"p{place + 1}": place for place in range(len(pairs))}
    named = {"type": "array", "items": {"type": "string", "enum": list(places)}}

    def read(said: Mapping[str, Any]) -> Checked[D]:
        told = {verdict: {places[one] for one in strings(said.get(verdict)) if one in places} for verdict in verdicts}
        return Checked(drafts(told))

    shown = [{"pair": name, "a": pairs[place][0], "b": pairs[place][1]} for name, place in places.items()]
    schema = object_schema(dict.fromkeys(verdicts, named), "pairs", "Which pairs are the same.")
    return ModelQuestion(prompt, as_lines("pairs", shown), schema, read)


def as_said(fact: Fact) -> str:
    """Return a fact in the user's words, after whom it is about where that is someone else."""
    return fact.text if fact.about == "user" else f"about {fact.about}: {fact.text}"
