"""Looking through files by their names and letters, as Deep Agents defines it: listing, glob, grep.

All of it takes a while over many files: not on an event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from react_mem.integrations.deep_agents.kept_file import KeptFile
from react_mem.integrations.deep_agents.package import (
    FileInfo,
    GrepMatch,
    GrepResult,
    compile_grep_include_glob,
)
from react_mem.memory.records import AgentFile


def listed(files: Iterable[KeptFile], path: str) -> list[FileInfo]:
    """Return what is directly in a folder, by path; folders end in `/`.

    Args:
        files: All files in the folder and below.
        path: The folder.
    """
    within = _within(path)
    found: dict[str, FileInfo] = {}
    for file in files:
        name, slash, _ = file.path.removeprefix(within).partition("/")
        if not file.path.startswith(within):
            continue
        if slash:
            folder = f"{within}{name}/"
            found[folder] = FileInfo(path=folder, is_dir=True, size=0, modified_at="")
        else:
            found[file.path] = _info(file)
    return [found[place] for place in sorted(found)]


def matching(files: Sequence[KeptFile], pattern: str, path: str) -> list[FileInfo]:
    """Return the files whose names match a pattern, those that were written last first.

    Args:
        files: All files at a path and below.
        pattern: The pattern, relative to the path.
        path: The path.

    Raises:
        ValueError: If the pattern cannot be read.
    """
    matches = _matcher(pattern)
    found = [file for file in files if matches(_relative(file.path, path))]
    return [_info(file) for file in sorted(found, key=lambda file: (file.modified_at, file.path), reverse=True)]


class Grep:
    """Search for the lines that hold a text.

    Args:
        pattern: The text, letter by letter.
        path: The file, or the folder, that is searched.
        glob: What the names of the files match; None for all.
        most: How many lines, at most, those first that come first by path; None for all.

    Raises:
        ValueError: If the pattern of the names cannot be read.
    """

    def __init__(self, pattern: str, path: str, glob: str | None, most: int | None) -> None:
        self._pattern = pattern
        self._path = path
        self._matches: Callable[[str], bool] | None = _matcher(glob) if glob else None
        self._most = most
        self._found: list[GrepMatch] = []
        self._truncated = False

    def look(self, files: Iterable[KeptFile]) -> None:
        """Look through some more files."""
        for file in files:
            if file.contents.encoding != "utf-8":
                continue
            if self._matches is not None and not self._matches(_relative(file.path, self._path)):
                continue
            if self._pattern in file.contents.content:
                self._look_at(file)
        if self._most is not None and len(self._found) > self._most:
            self._found = self._ordered()[: self._most]
            self._truncated = True

    def result(self) -> GrepResult:
        """Return what was found, by path and line."""
        return GrepResult(matches=self._ordered(), truncated=self._truncated)

    def _look_at(self, file: KeptFile) -> None:
        for number, line in enumerate(file.contents.content.split("\n"), 1):
            if self._pattern in line:
                self._found.append(GrepMatch(path=file.path, line=number, text=line.removesuffix("\r")))

    def _ordered(self) -> list[GrepMatch]:
        return sorted(self._found, key=lambda match: (match["path"], match["line"]))


def _info(file: KeptFile) -> FileInfo:
    return FileInfo(path=file.path, is_dir=False, size=file.contents.size, modified_at=file.modified_at)


def _matcher(pattern: str) -> Callable[[str], bool]:
    if len(pattern) > AgentFile.MAX_PATH_CHARS:
        raise ValueError(f"a pattern has {AgentFile.MAX_PATH_CHARS:,} characters at most, this one {len(pattern):,}")
    if ".." in pattern.split("/"):
        raise ValueError("a pattern must not lead up with '..': name the folder by `path`")
    try:
        return compile_grep_include_glob(pattern)
    except ValueError as error:
        # in our own words, which may be told
        raise ValueError(str(error)) from None


def _within(path: str) -> str:
    return f"{AgentFile.clean_path(path).rstrip('/')}/"


def _relative(file: str, path: str) -> str:
    """Return the path of a file relative to where is searched; where that is the file itself, its name."""
    within = _within(path)
    return file.removeprefix(within) if file.startswith(within) else file.rpartition("/")[2]
