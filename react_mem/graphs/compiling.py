"""Compilation of a manager's graph, with the interface of `langchain.agents.create_agent`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_type_hints

from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolCallTransformer
from langgraph.types import Checkpointer
from pydantic import BaseModel
from typing_extensions import Unpack, is_typeddict

from react_mem.agents.resolve import CompileOptions, ResolvedAgent
from react_mem.graphs.schemas import Schemas, as_input

# Types that a graph keeps in its threads: a strict checkpointer builds no others from what is stored.


def strict_for(checkpointer: Checkpointer, annotations: Iterable[Any]) -> Checkpointer:
    """Return a checkpointer that also builds the types in the annotations of a graph's state."""
    if not isinstance(checkpointer, BaseCheckpointSaver):
        return checkpointer
    found: dict[Any, None] = {}
    for annotation in annotations:
        _collect(annotation, found)
    kept = {
        (one.__module__, one.__name__)
        for one in found
        if issubclass(one, BaseModel | Enum) or is_dataclass(one) or hasattr(one, "_fields")
    }
    return checkpointer.with_allowlist(kept) if kept else checkpointer


def _collect(annotation: Any, found: dict[Any, None]) -> None:
    """Add the classes in an annotation, and in the fields of these classes."""
    if isinstance(annotation, AutoStrategy | ToolStrategy | ProviderStrategy):
        annotation = annotation.schema
    for part in get_args(annotation):
        _collect(part, found)
    if not isinstance(annotation, type) or annotation in found:
        return
    found[annotation] = None
    for hint in _fields_of(annotation):
        _collect(hint, found)


def _fields_of(declared: type) -> Iterable[Any]:
    if issubclass(declared, BaseModel):
        return [field.annotation for field in declared.model_fields.values()]
    if not (is_typeddict(declared) or is_dataclass(declared) or hasattr(declared, "_fields")):
        return ()
    try:
        return get_type_hints(declared).values()
    except (NameError, TypeError):  # annotations that cannot be resolved here
        return [field.type for field in fields(declared)] if is_dataclass(declared) else ()


_PROJECTIONS: list[Any] = [ToolCallTransformer]
try:
    from langchain.agents._subagent_transformer import SubagentTransformer
except ImportError:
    # private to LangChain: a version without it still runs every agent, and its streams do not tell subagents apart
    pass
else:
    _PROJECTIONS.append(SubagentTransformer)


def compile_graph(
    graph: StateGraph[Any, Any, Any, Any],
    schemas: Schemas,
    agent: ResolvedAgent,
    manager: str,
    **options: Unpack[CompileOptions],
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Compile a manager's graph, whose checkpointer builds the types of the agent's answers and state.

    Its streams of events by version 3 show tool calls and subagents apart, its stream of values shows the fields that
    both managers share; private fields are in the checkpoint all the same.
    """
    compiled = graph.compile(
        strict_for(options.get("checkpointer"), (agent.state_schema, agent.response_format)),
        store=options.get("store"),
        interrupt_before=options.get("interrupt_before"),
        interrupt_after=options.get("interrupt_after"),
        transformers=[*_PROJECTIONS, *options.get("transformers", ())],
        name=agent.name or manager,
    )
    compiled.nodes[START].mapper = as_input
    compiled.stream_channels = list(schemas.state.__annotations__)
    return compiled
