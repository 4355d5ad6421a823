"""Schemas of a graph: the state that both managers share, and the fields that a caller adds; its compilation."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin, get_type_hints

from langchain.agents import AgentState as LangChainState
from langchain.agents.middleware.types import OmitFromSchema
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
    messages_from_dict,
)
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.channels import DeltaChannel
from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolCallTransformer
from langgraph.types import Checkpointer
from pydantic import BaseModel
from typing_extensions import TypedDict, Unpack, is_typeddict

from react_mem.agents.resolve import CompileOptions, ResolvedAgent
from react_mem.errors import StateSchemaError
from react_mem.graphs.cards.memory_cards import Cards
from react_mem.memory.context import derived_id, is_users

# The state both managers share: same input, same output; what a manager needs for itself stays private.
# On Python < 3.12 typing.TypedDict yields null JSON schemas in the server.

_ROLES = {"user", "human", "assistant", "ai", "system", "developer", "tool", "function"}


def append_messages(state: list[AnyMessage], writes: Sequence[Any]) -> list[AnyMessage]:
    """Fold writes into the message list with the meaning of LangGraph's `add_messages`.

    A `DeltaChannel` stores only the writes and replays them through this reducer on every read, so a message that
    came without an id must get the same one each time: of the input of a nested run (see `as_input`) it is derived from
    its content and the message before it, of other writes from its content and its place.

    >>> [m.content for m in append_messages([], ["hi", [("ai", "hello")]])]
    ['hi', 'hello']
    >>> append_messages([], ["hi"]) == append_messages([], ["hi"])
    True
    """
    state = [_restored(message) for message in state]
    # in the order of the messages
    taken = dict.fromkeys(message.id for message in state)
    fresh: list[BaseMessage] = []
    for write in writes:
        given = _listed(write)
        if is_input := len(given) == 1 and isinstance(given[0], list) and not _is_pair(given[0]):
            [given] = given
        messages = convert_to_messages([_restored(message) for message in given])
        # every message has an id of its own by now, so that there are as many ids as messages
        for place, given_message in enumerate(messages, start=len(taken)):
            message = given_message
            if not message.id:
                id_ = next(id_ for id_ in _ids(place, message, taken, is_input=is_input) if id_ not in taken)
                message = message.model_copy(update={"id": id_})
            fresh.append(message)
            taken[message.id] = None
        if any(isinstance(message, RemoveMessage) for message in messages):
            # what it removes has to be there, and to make place for what comes
            state = _merged(state, fresh)
            fresh = []
            taken = dict.fromkeys(message.id for message in state)
    return _merged(state, fresh)


def _merged(state: list[AnyMessage], messages: list[BaseMessage]) -> list[AnyMessage]:
    """Return the messages after these: all at once, since each merge walks the whole thread."""
    merged: list[BaseMessage] = add_messages(state, messages)  # type: ignore[assignment, arg-type]
    if any(message.id == REMOVE_ALL_MESSAGES for message in messages):
        # what follows the removal of everything, LangGraph takes as it is: an id may come twice
        merged = list({(isinstance(message, RemoveMessage), message.id): message for message in merged}.values())
    return merged  # type: ignore[return-value]


def as_input(given: Any) -> Any:
    """Return a run's input with an id for each message, or with its messages in a list of their own.

    Within another graph, a run may be sent that graph's whole thread again and again: by the list `append_messages`
    knows that it is to derive ids, where LangGraph would give random ones. Else they are random: a thread may be
    emptied, and begin again with the same words.
    """
    messages = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(messages, list | tuple | str | BaseMessage):
        return given
    around = var_child_runnable_config.get() or {}
    if (around.get("configurable") or {}).get("checkpoint_ns"):
        return {**given, "messages": [_listed(messages)]}
    try:
        said = convert_to_messages([_restored(message) for message in _listed(messages)])
    except (ValueError, NotImplementedError):
        # refused where it is read
        return given
    return {**given, "messages": [m if m.id else m.model_copy(update={"id": str(uuid.uuid4())}) for m in said]}


def _listed(write: Any) -> list[Any]:
    return write if isinstance(write, list) and not _is_pair(write) else [write]


def _is_pair(write: Any) -> bool:
    """Return true if a list is one (role, text) pair: a checkpointer returns a tuple as a list."""
    return len(write) == 2 and all(isinstance(part, str) for part in write) and write[0] in _ROLES


def _restored(message: Any) -> Any:
    """Return a dumped message as a message object; anything else unchanged.

    A server reads checkpoints without LangChain's classes when it shows a thread, and replays them through the
    reducer: the messages of a snapshot come as such dumps, and `convert_to_messages` would move the usage out of them.
    """
    if isinstance(message, dict) and {"type", "additional_kwargs", "response_metadata"} <= message.keys():
        # else it is a client's own form of a message
        with suppress(ValueError):
            [message] = messages_from_dict([{"type": message["type"], "data": message}])
    return message


def _ids(place: int, message: BaseMessage, taken: dict[str | None, None], *, is_input: bool) -> Iterator[str]:
    """Yield the ids that replay alike for a message without one, until one is free."""
    last, name = next(reversed(taken), ""), f"{place}:{message.type}:{message.content}"
    while True:
        last = derived_id(message, last) if is_input else str(uuid.uuid5(uuid.NAMESPACE_OID, name))
        yield last
        name += "'"


# A plain messages channel rewrites the whole history at every step. docs/benchmarks.md has what that takes.
Messages = Annotated[list[AnyMessage], DeltaChannel(append_messages)]


class AgentInput(TypedDict):
    """New messages of the conversation, the question last."""

    messages: Required[Messages]


class AgentOutput(TypedDict):
    """The conversation with its answer."""

    messages: Required[Messages]
    structured_response: NotRequired[Any]


class AgentState(TypedDict):
    """The state of `react`, shared by `react_mem`."""

    messages: Required[Messages]
    structured_response: NotRequired[Any]


def current_turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages of this invocation: from the last user message on."""
    start = next((i for i in range(len(messages) - 1, -1, -1) if is_users(messages[i])), 0)
    return list(messages[start:])


def model_calls(messages: Sequence[AnyMessage]) -> int:
    """Return how often the model has answered in this invocation."""
    return sum(isinstance(message, AIMessage) for message in current_turn(messages))


def pending_tool_calls(messages: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """Return the tool calls of the last model answer that have no result yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return [dict(call) for call in message.tool_calls if call["id"] not in answered]
        else:
            break
    return []


_SHARED = {*AgentState.__annotations__, *get_type_hints(LangChainState)}


@dataclass(frozen=True)
class Schemas:
    """The schemas of one graph: the state that tools see and the stream shows, a run's input, its output."""

    state: Any
    input: Any
    output: Any

    @classmethod
    def of(
        cls, added: type | None, private: Mapping[str, Any], *, suggests: bool = False, cards: bool = False
    ) -> Schemas:
        """Return the schemas with the fields of a caller's own state (`added`), like `state_schema` of `create_agent`.

        Fields that are annotated with LangChain's `OmitFromInput`, `OmitFromOutput` or `PrivateStateAttr` are left out
        there. `private` are the manager's own fields. The output has `suggestions` and `ui` of an agent that chooses
        tools or shows cards, since `create_agent` has no such fields.

        Raises `StateSchemaError` if it is not a TypedDict, merges `messages` in a way of its own, or has a field of the
        manager's own.
        """
        ours: dict[str, Any] = {"suggestions": NotRequired[list[dict[str, Any]]]} if suggests else {}
        if cards:
            ours["ui"] = NotRequired[Cards]
        if added is None:
            return cls(_extended(AgentState, ours), AgentInput, _extended(AgentOutput, ours))
        if not is_typeddict(added):
            raise StateSchemaError(f"state_schema must be a TypedDict, not {added!r}: extend langchain's AgentState.")
        hints = get_type_hints(added, include_extras=True)
        _check_messages(added, hints.get("messages"))
        own = {name: hint for name, hint in hints.items() if name not in _SHARED}
        if taken := sorted(own.keys() & private.keys()):
            raise StateSchemaError(
                f"{added.__name__} has fields that the manager keeps for itself: {', '.join(taken)}. Rename them."
            )

        def shown(side: str) -> dict[str, Any]:
            return {
                name: hint
                for name, hint in own.items()
                if not any(isinstance(mark, OmitFromSchema) and getattr(mark, side) for mark in _marks(hint))
            }

        return cls(
            _extended(AgentState, own | ours),
            _extended(AgentInput, shown("input")),
            _extended(AgentOutput, shown("output") | ours),
        )


def _extended(base: Any, fields: dict[str, Any]) -> Any:
    if not fields:
        return base
    return TypedDict(base.__name__, {**get_type_hints(base, include_extras=True), **fields})  # type: ignore[operator]


def _marks(hint: Any) -> tuple[Any, ...]:
    """Return the annotations of a field without its type."""
    if get_origin(hint) in (Required, NotRequired):
        hint = get_args(hint)[0]
    return getattr(hint, "__metadata__", ())


def _check_messages(schema: type, hint: Any) -> None:
    for mark in _marks(hint):
        reducer = getattr(mark, "reducer", None) if isinstance(mark, BaseChannel) else mark
        if callable(reducer) and reducer not in (add_messages, append_messages):
            raise StateSchemaError(
                f"{schema.__name__} merges `messages` with {mark!r}; the thread is kept as add_messages does it. Leave "
                "`messages` as it is in langchain's AgentState."
            )


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
    """Compile a manager's graph; its checkpointer builds the types of the agent's answers and state.

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
