"""The Python client as it follows from the interface: `models.py` and `client.py` of `react_mem_client`."""

from __future__ import annotations

import json
import keyword
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from clients.generator.reading import (
    CURSOR,
    Field,
    Interface,
    Operation,
    Pages,
    Parameter,
    Record,
    Schema,
    reference,
    without_null,
)

HEADER = "# Written by `make clients` from the server's OpenAPI schema: change that, not this.\n"

_WIDTH = 116

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def python_files(interface: Interface) -> dict[str, str]:
    """Return the files that follow from the interface, by name."""
    files = {"models.py": _models(interface), "client.py": _client(interface)}
    return {name: _formatted(name, text) for name, text in files.items()}


def _formatted(name: str, text: str) -> str:
    """Return source as the project's formatter has it."""
    for command in (["check", "--fix-only", "--quiet", "--select", "F401,I"], ["format", "--quiet"]):
        line = [
            sys.executable,
            "-m",
            "ruff",
            *command,
            "--stdin-filename",
            f"clients/python/react_mem_client/{name}",
            "-",
        ]
        text = subprocess.run(line, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return text


def python_type(schema: Schema, *, given: bool = False) -> str:
    """Return the type of a value.

    Args:
        schema: What it may be.
        given: Whether it is given to a function, which takes any sequence, and not part of an answer.
    """
    if name := reference(schema):
        return name
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(python_type(one, given=given) for one in schema["anyOf"]))
    if words := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return _choice(words)
    match schema.get("type"):
        case "array":
            return f"{'Sequence' if given else 'list'}[{python_type(schema['items'], given=given)}]"
        case "object":
            return f"dict[str, {python_type(schema.get('additionalProperties', {}))}]"
        case "string" if schema.get("format") == "date-time":
            return "datetime"
        case str(kind):
            return _PLAIN[kind]
    return "Any"


def _choice(words: Iterable[str]) -> str:
    return f"Literal[{', '.join(json.dumps(word) for word in words)}]"


# --- what is answered ---


_MODELS = '''"""Records that the server answers with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, SkipValidation

from react_mem_client.answers import Answer
'''


def _models(interface: Interface) -> str:
    choices = [_words(one) for one in interface.records if one.words]
    records = [_record(one) for one in interface.records if not one.words]
    return "\n".join([HEADER, _MODELS, *choices, *records])


def _words(record: Record) -> str:
    # checked by type checkers alone: a newer server may have more words
    choice = f"{record.name}: TypeAlias = Annotated[{_choice(record.words)}, SkipValidation]\n"
    return choice + _docstring(record.about, indent="")


def _record(record: Record) -> str:
    lines = [f"class {record.name}(Answer):\n", _docstring(record.about, indent="    "), "\n"]
    for field in record.fields:
        lines.append(f"    {_field(field)}\n")
        if field.about:
            lines.append(_docstring(field.about, indent="    "))
        lines.append("\n")
    return "".join(lines)


def _field(field: Field) -> str:
    name = f"{field.name}_" if keyword.iskeyword(field.name) else field.name
    kind = python_type(field.schema)
    kind = f"Annotated[{kind}, SkipValidation]" if kind.startswith("Literal") else kind
    options = [f'alias="{field.name}"'] if name != field.name else []
    if field.required:
        return f"{name}: {kind}" + (f" = Field({', '.join(options)})" if options else "")
    default = field.schema.get("default")
    if field.schema.get("type") in ("array", "object") and not default:
        return f"{name}: {kind} = Field(default_factory={'list' if field.schema['type'] == 'array' else 'dict'})"
    if default is None and "None" not in kind:
        kind += " | None"
    return f"{name}: {kind} = {default!r}"


# --- what is asked for ---


_CLIENT = '''"""The operations of the server: a method each, and one more for what comes in pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Literal, overload

from react_mem_client.models import {models}
from react_mem_client.transport import ServerEvent, Transport
from react_mem_client.transport import entity_tag, items_of, read_answer, read_events, segment


class MemoryClient(Transport):
    """Memory of a user on a server, over its REST interface."""
'''


def _client(interface: Interface) -> str:
    models = ", ".join(sorted(one.name for one in interface.records))
    methods = [text for one in interface.operations for text in _methods(one)]
    return "\n".join([HEADER, _CLIENT.format(models=models), *methods])


def _methods(operation: Operation) -> Iterator[str]:
    if operation.media:
        yield _streaming(operation)
        return
    if operation.conditional:
        yield from _overloads(operation)
    kind = f"{operation.answer} | None" if operation.conditional else operation.answer
    returns = operation.answer_about
    if operation.conditional:
        returns += " None where nothing has changed since `if_none_match`."
    body = "".join(f"        {line}\n" for line in _sending(operation))
    signature = f"    async def {operation.name}({_signature(operation.parameters)}) -> {kind}:\n"
    yield signature + _about(operation, operation.about, "Returns", returns) + body
    if operation.pages is not None:
        yield _turning(operation, operation.pages)


def _overloads(operation: Operation) -> Iterator[str]:
    """Yield the signatures of an operation without its condition, which always answers, and with it."""
    plain = [one for one in operation.parameters if one.name != "If-None-Match"]
    condition = [one for one in operation.parameters if one.name == "If-None-Match"]
    without = f"{_signature(plain)}, if_none_match: None = None"
    with_it = f"{_signature(plain)}, {condition[0].identifier}: str"
    for signature, kind in ((without, operation.answer), (with_it, f"{operation.answer} | None")):
        yield f"    @overload\n    async def {operation.name}({signature}) -> {kind}: ...\n"


def _signature(parameters: list[Parameter]) -> str:
    """Return what a method takes: by place what is required, by name what is not."""
    required = [f"{one.identifier}: {_given(one)}" for one in parameters if one.required]
    optional = [f"{one.identifier}: {_given(one)} | None = None" for one in parameters if not one.required]
    return ", ".join(["self", *required, *(["*"] if optional else []), *optional])


def _given(parameter: Parameter) -> str:
    return python_type(without_null(parameter.schema), given=True)


def _path(operation: Operation) -> str:
    path = operation.path
    for one in operation.at("path"):
        path = path.replace(f"{{{one.name}}}", f"{{segment({one.identifier})}}")
    return f'f"{path}"' if operation.at("path") else f'"{path}"'


def _arguments(operation: Operation) -> str:
    """Return what the transport is told of a request."""
    told = [f'"{operation.method}"', _path(operation)]
    for place, name in (("query", "query"), ("body", "body"), ("header", "headers")):
        values = [f'"{one.name}": {_sent(one)}' for one in operation.at(place)]
        values += ['"user_id": self.user_id'] if operation.owner == place else []
        if values:
            told.append(f"{name}={{{', '.join(values)}}}")
    return ", ".join(told)


def _sent(parameter: Parameter) -> str:
    return f"entity_tag({parameter.identifier})" if parameter.is_entity_tag else parameter.identifier


def _sending(operation: Operation) -> Iterator[str]:
    yield f"answer = await self._send({_arguments(operation)})"
    read = f"read_answer({operation.answer}, answer)"
    yield f"return None if answer.status_code == 304 else {read}" if operation.conditional else f"return {read}"


def _streaming(operation: Operation) -> str:
    events = operation.media == "text/event-stream"
    kind, read = ("ServerEvent", "read_events(answer)") if events else ("str", "answer.aiter_text()")
    body = (
        f"        async with self._stream({_arguments(operation)}) as answer:\n"
        f"            async for part in {read}:\n                yield part\n"
    )
    yields = operation.answer_about if events else f"{operation.answer_about} Its parts, one after the other."
    signature = f"    async def {operation.name}({_signature(operation.parameters)}) -> AsyncIterator[{kind}]:\n"
    return signature + _about(operation, operation.about, "Yields", yields) + body


def _turning(operation: Operation, pages: Pages) -> str:
    """Return the method that goes through all pages of an operation."""
    taken = [one for one in operation.parameters if one.name != CURSOR and one.place != "header"]
    told = [one.identifier if one.required else f"{one.identifier}={one.identifier}" for one in taken]
    call = f"await self.{operation.name}({', '.join([*told, f'{CURSOR}={CURSOR}'])})"
    found = f"({call}).{pages.within}" if pages.within else call
    first = f"Iterate over all that `{operation.name}` has, and ask for each page when it is needed."
    return (
        f"    def {pages.name}({_signature(taken)}) -> AsyncIterator[{python_type(pages.item)}]:\n"
        + _about(operation, first, "", "", taken)
        + f"\n        async def turn({CURSOR}: str | None) -> {pages.record}:\n            return {found}\n\n"
        "        return items_of(turn)\n"
    )


# --- docstrings ---


def _about(operation: Operation, about: str, outcome: str, told: str, parameters: list[Parameter] | None = None) -> str:
    taken = operation.parameters if parameters is None else parameters
    arguments = [f"{one.identifier}: {_note(one)}" for one in taken]
    codes = ", ".join(str(code) for code in operation.codes if code != 304)
    sections = {"Args": arguments, outcome: [told], "Raises": [f"MemoryApiError: If the server refuses: {codes}."]}
    indent = " " * 8
    text = _wrapped(about, indent)
    for name, lines in sections.items():
        if name and lines:
            written = "\n".join(
                textwrap.fill(one, _WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 16) for one in lines
            )
            text += f"\n\n{indent}{name}:\n{written}"
    return f'{indent}"""{text.lstrip()}\n{indent}"""\n'


def _note(parameter: Parameter) -> str:
    default: Any = parameter.schema.get("default")
    if not default:
        return parameter.about
    return f"{parameter.about.rstrip('.')}; by default {default}."


def _docstring(text: str, *, indent: str) -> str:
    written = _wrapped(text, indent)
    end = f"\n{indent}" if "\n" in written.strip() else ""
    return f'{indent}"""{written.lstrip()}{end}"""\n'


def _wrapped(text: str, indent: str) -> str:
    """Return paragraphs as lines of a docstring."""
    parts = [
        textwrap.fill(" ".join(part.split()), _WIDTH, initial_indent=indent, subsequent_indent=indent)
        for part in text.split("\n\n")
    ]
    return "\n\n".join(parts)
