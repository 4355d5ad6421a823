"""`/memory/mcp`: the memory for clients of the Model Context Protocol, over streamable HTTP.

Every request stands for itself: no session is kept, so that a client goes on after a restart of either side, and with
any of a deployment's processes. The owner comes from the server's authentication.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from functools import cache
from typing import Any

from fastapi import HTTPException, Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from react_mem.errors import AgentConfigError
from react_mem.graphs.chat_summary_route import DEFAULT_AGENT, MAX_BODY_BYTES
from react_mem.graphs.memory_api.callers_memory import memory_of
from react_mem.memory import MemoryFacade

PATH = "/memory/mcp"
_NOT_INSTALLED = 'this server does not speak the Model Context Protocol: pip install "react-mem[mcp]"'

log = logging.getLogger(__name__)


class ClientsMemory:
    """The route as an ASGI application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if request.method != "POST":
            # neither streams of the server's own (GET) nor sessions to end (DELETE)
            raise HTTPException(405, "this server takes requests by POST alone", {"Allow": "POST"})
        asked = memory_of(request)
        if importlib.util.find_spec("mcp") is None:
            raise HTTPException(503, _NOT_INSTALLED)
        try:
            agent = await asked.as_agent(DEFAULT_AGENT)
        except AgentConfigError as error:
            log.warning("%s serves no memory, for want of the agent %r: %s", PATH, DEFAULT_AGENT, error)
            raise HTTPException(
                503, f"the agent {DEFAULT_AGENT!r} of this server is not valid; its log says why"
            ) from None
        # here, since not everybody has it
        from mcp.server.transport_security import TransportSecuritySettings

        from react_mem.integrations.mcp_server.mcp_results import ClientUser, calling

        memory = MemoryFacade(asked.memory.store, agent.memory)

        async def opened() -> MemoryFacade:
            return memory

        server = await asyncio.to_thread(_server)
        # a manager lasts as long as the request: it needs no lifespan of the application that serves it
        server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            max_request_body_size=MAX_BODY_BYTES,
            # who may call, and by which name, is decided before all routes (`this_machine`, the authentication)
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        manager = server.session_manager
        with calling(ClientUser(asked.owner, agent, opened, remote=True)):
            async with manager.run():
                await manager.handle_request(scope, receive, send)


@cache
def _server() -> Any:
    """Return the server of the protocol. Blocking: it imports, and builds the schemas of all tools."""
    # here, since not everybody has it
    from react_mem.integrations.mcp_server.mcp_tools import memory_server

    return memory_server()


route = Route(PATH, ClientsMemory())
