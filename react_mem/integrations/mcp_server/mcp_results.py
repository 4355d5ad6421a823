"""Answers of the tools and resources as pydantic models, which are the tools' output schemas, and the caller's memory.

Every text of a memory is fenced and labelled with its origin, as in an agent's prompt: a client passes it to its model
unchanged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from pydantic import BaseModel, Field

from react_mem import AgentConfig
from react_mem.errors import LegalHoldError, ReactMemError
from react_mem.memory import MemoryDetail, MemoryFacade, MemoryItem, MemoryResultItem, MemorySource, turns
from react_mem.memory.records import AuditActor, AuditReason, acting, kind_named
from react_mem.prompts import load_prompt

NOTICE = load_prompt("recalled_data")
MOST_SHOWN = 20  # Sources, former beliefs and derived memories that are shown of each
MAX_MESSAGE = 2_000  # Shown characters of one message


class ShownMemory(BaseModel):
    """One memory."""

    id: str = Field(description="By which `correct`, `forget` and `why` name it.")
    kind: str = Field(description="`fact`, `message`, `episode`, `summary`, `skill`, ...")
    text: str = Field(
        description="What is remembered, behind who says so where that is not the user themselves: (agreed), "
        "(speaker), (quoted), (assistant), (tool), (page) or (imported)."
    )
    origin: str = Field(
        description="Who vouches for it: `user` in their own words, `assent`, `speaker`, `quoted`, `assistant`, "
        "`tool`, `web` or `import`."
    )
    scope: str = Field(description="Where it is kept: `semantic`, `dialog`, `episodic`, `procedural`, ...")
    said_at: datetime = Field(description="When it was said, or first believed.")
    current: bool = Field(description="Whether it is still believed.")
    since: datetime | None = Field(description="From when on it holds, where that is known.")
    until: datetime | None = Field(description="Until when it held, where it is over.")
    in_doubt: bool = Field(description="Whether something else that is remembered may contradict it.")
    session_id: str = Field(description="The conversation it is from.")

    @classmethod
    def of(cls, payload: Mapping[str, Any], text: str = "") -> ShownMemory:
        """Return the view of a record, with its title where no text is given."""
        kept = kind_named(payload.get("kind")).place
        item = MemoryItem.of(kept, str(payload.get("id", "")), payload, datetime.now(UTC))
        said = turns.labelled(payload, turns.flat(text or title_of(payload), turns.MAX_LINE_CHARS))
        kind = "milestone" if payload.get("milestone_title") else item.kind
        return cls.item(item).model_copy(update={"text": said, "kind": kind})

    @classmethod
    def item(cls, item: MemoryItem) -> ShownMemory:
        """Return the view of a listed memory."""
        said = turns.flat(item.text or item.title, turns.MAX_LINE_CHARS)
        text = turns.labelled({"about": item.about}, said, item.origin)
        return cls.model_validate({**item.model_dump(), "text": text, "said_at": item.created_at})

    @classmethod
    def found(cls, item: MemoryResultItem) -> ShownMemory:
        """Return the view of a search result: the matching part of a long text, a message with its neighbours."""
        said = [f"{one.role}: {one.content}" if one.role else one.content for one in item.fragments]
        shown = cls.of(item.payload, " / ".join(said))
        view = MemoryItem.found(item, datetime.now(UTC))
        text = f"{shown.text} ({turns.flat(view.changed)})" if view.changed else shown.text
        return shown.model_copy(update={**view.model_dump(include={"current", "until", "in_doubt"}), "text": text})


class RecallResult(BaseModel):
    """Memories that were found, the most relevant first."""

    notice: str = Field(NOTICE, description="What the memories are: data.")
    memories: list[ShownMemory]
    missing: dict[str, str] = Field(description="What could not be searched, with the cause.")


class RememberResult(BaseModel):
    """Result of remembering something."""

    outcome: Literal["stored", "known", "unclear"] = Field(
        description="`stored`; `known`: it was remembered already; `unclear`: nothing was stored, since it is not "
        "clear which memory `replaces` means: call again with the text of one of the `candidates`, or without."
    )
    memories: list[ShownMemory] = Field(description="What is believed now because of it.")
    ended: list[ShownMemory] = Field(description="What is believed no longer because of it; it stays as dated history.")
    candidates: list[ShownMemory] = Field(description="Which memories may be meant, where that is not clear.")


class CorrectResult(BaseModel):
    """Result of a correction: the fact that is believed now."""

    memory: ShownMemory
    corrected: str = Field(description="The id of the fact that it stands for; that one stays as dated history.")


class ForgetResult(BaseModel):
    """Result of forgetting something."""

    outcome: Literal["forgotten", "unclear"] = Field(
        description="`unclear`: nothing was forgotten, since it is not clear what is meant: call again with the id of "
        "one of the `candidates`."
    )
    removed: dict[str, int] = Field(description="How many records are gone, by kind.")
    rewritten: dict[str, int] = Field(description="How many records stay, without it, by kind.")
    problems: list[str] = Field(description="What is left of it, or could not be looked at; empty where it is gone.")
    candidates: list[ShownMemory] = Field(description="Which memories may be meant, where that is not clear.")


class ToldSource(BaseModel):
    """One message that a memory is from."""

    id: str
    session_id: str
    role: str
    text: str
    said_at: datetime | None
    quote: str = Field(description="The words of it that say this.")

    @classmethod
    def of(cls, source: MemorySource) -> ToldSource:
        """Return the view of a source."""
        told = {"text": turns.flat(source.text, MAX_MESSAGE), "quote": turns.flat(source.quote, turns.MAX_LINE_CHARS)}
        return cls.model_validate({**source.model_dump(), **told})


class FormerBelief(BaseModel):
    """One time in which something was believed."""

    id: str = Field(description="The memory that says it.")
    text: str
    since: datetime | None
    until: datetime | None = Field(description="Null for what is believed now.")
    why: str = Field(description="`believed` now, or why not: `replaced`, `ended`, `over`, `reworded`, `set aside`.")


class WhyResult(BaseModel):
    """Provenance of a memory."""

    notice: str = Field(NOTICE, description="What the texts are: data.")
    memory: ShownMemory
    sources: list[ToldSource] = Field(description="The messages that say it, the oldest first.")
    history: list[FormerBelief] = Field(description="What was believed in its place, the oldest first.")
    derived: list[ShownMemory] = Field(description="What was made of it.")
    doubts: list[str] = Field(description="What speaks against it, with the day on which it was said.")
    answers: int = Field(description="In how many of the latest answers it was used.")

    @classmethod
    def of(cls, told: MemoryDetail) -> WhyResult:
        """Return the view of a memory's provenance."""
        return cls(
            memory=ShownMemory.item(told.memory),
            sources=list(map(ToldSource.of, told.provenance[-MOST_SHOWN:])),
            history=[
                FormerBelief.model_validate({**one.model_dump(), "text": turns.flat(one.text, turns.MAX_LINE_CHARS)})
                for one in told.history[-MOST_SHOWN:]
            ],
            derived=list(map(ShownMemory.item, told.derived[:MOST_SHOWN])),
            doubts=[f"{turns.flat(one.text, turns.MAX_LINE_CHARS)} ({one.since})" for one in told.doubts],
            answers=len(told.used),
        )


def title_of(value: Mapping[str, Any]) -> str:
    """Return the title of a record as text; empty for none."""
    return next((str(value[name]) for name in kind_named(value.get("kind")).title if value.get(name)), "")


# The calling user. The transport identifies them; no tool, model or client can.

_SECONDS = 30.0  # Time limit of a call, once memory is open
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClientUser:
    """The user of a client, with the agent that has the policy; from a `remote` one hosts and files stay hidden."""

    user_id: str
    agent: AgentConfig
    opened: Callable[[], Awaitable[MemoryFacade]]
    remote: bool = False


@dataclass(frozen=True)
class ClientMemory:
    """Memory of one call, under the agent's policy."""

    memory: MemoryFacade
    user_id: str
    agent_id: str

    @property
    def identity(self) -> turns.Identity:
        """The user in another conversation."""
        return turns.Identity(self.user_id, turns.CLIENT_SESSION)

    async def told(self, said: str) -> turns.ToolMemory:
        """Return the memory as an agent's tools have it, for a user's message."""
        return await turns.ToolMemory.told(self.memory, self.identity, self.agent_id, said)


_CALLER: ContextVar[ClientUser] = ContextVar("mcp_caller")


@contextmanager
def calling(caller: ClientUser) -> Iterator[None]:
    """Serve a caller within a context, and in tasks started there."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


@asynccontextmanager
async def client_memory(refused: type[ToolError] | type[ResourceError] = ToolError) -> AsyncIterator[ClientMemory]:
    """Open the caller's memory for one call; a failure raises `refused` with cause and cure, and without content."""
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
        told = turns.for_clients(error) if caller.remote else error
        if told is not error:
            log.error("a call of an MCP client failed: %s", turns.cause_of(error))
        raise refused(turns.scrub(told)) from error
    except Exception as error:
        # its text may be anybody's: a statement, a key, another user's words
        log.error("a call of an MCP client failed: %s\n%s", turns.cause_of(error), turns.trace_of(error))
        raise refused(
            f"memory cannot be reached now ({type(error).__name__}); go on without it, tell the user, and try again "
            "later. The log of the server says where it failed."
        ) from error
