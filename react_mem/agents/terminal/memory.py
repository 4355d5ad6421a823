"""`react-mem memory` and `context`: the memories of a user at the command line, and the prompt for a question."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage
from rich.text import Text

from react_mem.agents.config import AgentConfig
from react_mem.agents.context_preview import REMEMBERING, ContextPreview, preview_context, shown_message
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.agents.terminal.doctor_command import nothing_of
from react_mem.agents.terminal.output import (
    CELL,
    NOT_FORGOTTEN,
    Terminal,
    counted,
    one_line,
    printable,
    write_lines,
    written_lines,
)
from react_mem.agents.terminal.progress import Progress
from react_mem.errors import MemoryCommandError
from react_mem.integrations.coding_hooks.owed_notes import forget_owed
from react_mem.memory import (
    Fact,
    MemoryFacade,
    MemoryItem,
    MemoryQuery,
    MemoryResultItem,
    MemoryScope,
    Message,
    Receipt,
    StorageSettings,
)
from react_mem.memory.context import Section, is_over, is_users, labelled
from react_mem.memory.language import is_question
from react_mem.memory.records import KINDS, AuditActor, AuditReason, acting, kind_named
from react_mem.memory.runtime import open_storage, own_records, render_export, searched_scopes
from react_mem.memory.turns import Identity

SESSION = "terminal"
"""The conversation of a search from the command line."""

_MAX_DRAWN = 2_000
"""Memories on a page, the best linked: of more a browser draws nothing but a cloud, and takes its time."""

_LINES = 1_000
"""Lines of an export written at a time."""

_ANEW = "Nothing was written to the file; the same command begins anew."


async def run_memory(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
) -> int:
    """Run a subcommand; return the exit code: 1 if the user said no, or some forgotten data is left or unchecked."""
    command = _Command(arguments, config, settings, console)
    if arguments.verb == "forget":
        session = arguments.session
        if not command.agreed(f"the conversation {session}" if session else f"everything about {arguments.user}"):
            return 1
    # as wide as the command line asks for
    limit = getattr(arguments, "limit", None)
    policy = config.memory if limit is None else config.memory.showing(limit)
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.memory, policy, checkpointer=storage.checkpointer)
        with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
            carry_out: Callable[[MemoryFacade], Awaitable[int]] = getattr(command, arguments.verb)
            return await carry_out(memory)


class _Command:
    """One subcommand; each public coroutine is a verb of the command line."""

    def __init__(
        self, arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
    ) -> None:
        self.arguments = arguments
        self._settings = settings
        self._config = config
        self._out = console
        self._user: str = arguments.user

    def agreed(self, what: str) -> bool:
        if self.arguments.yes:
            return True
        if not (sys.stdin and sys.stdin.isatty()):
            raise MemoryCommandError(f"forgetting {what} cannot be undone: say --yes")
        try:
            answer = self._out.input(Text(f"forget {what}, for good? (yes/no) "))
        except (EOFError, KeyboardInterrupt):
            answer = ""
        is_sure = answer.strip().lower() in {"y", "yes"}
        if not is_sure:
            self._out.say(NOT_FORGOTTEN, "dim")
        return is_sure

    async def list(self, memory: MemoryFacade) -> int:
        found = await memory.list_records(self._user, self.arguments.scope or list(MemoryScope))
        if not self.arguments.scope:
            found = [item for item in found if kind_named(item.source).listed]
        found.sort(key=lambda item: place(item.source))
        return await self._show_items(found[: self.arguments.limit], len(found))

    async def search(self, memory: MemoryFacade) -> int:
        query = MemoryQuery(
            user_id=self._user,
            session_id=SESSION,
            agent_id=self._config.name,
            scopes=self.arguments.scope or searched_scopes(),
            query=self.arguments.query,
            as_of=self.arguments.as_of,
            extra={"cut": False},
        )
        found = sorted(await memory.read(query), key=rank)
        return await self._show_items(found, len(found))

    async def show(self, memory: MemoryFacade) -> int:
        item = await self._named(memory)
        self._out.json(item.model_dump(mode="json") if self._out.as_json else item.payload)
        return 0

    async def correct(self, memory: MemoryFacade) -> int:
        item = await self._named(memory)
        try:
            fact = await memory.correct(self._user, item.id, self.arguments.text)
        except ValueError as error:
            raise MemoryCommandError(f"{item.id[:_ID]} ({item.source}): {error}") from error
        data = {"corrected": item.id, "by": fact.id}
        self._out.report(data, f"corrected: {one_line(fact.text, CELL)} ({fact.id[:_ID]}); history has what it was")
        return 0

    async def delete(self, memory: MemoryFacade) -> int:
        item = await self._named(memory)
        if not await asyncio.to_thread(self.agreed, f"{item.source} {item.id[:_ID]}: {one_line(_text(item), 60)}"):
            return 1
        return self._forgotten([item.id], await memory.forget(self._user, item.id))

    def _forgotten(self, names: Sequence[str], receipt: Receipt, also: str = "") -> int:
        data = {
            "forgotten": list(names),
            **receipt.model_dump(mode="json"),
            "problems": list(receipt.problems),
            "unchecked": [check.name for check in receipt.unchecked],
        }
        self._out.report(data, f"forgotten{also}: {receipt.in_short()}")
        return 0 if receipt.is_gone else 1

    async def undo(self, memory: MemoryFacade) -> int:
        found = [one for one in await memory.hidden(self._user) if one.id.startswith(self.arguments.id)]
        if not self.arguments.id:
            rows = [(f"{one.erase_at:%Y-%m-%d %H:%M}", one.id[:_ID], "; ".join(one.texts)) for one in found]
            return self._out.table(("erased at", "id", "hidden"), rows, [one.model_dump(mode="json") for one in found])
        if len(found) != 1:
            raise MemoryCommandError(
                f"{len(found)} of what is hidden of {self._user} begin with {self.arguments.id!r}; "
                "`react-mem memory undo` lists it"
            )
        if self.arguments.erase:
            return self._forgotten([found[0].id], await memory.erase(self._user, found[0].id))
        undone = await memory.undo(self._user, found[0].id)
        self._out.report(undone.model_dump(mode="json"), f"brought back: {'; '.join(undone.texts)}")
        return 0

    async def threads(self, memory: MemoryFacade) -> int:
        held = (await memory.conversations(self._user, limit=_ALL)).items
        rows = [(f"{one.last:%Y-%m-%d %H:%M}", one.agent, str(one.messages), one.id, one.about) for one in held]
        return await self._table(
            ("last said", "agent", "messages", "thread", "began with"),
            rows,
            [one.model_dump(mode="json") for one in held],
        )

    async def _named(self, memory: MemoryFacade) -> MemoryResultItem:
        wanted = self.arguments.id
        found = [item for item in await memory.list_records(self._user) if item.id.startswith(wanted)]
        exact = [item for item in found if item.id == wanted] or found
        if len(exact) > 1:
            raise MemoryCommandError(
                f"{len(exact)} memories of {self._user} begin with {wanted!r}: give more of the id"
            )
        if not exact:
            raise MemoryCommandError(
                f"{self._user} has no memory {wanted!r}; `react-mem memory list` shows what there is"
            )
        return exact[0]

    async def history(self, memory: MemoryFacade) -> int:
        facts = await memory.semantic.history(
            self.arguments.query, user_id=self._user, as_of=self.arguments.as_of, limit=self.arguments.limit
        )
        rows = [(_day(f.valid_from or f.said_at), _end(f), f.id[:_ID], labelled(f.to_value(), f.text)) for f in facts]
        return await self._table(("since", "until", "id", "fact"), rows, [fact.to_value() for fact in facts])

    async def pending(self, memory: MemoryFacade) -> int:
        waiting = await memory.pending(self._user)
        rows = [
            (_day(turn["created_at"]), turn["session_id"], str(turn["attempts"]), turn["last_error"])
            for turn in waiting
        ]
        return await self._table(("since", "conversation", "tries", "last error"), rows, waiting)

    async def export(self, memory: MemoryFacade) -> int:
        """Write everything: as JSON Lines, as a page, or as Markdown; the first and the last can be imported."""
        where = self.arguments.file
        form: Literal["html", "jsonl", "markdown"] = self.arguments.format
        own = done = 0
        with Progress("Exporting", "records", quiet=self.arguments.quiet or self._out.as_json, go_on=_ANEW) as progress:
            lines: list[str] = []
            with written_lines(where) as write:
                async for line in memory.export_user(self._user, told=progress):
                    lines.append(line)
                    done += 1
                    if form == "jsonl" and len(lines) == _LINES:
                        own += await asyncio.to_thread(own_records, lines)
                        await asyncio.to_thread(write, lines)
                        lines = []
                own += await asyncio.to_thread(own_records, lines)
                if form != "jsonl":
                    lines = await asyncio.to_thread(render_export, lines, form)
                await asyncio.to_thread(write, lines)
        if where != "-":
            shown = done - 1 - own
            also = f", and {counted(own, 'record')} that memory keeps for itself," if own else ""
            is_one = shown + own == 1
            self._out.report(
                {"exported": done - 1, "memories": shown, "own_records": own, "file": where},
                f"{counted(shown, 'memory', 'memories')}{also} {'is' if is_one else 'are'} in {where}",
            )
        return 0

    async def graph(self, memory: MemoryFacade) -> int:
        where = self.arguments.out
        as_data = where.endswith(".json") if where != "-" else self._out.as_json
        if where != "-" and not where.endswith((".html", ".json")):
            raise MemoryCommandError(f"{where} says nothing of a form: end it with .html or .json")
        graph = await memory.graph.whole(self._user)
        shown = graph if as_data else graph.largest(_MAX_DRAWN)
        await asyncio.to_thread(write_lines, where, [shown.written("json" if as_data else "html")])
        if where != "-":
            nodes, links, left_out = len(shown.nodes), len(shown.links), len(graph.nodes) - len(shown.nodes)
            rest = f"; {left_out} more memories, with fewer links, are left out" if left_out else ""
            data = {"memories": nodes, "links": links, "left_out": left_out, "file": where}
            shown_nodes = counted(nodes, "memory", "memories")
            self._out.report(data, f"{shown_nodes} and {counted(links, 'link')} are in {where}{rest}")
        return 0

    async def forget(self, memory: MemoryFacade) -> int:
        session, where = self.arguments.session, self.arguments.receipt
        if session:
            names, also = [session], ""
            receipt = await memory.delete_session(self._user, session, proof=bool(where))
        else:
            names = await memory.forget_user(self._user, proof=bool(where))
            receipt, also = names.receipt, f", {len(names)} conversations included"
        await asyncio.to_thread(forget_owed, self._user, session or "")
        if where:
            signed = await memory.signed(self._user, receipt)
            await asyncio.to_thread(write_lines, where, [signed.model_dump_json()])
        return self._forgotten(names, receipt, also)

    async def _show_items(self, items: Sequence[MemoryResultItem], total: int) -> int:
        data = [item.model_dump(mode="json") for item in items]
        rows = [(_day(item.payload.get("created_at", "")), item.source, item.id[:_ID], _text(item)) for item in items]
        code = await self._table(("date", "kind", "id", "memory"), rows, data)
        if total > len(items) and not self._out.as_json:
            self._out.say(f"and {total - len(items)} more; --limit shows them", "dim")
        return code

    async def _table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], data: Any) -> int:
        """Show rows; without any, the users with memories."""
        wanted = not rows and not self._out.as_json
        empty = await nothing_of(self._user, self._settings) if wanted else ""
        return self._out.table(columns, rows, data, empty)


_ID = 8  # characters of an id in a table


def place(kind: str) -> int:
    """Return the position of a kind in a list, facts first."""
    return [*KINDS].index(kind) if kind in KINDS and KINDS[kind].listed else len(KINDS)


def rank(item: MemoryResultItem) -> tuple[int, int]:
    """Return the sort key of a finding: its kind, then statements before questions and outdated memories."""
    payload = item.payload
    past = _is_past(payload)
    is_message = payload.get("kind") == Message.kind_name()
    asks = is_message and (payload.get("role") != "user" or is_question(str(payload.get("text", ""))))
    return place(item.source), int(past or asks)


def _is_past(payload: Mapping[str, Any]) -> bool:
    return payload.get("current") is False or is_over(payload, datetime.now(UTC))


def _text(item: MemoryResultItem) -> str:
    if item.payload.get("text"):
        # without the mark, a fact and the one that replaced it would look equally true
        mark = "(past) " if _is_past(item.payload) else ""
        changed = MemoryItem.found(item, datetime.now(UTC)).changed
        text = labelled(item.payload, str(item.payload["text"]))
        return f"{mark}{text} ({changed})" if changed else mark + text
    return MemoryItem.of(item.scope, item.id, item.payload, datetime.now(UTC)).title


def _day(when: Any) -> str:
    return str(when)[:10]


def _end(fact: Fact) -> str:
    over = fact.valid_to or fact.retired_at
    if over is not None:
        return _day(over)
    return "" if fact.current else "past"


# `react-mem context`: the prompt for a question, with the tokens of each part. No model is called, nothing is written.

_NAMED = 5
"""Conversations listed where the wanted one does not exist."""

_ALL = 100_000  # conversations that `memory threads` lists, at most


async def run_context(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
) -> int:
    """Show the prompt for a question, with the tokens of each part; return the exit code.

    No model is called, nothing is written, and the web is not searched, so its pages are missing.
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
            held = await MemoryFacade(storage.store).conversations(arguments.user, limit=_NAMED)
            named = ", ".join(one.id for one in held.items) or "there are none yet"
            raise MemoryCommandError(
                f"nothing was said in the thread {arguments.thread!r}: give a --query, or one of the threads of "
                f"{arguments.user}: {named}"
            )
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
