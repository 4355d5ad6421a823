"""Preview of a prompt: what an agent would be given for a question, part by part. No model is called, nothing written.

The web is not searched either: what a search would bring is missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langgraph.store.base import BaseStore

from react_mem.agents.resolve import ResolvedAgent
from react_mem.memory import MemoryFacade
from react_mem.memory.context import (
    Assembled,
    Frame,
    Window,
    assemble,
    followed_by,
    lay_out,
    message_record_id,
    tool_tokens,
)
from react_mem.memory.turns import Identity

REMEMBERING = "react_mem"
"""The manager that puts a context together; another one has its system prompt and the whole thread as its prompt."""


@dataclass(frozen=True)
class ContextPreview:
    """A prompt, and how it came about.

    Args:
        frame: What it has to fit into.
        assembled: What was found for it.
        prompt: Its messages.
    """

    frame: Frame
    assembled: Assembled
    prompt: Sequence[BaseMessage]


async def preview_context(
    agent: ResolvedAgent,
    store: BaseStore,
    identity: Identity,
    thread: Sequence[AnyMessage],
    later: Sequence[AnyMessage] = (),
    *,
    named_by_records: bool = False,
) -> ContextPreview:
    """Return the prompt that an agent would be given for the last message of a thread.

    Args:
        agent: The agent, of the manager that remembers.
        store: Where memory is.
        identity: Who asks, in which conversation.
        thread: The messages, the question last.
        later: What was said after it, where it is asked once more: it was not known then.
        named_by_records: Whether the ids of the messages are those of their records, as memory has them.
    """
    policy = agent.config.memory
    instructions = followed_by(agent.config.system_prompt, await agent.standing.text())
    frame = Frame(
        thread=thread,
        policy=policy,
        window=Window.of(policy.context.window, agent.model),
        instructions=instructions,
        tool_tokens=tool_tokens(agent.tools),
    )
    query = frame.query(identity, agent.config.name)
    query.extra["seen"] += [message_record_id(identity.session_id, message) for message in later]
    if named_by_records:
        own = {message_record_id(identity.session_id, message): str(message.id) for message in thread}
        query.extra["seen"] = [own[id_] for id_ in query.extra["seen"] if id_ in own]
    results = await MemoryFacade(store, policy).read(query)
    assembled = assemble(frame, results, session_id=identity.session_id, recalls=True)
    prompt = lay_out(thread, assembled.layout, instructions, policy.context.message_chars)
    return ContextPreview(frame, assembled, prompt)


def shown_message(message: BaseMessage) -> str:
    """Return a message of a prompt as text, with the calls in it."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    called = [f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})" for call in calls]
    return "\n".join(filter(None, [message.text, *called]))
