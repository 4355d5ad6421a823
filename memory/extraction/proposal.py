"""The form the model fills in, as a tool's schema and as a strict JSON schema with this call's aliases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, Literal

from langchain_core.utils.json_schema import dereference_refs
from pydantic import BaseModel, Field

# Bounds on what a model may send. Arrays are bounded in the schema. For strings a strict schema has no bound that
# every service accepts (OpenAI answers 400 to maxLength), so theirs are in the descriptions, and the checks hold them.
MAX_OPS = 20
MAX_SOURCES = 8
MAX_PROFILE_CHANGES = 10
MAX_STEPS = 10
MAX_LESSONS = 5
MAX_MEANINGS = 3
MAX_KEYWORDS = 40


class ProposedOperation(BaseModel):
    """One change of what is known about the user."""

    source_ids: list[str] = Field(
        default_factory=list, max_length=MAX_SOURCES, description="Ids of the user's messages that say it."
    )
    op: Literal["add", "update", "retract"] = Field("add", description="What to do.")
    target_id: str | None = Field(None, description="Id of the memory to update or retract; null for add.")
    subject: str = Field("", description="`user`, or a name. At most 80 characters.")
    predicate: str = Field("", description="Short and reusable, such as lives_in. At most 60 characters.")
    object: str = Field("", description="In the user's own words. At most 200 characters.")
    text: str = Field("", description="The fact as one short sentence in the user's language. At most 300 characters.")


class ProposedProfileChange(BaseModel):
    """One field of the user's profile."""

    source_ids: list[str] = Field(
        default_factory=list, max_length=MAX_SOURCES, description="Ids of the user's messages that say it."
    )
    field: str = Field("", description="Such as name or time_zone. At most 40 characters.")
    value: str = Field("", description="In the user's own words. At most 200 characters.")


class ProposedEpisode(BaseModel):
    """What was attempted and how it went."""

    goal: str = Field("", description="What was wanted. At most 300 characters.")
    situation: str = Field("", description="Under which circumstances. At most 300 characters.")
    steps: list[str] = Field(default_factory=list, max_length=MAX_STEPS, description="The key steps, short.")
    outcome: str = Field("", description="How it ended. At most 300 characters.")
    lessons: list[str] = Field(default_factory=list, max_length=MAX_LESSONS, description="What to do better, short.")
    level: Literal["task", "milestone", "conversation"] = Field("task", description="What it spans.")
    milestone_title: str = Field("", description="Of a milestone. At most 80 characters.")
    snapshot: str = Field("", description="Of a milestone. At most 900 characters.")
    source_ids: list[str] = Field(
        default_factory=list,
        max_length=MAX_SOURCES,
        description="Of a milestone: ids of the messages that show it.",
    )
    importance: float = Field(0.5, description="0 (trivial) to 1 (life-changing).")


class ProposedKeyword(BaseModel):
    """What a message tells of, and words to find it by."""

    # bounds for the model alone: a word too many is no reason to refuse the entry, nor to ask for the answer again

    says: str = Field("", description="A thing, a deed, a pronoun or a time, as a message calls it.")
    means: list[str] = Field(
        default_factory=list,
        description="What kind of thing, who or which date that is.",
        json_schema_extra={"maxItems": MAX_MEANINGS},
    )


class Proposal(BaseModel):
    """Record what this conversation teaches about the user. Call it exactly once, with everything in it."""

    ops: list[ProposedOperation] = Field(
        default_factory=list, max_length=MAX_OPS, description="Facts to add, update or retract; may be empty."
    )
    profile_changes: list[ProposedProfileChange] = Field(
        default_factory=list, max_length=MAX_PROFILE_CHANGES, description="May be empty."
    )
    episode: ProposedEpisode | None = Field(None, description="Only if something was attempted; otherwise null.")
    summary: str = Field("", description="User asked X, agent did Y, result was Z. At most 500 characters.")
    # last: what breaks off here has lost nothing that was said
    keywords: list[ProposedKeyword] = Field(
        default_factory=list,
        description="Only if asked for; otherwise empty.",
        json_schema_extra={"maxItems": MAX_KEYWORDS},
    )


FIELDS = tuple(Proposal.model_fields)


def strict_schema(
    messages: Sequence[str], targets: Sequence[str], fields: Sequence[str] = (), *, enriched: int = 0
) -> dict[str, Any]:
    """Return the JSON schema of one call.

    Args:
        messages: The aliases that may be cited.
        targets: The aliases that may be updated or retracted.
        fields: The fields of the profile; empty for any.
        enriched: For how many messages index words are asked.

    Returns:
        A schema that strict structured output accepts: no references, every property required, none beyond those.
    """
    schema = deepcopy(_proposal_schema())
    operation = schema["properties"]["ops"]["items"]["properties"]
    profile = schema["properties"]["profile_changes"]["items"]["properties"]
    episode = next(form for form in schema["properties"]["episode"]["anyOf"] if "properties" in form)["properties"]
    for properties in (operation, profile, episode):
        properties["source_ids"]["items"] = {"type": "string", "enum": list(messages)}
    if enriched:
        # an entry is about 20 tokens, and a small model sends as many as it may
        schema["properties"]["keywords"]["maxItems"] = min(2 + 2 * enriched, MAX_KEYWORDS)
    else:
        del schema["properties"]["keywords"]
        schema["required"].remove("keywords")
    if fields:
        profile["field"] = {"type": "string", "enum": list(fields)}
    # an addition has no target and every other operation has one: with the two apart, a model held to the schema
    # cannot ask for an update of nothing, which a small one did in every second update
    form = schema["properties"]["ops"]["items"]
    forms = [_variant(form, ["add"], {"type": "null"})]
    if targets:
        forms.append(_variant(form, ["update", "retract"], {"type": "string", "enum": list(targets)}))
    schema["properties"]["ops"]["items"] = forms[0] if len(forms) == 1 else {"anyOf": forms}
    return {**schema, "title": "extraction", "description": "What this conversation teaches about the user."}


@cache
def _proposal_schema() -> dict[str, Any]:
    # made once: it takes six milliseconds
    schema: dict[str, Any] = _strict(dereference_refs(Proposal.model_json_schema()))
    schema.pop("$defs", None)
    return schema


def _variant(form: Mapping[str, Any], ops: Sequence[str], target: Mapping[str, Any]) -> dict[str, Any]:
    properties = dict(form["properties"])
    properties["op"] = {**properties["op"], "enum": list(ops)}
    properties["target_id"] = {**target, "description": properties["target_id"]["description"]}
    return {**form, "properties": properties}


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept = {key: _strict(value) for key, value in node.items() if key not in ("title", "default")}
    if isinstance(kept.get("properties"), dict):
        # the property may itself be called "title" or "default"
        kept["properties"] = {name: _strict(value) for name, value in node["properties"].items()}
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept
