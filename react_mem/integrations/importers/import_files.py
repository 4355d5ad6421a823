"""Files of an export as downloaded, and a streaming reader of large JSON in them.

An export is a file, a folder, or a zip archive, which is read without unpacking.
"""

from __future__ import annotations

import io
import json
import math
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

STANDARD_INPUT = "the standard input"  # Name of the standard input in messages
_MAX_MEMBERS = 100_000
_MAX_UNPACKED = 1 << 34  # Unpacked bytes that are read of an archive: 16 GiB
_MAX_RATIO = 200  # Compression ratio of a member, at most (zip bombs); text reaches some twenty
_SMALL = 1 << 27
_AS_TEXT = "save it as UTF-8"
_AS_IT_WAS = "give what is in it, as it was exported"
# Forms other than UTF-8 text by their first bytes, each with name and cure
_FORMS = {
    b"\xff\xfe": f"UTF-16; {_AS_TEXT}",
    b"\xfe\xff": f"UTF-16; {_AS_TEXT}",
    b"\x1f\x8b": f"compressed with gzip; {_AS_IT_WAS}",
    b"%PDF": f"a PDF; {_AS_IT_WAS}",
    # of a whole one its members are read
    b"PK\x03\x04": "an archive whose end is missing or damaged; download it again",
}


class ImportFile:
    """A file, folder or archive of an import, which can be read repeatedly; `-` keeps the standard input in a file.

    Raises ValueError if there is nothing at the path.
    """

    def __init__(self, where: str) -> None:
        self.name = STANDARD_INPUT if where == "-" else Path(where).name
        self._path = Path(where)
        if where == "-":
            # it lives as long as this does
            self._folder = tempfile.TemporaryDirectory(prefix="react-mem-")
            self._path = Path(self._folder.name, "input")
            with self._path.open("wb") as kept:
                shutil.copyfileobj(sys.stdin.buffer, kept)
        elif not (self._path.is_file() or self._path.is_dir()):
            raise ValueError("cannot be read: there is no such file, folder or archive")

    def parts(self, names: re.Pattern[str]) -> Iterator[tuple[str, BinaryIO]]:
        """Yield the matching files with their names, sorted by name; a single file always matches.

        Raises ValueError for a file of the wrong form, OSError, and zipfile.BadZipFile for a damaged archive.
        """
        if zipfile.is_zipfile(self._path):
            with zipfile.ZipFile(self._path) as archive:
                for member in _wanted(archive, names):
                    with archive.open(member) as part:
                        yield member.filename, part  # type: ignore[misc]
            return
        files = [self._path]
        if self._path.is_dir():
            # links may lead anywhere
            found = (f for f in self._path.rglob("*") if f.is_file() and not f.is_symlink())
            files = sorted(f for f in found if names.search(f.relative_to(self._path).as_posix()))
        for file in files:
            name = self.name if file is self._path else file.name
            with file.open("rb") as stream:
                yield name, _checked(stream, name)

    def elements(self, names: re.Pattern[str]) -> Iterator[Element]:
        """Yield the JSON elements of the matching files (see `json_elements`)."""
        for name, stream in self.parts(names):
            yield from json_elements(stream, name)


def _wanted(archive: zipfile.ZipFile, names: re.Pattern[str]) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise ValueError(f"the archive has {len(members):,} files, of {_MAX_MEMBERS:,} at most: it is no export")
    wanted = sorted((one for one in members if names.search(one.filename)), key=lambda one: one.filename)
    for one in wanted:
        if one.flag_bits & 1:
            raise ValueError(f"{one.filename}: is encrypted; unpack the archive, and give the folder")
        if one.file_size > _SMALL and one.file_size > _MAX_RATIO * max(one.compress_size, 1):
            raise ValueError(
                f"{one.filename}: would grow from {one.compress_size:,} bytes to {one.file_size:,}, as no export does; "
                "if it is one, unpack the archive, and give the folder"
            )
    if sum(one.file_size for one in wanted) > _MAX_UNPACKED:
        raise ValueError(f"the archive has more than {_MAX_UNPACKED:,} bytes of what is imported: import it in parts")
    return wanted


def _checked(stream: BinaryIO, name: str) -> BinaryIO:
    """Return a stream at its beginning, or refuse a form that cannot be UTF-8 text."""
    head = stream.read(4)
    for mark, what in _FORMS.items():
        if head.startswith(mark):
            raise ValueError(f"{name}: is {what}")
    stream.seek(0)
    return stream


def text_stream(stream: BinaryIO) -> io.TextIOWrapper:
    """Return a file as UTF-8 text."""
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


# Streaming JSON reader: one array element at a time, so that memory use is bounded by one element.

_PIECE = 1 << 16  # Characters per read
MAX_ELEMENT = 1 << 26  # Characters of one element, more than any conversation has
_BLANKS = " \t\r\n"

# Field names that mark a single line as an entry, and not as an object with arrays of entries
_OF_ONE = frozenset({"id", "uuid", "text", "memory", "memory_id", "fact", "in"})

_IDS = ("id", "uuid", "conversation_id")  # Field names of an element's id in other systems
_decode = json.JSONDecoder(parse_constant=float).raw_decode


class Element(NamedTuple):
    """One element of a JSON file: its key in the top object, its first line, and its number in an array, from 1."""

    section: str
    line: int
    value: Any
    file: str
    number: int = 0

    @property
    def place(self) -> str:
        """Place for messages: file, line and, in an array, the number and id.

        >>> Element("", 3, {}, "a.jsonl").place, Element("", 1, {"id": "x"}, "a.json", 2).place
        ('a.jsonl, line 3', 'a.json, line 1, entry 2 (x)')
        """
        named = (self.value.get(id_) for id_ in _IDS) if self.number and isinstance(self.value, dict) else ()
        shown = next((f" ({id_!s:.40})" for id_ in named if isinstance(id_, str | int) and id_), "")
        number = f", entry {self.number}" if self.number else ""
        return f"{self.file}, line {self.line}{number}{shown}"


def json_elements(stream: BinaryIO, name: str) -> Iterator[Element]:
    """Yield the elements of an array, of the arrays in an object, or of JSON Lines, in order.

    Raises ValueError if the file is not JSON in UTF-8; the message names line, cause and cure.
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
                yield Element("", line, reader.value(), name)
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
            # a single line can be told by its fields alone
            return bool(rest.strip(_BLANKS) or value.keys() & _OF_ONE)
        return False

    def array(self, section: str) -> Iterator[Element]:
        """Yield the elements of the next array."""
        self._at += 1
        number, goes_on = 0, self.peek() != "]"
        while goes_on:
            self.peek()
            number, line = number + 1, self.line
            yield Element(section, line, self.value(), self._name, number)
            goes_on = self._comma("]", "an array")
        self._at += 1

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
                yield Element(section, line, self.value(), self._name)
            self._comma("}", "an object")
        self._at += 1

    def _comma(self, end: str, of: str) -> bool:
        """Read a comma; return false before the end of an array or object."""
        mark = self.peek()
        if mark not in (",", end):
            self.fail("a comma is missing" if mark else f"it ends in the middle of {of}: was it downloaded whole?")
        self._at += mark == ","
        return mark == ","

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
                # a number at the end of the buffer may go on
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


# Fields of other systems: texts, and times in ISO 8601, in seconds or in milliseconds since 1970.

JSON_FILES = re.compile(r"\.jsonl?$", re.IGNORECASE)
NO_OBJECT = "is not a JSON object"

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)
_MILLISECONDS = 1e11  # Seconds until the year 5138: a greater number counts milliseconds


def time_in(value: Any) -> datetime | None:
    """Return the time that a value names; None for no time or an unreadable one.

    >>> time_in("2026-03-03T20:00:00Z") == time_in(1772568000) == time_in("1772568000000")
    True
    >>> time_in("soon"), time_in(True), time_in("9" * 400)
    (None, None, None)
    """
    if isinstance(value, bool) or value in (None, ""):
        return None
    try:
        if isinstance(value, str) and not value.strip().replace(".", "", 1).lstrip("-").isdecimal():
            at = datetime.fromisoformat(value.strip())
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        seconds = float(value)
        return datetime.fromtimestamp(seconds / 1_000 if abs(seconds) >= _MILLISECONDS else seconds, UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def written_at(*values: Any) -> tuple[datetime | None, bool]:
    """Return the first plausible writing time, from 1970 until now, and true if an earlier value was implausible.

    >>> written_at("9999-01-01T00:00:00Z", 1772568000)[1], written_at(1772568000, "soon")[1], written_at(None)[1]
    (True, False, False)
    """
    wrong = False
    for value in values:
        at = time_in(value)
        if at is not None and _EARLIEST <= at <= datetime.now(UTC) + _AHEAD:
            return at, wrong
        wrong = wrong or value not in (None, "")
    return None, wrong


def text_of(value: Any) -> str:
    """Return a string or a number as text; empty for anything else.

    >>> text_of("7"), text_of(7), text_of(float("nan")), text_of(None)
    ('7', '7', '', '')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def noted(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the named fields that have a value."""
    return {name: value[name] for name in names if value.get(name)}
