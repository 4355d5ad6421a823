"""`react-mem context`: the prompt for a question, with the tokens of each part. No model is called, nothing is written.

The web is not searched either, so its pages are missing.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.store.base import BaseStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.context_preview import REMEMBERING, ContextPreview, preview_context, shown_message
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.agents.terminal.output import Terminal, printable
from react_mem.errors import MemoryCommandError
from react_mem.memory import MemoryFacade, StorageSettings
from react_mem.memory.context import Section, is_users
from react_mem.memory.runtime import open_storage
from react_mem.memory.turns import Identity

_NAMED = 5
"""Conversations listed where the wanted one does not exist."""


async def run_context(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
) -> int:
    """Show a context; return the exit code.

    Raises `MemoryCommandError` for an unknown conversation or an agent without memory, and `ModelConfigError` if the
    agent's model, whose window limits the context, cannot be loaded.
    """
    if config.manager != REMEMBERING:
        raise MemoryCommandError(
            f"the agent {config.name} has the manager {config.manager}: its prompt is the system prompt and the whole "
            f"thread; name an agent with the manager {REMEMBERING} by --agent"
        )
    agent = await asyncio.to_thread(resolve_agent, config)
    async with open_storage(settings) as storage:
        graph = build_agent(agent, store=storage.memory, checkpointer=storage.checkpointer)
        state = await graph.aget_state({"configurable": {"thread_id": arguments.thread}})
        messages = state.values.get("messages", [])
        thread = _asked(messages, arguments.query)
        if not thread:
            raise MemoryCommandError(await _no_thread(storage.store, arguments))
        identity = Identity(arguments.user, arguments.thread)
        preview = await preview_context(agent, storage.memory, identity, thread, messages[len(thread) :])
    if arguments.json:
        console.json(_data(preview))
    else:
        _draw(preview, console, searches=config.memory.web.enabled)
    return 0


def _asked(messages: Sequence[AnyMessage], query: str | None) -> list[AnyMessage]:
    """Return a thread up to its question: the given one, or the last one in it."""
    if query is not None and query.strip():
        return [*messages, HumanMessage(query, id="question")]
    asked = [place for place, message in enumerate(messages) if is_users(message)]
    return list(messages[: asked[-1] + 1]) if asked else []


async def _no_thread(store: BaseStore, arguments: argparse.Namespace) -> str:
    held = await MemoryFacade(store).dialog.conversations(arguments.user)
    named = ", ".join(one.id for one in held[:_NAMED])
    return (
        f"nothing was said in the thread {arguments.thread!r}: give a --query, or one of the threads of "
        f"{arguments.user}: {named or 'there are none yet'}"
    )


def _data(preview: ContextPreview) -> dict[str, Any]:
    window, assembled = preview.frame.window, preview.assembled
    return {
        "window": {"tokens": window.tokens, "known": window.known, "answer": window.tokens - preview.frame.available},
        "sections": {
            str(section): {
                "tokens": assembled.tokens.get(section, 0),
                "budget": assembled.budget.get(section, 0),
                "dropped": assembled.dropped.get(section, 0),
            }
            for section in Section
        },
        "messages": [{"role": message.type, "content": shown_message(message)} for message in preview.prompt],
    }


def _draw(preview: ContextPreview, console: Terminal, *, searches: bool) -> None:
    """Draw the messages, then the tokens of each section."""
    for message in preview.prompt:
        console.say(f"[{message.type}]", "bold")
        for line in shown_message(message).split("\n"):
            console.say(printable(line))
        console.print()

    def row(section: str, tokens: str, budget: str, dropped: str, style: str = "") -> None:
        console.say(f"{section.ljust(16)}{tokens.rjust(9)}{budget.rjust(10)}{dropped.rjust(9)}".rstrip(), style)

    assembled, window, available = preview.assembled, preview.frame.window, preview.frame.available
    row("section", "tokens", "may take", "dropped", style="dim")
    for section in Section:
        numbers = [found.get(section, 0) for found in (assembled.tokens, assembled.budget, assembled.dropped)]
        row(section.replace("_", " "), *(f"{number:,}" if number else "-" for number in numbers))
    row("together", f"{sum(assembled.tokens.values()):,}", f"{available:,}", "")
    whose = "" if window.known else " (assumed: the model does not say; set memory.context.window)"
    console.say(f"of a window of {window.tokens:,}{whose}, of which the answer may take the rest", "dim")
    if assembled.cut:
        console.say(f"{assembled.cut:,} characters of the question are left out: they do not fit", "dim")
    for name, cause in assembled.missing.items():
        console.say(f"without {name}: {cause}", "dim")
    if searches:
        console.say("the web was not searched for this", "dim")
