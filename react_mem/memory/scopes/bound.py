"""Memory of one owner: the calls of the scope stores, with owner, conversation and agent filled in."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from typing import Any

from react_mem.memory.scopes.scope import ScopeStore


class BoundScope:
    """Scope store of one owner, the default of `user_id`, `session_id` and `agent_id`: the calls that take an owner."""

    def __init__(self, scope: ScopeStore, owner: dict[str, str]) -> None:
        self._scope = scope
        self._owner = owner

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Return a call of the scope store for this owner; `AttributeError` if there is none that takes one."""
        method = None if name.startswith("_") else getattr(self._scope, name, None)
        taken = inspect.signature(method) if inspect.iscoroutinefunction(method) else None
        if taken is None or "user_id" not in taken.parameters:
            raise AttributeError(f"the {self._scope.scope} scope of one owner has no call {name!r}")
        assert method is not None  # noqa: S101 - narrows for the type checker

        @wraps(method)
        async def call(*args: Any, **named: Any) -> Any:
            given = taken.bind_partial(*args, **named).arguments
            if given.get("user_id", self._owner["user_id"]) != self._owner["user_id"]:
                raise ValueError("this is the memory of another user; open theirs with `memory.of(user_id)`")
            rest = {name: who for name, who in self._owner.items() if name in taken.parameters and name not in given}
            return await method(*args, **named, **rest)

        return call


class BoundMemory:
    """Memory of one owner, by scopes: `memory.of("ann").state` has the calls of `memory.state` for ann.

    Args:
        scopes: The scope stores.
        session_id: The conversation; None where the calls name it.
    """

    def __init__(self, scopes: Iterable[ScopeStore], user_id: str, session_id: str | None, agent_id: str) -> None:
        if not user_id:
            raise ValueError("user_id must not be empty: nobody's memory is everybody's")
        owner = {"user_id": user_id, "agent_id": agent_id} | ({} if session_id is None else {"session_id": session_id})
        bound = {str(scope.scope): BoundScope(scope, owner) for scope in scopes}
        self.dialog, self.state, self.semantic = map(bound.__getitem__, ("dialog", "state", "semantic"))
        self.episodic, self.procedural = map(bound.__getitem__, ("episodic", "procedural"))
        self.profile, self.experience = map(bound.__getitem__, ("profile", "experience"))
