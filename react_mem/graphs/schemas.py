"""The schemas of a graph: what both managers share, and the fields that a caller adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, Required, get_args, get_origin, get_type_hints

from langchain.agents import AgentState as LangChainState
from langchain.agents.middleware.types import OmitFromSchema
from langgraph.channels.base import BaseChannel
from langgraph.graph.message import add_messages

# On Python < 3.12 typing.TypedDict yields null JSON schemas in the server.
from typing_extensions import TypedDict, is_typeddict

from react_mem.errors import StateSchemaError
from react_mem.graphs.agent_state import AgentInput, AgentOutput, AgentState, append_messages
from react_mem.graphs.cards.memory_cards import Cards

_SHARED = {*AgentState.__annotations__, *get_type_hints(LangChainState)}


@dataclass(frozen=True)
class Schemas:
    """The schemas of one graph.

    Args:
        state: What tools see and the stream shows; what a manager needs for itself is private to its nodes.
        input: What a caller sends.
        output: What a caller gets.
    """

    state: Any
    input: Any
    output: Any

    @classmethod
    def of(
        cls, added: type | None, private: Mapping[str, Any], *, suggests: bool = False, cards: bool = False
    ) -> Schemas:
        """Return the schemas with the fields of a caller's own state, as `create_agent` takes it as `state_schema`.

        Fields that are annotated with LangChain's `OmitFromInput`, `OmitFromOutput` or `PrivateStateAttr` are left out
        there.

        Args:
            added: A TypedDict, such as one that extends `langchain.agents.AgentState`; None without fields of its own.
            private: The fields of the manager's own state.
            suggests: Whether the output has `suggestions`, next steps: only of an agent that chooses, since
                `create_agent` has no such field.
            cards: Whether the output has `ui`, cards that a chat shows with the answers; likewise.

        Raises:
            StateSchemaError: If it is not a TypedDict, merges `messages` in a way of its own, or has a field that the
                manager keeps for itself.
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
        return cls(
            _extended(AgentState, {**own, **ours}),
            _extended(AgentInput, {name: hint for name, hint in own.items() if not _omitted(hint, "input")}),
            _extended(AgentOutput, {n: hint for n, hint in own.items() if not _omitted(hint, "output")} | ours),
        )


def _extended(base: Any, fields: dict[str, Any]) -> Any:
    if not fields:
        return base
    return TypedDict(base.__name__, {**get_type_hints(base, include_extras=True), **fields})  # type: ignore[operator]


def _omitted(hint: Any, side: str) -> bool:
    return any(isinstance(mark, OmitFromSchema) and getattr(mark, side) for mark in _marks(hint))


def _marks(hint: Any) -> tuple[Any, ...]:
    """Return what a field is annotated with, beside its type."""
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
