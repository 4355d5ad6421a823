"""Standing instructions of the operator: Markdown files such as AGENTS.md, put whole into the system prompt.

Whole, and refused where they are too long: no retrieval can tell a part that fits the question from one that
always has to hold, and providers cache a prompt that begins with the same bytes in every turn.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, field_validator

from react_mem.errors import AgentConfigError
from react_mem.memory.context import count_tokens
from react_mem.prompts import load_prompt

log = logging.getLogger(__name__)

_MAX_BYTES = 400_000
"""Of a file, whatever its tokens: a larger one is not even read."""

_Stamp = tuple[tuple[int, int, int], ...]


class StandingInstructions(BaseModel, extra="forbid", frozen=True):
    """The operator's files of instructions, followed in every conversation of an agent.

    Args:
        files: Markdown files (`.md`), relative to the agent's file, in its folder, the folder above it, or below them.
            Each stands whole in the system prompt, under its name, and is read again when it has changed.
        max_tokens: What they may come to together. With more the agent does not start, and says so.
    """

    files: tuple[Path, ...] = ()
    max_tokens: int = Field(default=2_000, ge=1, le=50_000)

    @field_validator("files")
    @classmethod
    def _are_markdown(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        for file in value:
            if file.suffix.lower() != ".md":
                raise ValueError(f"{str(file)!r} is no Markdown file; its name ends with .md, as in AGENTS.md")
        return value

    def beside(self, config_file: Path) -> Self:
        """Return the settings with their files resolved against an agent's file. Blocking.

        Raises `AgentConfigError` for a file outside of the project.
        """
        folder = config_file.resolve().parent
        found = []
        for file in self.files:
            place = (folder / file).resolve()
            if file.is_absolute() or not place.is_relative_to(folder.parent):
                raise AgentConfigError(
                    f"{config_file}: standing_instructions.files: {str(file)!r} is outside of the project: name a file "
                    f"in {folder.parent} or below, relative to the agent's file"
                )
            found.append(place)
        return self.model_copy(update={"files": tuple(found)})


class StandingFiles:
    """The text of standing instructions, read again when a file has changed."""

    def __init__(self, settings: StandingInstructions) -> None:
        self._settings = settings
        self._read_at: _Stamp | None = None
        self._text = ""

    def load(self) -> str:
        """Return the text, empty without files. Blocking.

        Raises `AgentConfigError` if a file cannot be read, or the files are too long together.
        """
        at = self._stamp()
        if at != self._read_at:
            told = [_told(file) for file in self._settings.files]
            text = "\n\n".join(told)
            if (tokens := count_tokens(text)) > self._settings.max_tokens:
                names = ", ".join(map(str, self._settings.files))
                raise AgentConfigError(
                    f"standing_instructions: {names}: {tokens:,} tokens, of {self._settings.max_tokens:,} at most; "
                    "shorten them, or raise standing_instructions.max_tokens"
                )
            self._text, self._read_at = text, at
        return self._text

    async def text(self) -> str:
        """Return the current text of the files; the last one read where they cannot be used any more."""
        if not self._settings.files:
            return ""
        try:
            return await asyncio.to_thread(self.load)
        except AgentConfigError as error:
            # they were instructions a moment ago, and a turn is not to go without any
            log.warning("what was read before goes on to hold: %s", error)
            return self._text

    def _stamp(self) -> _Stamp:
        try:
            found = [file.stat() for file in self._settings.files]
        except OSError as error:
            raise _unreadable(str(error.filename), error) from error
        return tuple((one.st_mtime_ns, one.st_size, one.st_ino) for one in found)


def _told(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
        text = data.decode("utf-8-sig").strip()
    except OSError as error:
        raise _unreadable(str(file), error) from error
    except UnicodeDecodeError as error:
        raise AgentConfigError(f"standing_instructions: {file} is not UTF-8; save it as UTF-8") from error
    if len(data) > _MAX_BYTES:
        raise AgentConfigError(f"standing_instructions: {file} has more than {_MAX_BYTES:,} bytes; shorten it")
    if not text:
        return ""
    return load_prompt("standing_instructions").format(file=file.name, instructions=text).strip()


def _unreadable(file: str, error: OSError) -> AgentConfigError:
    return AgentConfigError(
        f"standing_instructions: {file} cannot be read: {error.strerror or error}; create it, or take it off the list"
    )
