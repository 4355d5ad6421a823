"""Requests of the REST interface: whose memory each is about, how errors are answered, what an ETag says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Header, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field

from react_mem.agents.config import AgentConfig, load_agent_config
from react_mem.errors import UnknownAgent
from react_mem.graphs.auth.permissions import ADMINISTRATOR
from react_mem.graphs.callers import owner_of
from react_mem.graphs.chat_summary_route import BoundedRoute
from react_mem.graphs.etags import is_the_same
from react_mem.graphs.memory_api.known_fields import KnownFieldsRoute
from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import WriteConflict

PREFIX = "/memory/v1"

MAX_MEMORY_BYTES = 256_000
"""Of one request: the longest of them is a message, or a hundred ids."""

NO_OWNER = "no user is named (user_id), so there is no memory of theirs"
NO_STORE = "this server has no store"

USER_ID = "Deprecated: `user_id` of the query, which every request takes, says the same."


class ErrorAnswer(BaseModel):
    """Answer to a request that could not be carried out."""

    detail: Any = Field(description="The cause; of a request that is wrong, the fields that are.")


_PROBLEMS = {
    304: "Nothing has changed since the ETag that `If-None-Match` names.",
    401: "Where the server authenticates users: nobody is authenticated.",
    404: "This user has no such thing, or nobody is named. Of what is another user's nobody is told that it is there.",
    409: "The id of a message stands for other words: nothing was stored.",
    412: "The memory has changed since the ETag that `If-Match` names: nothing was changed.",
    413: f"The request is longer than {MAX_MEMORY_BYTES:,} bytes, or memory is full: the agent's quotas leave no room.",
    422: "Something of the request is wrong; `detail` says what and what to do.",
    423: "Something of it is under a legal hold: nothing was removed.",
    429: "This user follows as many streams as there may be at once.",
    503: "This server has no store, or it cannot be reached now: ask again.",
}


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return the answers to requests that fail, for the documentation: those that any may get, and some.

    Args:
        codes: The others.
    """
    every = sorted({401, 404, 422, 503, *codes})
    return {code: {"description": _PROBLEMS[code]} | ({} if code == 304 else {"model": ErrorAnswer}) for code in every}


class MemoryRoute(BoundedRoute, KnownFieldsRoute):
    """A route of the REST interface: its answers are kept in no shared cache, and lost races can be tried again."""

    most = MAX_MEMORY_BYTES

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            answer = await handle(request)
            answer.headers.setdefault("cache-control", "no-store")
            return answer

        return handled


def tagged(what: str) -> dict[str, Any]:
    """Return the part of an answer's documentation that tells of its ETag.

    Args:
        what: What the ETag is of.
    """
    return {"headers": {"ETag": {"description": what, "schema": {"type": "string"}}}}


def retried(error: WriteConflict) -> HTTPException:
    """Return the answer to a request whose owner is being written to by others all the time."""
    return HTTPException(503, f"{error}; ask again", {"retry-after": "1"})


@dataclass(frozen=True)
class CallersMemory:
    """Memory that a request is about.

    Args:
        memory: The facade.
        owner: Whose it is.
    """

    memory: MemoryFacade
    owner: str


def memory_of(request: Request, user_id: str | None = None) -> CallersMemory:
    """Return the memory that a request is about.

    Args:
        request: The request.
        user_id: The user that its body names, which counts only where the server authenticates nobody.

    Raises:
        HTTPException: If nobody is named (404), or the server has no store (503).
    """
    owner = owner_of(request, user_id)
    if owner is None:
        raise HTTPException(404, NO_OWNER)
    store: BaseStore | None = getattr(request.app.state, "store", None)
    if store is None:
        raise HTTPException(503, NO_STORE)
    return CallersMemory(MemoryFacade(store), owner)


def _asked(request: Request) -> CallersMemory:
    return memory_of(request)


Asked = Annotated[CallersMemory, Depends(_asked)]
"""The memory that a request without a body is about."""

IfMatch = Annotated[
    str, Header(alias="If-Match", max_length=400, description="The ETag of what the change is of: done only if it is.")
]


def etag(revision: str) -> str:
    """Return the ETag of a revision."""
    return f'"{revision}"'


def list_etag(revision: str) -> str:
    """Return the ETag of a list: of a revision, and of the hour, since a fact may be over by its own date."""
    return f'"{revision}-{int(datetime.now(UTC).timestamp()) // 3600:x}"'


def wanted_revision(if_match: str, memory_revision: str) -> str:
    """Return the revision that a change is to find; empty for any.

    Args:
        if_match: The header.
        memory_revision: The revision that there is.

    Raises:
        HTTPException: If that is none of those that the header names.
    """
    if if_match.strip() in ("", "*"):
        return ""
    if not is_the_same(if_match, etag(memory_revision)):
        raise HTTPException(412, "the memory has changed since you looked at it; look at it again")
    return memory_revision


def administers(request: Request) -> bool:
    """Return whether the caller is an administrator of the server, as its authentication says."""
    return ADMINISTRATOR in getattr(request.scope.get("auth"), "scopes", ())


async def agent_named(name: str) -> AgentConfig:
    """Return the config of the agent that a request names.

    Args:
        name: The agent.

    Raises:
        RequestValidationError: If there is none of that name.
        AgentConfigError: If its file is not valid.
    """
    try:
        return await asyncio.to_thread(load_agent_config, name)
    except UnknownAgent as error:
        raise wrong("agent", error) from None


def wrong(field: str, error: Exception | str) -> RequestValidationError:
    """Return the answer to a request of which a field of the body is wrong.

    Args:
        field: The field.
        error: What is wrong with it.
    """
    # a rule that names the field itself need not have it named twice
    why = str(error).removeprefix(f"{field}: ")
    return RequestValidationError([{"type": "value_error", "loc": ("body", field), "msg": why}])
