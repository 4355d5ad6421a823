"""Resources and prompt of the MCP server: the profile, the conversations, and the memories for a message."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from langchain_core.messages import HumanMessage
from mcp import MCPError
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import Field
from pydantic_core import to_json

from react_mem.integrations.mcp_server.mcp_results import (
    MAX_MESSAGE,
    NOTICE,
    ClientMemory,
    client_memory,
    title_of,
)
from react_mem.memory import Message
from react_mem.memory.turns import (
    CLIENT_SESSION,
    MAX_LINE_CHARS,
    Frame,
    Identity,
    Window,
    assemble,
    flat,
    labelled,
    render_beginning,
)

MAX_QUESTION = 16_000
CONVERSATIONS = "memory://conversations"

_LISTED = 200
_TURNS = 50


async def profile() -> str:
    """Return the user's profile, field by field."""
    async with client_memory(ResourceError) as caller:
        known = await caller.memory.profile.get_profile(caller.user_id)
        fields = [
            {
                "name": flat(name, MAX_LINE_CHARS),
                "value": flat(field.value, MAX_LINE_CHARS),
                "origin": field.origin.value,
                "since": field.updated_at.isoformat(),
            }
            for name, field in (known.fields.items() if known is not None else ())
            if field.value
        ]
        return _json(fields=fields)


async def conversations() -> str:
    """Return the remembered conversations, the latest first."""
    async with client_memory(ResourceError) as caller:
        held = await caller.memory.dialog.conversations(caller.user_id)
        listed = [
            {
                "id": one.id,
                "uri": f"{CONVERSATIONS}/{one.id}",
                "agent": one.agent,
                "messages": one.messages,
                "last": one.last,
                "about": render_beginning(one.about),
            }
            for one in held[:_LISTED]
        ]
        return _json(conversations=listed, left_out=len(held) - len(listed))


async def conversation(id: str) -> str:
    """Return the summary and the latest turns of one conversation."""
    async with client_memory(ResourceError) as caller:
        held = await caller.memory.dialog.get_context(caller.user_id, id, limit_turns=_TURNS, agent_id=caller.agent_id)
        if not held.messages and held.summary is None:
            raise ResourceNotFoundError(f"this user has no such conversation; {CONVERSATIONS} lists those there are")
        return _json(
            id=id,
            summary=flat(held.summary.text) if held.summary else "",
            messages=[_told(message) for message in held.messages],
        )


async def context(
    message: Annotated[str, Field(description="What the user is about to ask or say.")],
) -> list[str]:
    """Bring what is remembered for a message, as an agent of the user's would have it in its prompt."""
    if not message.strip():
        raise MCPError(INVALID_PARAMS, "`message` is empty: give what the user is about to ask or say")
    if len(message) > MAX_QUESTION:
        told = f"`message` has {len(message):,} characters, of at most {MAX_QUESTION:,}; give the question"
        raise MCPError(INVALID_PARAMS, told)
    try:
        async with client_memory() as caller:
            return [*filter(None, [await briefing(caller, message)]), message]
    except ToolError as error:
        # of a prompt the library tells a client no other error
        raise MCPError(INTERNAL_ERROR, str(error)) from error


async def briefing(caller: ClientMemory, message: str, session_id: str = CLIENT_SESSION) -> str:
    """Return the context that an agent would have for a user's message; empty for none."""
    policy = caller.memory.policy
    frame = Frame(
        thread=[HumanMessage(message, id="question")], policy=policy, window=Window.of(policy.context.window, None)
    )
    # a long question takes a while
    query = await asyncio.to_thread(frame.query, Identity(caller.user_id, session_id), caller.agent_id)
    results = await caller.memory.read(query)
    assembled = await asyncio.to_thread(assemble, frame, results, session_id=session_id, recalls=True)
    return assembled.layout["retrieved"]


def _told(message: Message) -> dict[str, Any]:
    value = message.to_value()
    return {
        "id": message.id,
        "session_id": message.session_id,
        "role": message.role,
        "text": labelled(value, flat(title_of(value), MAX_MESSAGE)),
        "said_at": message.created_at,
    }


def _json(**answer: Any) -> str:
    return to_json({"notice": NOTICE, **answer}, indent=1).decode()
