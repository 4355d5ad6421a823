"""Routes that refuse what they do not know: a typo changes nothing in silence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Any, ClassVar, TypeAlias, get_args

from fastapi import Depends, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel

from react_mem.graphs.callers import names_user

_MOST = 5
"""Unknown names that are told of at once: each is compared with the known ones."""

_NAME_CHARS = 64

_Place: TypeAlias = tuple[str | int, ...]


class AlsoTaken(BaseModel):
    """A body that other systems send as well, with fields of their own."""

    also_taken: ClassVar[Collection[str]] = ()
    """Their fields, which are passed over."""


class KnownFieldsRoute(APIRoute):
    """A route that refuses parameters and fields which it does not know, and takes the user's name in the query."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["dependencies"] = [*(options.get("dependencies") or ()), Depends(names_user)]
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler."""
        handle = super().get_route_handler()
        parameters = {field.alias for part in _parts(self.dependant) for field in part.query_params}
        bodies = [field.field_info.annotation for part in _parts(self.dependant) for field in part.body_params]
        nothing = BaseModel if "POST" in (self.methods or ()) else None
        body = _model(bodies[0]) if bodies else nothing

        async def handled(request: Request) -> Response:
            unknown = _unknown_parameters(request, parameters, body)
            if body is not None:
                unknown = [*unknown, *islice(_unknown_fields(await _sent(request), body, ("body",)), _MOST)]
            if unknown:
                raise RequestValidationError(unknown)
            return await handle(request)

        return handled


def _parts(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for one in dependant.dependencies:
        yield from _parts(one)


def _unknown_parameters(request: Request, known: Collection[str], body: type[BaseModel] | None) -> list[dict[str, Any]]:
    names = [name for name in request.query_params if name not in known]
    elsewhere = body.model_fields if body is not None else ()
    return [_unknown(name, ("query",), known, elsewhere) for name in names[:_MOST]]


async def _sent(request: Request) -> Any:
    """Return the body; None where it is no JSON, which whoever reads it next says in its own words."""
    try:
        return await request.json()
    except (ValueError, RecursionError):
        return None


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
    """Return the model in a type, such as that of a list's elements; None for what is no record."""
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
