"""The form the model fills in, as a tool's schema and as a strict JSON schema with this call's labels.

Its size is paid in every turn, so it has no descriptions that the instructions give already.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from math import isnan
from typing import Annotated, Any, Literal

from langchain_core.utils.json_schema import dereference_refs
from pydantic import BaseModel, BeforeValidator, Field

from react_mem.memory.llm.answers import strict
from react_mem.memory.model.operations import Relation

# Bounds on what a model may send; those that a strict schema cannot hold are held by the checks.
MAX_TEXT = 300
MAX_FACTS = 40
MAX_PROFILE_CHANGES = 10
MAX_STEPS = 10
MAX_LESSONS = 5
MAX_TOPIC_WORDS = 12
MAX_PART = 300
MAX_TITLE = 80
MAX_OUTCOME = 900
MAX_SNAPSHOT = 1_200

Kind = Literal["question", "request", "maybe", "chat", "standing"]


class ProposedFact(BaseModel, coerce_numbers_to_str=True):
    """A fact, by the clauses that state it."""

    c: list[int] = Field(default_factory=list)
    about: str = "user"
    rel: Relation = "new"
    target: str | None = None
    text: str = ""
    when: str = ""
    needs: list[str] = Field(default_factory=list)


class TopicalFact(ProposedFact):
    """The same, with words to find it by that it does not say."""

    topic: str = ""


class ProposedOther(BaseModel):
    """Clauses that state nothing lasting."""

    c: list[int] = Field(default_factory=list)
    kind: Kind = "chat"


class ProposedProfileChange(BaseModel):
    """One field of the user's profile."""

    c: list[int] = Field(default_factory=list)
    field: str = ""
    value: str = ""


def _number(value: Any) -> float | None:
    """Return a model's number clamped to 0..1; None for anything else."""
    with suppress(TypeError, ValueError):
        number = float(value)
        return None if isnan(number) else min(max(number, 0.0), 1.0)
    return None


class ProposedEpisode(BaseModel):
    """Attempt and its outcome."""

    goal: str = ""
    steps: list[str] = Field(default_factory=list)
    outcome: str = ""
    lessons: list[str] = Field(default_factory=list)
    milestone: str = ""
    snapshot: str = ""
    importance: Annotated[float | None, BeforeValidator(_number, json_schema_input_type=float)] = None


class Proposal(BaseModel):
    """Record what this conversation teaches about the user. Call it exactly once, with everything in it."""

    facts: list[ProposedFact] = Field(default_factory=list)
    others: list[ProposedOther] = Field(default_factory=list)
    profile: list[ProposedProfileChange] = Field(default_factory=list)
    episode: ProposedEpisode | None = None
    summary: str = ""


class TopicalProposal(Proposal):
    """Record what this conversation teaches about the user. Call it exactly once, with everything in it."""

    facts: list[TopicalFact] = Field(default_factory=list)  # type: ignore[assignment]


FIELDS = tuple(Proposal.model_fields)


def strict_schema(
    targets: Sequence[str], fields: Sequence[str] = (), *, clauses: int, topics: bool = False
) -> dict[str, Any]:
    """Return the JSON schema of one call, in the form that strict structured output accepts.

    Args:
        targets: The labels of facts that may change.
        fields: The fields of the profile; empty for any.
        clauses: The number of clauses, which bounds the number of facts.
        topics: Ask for extra keywords of each fact.
    """
    schema = deepcopy(_proposal_schema(TopicalProposal if topics else Proposal))
    properties = schema["properties"]
    fact = properties["facts"]["items"]["properties"]
    # a model held to a list that it cannot end fills it: no more than there are clauses, and a few that say two things
    properties["facts"]["maxItems"] = min(clauses + 5, MAX_FACTS)
    if targets:
        fact["target"] = {"enum": [*targets, None]}
    else:
        # where nothing is known, nothing can change
        fact["rel"] = {"enum": ["new"]}
        del fact["target"]
        properties["facts"]["items"]["required"].remove("target")
    if fields:
        properties["profile"]["items"]["properties"]["field"] = {"enum": list(fields)}
    return {**schema, "title": "extraction"}


@cache
def _proposal_schema(form: type[Proposal]) -> dict[str, Any]:
    # made once: it takes milliseconds
    schema: dict[str, Any] = strict(dereference_refs(form.model_json_schema()))
    schema.pop("$defs", None)
    return schema


class Refused(Exception):  # noqa: N818 - a signal within the checks
    """Refusal of a proposal; the message is the reason."""


def bounded(text: str, limit: int, name: str) -> None:
    """Refuse an empty or too long text; `name` goes into the reason."""
    if not text.strip():
        raise Refused(f"{name} is empty")
    if len(text) > limit:
        raise Refused(f"{name} is too long")
