"""The TypeScript client as it follows from the interface: modules and their declarations, which need no build."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator

from clients.generator.reading import (
    CURSOR,
    Interface,
    Operation,
    Pages,
    Parameter,
    Record,
    Schema,
    reference,
    without_null,
)

HEADER = "// Written by `make clients` from the server's OpenAPI schema: change that, not this.\n"

_WIDTH = 116

_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

_CONDITION = "if_none_match"


def typescript_files(interface: Interface) -> dict[str, str]:
    """Return the files that follow from the interface, by name."""
    return {
        "models.d.ts": "\n".join([HEADER, *(_declared(one) for one in interface.records)]),
        # an empty module: what imports a type may name it
        "models.js": f"{HEADER}\nexport {{}};\n",
        "client.d.ts": _client_types(interface),
        "client.js": _client(interface),
    }


def typescript_type(schema: Schema, *, given: bool = False) -> str:
    """Return the type of a value.

    Args:
        schema: What it may be.
        given: Whether it is given to a method, and not part of an answer.
    """
    if name := reference(schema):
        return name
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(typescript_type(one, given=given) for one in schema["anyOf"]))
    if words := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return _choice(words)
    match schema.get("type"):
        case "array":
            item = typescript_type(schema["items"], given=given)
            return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
        case "object":
            return f"Readonly<Record<string, {typescript_type(schema.get('additionalProperties', {}))}>>"
        case "string" if given and schema.get("format") == "date-time":
            return "string | Date"
        case str(kind):
            return _PLAIN[kind]
    return "unknown"


def _choice(words: Iterable[str]) -> str:
    return " | ".join(json.dumps(word) for word in words)


def camel(name: str) -> str:
    """Return a name with words in capitals instead of underscores."""
    return re.sub("_(.)", lambda found: found[1].upper(), name)


# --- what is answered ---


def _declared(record: Record) -> str:
    if record.words:
        return f"{_comment(record.about)}export type {record.name} = {_choice(record.words)};\n"
    lines = [f"{_comment(record.about)}export interface {record.name} {{\n"]
    for field in record.fields:
        lines.append(_comment(field.about, "  "))
        lines.append(f"  readonly {field.name}{'' if field.required else '?'}: {typescript_type(field.schema)};\n")
    return "".join([*lines, "}\n"])


# --- what is asked for: types ---


def _client_types(interface: Interface) -> str:
    options = [_options_type(one) for one in interface.operations if _named(one)]
    methods = [text for one in interface.operations for text in _method_types(one)]
    body = "\n".join([*options, _comment("Memory of a user on a server, over its REST interface.").rstrip()])
    room = "export class MemoryClient extends Transport {\n" + "\n".join(methods) + "}\n"
    names = sorted(one.name for one in interface.records if re.search(rf"\b{one.name}\b", body + room))
    imports = (
        f'import type {{\n{"".join(f"  {name},{chr(10)}" for name in names)}}} from "./models.js";\n'
        'import type { RequestOptions, ServerEvent, Tagged } from "./transport.js";\n'
        'import { Transport } from "./transport.js";\n'
    )
    return "\n".join([HEADER, imports, f"{body}\n{room}"])


def _optional(operation: Operation) -> list[Parameter]:
    return [one for one in operation.parameters if not one.required]


def _named(operation: Operation) -> str:
    """Return the name of the type of an operation's options; empty where it has none of its own."""
    name = camel(operation.name)
    return f"{name[0].upper()}{name[1:]}Options" if _optional(operation) else ""


def _options_type(operation: Operation) -> str:
    lines = [f"/** Options of `{camel(operation.name)}`. */\n"]
    lines.append(f"export interface {_named(operation)} extends RequestOptions {{\n")
    for one in _optional(operation):
        lines.append(_comment(_note(one), "  "))
        lines.append(f"  {one.identifier}?: {_given(one)} | undefined;\n")
    return "".join([*lines, "}\n"])


def _method_types(operation: Operation) -> Iterator[str]:
    name, required = camel(operation.name), _required(operation)
    options = _named(operation) or "RequestOptions"
    comment = _method_comment(operation, operation.about, _result(operation))
    if operation.media:
        kind = "ServerEvent" if operation.media == "text/event-stream" else "string"
        yield f"{comment}  {name}({_listed([*required, f'options?: {options}'])}): AsyncGenerator<{kind}, void>;\n"
        return
    kind = f"Tagged<{operation.answer}>" if operation.tagged else operation.answer
    if operation.conditional:
        without, with_it = (f"{options} & {{ {_CONDITION}{which} }}" for which in ("?: undefined", ": string"))
        yield (
            f"{comment}  {name}({_listed([*required, f'options?: {without}'])}): Promise<{kind}>;\n"
            f"  {name}({_listed([*required, f'options: {with_it}'])}): Promise<{kind} | null>;\n"
        )
    else:
        yield f"{comment}  {name}({_listed([*required, f'options?: {options}'])}): Promise<{kind}>;\n"
    if operation.pages is not None:
        yield _turning_type(operation, operation.pages, options)


def _turning_type(operation: Operation, pages: Pages, options: str) -> str:
    left = [CURSOR, *([_CONDITION] if operation.conditional else [])]
    taken = f"Omit<{options}, {_choice(left)}>"
    about = f"Iterate over all that `{camel(operation.name)}` has, and ask for each page when it is needed."
    arguments = _listed([*_required(operation), f"options?: {taken}"])
    item = typescript_type(pages.item)
    return f"{_method_comment(operation, about, '')}  {camel(pages.name)}({arguments}): AsyncGenerator<{item}, void>;\n"


def _required(operation: Operation) -> list[str]:
    return [f"{camel(one.identifier)}: {_given(one)}" for one in operation.parameters if one.required]


def _given(parameter: Parameter) -> str:
    return typescript_type(without_null(parameter.schema), given=True)


def _result(operation: Operation) -> str:
    return operation.answer_about + (" Null where nothing has changed." if operation.conditional else "")


# --- what is asked for: code ---


def _client(interface: Interface) -> str:
    imports = 'import { Transport, entityTag, eventsOf, itemsOf, segment, textOf } from "./transport.js";\n'
    methods = [text for one in interface.operations for text in _methods(one)]
    room = "export class MemoryClient extends Transport {\n" + "\n".join(methods) + "}\n"
    return "\n".join([HEADER, imports, f"/** Memory of a user on a server, over its REST interface. */\n{room}"])


def _methods(operation: Operation) -> Iterator[str]:
    name = camel(operation.name)
    required = [camel(one.identifier) for one in operation.parameters if one.required]
    signature = _listed([*required, "options = {}"])
    path, sent = _path(operation), _sent(operation)
    if operation.media:
        read = "eventsOf" if operation.media == "text/event-stream" else "textOf"
        yield (
            f"  async *{name}({signature}) {{\n"
            f'    const answer = await this.stream("{operation.method}", {path}, {sent});\n'
            f"    yield* {read}(answer);\n  }}\n"
        )
        return
    yield f'  async {name}({signature}) {{\n    return this.send("{operation.method}", {path}, {sent});\n  }}\n'
    if operation.pages is not None:
        told = _listed([*required, "{ ...options, cursor }"])
        answer = f"this.{name}({told})"
        page = f"(await {answer}).{operation.pages.within}" if operation.pages.within else answer
        turn = f"{'async ' if operation.pages.within else ''}(cursor) => {page}"
        yield f"  async *{camel(operation.pages.name)}({signature}) {{\n    yield* itemsOf({turn});\n  }}\n"


def _path(operation: Operation) -> str:
    path = operation.path
    for one in operation.at("path"):
        path = path.replace(f"{{{one.name}}}", f"${{segment({camel(one.identifier)})}}")
    return f"`{path}`" if operation.at("path") else f'"{path}"'


def _sent(operation: Operation) -> str:
    """Return what the transport is told of a request, as an object."""
    parts = []
    for place, name in (("query", "query"), ("body", "body"), ("header", "headers")):
        values = [_pair(one.name, _value(one)) for one in operation.at(place)]
        values += ["user_id: this.userId"] if operation.owner == place else []
        if line := ", ".join(values):
            short = f"      {name}: {{ {line} }},\n"
            long = f"      {name}: {{\n{''.join(f'        {value},{chr(10)}' for value in values)}      }},\n"
            parts.append(short if len(short) <= _WIDTH else long)
    return f"{{\n{''.join(parts)}      signal: options.signal,\n    }}"


def _pair(name: str, value: str) -> str:
    key = name if name.isidentifier() else json.dumps(name)
    return key if key == value else f"{key}: {value}"


def _value(parameter: Parameter) -> str:
    value = camel(parameter.identifier) if parameter.required else f"options.{parameter.identifier}"
    return f"entityTag({value})" if parameter.is_entity_tag else value


# --- comments ---


def _method_comment(operation: Operation, about: str, result: str) -> str:
    codes = ", ".join(str(code) for code in operation.codes if code != 304)
    notes = [f"@param {camel(one.identifier)} {one.about}" for one in operation.parameters if one.required]
    notes += [f"@returns {result}"] if result else []
    return _comment("\n\n".join([about, "\n".join([*notes, f"@throws {{MemoryApiError}} {codes}."])]), "  ")


def _note(parameter: Parameter) -> str:
    default = parameter.schema.get("default")
    return f"{parameter.about.rstrip('.')}; by default {default}." if default else parameter.about


def _comment(text: str, indent: str = "") -> str:
    """Return a text as a comment of JSDoc: paragraphs are wrapped, notes (`@...`) keep their lines."""
    if not text:
        return ""
    width = _WIDTH - len(indent)
    lines: list[str] = []
    for part in text.replace("*/", "* /").split("\n\n"):
        notes = part.split("\n") if part.startswith("@") else [" ".join(part.split())]
        lines += [
            "",
            *(
                line
                for note in notes
                for line in textwrap.wrap(note, width, subsequent_indent="  " if note.startswith("@") else "")
            ),
        ]
    if len(lines) == 2:
        return f"{indent}/** {lines[1]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines[1:]) + f"{indent} */\n"


def _listed(parts: list[str]) -> str:
    return ", ".join(parts)
