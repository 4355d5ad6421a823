"""The arguments of `react-mem`: commands with their verbs and options, and the function that runs each."""

from __future__ import annotations

import argparse
import re
from datetime import date, datetime, time
from importlib.metadata import version
from typing import Any, TypeAlias

from react_mem.integrations.importers.import_memories import IMPORTED_SYSTEMS
from react_mem.integrations.quality import QUALITY_CHECKS
from react_mem.logged_in import MAX_USER, is_user_id, user_name
from react_mem.memory import MemoryScope
from react_mem.tools.registry import valid_names

_RUNS = {
    command: f"react_mem.agents.terminal.{module}:run_{command}"
    for module, commands in {
        "demo": ("demo", "new"),
        "chat": ("chat",),
        "import_command": ("import", "skills", "mcp"),
        "memory": ("memory", "context"),
        "doctor_command": ("users",),
        "records_commands": ("worker", "database", "keys", "maintain", "audit", "receipt", "retention", "hold"),
    }.items()
    for command in commands
} | {"serve": "react_mem.graphs.serving:run_serve"}
"""Functions of the commands; each module is imported when one of its commands runs."""

_MAKES_A_DATABASE = frozenset(("chat", "demo", "import", "skills import", "mcp", "hook", "serve", "worker", "hold set"))
_NEEDS_NO_DATABASE = frozenset(
    ("new", "keys new", "receipt key", "receipt verify", "database distribute", "database reembed")
)


_Option: TypeAlias = tuple[str, dict[str, Any]]
"""An option or argument of commands: its name, and the settings of `add_argument`; `either` excludes another one."""


def _option(name: str, help: str, **settings: Any) -> _Option:
    return name, {"help": help, **settings}


def _flag(name: str, help: str) -> _Option:
    return _option(name, help, action="store_true")


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line, which also yields `run` (a function as `module:name`) and `reads`.

    The latter is false for a command that needs no database or makes one.
    """
    parser = argparse.ArgumentParser(prog="react-mem", description="LangGraph agents that remember.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('react-mem')}")
    groups = {"": parser.add_subparsers(dest="command", required=True)}
    commands = _commands()
    for name, (help, *options) in commands.items():
        group, _, last = name.rpartition(" ")
        command = groups[group].add_parser(last, help=help)
        command.set_defaults(run=_RUNS.get(name.partition(" ")[0]))
        command.set_defaults(reads=name not in _MAKES_A_DATABASE | _NEEDS_NO_DATABASE)
        either = command.add_mutually_exclusive_group() if name == "import" else command
        for option, settings in options:
            (either if settings.get("either") else command).add_argument(
                option, **{key: value for key, value in settings.items() if key != "either"}
            )
        if any(other.startswith(f"{name} ") for other in commands):
            groups[name] = command.add_subparsers(dest="verb", required=True)
    return parser


def _commands() -> dict[str, tuple[Any, ...]]:
    """Return the commands by name, each with its help and its options."""
    owner = _option("--user", "whose memory (default: %(default)s)", type=_user_id, default=user_name())
    named = _option("--user", "whose memory", type=_user_id, required=True)
    own, told = (owner, _AGENT), (owner, _AGENT, _JSON)
    one = _option("id", "its id, or the beginning of it")
    everything = _option("query", "what to look for; everything by default", nargs="?", default="")
    limit = _option("--limit", "how many, at most (default: %(default)s)", type=_count, default=50)
    scopes = f"only this scope, with what memory notes for itself; may be repeated: {', '.join(MemoryScope)}"
    scope = _option("--scope", scopes, action="append", type=_scope, metavar="SCOPE")
    as_of = "what was believed then: a date (its end), or a time, in ISO 8601"
    dated = _option("--as-of", as_of, type=_time, metavar="TIME")
    yes = _flag("--yes", "do not ask")
    session = _option("--session", "only this conversation; everything by default", default="")
    reference = _option("reference", "what the hold is known by, such as the number of a case")
    return {
        "demo": ("watch an agent learn in one conversation and remember in the next",),
        "chat": (
            "talk to an agent; it remembers when you come back",
            *own,
            _flag("--verbose", "show what is retrieved, thought, done and stored"),
        ),
        "new": (
            "write a project of your own around an agent: config, tool, tests, server",
            _option("name", "its name, such as my-agent; its folder is made here"),
        ),
        "import": ("bring memories along from other systems, or an export back; nothing is overwritten", *_IMPORTING),
        "memory": ("see, search, export and forget what is remembered",),
        "memory list": (
            "what is remembered: facts first, then the rest, the latest first",
            *told,
            scope,
            limit,
        ),
        "memory show": ("one memory, whole", *told, one),
        "memory correct": (
            "put your own words in the place of a fact",
            *told,
            one,
            _option("text", "what is true instead"),
        ),
        "memory delete": ("forget one memory, with what said it and came of it", *told, one, yes),
        "memory undo": (
            "what a conversation asked to forget is hidden for a day: list it, or bring it back",
            *told,
            _option("id", "its id, or the beginning of it; by default all are listed", nargs="?", default=""),
            _flag("--erase", "erase it now instead"),
        ),
        "memory threads": ("the conversations that were held, the latest first", *told),
        "memory search": (
            "what an agent would find",
            *told,
            scope,
            limit,
            dated,
            _option("query", "what to look for"),
        ),
        "memory history": ("facts that hold and that no longer do, with dates", *told, dated, everything, limit),
        "memory pending": ("turns from which nothing has been drawn yet", *told),
        "memory export": (
            "everything that is remembered, as JSON Lines",
            *told,
            _option("file", "where to; by default, and for -, the standard output", nargs="?", default="-"),
            _option(
                "--format",
                "JSON Lines or Markdown, which come back, or a page without scripts (default: %(default)s)",
                choices=("jsonl", "html", "markdown"),
                default="jsonl",
            ),
            _QUIET,
        ),
        "memory graph": (
            "links between memories: a page to look at, or JSON for other programs",
            *told,
            _option("--out", "where to; by default, and for -, the standard output", default="-"),
        ),
        "memory forget": (
            "forget one conversation, or everything about the user",
            *told,
            _option("--session", "only this conversation and what came of it"),
            _option(
                "--receipt",
                "look through the whole database afterwards, and write a signed receipt",
                metavar="FILE",
            ),
            yes,
        ),
        "context": (
            "see the prompt for a question, with the tokens of each part",
            *told,
            _option("--thread", "the conversation", required=True),
            _option("--query", "the next question in it; by default the last one that was asked, once more"),
        ),
        "skills": ("skills as SKILL.md files, as Claude Code and other agents read them",),
        "skills export": (
            "write each skill in use as FOLDER/NAME/SKILL.md",
            *told,
            _option("folder", "where to; files that were written or edited by others are left as they are"),
        ),
        "skills import": (
            "take skills in, on probation; known ones stay",
            *told,
            _DRY_RUN,
            _option("where", "a SKILL.md, or a folder with such files in it and below", metavar="file"),
        ),
        "mcp": ("serve a client of the Model Context Protocol, such as Claude Code, over stdio", *own),
        "serve": (
            "serve REST, the page and MCP to users with API keys or tokens (JWT), with a worker",
            _AGENT,
            _option("--host", "where to listen (default: %(default)s, this machine alone)", default="127.0.0.1"),
            _option("--port", "the port (default: %(default)s)", type=_count, default=2025),
        ),
        "hook": (
            "one hook of a coding agent, such as Claude Code: its event on standard input",
            *own,
            _option("--seconds", "how long the coding agent waits, at most (default: 1 to 5)", type=float),
        ),
        "users": ("the users of whom something is remembered in this database, and where", _JSON),
        "doctor": (
            "which database, user, models and versions are used, of whom something is remembered, and what is off and "
            "why",
            *told,
            _flag("--check", "ask the models too: one text and one short answer"),
        ),
        "worker": ("do the work behind the turns of every agent, until it is stopped",),
        "maintain": (
            "do now what is done when a conversation has gone quiet, and end",
            _ANY_OWNER,
            _QUIET,
        ),
        "database": ("what is done with the database as a whole",),
        "database distribute": (
            "spread the tables over the nodes of a Citus cluster, each owner's rows on one of them",
            _QUIET,
        ),
        "database reembed": (
            "move to another embedding model, while nothing else uses the database",
            _QUIET,
            _option("--to", "`local`, or a model such as openai:NAME", required=True, metavar="MODEL"),
        ),
        "keys": ("the keys that memory is encrypted under",),
        "keys new": ("make a master key, for MEMORY_ENCRYPTION_KEY",),
        "keys status": ("which master keys wrap how many data keys, as JSON",),
        "keys rotate": (
            "wrap the data keys by the master key that is set, in place of those before it",
            _QUIET,
            _flag("--data-keys", "make new data keys too, and seal everything anew"),
        ),
        "keys seal": ("seal what is still in plain, or under a former data key", _QUIET),
        "audit": (
            "who did what with whose memory, where MEMORY_AUDIT=1 records it",
            _option(
                "verb",
                "`verify` says whether anything was changed, added between or taken away; `quality` looks through the "
                "memories themselves (default: %(default)s)",
                nargs="?",
                choices=("list", "verify", "quality"),
                default="list",
            ),
            _option("--user", "only what was done with this user's memory, or is in it", type=_user_id),
            _option(
                "--since",
                "from when on: a date, or a time, in ISO 8601, such as 2026-01-31",
                type=_since,
                metavar="TIME",
            ),
            _option("--json", "print JSON: of the log a line an entry", action="store_true"),
            _option(
                "--head",
                "an end that `verify` printed earlier; fails if it is no longer in the log",
                metavar="NUMBER:HASH",
            ),
            _option(
                "--fail-on",
                "of `quality`: exit with 1 where more than COUNT (0) are found; may be repeated: "
                + ", ".join(QUALITY_CHECKS),
                action="append",
                default=[],
                type=_quality_limit,
                metavar="CHECK[=COUNT]",
            ),
            _QUIET,
        ),
        "receipt": ("signed receipts of what was forgotten",),
        "receipt key": ("the public key of receipts: of MEMORY_RECEIPT_KEY, else of this database",),
        "receipt verify": (
            "whether a receipt is as the server signed it",
            _option("file", "the receipt; - is the standard input"),
            _option("--public-key", "the server's, as `receipt key` prints it; the database's by default"),
            _option("--user", "whom it must be about", type=_user_id),
        ),
        "retention": ("remove now what is older than the agents keep it", _ANY_OWNER, _DRY_RUN, _JSON, _QUIET),
        "hold": ("legal holds: what may not be removed, by retention or by the user",),
        "hold list": ("the holds there are", _ANY_OWNER, _JSON),
        "hold set": ("keep what is remembered of a user", named, session, reference),
        "hold lift": ("let it go again", named, session, reference),
    }


def _quality_limit(value: str) -> tuple[str, int]:
    check, equals, most = value.partition("=")
    if check not in QUALITY_CHECKS or (equals and not most.isdecimal()):
        raise argparse.ArgumentTypeError(f"give one of {', '.join(QUALITY_CHECKS)}, with =COUNT or without")
    return check, int(most or 0)


def _mapped(value: str) -> tuple[str, str]:
    name, equals, user = value.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError("an owner is given as NAME=USER")
    return name, _user_id(user)


def _count(value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError("a limit is a whole number from 1 on")
    return number


def _scope(value: str) -> MemoryScope:
    if value in [*MemoryScope]:
        return MemoryScope(value)
    raise argparse.ArgumentTypeError(
        f"there is no scope {value!r}; {valid_names(value, [scope.value for scope in MemoryScope])}"
    )


def _since(value: str) -> datetime:
    return _time(value, of_a_day=time.min)


def _time(value: str, of_a_day: time = time.max) -> datetime:
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            return datetime.combine(date.fromisoformat(value), of_a_day).astimezone()
        at = datetime.fromisoformat(value)
        return at if at.tzinfo else at.astimezone()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            "a time is an ISO 8601 date or time, such as 2026-03-03 or 2026-03-03T20:00"
        ) from None


def _user_id(value: str) -> str:
    if not is_user_id(value):
        raise argparse.ArgumentTypeError(f"a user's id is 1 to {MAX_USER} printable characters")
    return value


_AGENT = _option(
    "--agent", "the name of an agent config, or the path of a YAML file (default: %(default)s)", default="assistant"
)
_ANY_OWNER = _option("--user", "only this user's memory; everybody's by default", type=_user_id)
_DRY_RUN = _flag("--dry-run", "write and remove nothing, and say what would be")
_JSON = _flag("--json", "print JSON")
_QUIET = _flag("--quiet", "show no progress")
_IMPORTING: tuple[_Option, ...] = (
    _AGENT,
    _DRY_RUN,
    _JSON,
    _QUIET,
    _flag(
        "--restore",
        "of an export: keep whose words it says they are; for a backup that nobody else has had in hand",
    ),
    _option(
        "where", "a file, a folder or an archive; - is the standard input; of langmem, the database", metavar="file"
    ),
    _option(
        "--from",
        "the system that it is from (default: %(default)s, an export of this one)",
        dest="system",
        choices=IMPORTED_SYSTEMS,
        default="jsonl",
    ),
    _option(
        "--user",
        "the user who gets all of it; by default the one that each entry names, and you where it names none",
        type=_user_id,
        either=True,
    ),
    _option(
        "--map",
        "the user who gets what the file has of NAME; may be repeated, and other users' entries are left out",
        action="append",
        default=[],
        type=_mapped,
        metavar="NAME=USER",
        either=True,
    ),
    _flag("--read", "have the agent's worker draw facts from imported conversations"),
    _option(
        "--prefix",
        "for langmem: the namespace before the user's name, with dots, usually memories; where labels follow behind "
        "the name, {user} stands in its place, as in memories.{user}",
        default="",
    ),
)
