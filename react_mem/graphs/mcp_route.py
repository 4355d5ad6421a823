"""`/memory/mcp`: the memory for clients of the Model Context Protocol, over streamable HTTP.

Every request stands for itself: no session is kept, so that a client goes on after a restart of either side, and with
any of a deployment's processes. The owner comes from the server's authentication.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import HTTPException, Request
from langgraph.store.base import BaseStore
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from react_mem import load_agent_config
from react_mem.errors import AgentConfigError
from react_mem.graphs.callers import owner_of
from react_mem.graphs.chat_summary_route import DEFAULT_AGENT, MAX_BODY_BYTES
from react_mem.memory import MemoryFacade

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from react_mem import AgentConfig

PATH = "/memory/mcp"
_NOT_INSTALLED = 'this server does not speak the Model Context Protocol: pip install "react-mem[mcp]"'

log = logging.getLogger(__name__)


class ClientsMemory:
    """The route as an ASGI application; it serves while it is `running`."""

    def __init__(self) -> None:
        self._manager: StreamableHTTPSessionManager | None = None
        self._agent: AgentConfig | None = None
        self._missing = _NOT_INSTALLED

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for the length of a context, if the protocol is installed and the default agent has a policy."""
        if importlib.util.find_spec("mcp") is None:
            yield
            return
        try:
            self._agent = await asyncio.to_thread(load_agent_config, DEFAULT_AGENT)
        except AgentConfigError as error:
            log.warning("%s serves no memory, for want of the agent %r: %s", PATH, DEFAULT_AGENT, error)
            self._missing = f"the agent {DEFAULT_AGENT!r} of this server is not valid; its log says why"
            yield
            return
        manager = await asyncio.to_thread(_session_manager)
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if request.method != "POST":
            # neither streams of the server's own (GET) nor sessions to end (DELETE)
            raise HTTPException(405, "this server takes requests by POST alone", {"Allow": "POST"})
        owner = owner_of(request, None)
        if owner is None:
            raise HTTPException(404, "no user is named, so there is no memory of theirs: authenticate as a user")
        store: BaseStore | None = getattr(request.app.state, "store", None)
        if self._manager is None or self._agent is None:
            raise HTTPException(503, self._missing)
        if store is None:
            raise HTTPException(503, "this server has no store")
        # here, since not everybody has it
        from react_mem.integrations.mcp_server.mcp_results import ClientUser, calling

        memory = MemoryFacade(store, self._agent.memory)

        async def opened() -> MemoryFacade:
            return memory

        with calling(ClientUser(owner, self._agent, opened, remote=True)):
            await self._manager.handle_request(scope, receive, send)


def _session_manager() -> StreamableHTTPSessionManager:
    """Return the session manager of the protocol. Blocking: it imports, and builds the schemas of all tools."""
    # here, since not everybody has it
    from mcp.server.transport_security import TransportSecuritySettings

    from react_mem.integrations.mcp_server.mcp_tools import memory_server

    server = memory_server()
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=MAX_BODY_BYTES,
        # who may call, and by which name, is decided before all routes (`this_machine`, the authentication)
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return server.session_manager


clients_memory = ClientsMemory()

route = Route(PATH, clients_memory)
