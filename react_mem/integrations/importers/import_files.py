"""Files of an export as downloaded: a file, a folder, or a zip archive, which is read without unpacking."""

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
"""Name of the standard input in messages."""

_IN_MEMORY = 1 << 24
_MAX_MEMBERS = 100_000
_MAX_UNPACKED = 1 << 34
"""Unpacked bytes that are read of an archive: 16 GiB."""

_MAX_RATIO = 200
"""Compression ratio of a member, at most (zip bombs); text reaches some twenty."""

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
"""Forms other than UTF-8 text by their first bytes, each with name and cure."""


class ImportFile:
    """A file, folder or archive of an import, which can be read repeatedly.

    Args:
        where: The path; `-` for the standard input, which is buffered.

    Raises:
        ValueError: If there is nothing at the path.
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
        """Yield the matching files with their names, sorted by name; a single file always matches.

        Raises:
            ValueError: If a file has the wrong form; the message names it and the cure.
            OSError: If a file cannot be read.
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
    """Return a stream at its beginning, or refuse a form that cannot be UTF-8 text."""
    head = stream.read(4)
    for mark, what in _FORMS.items():
        if head.startswith(mark):
            raise ValueError(f"{name}: is {what}")
    stream.seek(0)
    return stream


def text_stream(stream: BinaryIO) -> io.TextIOWrapper:
    """Return a file as UTF-8 text; closing the text leaves the file open."""
    return io.TextIOWrapper(io.BufferedReader(_Unclosed(stream)), encoding="utf-8-sig", newline="")


class _Unclosed(io.RawIOBase):
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
