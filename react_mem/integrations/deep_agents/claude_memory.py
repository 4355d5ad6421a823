"""`ClaudeMemoryMiddleware`: Claude's memory tool (`memory_20250818`) on the files that memory keeps for a user.

    agent = create_agent("anthropic:claude-sonnet-4-5", middleware=[ClaudeMemoryMiddleware()], store=memory.store)

Claude is offered its own tool, any other model one with the same commands, and the same words as Anthropic documents.
Files are those of `MemoryFilesBackend` below `/memories`: searched, exported, held and erased like them.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest
from langchain_core.tools import StructuredTool

from react_mem.installation import of_extra
from react_mem.integrations.deep_agents.files_backend import MemoryFilesBackend, answered
from react_mem.integrations.deep_agents.owned_files import OwnedFiles, area_below, size_of
from react_mem.memory import Origin
from react_mem.memory.records import AgentFile

with of_extra("deepagents"):
    from deepagents.backends.protocol import FileData

ROOT = "/memories"
_CLAUDES = {"type": "memory_20250818", "name": "memory"}
_DESCRIPTION = (
    "Your files below /memories, which last beyond this conversation: view a file or folder (`path`, `view_range`), "
    "create a file (`file_text`), str_replace a text that stands in it once, insert text behind a line (0 for the "
    "beginning), delete, or rename (`old_path`, `new_path`)."
)
_TEXTS = ("path", "file_text", "old_str", "new_str", "insert_text", "old_path", "new_path")
_COMMAND = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete", "rename"]},
        **{name: {"type": "string"} for name in _TEXTS},
        "insert_line": {"type": "integer"},
        "view_range": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["command"],
}


class ClaudeMemoryMiddleware(MemoryFilesBackend, AgentMiddleware[AgentState[Any], Any, Any]):
    """Claude's memory tool for an agent, with the arguments of `MemoryFilesBackend`.

    Without an agent, `aexecute` takes the input of a tool call of Anthropic's API, and the owner has to be named.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.tools = [
            StructuredTool(
                name=_CLAUDES["name"],
                description=_DESCRIPTION,
                args_schema=_COMMAND,
                func=lambda **command: self.execute(command),
                coroutine=lambda **command: self.aexecute(command),
            )
        ]

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Offer Claude its own tool."""
        if getattr(request.model, "_llm_type", "") == "anthropic-chat":
            others = [one for one in request.tools if getattr(one, "name", "") != _CLAUDES["name"]]
            request = request.override(tools=[*others, _CLAUDES])
        return handler(request)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Offer Claude its own tool."""
        return await self.wrap_model_call(request, handler)

    @answered(lambda told, *_: f"Error: {told}")
    async def _execute(self, files: OwnedFiles, command: Mapping[str, Any]) -> str:
        """Carry out a command of Claude's, given as the input of its tool call, and return the result in words."""
        gone = "Error: The path {} does not exist"
        match command:
            case {"command": "view", "path": str(path), **more}:
                return await _view(files, _inside(path), more.get("view_range"))
            case {"command": "create", "path": str(path), "file_text": str(text)}:
                at, data = _inside(path), FileData(content=text, encoding="utf-8")
                await _check_place(files, at)
                if await _is_folder(files, at) or not await files.create(at, data, Origin.ASSISTANT):
                    raise ValueError(f"File {at} already exists")
                return f"File created successfully at: {at}"
            case {"command": "str_replace", "path": str(path), "old_str": str(old), **more}:
                at, new = _inside(path), str(more.get("new_str") or "")
                done = await files.edit(at, lambda text: _replaced(at, text, old, new))
                return str(done or f"Error: The path {at} does not exist. Please provide a valid path.")
            case {"command": "insert", "path": str(path), "insert_line": int(line), "insert_text": str(added)}:
                at = _inside(path)
                return str(await files.edit(at, lambda text: _inserted(at, text, line, added)) or gone.format(at))
            case {"command": "delete", "path": str(path)}:
                if (at := _inside(path)) == ROOT:
                    raise ValueError(f"Cannot delete the {ROOT} directory itself")
                return f"Successfully deleted {at}" if await files.remove(at) else gone.format(at)
            case {"command": "rename", "old_path": str(old), "new_path": str(new)}:
                if (at := _inside(old)) == ROOT:
                    raise ValueError(f"Cannot rename the {ROOT} directory itself")
                await _check_place(files, to := _inside(new))
                if (moved := await files.move(at, to)) is None:
                    raise ValueError(f"The destination {to} already exists")
                return f"Successfully renamed {at} to {to}" if moved else gone.format(at)
        raise ValueError("this is no command of the memory tool with the parameters that it needs")

    execute, aexecute = _execute


def _inside(path: str) -> str:
    at = AgentFile.clean_path(path)
    if at != ROOT and not at.startswith(f"{ROOT}/"):
        raise ValueError(f"Path must start with {ROOT}, got: {path}")
    return at


async def _check_place(files: OwnedFiles, at: str) -> None:
    """Raise ValueError for a place below a file, where no folder can be."""
    if there := await files.get([*map(str, PurePosixPath(at).parents)][:-2]):
        raise ValueError(f"{min(there)} is a file, and no directory")


async def _is_folder(files: OwnedFiles, at: str) -> bool:
    return at == ROOT or any([path != at async for page in files.every(at) for path in page])


async def _view(files: OwnedFiles, at: str, view_range: Any) -> str:
    if (data := (await files.get([at])).get(at)) is None:
        found = {path: one async for page in files.every(at) for path, one in page.items()}
        missing = f"The path {at} does not exist. Please provide a valid path."
        return await asyncio.to_thread(_listing, at, found) if found or at == ROOT else missing
    if data["encoding"] != "utf-8":
        raise ValueError(f"Unsupported file type for {at}")
    match view_range:
        case [int(first), int(last)]:
            shown = first, last if last >= 0 else None
        case _:
            shown = 1, None
    return await asyncio.to_thread(_numbered, f"Here's the content of {at} with line numbers:", data["content"], *shown)


def _numbered(header: str, text: str, first: int, last: int | None) -> str:
    first = max(1, first)
    lines = enumerate(text.split("\n")[first - 1 : last], start=first)
    return "\n".join([header, *(f"{number:>6}\t{line}" for number, line in lines)])


def _listing(at: str, files: Mapping[str, FileData]) -> str:
    """Return the files and folders up to two levels deep, with their sizes; a folder has the size of its files."""
    sizes: Counter[str] = Counter({at: 0})
    for path, data in files.items():
        parts, size = path.removeprefix(area_below(at)).split("/"), size_of(data)
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        sizes[at] += size
        for deep in range(1, min(len(parts), 2) + 1):
            sizes["/".join([at, *parts[:deep], *([""] if deep < len(parts) else [])])] += size
    header = f"Here're the files and directories up to 2 levels deep in {at}, excluding hidden items and node_modules:"
    return "\n".join([header, *(f"{_in_short(sizes[path])}\t{path}" for path in sorted(sizes))])


def _in_short(size: float) -> str:
    power = (size >= 1024) + (size >= 1024**2)
    return f"{size / 1024**power:.1f}".removesuffix(".0") + "BKM"[power]


def _replaced(at: str, text: str, old: str, new: str) -> tuple[str, str | None]:
    places = [found.start() for found in re.finditer(f"(?={re.escape(old)})", text)] if old else []
    numbers = [text.count("\n", 0, place) + 1 for place in places[:100]]
    if not places:
        return f"No replacement was performed, old_str `{old}` did not appear verbatim in {at}.", None
    if len(places) > 1:
        lines = ", ".join(map(str, dict.fromkeys(numbers)))
        told = f"Multiple occurrences of old_str `{old}` in lines: {lines}. Please ensure it is unique"
        return f"No replacement was performed. {told}", None
    after, line = text.replace(old, new), numbers[0]
    told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return _numbered(told, after, line - 2, line + 2), after


def _inserted(at: str, text: str, line: int, added: str) -> tuple[str, str | None]:
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        told = f"Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: "
        return f"Error: {told}[0, {len(lines)}]", None
    lines.insert(line, added.removesuffix("\n"))
    return f"The file {at} has been edited.", "\n".join(lines) + "\n"
