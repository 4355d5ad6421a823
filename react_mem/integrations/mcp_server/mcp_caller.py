"""The user whose client calls. What carries the call says who they are; no tool, model or client has a say."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ResourceError, ToolError

from react_mem import AgentConfig
from react_mem.errors import LegalHoldError, ReactMemError
from react_mem.memory import MemoryFacade
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.turns import CLIENT_SESSION, Identity, ToolMemory, cause_of, for_clients, scrub, trace_of

_SECONDS = 30.0
"""Until a call is given up, once memory is open."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClientUser:
    """The user of a client.

    Args:
        user_id: The owner of everything that is read and written.
        agent: The agent whose policy says what is.
        opened: Returns the memory, once it is open.
        remote: Whether they call a server of somebody else's, whose hosts and files are not for them.
    """

    user_id: str
    agent: AgentConfig
    opened: Callable[[], Awaitable[MemoryFacade]]
    remote: bool = False


@dataclass(frozen=True)
class ClientMemory:
    """Memory as a call uses it.

    Args:
        memory: The facade, under the agent's policy.
        user_id: The owner.
        agent_id: The agent.
    """

    memory: MemoryFacade
    user_id: str
    agent_id: str

    async def told(self, said: str) -> ToolMemory:
        """Return it as an agent's tools have it, where the user has said something in a conversation elsewhere.

        Args:
            said: The user's message.
        """
        return await ToolMemory.told(self.memory, Identity(self.user_id, CLIENT_SESSION), self.agent_id, said)


_CALLER: ContextVar[ClientUser] = ContextVar("mcp_caller")


@contextmanager
def calling(caller: ClientUser) -> Iterator[None]:
    """Serve a caller for the length of a context, and whatever is started in it.

    Args:
        caller: Who calls.
    """
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


@asynccontextmanager
async def client_memory(refused: type[ToolError] | type[ResourceError] = ToolError) -> AsyncIterator[ClientMemory]:
    """Open the memory of whoever calls, for one call; what fails is told with cause and cure, and without content.

    Args:
        refused: The error that tells it.
    """
    caller = _CALLER.get()
    try:
        memory = await caller.opened()
        with acting(AuditActor.AGENT, AuditReason.REQUEST):
            async with asyncio.timeout(_SECONDS):
                yield ClientMemory(memory, caller.user_id, caller.agent.name)
    except (ToolError, ResourceError):
        raise
    except LegalHoldError as error:
        raise refused(f"{error}. Nothing was changed; tell the user so.") from error
    except ReactMemError as error:
        told = for_clients(error) if caller.remote else error
        if told is not error:
            log.error("a call of an MCP client failed: %s", cause_of(error))
        raise refused(scrub(told)) from error
    except Exception as error:
        # what it says may be anybody's: a statement, a key, what another user wrote
        log.error("a call of an MCP client failed: %s\n%s", cause_of(error), trace_of(error))
        raise refused(
            f"memory cannot be reached now ({type(error).__name__}); go on without it, tell the user, and try again "
            "later. The log of the server says where it failed."
        ) from error
