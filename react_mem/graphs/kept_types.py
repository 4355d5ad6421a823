"""Types that a graph keeps in its threads: a strict checkpointer builds no others from what is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_type_hints

from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Checkpointer
from pydantic import BaseModel
from typing_extensions import is_typeddict


def strict_for(checkpointer: Checkpointer, annotations: Iterable[Any]) -> Checkpointer:
    """Return a checkpointer that also builds the types of a graph.

    Args:
        checkpointer: What keeps the graph's threads, if anything does.
        annotations: What its state is declared with.
    """
    if not isinstance(checkpointer, BaseCheckpointSaver):
        return checkpointer
    found: dict[Any, None] = {}
    for annotation in annotations:
        _collect(annotation, found)
    kept = {(one.__module__, one.__name__) for one in found if _is_built(one)}
    return checkpointer.with_allowlist(kept) if kept else checkpointer


def _collect(annotation: Any, found: dict[Any, None]) -> None:
    """Add the classes that an annotation names, and those of their fields."""
    if isinstance(annotation, AutoStrategy | ToolStrategy | ProviderStrategy):
        annotation = annotation.schema
    for part in get_args(annotation):
        _collect(part, found)
    if not isinstance(annotation, type) or annotation in found:
        return
    found[annotation] = None
    for hint in _fields_of(annotation):
        _collect(hint, found)


def _is_built(found: type) -> bool:
    return issubclass(found, BaseModel | Enum) or is_dataclass(found) or hasattr(found, "_fields")


def _fields_of(declared: type) -> Iterable[Any]:
    if issubclass(declared, BaseModel):
        return [field.annotation for field in declared.model_fields.values()]
    if not (is_typeddict(declared) or is_dataclass(declared) or hasattr(declared, "_fields")):
        return ()
    try:
        return get_type_hints(declared).values()
    except (NameError, TypeError):  # annotations that cannot be resolved here
        return [field.type for field in fields(declared)] if is_dataclass(declared) else ()
