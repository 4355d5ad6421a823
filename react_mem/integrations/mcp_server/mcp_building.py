"""The server: its tools with what a client may know of them beforehand, its resources and its prompt."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from react_mem.integrations.mcp_server.mcp_resources import CONVERSATIONS, context, conversation, conversations, profile
from react_mem.integrations.mcp_server.mcp_tools import correct, forget, recall, remember, why
from react_mem.prompts import load_prompt

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
_REMOVES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

_TOOLS = (
    (recall, "Recall", _READS),
    (remember, "Remember", _ADDS),
    (correct, "Correct a memory", _CHANGES),
    (forget, "Forget", _REMOVES),
    (why, "Why it is remembered", _READS),
)

_RESOURCES: tuple[tuple[str, str, Callable[..., Awaitable[str]], str], ...] = (
    ("memory://profile", "Profile", profile, "What is known of the user as a person, field by field."),
    (CONVERSATIONS, "Conversations", conversations, "The conversations that are remembered, the latest first."),
    (f"{CONVERSATIONS}/{{id}}", "Conversation", conversation, "The latest turns of one, and what it came to."),
)


class _MemoryServer(MCPServer):
    """A server that tells a client what is wrong with its arguments in words of ours."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool.

        Args:
            name: The tool.
            arguments: What the client gives it.
            context: Of the request.

        Raises:
            ToolError: If the tool refuses, or the arguments are not what it takes.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"Nothing was done: {_what_is_wrong(error.__cause__)}.") from None
            raise


def _what_is_wrong(error: ValidationError) -> str:
    told = []
    for details in error.errors(include_url=False, include_input=False, include_context=False):
        message = "is missing; give it" if details["type"] == "missing" else details["msg"]
        told.append(f"`{'.'.join(map(str, details['loc']))}`: {message[:1].lower()}{message[1:]}")
    return "; ".join(told)


def memory_server() -> MCPServer:
    """Return a server. Blocking: it makes the schemas of all tools.

    Nobody is told of changes: a server has many users, and none is to learn when another's memory has changed.
    """
    server = _MemoryServer(
        "react-mem",
        title="Memory",
        instructions=load_prompt("mcp_instructions"),
        version=version("react-mem"),
        log_level="WARNING",
        subscriptions=False,
    )
    for tool, title, hints in _TOOLS:
        server.add_tool(tool, title=title, description=inspect.getdoc(tool), annotations=hints, structured_output=True)
    for uri, title, serve, description in _RESOURCES:
        name = title.lower()
        server.resource(uri, name=name, title=title, description=description, mime_type="application/json")(serve)
    server.prompt(title="What is remembered for a message", description=inspect.getdoc(context))(context)
    return server
