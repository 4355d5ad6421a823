"""Schemas that a model's answer is to fit, in the strict form that providers ask for: every property, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def object_schema(properties: Mapping[str, Any], title: str = "", description: str = "") -> dict[str, Any]:
    """Return the schema of an object with these properties and no others.

    Args:
        properties: The schema of each.
        title: The name of the answer, for the outermost object.
        description: What it is, likewise.
    """
    named = {"title": title, "description": description} if title else {}
    return {
        **named,
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def strict(node: Any) -> Any:
    """Return a schema in strict form, without the titles, defaults and descriptions that pydantic writes."""
    if isinstance(node, list):
        return [strict(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept = {key: strict(value) for key, value in node.items() if key not in ("title", "default", "description")}
    if isinstance(kept.get("properties"), dict):
        # a property may itself be called "title" or "default"
        return {**kept, **object_schema({name: strict(value) for name, value in node["properties"].items()})}
    return kept
