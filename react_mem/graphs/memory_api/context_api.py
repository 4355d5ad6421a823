"""`/memory/v1/search`, `/context`: a search, the prompt for a message, and the sources of an answer."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any

from fastapi import Path, Request
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, Field

from react_mem.agents.config import load_agent_config
from react_mem.agents.context_preview import REMEMBERING, ContextPreview, preview_context, shown_message
from react_mem.agents.resolve import ResolvedAgent, resolve_agent
from react_mem.graphs.callers import may_name_user
from react_mem.graphs.chat_summary_route import loaded_for
from react_mem.graphs.memory_api.callers_memory import (
    USER_ID,
    Asked,
    CallersMemory,
    administers,
    found,
    memory_of,
    problems,
    rest_router,
    returned_by,
    wrong,
)
from react_mem.graphs.memory_api.conversations_api import ThreadId
from react_mem.graphs.memory_api.memories_api import DEFAULT_AGENT
from react_mem.memory import MemoryFacade, MemoryItem, MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.context import Section, whole_text
from react_mem.memory.records import kind_named
from react_mem.memory.runtime import OwnerId, searched_scopes
from react_mem.memory.turns import Identity

MAX_QUERY = 4_000
MAX_FOUND = 50
MAX_MESSAGE = 20_000
MAX_TURNS = 200  # the last turns of a conversation in the prompt: more than any agent is shown by default
HIDDEN = "[instructions of the agent]"  # these are the deployment's: only administrators see them

router = rest_router()

_PLACES = {
    Section.SYSTEM: "system",
    Section.TOOLS: "tools",
    Section.QUESTION: "question",
    Section.CONVERSATION: "conversation",
}
"""Places of parts of the prompt; all others are behind the instructions, in the system message."""


class SearchBody(BaseModel):
    """Question to memory."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)] = Field(description="What to look for, in words.")
    scopes: list[MemoryScope] = Field(
        default_factory=searched_scopes, max_length=20, description="Where; by default wherever meaning is indexed."
    )
    limit: Annotated[int, Field(ge=1, le=MAX_FOUND)] = Field(10, description="Memories of each scope.")
    as_of: datetime | None = Field(None, description="What was believed at this time; without a zone, in UTC.")
    agent: Annotated[str, Field(max_length=64)] = Field(
        DEFAULT_AGENT, description="The agent by whose policy is searched: the name of its file."
    )
    user_id: OwnerId | None = Field(None, description=USER_ID)


class MemoryFragment(BaseModel):
    """A text of what was found."""

    id: str = Field(description="The record that it is of.")
    role: str = Field(description="Who said it; empty for what nobody said.")
    text: str


class FoundItem(BaseModel):
    """A memory that was found, and by what."""

    memory: MemoryItem
    score: float | None = Field(description="Higher is nearer; null for what was not compared.")
    similarity: float | None = Field(description="From 0 to 1, whatever the embedder: 0.5 is unrelated.")
    arms: dict[str, float] = Field(description="The part of each way of searching: `vector`, `lexical`, ...")
    fragments: list[MemoryFragment] = Field(description="The texts that matched, in their order.")


class SearchAnswer(BaseModel):
    """Result of a search."""

    items: list[FoundItem] = Field(description="The nearest first.")
    missing: dict[str, str] = Field(description="What could not be asked, such as the embedder, with the cause.")


@router.post("/search", summary="Search memory", responses=problems(413))
async def search_memories(body: SearchBody, request: Request) -> SearchAnswer:
    """Return what an agent would find for a question, the nearest first, with the part of each way of searching.

    Nothing is written, and no language model is asked.
    """
    asked = memory_of(request, body.user_id)
    config = await asked.as_agent(body.agent)
    memory = MemoryFacade(asked.memory.store, config.memory.showing(body.limit))
    query = MemoryQuery(
        user_id=asked.owner,
        # none of the owner's
        session_id="search",
        agent_id=config.name,
        scopes=body.scopes,
        query=body.query,
        as_of=body.as_of,
        extra={"cut": False},
    )
    results = await memory.read(query)
    listed = [item for item in results if item.id and kind_named(item.source).listed]
    listed.sort(key=lambda item: -(item.score or 0.0))
    return SearchAnswer(items=[_shown(item) for item in listed], missing=results.missing)


def _shown(item: MemoryResultItem) -> FoundItem:
    return FoundItem(
        memory=MemoryItem.found(item, datetime.now(UTC)),
        score=item.score,
        similarity=item.similarity,
        arms={arm.value: part for arm, part in item.arms.items()},
        fragments=[MemoryFragment(id=one.id, role=one.role, text=one.content) for one in item.fragments],
    )


class ContextBody(BaseModel):
    """Message for which the prompt is asked for."""

    message: Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE)] = Field(description="What the user would say.")
    thread_id: OwnerId | None = Field(None, description="The conversation it would go on; by default a new one.")
    agent: Annotated[str, Field(max_length=64)] = Field(DEFAULT_AGENT, description="The agent: the name of its file.")
    user_id: OwnerId | None = Field(None, description=USER_ID)


class ContextPart(BaseModel):
    """A part of a prompt."""

    name: str = Field(description="`system`, `tools`, `profile`, `memories`, `summaries`, `conversation`, ...")
    tokens: int = Field(description="What it takes.")
    limit: int = Field(description="What it could take, the others being as they are.")
    dropped: int = Field(description="What there was no room for: memories, messages, fields.")
    place: str = Field(description="`system`, `memory` behind that, `tools`, `conversation` or `question`.")
    text: str = Field(description="What it says; of the tools, which are no text, nothing.")
    memories: list[str] = Field(description="The memories in it.")


class PromptMessage(BaseModel):
    """A message of a prompt."""

    role: str
    content: str


class ContextAnswer(BaseModel):
    """Prompt as it would be, and why."""

    parts: list[ContextPart]
    tokens: int = Field(description="What all parts take.")
    limit: int = Field(description="What they may take: the model's window without the answer.")
    cut: int = Field(description="Characters of the message that do not fit.")
    missing: dict[str, str] = Field(description="What could not be asked or put in, with the cause.")
    retrieved: str = Field(
        description="What is remembered for the message, between marks and with what they mean: for the instructions "
        "of an agent of your own. Empty where nothing is."
    )
    prompt: list[PromptMessage]


@router.post("/context", summary="Explain the prompt for a message", responses=problems(413))
async def explain_context(body: ContextBody, request: Request) -> ContextAnswer:
    """Return what the prompt for a message would be: its parts with their tokens, and the memories in each.

    No model is called and nothing is written; the web is not searched, and no tools or layers are chosen. The
    conversation is told as memory has it: the steps of earlier turns, which only the thread has, are missing.
    """
    asked = memory_of(request, body.user_id)
    agent: ResolvedAgent = await loaded_for(body.agent, _agent)
    if agent.config.manager != REMEMBERING:
        why = f"its manager is {agent.config.manager}, whose prompt is its thread; name one of {REMEMBERING}"
        raise wrong("agent", why)
    session = body.thread_id or str(uuid.uuid4())
    said = await _thread(asked, session, agent.config.name) if body.thread_id else []
    thread = [*said, HumanMessage(body.message, id="question")]
    identity = Identity(asked.owner, session)
    preview = await preview_context(agent, asked.memory.store, identity, thread, named_by_records=True)
    return _answer(preview, body.message, shows_instructions=administers(request) or may_name_user(request))


@router.get(
    "/context/{thread_id}/{message_id}",
    summary="Explain an answer",
    response_model=returned_by(MemoryFacade.explain_answer),
)
async def explain_answer(
    thread_id: ThreadId,
    message_id: Annotated[
        str, Path(min_length=1, max_length=512, description="The answer or its question: its id, or its record's.")
    ],
    asked: Asked,
) -> Any:
    """Return why an answer was given: the memories that stood in its prompt, as they are now."""
    return found(await asked.memory.explain_answer(asked.owner, thread_id, message_id), "answer that is remembered")


@cache
def _agent(name: str) -> ResolvedAgent:
    return resolve_agent(load_agent_config(name))


async def _thread(asked: CallersMemory, session: str, agent: str) -> list[AnyMessage]:
    """Return the last turns of a stored conversation; its messages have the ids of their records."""
    told = await asked.memory.dialog.get_context(asked.owner, session, MAX_TURNS, agent_id=agent)
    found(told.messages or None, "conversation that is remembered")
    kinds: dict[str, Any] = {"user": HumanMessage}
    return [kinds.get(one.role, AIMessage)(whole_text(vars(one)), id=one.id) for one in told.messages]


def _answer(preview: ContextPreview, message: str, *, shows_instructions: bool) -> ContextAnswer:
    assembled, instructions = preview.assembled, preview.frame.instructions

    def shown(one: BaseMessage) -> str:
        text = shown_message(one)
        if shows_instructions or one.type != "system" or not text.startswith(instructions):
            return text
        return HIDDEN + text[len(instructions) :]

    texts = {
        **assembled.texts,
        Section.SYSTEM: instructions if shows_instructions else HIDDEN,
        Section.QUESTION: message,
        Section.CONVERSATION: "\n".join(f"{one.type}: {shown_message(one)}" for one in preview.prompt[1:-1]),
    }
    parts = [
        ContextPart(
            name=section.value,
            tokens=assembled.tokens.get(section, 0),
            limit=assembled.budget.get(section, 0),
            dropped=assembled.dropped.get(section, 0),
            place=_PLACES.get(section, "memory"),
            text=texts.get(section, ""),
            memories=assembled.ids.get(section, []),
        )
        for section in Section
        if assembled.tokens.get(section) or assembled.dropped.get(section)
    ]
    return ContextAnswer(
        parts=parts,
        tokens=sum(assembled.tokens.values()),
        limit=preview.frame.available,
        cut=assembled.cut,
        missing=dict(assembled.missing),
        retrieved=assembled.layout["retrieved"],
        prompt=[PromptMessage(role=one.type, content=shown(one)) for one in preview.prompt],
    )
