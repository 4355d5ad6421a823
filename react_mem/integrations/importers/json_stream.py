"""Streaming JSON reader: one array element at a time, so that memory use is bounded by one element."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Any, BinaryIO, NamedTuple, NoReturn

from react_mem.integrations.importers.import_files import text_stream

_PIECE = 1 << 16
"""Characters per read."""

MAX_ELEMENT = 1 << 26
"""Characters of one element, more than any conversation has."""

_BLANKS = " \t\r\n"

_OF_ONE = frozenset({"id", "uuid", "text", "memory", "memory_id", "fact", "in"})
"""Field names that mark a single line as an entry, and not as an object with arrays of entries."""

_IDS = ("id", "uuid", "conversation_id")
"""Field names of an element's id in other systems."""

_decode = json.JSONDecoder(parse_constant=float).raw_decode


class Element(NamedTuple):
    """One element of a JSON file.

    Args:
        section: Key of the element in the top object; empty where the top is an array or lines.
        line: First line of the element.
        number: Number in an array, from 1; 0 outside of one.
    """

    section: str
    line: int
    value: Any
    number: int = 0

    def place(self, name: str) -> str:
        """Return the place for messages: file, line and, in an array, the number and id.

        >>> Element("", 3, {}).place("a.jsonl"), Element("", 1, {"id": "x"}, 2).place("a.json")
        ('a.jsonl, line 3', 'a.json, line 1, entry 2 (x)')
        """
        named = (self.value.get(id_) for id_ in _IDS) if self.number and isinstance(self.value, dict) else ()
        shown = next((f" ({id_!s:.40})" for id_ in named if isinstance(id_, str | int) and id_), "")
        number = f", entry {self.number}" if self.number else ""
        return f"{name}, line {self.line}{number}{shown}"


def json_elements(stream: BinaryIO, name: str) -> Iterator[Element]:
    """Yield the elements of an array, of the arrays in an object, or of JSON Lines, in order.

    Raises:
        ValueError: If the file is not JSON in UTF-8; the message names line, cause and cure.
    """
    reader = _JsonReader(stream, name)
    match reader.peek():
        case "":
            return
        case "[":
            yield from reader.array("")
        case "{" if not reader.is_one_of_lines():
            yield from reader.object()
        case _:
            while reader.peek():
                line = reader.line
                yield Element("", line, reader.value())
            return
    if reader.peek():
        reader.fail("something follows behind its end")


class _JsonReader:
    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._name = name
        self._stream = text_stream(stream)
        self._text = ""
        self._at = 0
        self._lines = 1

    @property
    def line(self) -> int:
        """Line number of the cursor."""
        return self._lines + self._text.count("\n", 0, self._at)

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        """Raise a ValueError that names the line."""
        line = self._lines + self._text.count("\n", 0, self._at if at is None else at)
        raise ValueError(
            f"{self._name}, line {line}: is not JSON that can be read ({why}); export it again, or mend it there"
        )

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(_PIECE):
                return ""

    def is_one_of_lines(self) -> bool:
        """Return true if the next object is one of several, each in its own line."""
        while "\n" not in self._text[self._at :] and len(self._text) < MAX_ELEMENT and self._more(len(self._text)):
            pass
        first, _, rest = self._text[self._at :].partition("\n")
        with suppress(ValueError, RecursionError):
            value, end = _decode(first)
            if first[end:].strip(_BLANKS):
                return False
            while not rest.strip(_BLANKS) and self._more(_PIECE):
                rest = self._text[self._at :].partition("\n")[2]
            # of one line alone nobody can tell but by what stands in it
            return bool(rest.strip(_BLANKS) or value.keys() & _OF_ONE)
        return False

    def array(self, section: str) -> Iterator[Element]:
        """Yield the elements of the next array."""
        self._at += 1
        if self.peek() == "]":
            self._at += 1
            return
        for number in count(1):
            self.peek()
            line = self.line
            yield Element(section, line, self.value(), number)
            match self.peek():
                case ",":
                    self._at += 1
                case "]":
                    self._at += 1
                    return
                case "":
                    self.fail("it ends in the middle of an array: was it downloaded whole?")
                case _:
                    self.fail("a comma is missing")

    def object(self) -> Iterator[Element]:
        """Yield the elements of the arrays in the next object, and its other values whole."""
        self._at += 1
        while self.peek() != "}":
            line = self.line
            section = self.value()
            if not isinstance(section, str) or self.peek() != ":":
                self.fail("a name and a colon are missing")
            self._at += 1
            if self.peek() == "[":
                yield from self.array(section)
            else:
                yield Element(section, line, self.value())
            match self.peek():
                case ",":
                    self._at += 1
                case "}":
                    pass
                case "":
                    self.fail("it ends in the middle of an object: was it downloaded whole?")
                case _:
                    self.fail("a comma is missing")
        self._at += 1

    def value(self) -> Any:
        """Return the next value."""
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except RecursionError:
                self.fail("it is nested too deeply")
            except json.JSONDecodeError as error:
                if len(self._text) - self._at >= MAX_ELEMENT:
                    self.fail(f"one value has more than {MAX_ELEMENT:,} characters, or {_told(error)}", error.pos)
                if not self._more(max(_PIECE, len(self._text) - self._at)):
                    at_end = error.pos >= len(self._text.rstrip(_BLANKS)) or error.msg.startswith("Unterminated")
                    why = "it ends in the middle of a value: was it downloaded whole?" if at_end else _told(error)
                    self.fail(why, min(error.pos, len(self._text)))
            except ValueError as error:
                self.fail(str(error))
            else:
                # a number at the end of what was read may go on
                if end < len(self._text) or not self._more(_PIECE):
                    self._at = end
                    return value

    def _more(self, wanted: int) -> bool:
        """Read at least a character; return false at the end."""
        try:
            piece = self._stream.read(wanted)
        except UnicodeDecodeError as error:
            # the place in the piece is not one in the file
            raise ValueError(
                f"{self._name}, behind line {self.line}: is not UTF-8 ({error.reason}); save it as UTF-8"
            ) from None
        if not piece:
            return False
        self._lines += self._text.count("\n", 0, self._at)
        self._text = self._text[self._at :] + piece
        self._at = 0
        return True


def _told(error: json.JSONDecodeError) -> str:
    return error.msg[:1].lower() + error.msg[1:]
