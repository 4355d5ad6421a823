"""Files of an export, as they are downloaded: one file, a folder, or a zip archive, which is never unpacked."""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

STANDARD_INPUT = "the standard input"
"""Name in messages of what is read of it."""

_IN_MEMORY = 1 << 24
_MAX_MEMBERS = 100_000
_MAX_UNPACKED = 1 << 34
"""Bytes that are read of an archive: 16 GiB of text."""

_MAX_RATIO = 200
"""Times that a member may grow by being unpacked: text grows some twenty times, and nothing that was written more."""

_SMALL = 1 << 27
_AS_TEXT = "save it as UTF-8"
_AS_IT_WAS = "give what is in it, as it was exported"
_FORMS = {
    b"\xff\xfe": f"UTF-16; {_AS_TEXT}",
    b"\xfe\xff": f"UTF-16; {_AS_TEXT}",
    b"\x1f\x8b": f"compressed with gzip; {_AS_IT_WAS}",
    b"%PDF": f"a PDF; {_AS_IT_WAS}",
    # of a whole one its members are read
    b"PK\x03\x04": "an archive whose end is missing or damaged; download it again",
}
"""Forms that are no text in UTF-8, by the bytes that they begin with: what it is, and what to do."""


class ImportFile:
    """A file, folder or archive that is read for an import, as often as it takes.

    Args:
        where: Its path; `-` for the standard input, which is kept aside until it has been read.

    Raises:
        ValueError: If there is nothing to read.
    """

    def __init__(self, where: str) -> None:
        self.name = STANDARD_INPUT if where == "-" else Path(where).name
        self._path = Path(where)
        self._kept: BinaryIO | None = None
        if where == "-":
            kept = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - it lives as long as this does
            shutil.copyfileobj(sys.stdin.buffer, kept)
            self._kept = kept  # type: ignore[assignment]
        elif not (self._path.is_file() or self._path.is_dir()):
            raise ValueError("cannot be read: there is no such file, folder or archive")

    def parts(self, names: re.Pattern[str]) -> Iterator[tuple[str, BinaryIO]]:
        """Yield the files in it that are wanted, each by its name, in the order of their names.

        Args:
            names: What the names of the wanted files are like; a file that is given by itself is always wanted.

        Raises:
            ValueError: If it is not what it should be; the message says so, and what to do.
            OSError: If it cannot be read.
            zipfile.BadZipFile: If the archive is damaged.
        """
        if self._kept is None and self._path.is_dir():
            # links may lead anywhere
            files = sorted(f for f in self._path.rglob("*") if f.is_file() and not f.is_symlink())
            for file in files:
                if names.search(file.relative_to(self._path).as_posix()):
                    with file.open("rb") as stream:
                        yield file.name, _checked(stream, file.name)
            return
        with self._whole() as stream:
            if not zipfile.is_zipfile(stream):
                stream.seek(0)
                yield self.name, _checked(stream, self.name)
                return
            with zipfile.ZipFile(stream) as archive:
                for member in _wanted(archive, names):
                    with archive.open(member) as part:
                        yield member.filename, part  # type: ignore[misc]

    @contextmanager
    def _whole(self) -> Iterator[BinaryIO]:
        if self._kept is not None:
            self._kept.seek(0)
            yield self._kept
            return
        with self._path.open("rb") as stream:
            yield stream


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
    """Return a stream at its beginning, which is not in a form that cannot be text in UTF-8."""
    head = stream.read(4)
    for mark, what in _FORMS.items():
        if head.startswith(mark):
            raise ValueError(f"{name}: is {what}")
    stream.seek(0)
    return stream


def text_stream(stream: BinaryIO) -> io.TextIOWrapper:
    """Return a file's text, which is UTF-8; the file is not closed with it, since it may be read again."""
    return io.TextIOWrapper(io.BufferedReader(_Unclosed(stream)), encoding="utf-8-sig", newline="")


class _Unclosed(io.RawIOBase):
    """Stream that whoever opened it closes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
