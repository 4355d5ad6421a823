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

FORMATS = ("html", "json")


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
}
"""Functions of the commands; each module is imported when one of its commands runs."""


_Option: TypeAlias = tuple[str, dict[str, Any]]
"""An option or argument of commands: its name, and the settings of `add_argument`."""


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
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, help: str, *options: _Option, reads: bool = True) -> argparse.ArgumentParser:
        return _added(commands, name, help, *options, run=_RUNS.get(name), reads=reads)

    owner = _option("--user", "whose memory (default: %(default)s)", type=_user_id, default=user_name())
    add(
        "demo",
        "watch an agent learn in one conversation and remember in the next",
        _option("--conversation", argparse.SUPPRESS, type=int, choices=(1, 2)),
        _option("--user", argparse.SUPPRESS, default="demo"),
        reads=False,
    )
    add(
        "chat",
        "talk to an agent; it remembers when you come back",
        owner,
        _AGENT,
        _flag("--verbose", "show what is retrieved, thought, done and stored"),
        reads=False,
    )
    add(
        "new",
        "write a project of your own around an agent: config, tool, tests, server",
        _option("name", "its name, such as my-agent; its folder is made here"),
        reads=False,
    )
    _add_import(add("import", "bring memories along from other systems", *_IMPORTING, reads=False))
    _add_memory(add("memory", "see, search, export, import and forget what is remembered"), owner)
    add(
        "context",
        "see the prompt for a question, with the tokens of each part",
        owner,
        _option("--thread", "the conversation", required=True),
        _option("--query", "the next question in it; by default the last one that was asked, once more"),
        _AGENT,
        _JSON,
    )
    verbs = _verbs(add("skills", "skills as SKILL.md files, as Claude Code and other agents read them"))
    folder = _option("folder", "where to; files that were written or edited by others are left as they are")
    _added(verbs, "export", "write each skill in use as FOLDER/NAME/SKILL.md", owner, _AGENT, _JSON, folder)
    where = _option("where", "a SKILL.md, or a folder with such files in it and below", metavar="file")
    _added(
        verbs,
        "import",
        "take skills in, on probation; known ones stay",
        owner,
        _AGENT,
        _JSON,
        _DRY_RUN,
        where,
        reads=False,
    )
    add(
        "mcp",
        "serve a client of the Model Context Protocol, such as Claude Code, over stdio",
        owner,
        _AGENT,
        reads=False,
    )
    add(
        "hook",
        "one hook of a coding agent, such as Claude Code: its event on standard input",
        owner,
        _AGENT,
        _option("--seconds", "how long the coding agent waits, at most (default: 1 to 5)", type=float),
        reads=False,
    )
    add("users", "the users of whom something is remembered in this database, and where", _JSON)
    add(
        "doctor",
        "which database, user, models and versions are used, and what is off and why",
        owner,
        _AGENT,
        _flag("--check", "ask the models too: one text and one short answer"),
        _JSON,
    )
    add("worker", "do the work behind the turns of every agent, until it is stopped", reads=False)

    verbs = _verbs(add("database", "what is done with the database as a whole"))
    distribute = "spread the tables over the nodes of a Citus cluster, each owner's rows on one of them"
    _added(verbs, "distribute", distribute, _QUIET, reads=False)
    reembed = "move to another embedding model, while nothing else uses the database"
    to = _option("--to", "`local`, or a model such as openai:NAME", required=True, metavar="MODEL")
    _added(verbs, "reembed", reembed, _QUIET, to, reads=False)

    verbs = _verbs(add("keys", "the keys that memory is encrypted under"))
    _added(verbs, "new", "make a master key, for MEMORY_ENCRYPTION_KEY", reads=False)
    _added(verbs, "status", "which master keys wrap how many data keys, as JSON")
    rotate = "wrap the data keys by the master key that is set, in place of those before it"
    _added(verbs, "rotate", rotate, _QUIET, _flag("--data-keys", "make new data keys too, and seal everything anew"))
    _added(verbs, "seal", "seal what is still in plain, or under a former data key", _QUIET)

    _add_audit(add("audit", "who did what with whose memory, where MEMORY_AUDIT=1 records it", _QUIET))

    verbs = _verbs(add("receipt", "signed receipts of what was forgotten"))
    key = "the public key of receipts: of MEMORY_RECEIPT_KEY, else of this database"
    _added(verbs, "key", key, reads=False)
    _added(
        verbs,
        "verify",
        "whether a receipt is as the server signed it",
        _option("file", "the receipt; - is the standard input"),
        _option("--public-key", "the server's, as `receipt key` prints it; the database's by default"),
        _option("--user", "whom it must be about", type=_user_id),
        reads=False,
    )
    add("retention", "remove now what is older than the agents keep it", _ANY_OWNER, _DRY_RUN, _JSON, _QUIET)

    verbs = _verbs(add("hold", "legal holds: what may not be removed, by retention or by the user"))
    _added(verbs, "list", "the holds there are", _ANY_OWNER, _JSON)
    for verb, what in (("set", "keep what is remembered of a user"), ("lift", "let it go again")):
        _added(
            verbs,
            verb,
            what,
            _option("--user", "whose memory", type=_user_id, required=True),
            _option("--session", "only this conversation; everything by default", default=""),
            _option("reference", "what the hold is known by, such as the number of a case"),
            reads=verb != "set",
        )
    add("maintain", "do now what is done when a conversation has gone quiet, and end", _ANY_OWNER, _QUIET)
    return parser


def _added(
    parsers: Any, name: str, help: str, *options: _Option, run: str | None = None, **defaults: Any
) -> argparse.ArgumentParser:
    """Add a command, or a verb of one, with its options; a verb runs as its command does if `run` is not given."""
    parser: argparse.ArgumentParser = parsers.add_parser(name, help=help)
    for option, settings in options:
        parser.add_argument(option, **settings)
    parser.set_defaults(**defaults, **({"run": run} if run else {}))
    return parser


def _verbs(command: argparse.ArgumentParser) -> Any:
    return command.add_subparsers(dest="verb", required=True)


def _add_audit(audit: argparse.ArgumentParser) -> None:
    audit.add_argument(
        "verb",
        nargs="?",
        choices=("list", "verify", "quality"),
        default="list",
        help="`verify` says whether anything was changed, added between or taken away; `quality` looks through the "
        "memories themselves (default: %(default)s)",
    )
    audit.add_argument("--user", type=_user_id, help="only what was done with this user's memory")
    audit.add_argument(
        "--since", type=_since, metavar="TIME", help="from when on: a date, or a time, in ISO 8601, such as 2026-01-31"
    )
    audit.add_argument("--json", action="store_true", help="print JSON: of the log a line an entry")
    audit.add_argument(
        "--after", metavar="NUMBER:HASH", help="verify what comes after an entry that was verified before"
    )
    audit.add_argument(
        "--head",
        metavar="NUMBER:HASH",
        help="an end that `verify` printed earlier; fails if it is no longer in the log",
    )
    quality = audit.add_argument_group("quality")
    quality.add_argument("--store", metavar="MODULE:ATTRIBUTE", help="any LangGraph store, or what opens one")
    quality.add_argument(
        "--stale-after", type=_count, default=365, metavar="DAYS", help="days without a write (default: %(default)s)"
    )
    quality.add_argument(
        "--fail-on",
        action="append",
        default=[],
        type=_quality_limit,
        metavar="CHECK[=COUNT]",
        help=f"exit with 1 where more than COUNT (0) are found; may be repeated: {', '.join(QUALITY_CHECKS)}",
    )


def _add_import(import_: argparse.ArgumentParser) -> None:
    import_.add_argument(
        "where",
        metavar="file",
        help="a file, a folder or an archive; - is the standard input; of langmem, the database",
    )
    import_.add_argument(
        "--from", dest="system", choices=IMPORTED_SYSTEMS, required=True, help="the system that it is from"
    )
    owner = import_.add_mutually_exclusive_group()
    owner.add_argument(
        "--user",
        type=_user_id,
        help="the user who gets all of it; by default the one that each entry names, and you where it names none",
    )
    owner.add_argument(
        "--map",
        action="append",
        default=[],
        type=_mapped,
        metavar="NAME=USER",
        help="the user who gets what the file has of NAME; may be repeated, and other users' entries are left out",
    )
    import_.add_argument(
        "--read", action="store_true", help="have the agent's worker draw facts from imported conversations"
    )
    import_.add_argument(
        "--prefix",
        default="",
        help="for langmem: the namespace before the user's name, with dots, usually memories; where labels follow "
        "behind the name, {user} stands in its place, as in memories.{user}",
    )


def _add_memory(memory: argparse.ArgumentParser, owner: _Option) -> None:
    verbs = _verbs(memory)

    def add(name: str, help: str, *options: _Option, **defaults: Any) -> argparse.ArgumentParser:
        return _added(verbs, name, help, owner, *options, **defaults)

    shared = (_AGENT, _JSON)
    one = _option("id", "its id, or the beginning of it")
    yes = _flag("--yes", "do not ask")
    limit = _option("--limit", "how many, at most (default: %(default)s)", type=_count, default=50)
    scopes = f"only this scope; may be repeated: {', '.join(MemoryScope)}"
    scope = _option("--scope", scopes, action="append", type=_scope, metavar="SCOPE")
    as_of = "what was believed then: a date (its end), or a time, in ISO 8601"
    dated = _option("--as-of", as_of, type=_time, metavar="TIME")

    every = _flag("--all", "what memory notes for itself too, such as chains of summaries")
    add("list", "what is remembered: facts first, then the rest, the latest first", *shared, scope, limit, every)
    add("show", "one memory, whole", *shared, one)
    add("correct", "put your own words in the place of a fact", *shared, one, _option("text", "what is true instead"))
    add("delete", "forget one memory, with what said it and came of it", *shared, one, yes)
    add(
        "undo",
        "what a conversation asked to forget is hidden for a day: list it, or bring it back",
        *shared,
        _option("id", "its id, or the beginning of it; by default all are listed", nargs="?", default=""),
        _flag("--erase", "erase it now instead"),
    )
    add("threads", "the conversations that were held, the latest first", *shared)
    query = "what to look for"
    add("search", "what an agent would find", *shared, scope, limit, dated, _option("query", query))
    everything = _option("query", f"{query}; everything by default", nargs="?", default="")
    add("history", "facts that hold and that no longer do, with dates", *shared, dated, everything, limit)
    add("pending", "turns from which nothing has been drawn yet", *shared)
    form = "JSON Lines or Markdown, which come back, or a page without scripts (default: %(default)s)"
    add(
        "export",
        "everything that is remembered, as JSON Lines",
        *shared,
        _option("file", "where to; by default, and for -, the standard output", nargs="?", default="-"),
        _option("--format", form, choices=("jsonl", "html", "markdown"), default="jsonl"),
        _flag("--html", "the same as --format html"),
        _QUIET,
    )
    system = "the system that it is from (default: %(default)s)"
    import_ = add(
        "import",
        "bring an export back; nothing is overwritten",
        _option("where", "where from; - is the standard input", metavar="file"),
        _option("--from", system, dest="system", choices=IMPORTED_SYSTEMS, default="jsonl"),
        *_IMPORTING,
        run=_RUNS["import"],
        reads=False,
        map=[],
        read=False,
        prefix="",
    )
    import_.epilog = (
        "It becomes one user's. Of a file with the memories of several, react-mem import --map NAME=USER says whose is "
        "whose."
    )
    add(
        "graph",
        "links between memories: a page or JSON",
        *shared,
        _option("--out", "where to; by default, and for -, the standard output", default="-"),
        _option(
            "--format", "a page to look at, or for other programs (default: by the file's ending)", choices=FORMATS
        ),
    )
    add(
        "forget",
        "forget one conversation, or everything about the user",
        *shared,
        _option("--session", "only this conversation and what came of it"),
        _option("--receipt", "look through the whole database afterwards, and write a signed receipt", metavar="FILE"),
        yes,
    )


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
_RESTORE = _flag(
    "--restore",
    "of an export: keep whose words it says they are; for a backup that nobody else has had in hand",
)
_IMPORTING = (_AGENT, _DRY_RUN, _JSON, _QUIET, _RESTORE)
