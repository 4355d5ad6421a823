"""OpenAPI schema of the REST interface, read into what a client is made of: operations, their parameters, records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

METHODS = ("get", "post", "put", "patch", "delete")

REFERENCE = "#/components/schemas/"

OWNER = "user_id"
"""Parameter that a client has once, for all of its requests."""

CURSOR, NEXT = "cursor", "next_cursor"
"""What a page is asked for with, and where the page before says so."""


@dataclass(frozen=True)
class Parameter:
    """Parameter of an operation.

    Args:
        name: What it is called in the request.
        place: `path`, `query`, `header` or `body`.
        required: Whether the request is refused without it.
        schema: What it may be.
        about: What it is, in a sentence.
    """

    name: str
    place: str
    required: bool
    schema: Schema
    about: str

    @property
    def identifier(self) -> str:
        """What it is called in code."""
        return self.name.lower().replace("-", "_")

    @property
    def is_entity_tag(self) -> bool:
        """Whether it names an ETag, as `If-Match` does."""
        return self.place == "header" and self.name.startswith("If-")


@dataclass(frozen=True)
class Pages:
    """How the pages of a list are turned.

    Args:
        name: The name of the operation that goes through all of them.
        record: The schema's name of a page.
        within: Where in the answer the page is; empty where it is the answer.
        item: What a page holds.
    """

    name: str
    record: str
    within: str
    item: Schema


@dataclass(frozen=True)
class Operation:
    """Operation of the interface: a route and a method.

    Args:
        name: Its id.
        method: The HTTP method, in capitals.
        path: The path, with parameters in braces.
        about: What it does.
        parameters: What it takes without the owner, what is required first.
        owner: Where the request names the owner: `query`, `body`, or empty.
        answer: The schema's name of what it answers; empty for a stream.
        media: The media type of a stream; empty for an answer.
        answer_about: What the answer is.
        tagged: Whether the answer has an ETag.
        codes: The statuses of requests that fail.
        pages: How its pages are turned; None where it has none.
    """

    name: str
    method: str
    path: str
    about: str
    parameters: list[Parameter]
    owner: str
    answer: str
    media: str
    answer_about: str
    tagged: bool
    codes: list[int]
    pages: Pages | None

    @property
    def conditional(self) -> bool:
        """Whether the answer may be that nothing has changed."""
        return 304 in self.codes

    def at(self, place: str) -> list[Parameter]:
        """Return the parameters in a place."""
        return [one for one in self.parameters if one.place == place]


@dataclass(frozen=True)
class Field:
    """Field of a record.

    Args:
        name: What it is called.
        required: Whether every answer has it.
        schema: What it is.
        about: What it says, in a sentence.
    """

    name: str
    required: bool
    schema: Schema
    about: str


@dataclass(frozen=True)
class Record:
    """Record of answers, or a choice of words.

    Args:
        name: Its name.
        about: What it is.
        fields: What is in it.
        words: The words of a choice.
    """

    name: str
    about: str
    fields: list[Field]
    words: list[str]


@dataclass(frozen=True)
class Interface:
    """Interface that a client is of.

    Args:
        operations: What can be asked for, in the order of the schema.
        records: What is answered, by name.
    """

    operations: list[Operation]
    records: list[Record]


def without_null(schema: Schema) -> Schema:
    """Return a schema without the choice of null."""
    kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if not kinds:
        return schema
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def reference(schema: Schema) -> str:
    """Return the name of what a schema refers to; empty where it refers to nothing."""
    return str(schema.get("$ref", "")).removeprefix(REFERENCE)


def read(document: Schema, prefix: str) -> Interface:
    """Read the interface below a path out of an OpenAPI document.

    Args:
        document: The document.
        prefix: The beginning of the paths.
    """
    schemas: dict[str, Schema] = document["components"]["schemas"]
    operations = [
        _operation(schemas, path, method, described)
        for path, methods in document["paths"].items()
        if path.startswith(f"{prefix}/")
        for method, described in methods.items()
        if method in METHODS and not described.get("deprecated")
    ]
    wanted = {one.answer for one in operations if one.answer}
    wanted |= {name for one in operations for given in one.parameters for name in _names(given.schema)}
    waiting = sorted(wanted)
    while waiting:
        found = set(_names(schemas[waiting.pop()])) - wanted
        wanted |= found
        waiting += sorted(found)
    return Interface(operations, [_record(name, schemas[name]) for name in sorted(wanted)])


def _operation(schemas: dict[str, Schema], path: str, method: str, described: Schema) -> Operation:
    given = [*_parameters(described), *_body(schemas, described)]
    whose = [one.place for one in given if one.name == OWNER]
    status = min(code for code in described["responses"] if code.startswith("2"))
    answer = described["responses"][status]
    content = answer.get("content", {})
    name = reference(content.get("application/json", {}).get("schema", {}))
    return Operation(
        name=described["operationId"],
        method=method.upper(),
        path=path,
        about=_first_part(described["description"]),
        parameters=sorted((one for one in given if one.name != OWNER), key=lambda one: not one.required),
        owner=whose[0] if whose else "",
        answer=name,
        media="" if name else next(iter(content)),
        answer_about=_first_part(schemas[name].get("description", "")) if name else answer["description"],
        tagged="ETag" in answer.get("headers", {}),
        codes=sorted(int(code) for code in described["responses"] if not code.startswith("2")),
        pages=_pages(schemas, described["operationId"], name) if any(one.name == CURSOR for one in given) else None,
    )


def _parameters(described: Schema) -> Iterator[Parameter]:
    for one in described.get("parameters", ()):
        about = one.get("description", "")
        yield Parameter(one["name"], one["in"], bool(one.get("required")), one["schema"], about)


def _body(schemas: dict[str, Schema], described: Schema) -> Iterator[Parameter]:
    content = described.get("requestBody", {}).get("content", {})
    name = reference(content.get("application/json", {}).get("schema", {}))
    body = schemas[name] if name else {}
    for field in _fields(body):
        yield Parameter(field.name, "body", field.required, field.schema, field.about)


def _pages(schemas: dict[str, Schema], operation: str, answer: str) -> Pages:
    """Return how pages are turned: the answer is a page, or one of its fields is."""
    verb, _, what = operation.partition("_")
    for within, name in [("", answer), *((one.name, reference(one.schema)) for one in _fields(schemas[answer]))]:
        properties = schemas.get(name, {}).get("properties", {})
        if NEXT in properties:
            called = f"iter_{what}" if verb == "list" else f"iter_{what}_{within}"
            return Pages(called, name, within, properties["items"]["items"])
    raise ValueError(f"{operation} takes a {CURSOR}, and no part of its answer has a {NEXT}")


def _record(name: str, schema: Schema) -> Record:
    return Record(name, _first_part(schema.get("description", name)), list(_fields(schema)), schema.get("enum", []))


def _fields(schema: Schema) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        yield Field(name, name in required, one, one.get("description", ""))


def _names(schema: Any) -> Iterator[str]:
    """Yield the names of all that a schema refers to."""
    if isinstance(schema, dict):
        if name := reference(schema):
            yield name
        for part in schema.values():
            yield from _names(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _names(part)


def _first_part(docstring: str) -> str:
    """Return a description without the arguments of a docstring."""
    return docstring.partition("\n\nArgs:")[0].strip()
