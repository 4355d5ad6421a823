"""`ClaudeMemoryMiddleware`: Claude's memory tool (`memory_20250818`) on the files that memory keeps for a user.

    agent = create_agent("anthropic:claude-sonnet-4-5", middleware=[ClaudeMemoryMiddleware()], store=memory.store)

Claude is offered its own tool, any other model one with the same commands. What it returns are the words that Anthropic
documents. Files are those of `MemoryFilesBackend` below `/memories`: searched, exported, held and erased like them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.tools import StructuredTool
from langgraph.store.base import BaseStore

from react_mem.installation import of_extra
from react_mem.integrations.deep_agents.files_backend import answered
from react_mem.integrations.deep_agents.owned_files import (
    FileOwner,
    OwnedFiles,
    area_below,
    owner_of_files,
    size_of,
)
from react_mem.memory import MemoryPolicy, Origin
from react_mem.memory.records import AgentFile, checked

with of_extra("deepagents"):
    from deepagents.backends.protocol import FileData

TOOL_TYPE, TOOL = "memory_20250818", "memory"
ROOT = "/memories"
_MAX_LINES = 999_999
_WIDTH = len(str(_MAX_LINES))
_MISSING = "The path {} does not exist. Please provide a valid path."
_GONE = "Error: The path {} does not exist"
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


class ClaudeMemoryMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Claude's memory tool for an agent; owner and store are the run's, as those of `MemoryFilesBackend`.

    Without an agent, `aexecute` takes the input of a tool call of Anthropic's API, and the owner has to be named.

    Args:
        store: The store; by default the agent's.
        user_id: The owner, if the application names one.
        agent_id: The agent's id in memory.
        policy: Limits of the stored files (`quotas`).
    """

    @checked()
    def __init__(
        self,
        *,
        store: BaseStore | None = None,
        user_id: str | None = None,
        agent_id: str = "agent",
        policy: MemoryPolicy | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._store, self._user_id, self._agent_id = store, user_id, agent_id
        self._policy = policy if isinstance(policy, MemoryPolicy) else MemoryPolicy.model_validate(dict(policy or {}))

        def call(**command: Any) -> str:
            return self.execute(command)

        async def acall(**command: Any) -> str:
            return await self.aexecute(command)

        told = {"name": TOOL, "description": _DESCRIPTION, "args_schema": _COMMAND}
        self.tools = [StructuredTool(func=call, coroutine=acall, **told)]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Offer Claude its own tool."""
        return handler(_with_its_own_tool(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Offer Claude its own tool."""
        return await handler(_with_its_own_tool(request))

    @answered(lambda told, *_: f"Error: {told}")
    async def _execute(self, files: OwnedFiles, command: Mapping[str, Any]) -> str:
        """Carry out a command of Claude's, given as the input of its tool call, and return the result in words."""
        match command:
            case {"command": "view", "path": str(path), **more}:
                return await _view(files, _inside(path), more.get("view_range"))
            case {"command": "create", "path": str(path), "file_text": str(text)}:
                return await _create(files, _inside(path), text)
            case {"command": "str_replace", "path": str(path), "old_str": str(old), **more}:
                return await _str_replace(files, _inside(path), old, str(more.get("new_str") or ""))
            case {"command": "insert", "path": str(path), "insert_line": int(line), "insert_text": str(text)}:
                return await _insert(files, _inside(path), line, text)
            case {"command": "delete", "path": str(path)}:
                if (at := _inside(path)) == ROOT:
                    raise ValueError(f"Cannot delete the {ROOT} directory itself")
                return f"Successfully deleted {at}" if await files.remove(at) else _GONE.format(at)
            case {"command": "rename", "old_path": str(old), "new_path": str(new)}:
                return await _rename(files, _inside(old), _inside(new))
        raise ValueError("this is no command of the memory tool with the parameters that it needs")

    execute, aexecute = _execute

    def _owner(self) -> FileOwner:
        return owner_of_files(self._store, self._user_id)

    def _files(self, owner: FileOwner) -> OwnedFiles:
        return OwnedFiles(owner, self._agent_id, self._policy)


def _with_its_own_tool(request: ModelRequest[Any]) -> ModelRequest[Any]:
    if getattr(request.model, "_llm_type", "") != "anthropic-chat":
        return request
    others = [one for one in request.tools if getattr(one, "name", "") != TOOL]
    return request.override(tools=[*others, {"type": TOOL_TYPE, "name": TOOL}])


def _inside(path: str) -> str:
    at = AgentFile.clean_path(path)
    if at != ROOT and not at.startswith(f"{ROOT}/"):
        raise ValueError(f"Path must start with {ROOT}, got: {path}")
    return at


async def _view(files: OwnedFiles, at: str, view_range: Any) -> str:
    data = (await files.get([at])).get(at)
    if data is None:
        found = {path: one async for page in files.every(at) for path, one in page.items()}
        return await asyncio.to_thread(_listing, at, found) if found or at == ROOT else _MISSING.format(at)
    if data["encoding"] != "utf-8":
        raise ValueError(f"Unsupported file type for {at}")
    lines = data["content"].split("\n")
    if len(lines) > _MAX_LINES:
        raise ValueError(f"File {at} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if isinstance(view_range, Sequence) and len(view_range) == 2 and all(isinstance(one, int) for one in view_range):
        first, last = max(1, view_range[0]), last if view_range[1] == -1 else view_range[1]
    return "\n".join([f"Here's the content of {at} with line numbers:", *_numbered(lines, first, last)])


def _numbered(lines: Sequence[str], first: int, last: int) -> list[str]:
    return [f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines[first - 1 : last], start=first)]


def _listing(at: str, files: Mapping[str, FileData]) -> str:
    """Return the files and folders up to two levels deep, with their sizes; a folder's is that of its files."""
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
    """Return a number of bytes as in a listing.

    >>> _in_short(0), _in_short(1023), _in_short(1536), _in_short(2 * 2**20)
    ('0B', '1023B', '1.5K', '2M')
    """
    for unit in "BK":
        if size < 1024:
            break
        size, unit = size / 1024, "M"
    return f"{size:.1f}".removesuffix(".0") + unit


async def _create(files: OwnedFiles, at: str, text: str) -> str:
    if not await files.create(at, FileData(content=text, encoding="utf-8"), Origin.ASSISTANT):
        raise ValueError(f"File {at} already exists")
    return f"File created successfully at: {at}"


async def _str_replace(files: OwnedFiles, at: str, old: str, new: str) -> str:
    def change(text: str) -> tuple[str, str | None]:
        count, place = text.count(old) if old else 0, text.find(old)
        if count != 1:
            told = f"No replacement was performed, old_str `{old}` did not appear verbatim in {at}."
            if count:
                lines = [number for number, line in enumerate(text.split("\n"), start=1) if old in line]
                told = (
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                    f"{', '.join(map(str, lines))}. Please ensure it is unique"
                )
            return told, None
        after = text.replace(old, new)
        number = text.count("\n", 0, place) + 1
        shown = _numbered(after.split("\n"), max(1, number - 2), number + 2)
        told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([told, *shown]), after

    return str(await files.edit(at, change) or f"Error: {_MISSING.format(at)}")


async def _insert(files: OwnedFiles, at: str, line: int, added: str) -> str:
    def change(text: str) -> tuple[str, str | None]:
        lines = text.removesuffix("\n").split("\n") if text else []
        if not 0 <= line <= len(lines):
            return (
                f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: "
                f"[0, {len(lines)}]",
                None,
            )
        lines.insert(line, added.removesuffix("\n"))
        return f"The file {at} has been edited.", "\n".join(lines) + "\n"

    return str(await files.edit(at, change) or _GONE.format(at))


async def _rename(files: OwnedFiles, old: str, new: str) -> str:
    if old == ROOT:
        raise ValueError(f"Cannot rename the {ROOT} directory itself")
    moved = await files.move(old, new)
    if moved is None:
        raise ValueError(f"The destination {new} already exists")
    return f"Successfully renamed {old} to {new}" if moved else _GONE.format(old)
