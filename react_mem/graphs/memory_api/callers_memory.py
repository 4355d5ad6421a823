"""Requests of the REST interface: their owner, the form of errors, ETags."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, get_args, get_type_hints

from fastapi import APIRouter, Depends, Header, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from react_mem.agents.config import AgentConfig, load_agent_config
from react_mem.graphs.auth.permissions import ADMINISTRATOR
from react_mem.graphs.callers import names_user, owner_of
from react_mem.graphs.chat_summary_route import BoundedRoute, ErrorAnswer, loaded_for
from react_mem.memory import MemoryFacade

# ETags of conditional requests, as RFC 9110 (8.8.3, 13.1) has them.

_ETAG = re.compile(r'(?:W/)?"[^"]*"')


def is_the_same(header: str, current: str) -> bool:
    """Return true if `If-Match` names the current ETag. A weak tag never does: it only says that something is alike.

    >>> is_the_same('"a", "b"', '"b"'), is_the_same('W/"b"', '"b"'), is_the_same("*", '"b"')
    (True, False, True)
    """
    return header.strip() == "*" or current in _ETAG.findall(header)


def is_alike(header: str, current: str) -> bool:
    """Return true if `If-None-Match` names the current ETag, by a strong or a weak tag.

    >>> is_alike('"a,b", W/"c"', '"c"'), is_alike('"a,b", W/"c"', '"b"'), is_alike(" * ", '"b"')
    (True, False, True)
    """
    named = [tag.removeprefix("W/") for tag in _ETAG.findall(header)]
    return header.strip() == "*" or current in named


# Routes that refuse what they do not know: a typo changes nothing in silence.

_MOST = 5  # unknown names in an answer at most: each is compared with the known ones
_NAME_CHARS = 64

_Place: TypeAlias = tuple[str | int, ...]
_T = TypeVar("_T")


class AlsoTaken(BaseModel):
    """A body that other systems send as well, with fields of their own."""

    also_taken: ClassVar[Collection[str]] = ()
    """Their fields, which are passed over."""


class KnownFieldsRoute(APIRoute):
    """A route that refuses unknown parameters and fields; no shared cache keeps its answers."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["dependencies"] = [*(options.get("dependencies") or ()), Depends(names_user)]
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        parts = [self.dependant, *self.dependant.dependencies]
        parameters = {field.alias for part in parts for field in part.query_params}
        nothing = BaseModel if "POST" in (self.methods or ()) else None
        body = _model(self.body_field.field_info.annotation) if self.body_field else nothing

        async def handled(request: Request) -> Response:
            names = [name for name in request.query_params if name not in parameters]
            elsewhere = body.model_fields if body is not None else ()
            unknown = [_unknown(name, ("query",), parameters, elsewhere) for name in names[:_MOST]]
            if body is not None:
                # no JSON is reported by the next reader, in its own words
                with suppress(ValueError, RecursionError):
                    unknown += islice(_unknown_fields(await request.json(), body, ("body",)), _MOST)
            if unknown:
                raise RequestValidationError(unknown)
            answer = await handle(request)
            answer.headers.setdefault("cache-control", "no-store")
            return answer

        return handled


def _unknown_fields(value: Any, model: type[BaseModel], where: _Place) -> Iterator[dict[str, Any]]:
    if not isinstance(value, dict):
        return
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    passed_over = model.also_taken if issubclass(model, AlsoTaken) else ()
    for name, held in value.items():
        field = fields.get(name)
        if field is None:
            if name not in passed_over:
                yield _unknown(name, where, fields)
        elif (within := _model(field.annotation)) is not None:
            for place, one in enumerate(held) if isinstance(held, list) else [(None, held)]:
                yield from _unknown_fields(one, within, (*where, name) if place is None else (*where, name, place))


def _model(annotation: Any) -> type[BaseModel] | None:
    """Return the model in a type, such as that in a list's elements; None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model(part)) is not None), None)


def _unknown(name: str, where: _Place, known: Collection[str], in_body: Collection[str] = ()) -> dict[str, Any]:
    # half a character of JSON is none of an answer
    short = name[:_NAME_CHARS].encode("utf-8", "replace").decode()
    if short in in_body:
        hint = "it belongs into the body"
    elif near := get_close_matches(short, known, n=1):
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"known are {', '.join(sorted(known))}" if known else "none is taken"
    return {"type": "unknown_field", "loc": (*where, short), "msg": f"{short!r} is not known here; {hint}"}


PREFIX = "/memory/v1"
MAX_PAGE = 200  # entries on a page at most, as the facade has it
MAX_MEMORY_BYTES = 256_000  # size of a request at most; the longest are a message, or a hundred ids
NO_OWNER = "no user is named (user_id), so there is no memory of theirs"
NO_STORE = "this server has no store"
USER_ID = "Deprecated: `user_id` of the query, which every request takes, says the same."


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
    """Return the documentation of failing requests, by their codes."""
    return {code: {"description": _PROBLEMS[code]} | ({} if code == 304 else {"model": ErrorAnswer}) for code in codes}


class MemoryRoute(BoundedRoute, KnownFieldsRoute):
    """A route of the REST interface."""

    most = MAX_MEMORY_BYTES


def rest_router(tag: str = "Memory") -> APIRouter:
    """Return a router of the REST interface: its operations are named as their functions are."""
    return APIRouter(
        prefix=PREFIX,
        tags=[tag],
        route_class=MemoryRoute,
        responses=problems(401, 404, 422, 503),
        generate_unique_id_function=lambda route: route.name,
    )


def tagged(what: str) -> dict[str, Any]:
    """Return the documentation of an answer's ETag."""
    return {"headers": {"ETag": {"description": what, "schema": {"type": "string"}}}}


def returned_by(read: Callable[..., Any]) -> Any:
    """Return the model that a method of the facade returns, if anything: the answer of its route."""
    returned = get_type_hints(read)["return"]
    return next((part for part in get_args(returned) if part is not type(None)), returned)


def found(one: _T | None, name: str) -> _T:
    """Return a record of the caller, such as a memory; 404 if there is none."""
    if one is None:
        raise HTTPException(404, f"this user has no such {name}")
    return one


@dataclass(frozen=True)
class CallersMemory:
    """The memory that a request is about, with its owner; `is_mounted` is one that an application opened itself."""

    memory: MemoryFacade
    owner: str
    is_mounted: bool = False

    async def as_agent(self, agent: str) -> AgentConfig:
        """Return the config of an agent, under the policy of the memory where an application opened that."""
        config = await loaded_for(agent, load_agent_config)
        return config.model_copy(update={"memory": self.memory.policy}) if self.is_mounted else config


def memory_of(request: Request, user_id: str | None = None) -> CallersMemory:
    """Return the memory that a request is about; 404 if nobody is named, 503 without a store.

    The user that its body names counts only where the server authenticates nobody.
    """
    owner = owner_of(request, user_id)
    if owner is None:
        raise HTTPException(404, NO_OWNER)
    if mounted := getattr(request.app.state, "memory", None):
        return CallersMemory(mounted, owner, is_mounted=True)
    store: BaseStore | None = getattr(request.app.state, "store", None)
    if store is None:
        raise HTTPException(503, NO_STORE)
    return CallersMemory(MemoryFacade(store), owner)


def _asked(request: Request) -> CallersMemory:
    return memory_of(request)


Asked = Annotated[CallersMemory, Depends(_asked)]  # the memory that a request without a body is about
IfMatch = Annotated[
    str, Header(alias="If-Match", max_length=400, description="The ETag of what the change is of: done only if it is.")
]


def etag(revision: str) -> str:
    """Return the ETag of a revision."""
    return f'"{revision}"'


def list_etag(revision: str) -> str:
    """Return the ETag of a list: of a revision, and of the hour, since a fact may end by its own date."""
    return f'"{revision}-{int(datetime.now(UTC).timestamp()) // 3600:x}"'


def wanted_revision(if_match: str, memory_revision: str) -> str:
    """Return the revision that a change requires; empty for any. 412 if `If-Match` does not name the current one."""
    if if_match.strip() in ("", "*"):
        return ""
    if not is_the_same(if_match, etag(memory_revision)):
        raise HTTPException(412, "the memory has changed since you looked at it; look at it again")
    return memory_revision


def administers(request: Request) -> bool:
    """Return true if the server's authentication made the caller an administrator."""
    return ADMINISTRATOR in getattr(request.scope.get("auth"), "scopes", ())


def wrong(field: str, error: Exception | str) -> RequestValidationError:
    """Return the answer 422 to a request with a wrong field in its body."""
    # a rule that names the field itself need not have it named twice
    why = str(error).removeprefix(f"{field}: ")
    return RequestValidationError([{"type": "value_error", "loc": ("body", field), "msg": why}])
