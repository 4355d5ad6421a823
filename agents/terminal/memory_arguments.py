"""The arguments of `react-mem memory`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from datetime import date, datetime, time
from typing import TypeAlias

from react_mem.agents.terminal.graph import add_graph_arguments
from react_mem.memory import MemoryScope

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_parser(commands: Subparsers, user: Callable[[str], str], default_user: str) -> None:
    """Add the subcommands to a command line.

    Args:
        commands: Where.
        user: Checks a user's id.
        default_user: Whose memory, if nobody is named.
    """
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--user", type=user, default=default_user, help="whose memory (default: %(default)s)")
    shared.add_argument(
        "--agent", default="assistant", help="the agent whose embedding model and policy to use (default: %(default)s)"
    )
    shared.add_argument("--json", action="store_true", help="print JSON")
    scoped = argparse.ArgumentParser(add_help=False)
    scoped.add_argument(
        "--scope", action="append", type=MemoryScope, choices=list(MemoryScope), help="only this scope; may be repeated"
    )
    scoped.add_argument("--limit", type=_count, default=50, help="how many, at most (default: %(default)s)")

    dated = argparse.ArgumentParser(add_help=False)
    dated.add_argument(
        "--as-of", type=_time, metavar="TIME", help="what was believed then: a date (its end), or a time, in ISO 8601"
    )

    memory = commands.add_parser("memory", help="see, search, export, import and forget what is remembered")
    verbs = memory.add_subparsers(dest="verb", required=True)
    listing = verbs.add_parser(
        "list", parents=[shared, scoped], help="what is remembered: facts first, then the rest, the latest first"
    )
    listing.add_argument(
        "--all", action="store_true", help="what memory notes for itself too, such as chains of summaries"
    )
    show = verbs.add_parser("show", parents=[shared], help="one memory, whole")
    show.add_argument("id", help="its id, or the beginning of it")
    correct = verbs.add_parser("correct", parents=[shared], help="put your own words in the place of a fact")
    correct.add_argument("id", help="its id, or the beginning of it")
    correct.add_argument("text", help="what is true instead")
    delete = verbs.add_parser("delete", parents=[shared], help="forget one memory, with what said it and came of it")
    delete.add_argument("id", help="its id, or the beginning of it")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    verbs.add_parser("threads", parents=[shared], help="the conversations that were held, the latest first")
    search = verbs.add_parser("search", parents=[shared, scoped, dated], help="what an agent would find")
    search.add_argument("query", help="what to look for")
    history = verbs.add_parser(
        "history", parents=[shared, dated], help="facts that hold and that no longer do, with dates"
    )
    history.add_argument("query", nargs="?", default="", help="what to look for; everything by default")
    history.add_argument("--limit", type=_count, default=50, help="how many, at most (default: %(default)s)")
    verbs.add_parser("pending", parents=[shared], help="turns from which nothing has been drawn yet")
    export = verbs.add_parser("export", parents=[shared], help="everything that is remembered, as JSON Lines")
    export.add_argument("file", nargs="?", default="-", help="where to; by default, and for -, the standard output")
    import_ = verbs.add_parser("import", parents=[shared], help="bring an export back; nothing is overwritten")
    import_.add_argument("file", help="where from; - is the standard input")
    graph = verbs.add_parser("graph", parents=[shared], help="links between memories: a page, JSON or GraphML")
    add_graph_arguments(graph)
    forget = verbs.add_parser("forget", parents=[shared], help="forget one conversation, or everything about the user")
    forget.add_argument("--session", help="only this conversation and what came of it")
    forget.add_argument("--yes", action="store_true", help="do not ask")


def _count(value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError("a limit is a whole number from 1 on")
    return number


def _time(value: str) -> datetime:
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            return datetime.combine(date.fromisoformat(value), time.max).astimezone()
        at = datetime.fromisoformat(value)
        return at if at.tzinfo else at.astimezone()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError("a time is an ISO 8601 date or time, such as 2026-03-03") from None
