"""The arguments of `react-mem`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from datetime import date, datetime, time
from importlib.metadata import version

from react_mem.integrations.importers.import_memories import IMPORTED_SYSTEMS
from react_mem.integrations.quality import QUALITY_CHECKS
from react_mem.logged_in import MAX_USER, is_user_id, user_name
from react_mem.memory import MemoryScope
from react_mem.memory.runtime import Graph, to_html, to_json
from react_mem.tools.registry import valid_names

FORMATS: dict[str, Callable[[Graph], str]] = {"html": to_html, "json": to_json}
"""Forms of `react-mem memory graph`."""


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="react-mem", description="LangGraph agents that remember.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('react-mem')}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="watch an agent learn in one conversation and remember in the next")
    demo.add_argument("--conversation", type=int, choices=(1, 2), help=argparse.SUPPRESS)
    demo.add_argument("--user", default="demo", help=argparse.SUPPRESS)
    quietly = argparse.ArgumentParser(add_help=False)
    quietly.add_argument("--quiet", action="store_true", help="show no progress")
    owner = argparse.ArgumentParser(add_help=False)
    owner.add_argument("--user", type=_user_id, default=user_name(), help="whose memory (default: %(default)s)")
    chat = commands.add_parser("chat", parents=[owner], help="talk to an agent; it remembers when you come back")
    chat.add_argument("--agent", default="assistant", help="the name of an agent config, or the path of a YAML file")
    chat.add_argument("--verbose", action="store_true", help="show what is retrieved, thought, done and stored")
    new = commands.add_parser("new", help="write a project of your own around an agent: config, tool, tests, server")
    new.add_argument("name", help="its name, such as my-agent; its folder is made here")
    _add_import(commands.add_parser("import", help="bring memories along from other systems"))
    _add_memory(commands.add_parser("memory", help="see, search, export, import and forget what is remembered"), owner)
    context = commands.add_parser(
        "context", parents=[owner], help="see the prompt for a question, with the tokens of each part"
    )
    context.add_argument("--thread", required=True, help="the conversation")
    context.add_argument("--query", help="the next question in it; by default the last one that was asked, once more")
    context.add_argument("--agent", default="assistant", help="the agent (default: %(default)s)")
    context.add_argument("--json", action="store_true", help="print JSON")
    _add_skills(
        commands.add_parser("skills", help="skills as SKILL.md files, as Claude Code and other agents read them"), owner
    )
    mcp = commands.add_parser(
        "mcp", parents=[owner], help="serve a client of the Model Context Protocol, such as Claude Code, over stdio"
    )
    mcp.add_argument(
        "--agent", default="assistant", help="the agent whose embedding model and policy to use (default: %(default)s)"
    )
    hook = commands.add_parser(
        "hook", parents=[owner], help="one hook of a coding agent, such as Claude Code: its event on standard input"
    )
    hook.add_argument(
        "--agent", default="assistant", help="the agent whose policy and models to use (default: %(default)s)"
    )
    hook.add_argument("--seconds", type=float, help="how long the coding agent waits, at most (default: 1 to 5)")
    users = commands.add_parser("users", help="the users of whom something is remembered in this database, and where")
    users.add_argument("--json", action="store_true", help="print JSON")
    doctor = commands.add_parser(
        "doctor", parents=[owner], help="which database, user, models and versions are used, and what is off and why"
    )
    doctor.add_argument("--agent", default="assistant", help="whose models (default: %(default)s)")
    doctor.add_argument("--check", action="store_true", help="ask the models too: one text and one short answer")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    commands.add_parser("worker", help="do the work behind the turns of every agent, until it is stopped")
    database = commands.add_parser("database", help="what is done with the database as a whole").add_subparsers(
        dest="verb", required=True
    )
    database.add_parser(
        "distribute",
        parents=[quietly],
        help="spread the tables over the nodes of a Citus cluster, each owner's rows on one of them",
    )
    reembed = database.add_parser(
        "reembed", parents=[quietly], help="move to another embedding model, while nothing else uses the database"
    )
    reembed.add_argument("--to", required=True, metavar="MODEL", help="`local`, or a model such as openai:NAME")
    keys = commands.add_parser("keys", help="the keys that memory is encrypted under").add_subparsers(
        dest="verb", required=True
    )
    keys.add_parser("new", help="make a master key, for MEMORY_ENCRYPTION_KEY")
    keys.add_parser("status", help="which master keys wrap how many data keys, as JSON")
    rotate = keys.add_parser(
        "rotate",
        parents=[quietly],
        help="wrap the data keys by the master key that is set, in place of those before it",
    )
    rotate.add_argument("--data-keys", action="store_true", help="make new data keys too, and seal everything anew")
    keys.add_parser("seal", parents=[quietly], help="seal what is still in plain, or under a former data key")
    _add_audit(
        commands.add_parser(
            "audit", parents=[quietly], help="who did what with whose memory, where MEMORY_AUDIT=1 records it"
        )
    )
    _add_receipts(commands.add_parser("receipt", help="signed receipts of what was forgotten"))
    retention = commands.add_parser(
        "retention", parents=[quietly], help="remove now what is older than the agents keep it"
    )
    retention.add_argument("--dry-run", action="store_true", help="remove nothing, and say what would be")
    retention.add_argument("--user", type=_user_id, help="only this user's memory; everybody's by default")
    retention.add_argument("--json", action="store_true", help="print JSON")
    _add_holds(commands.add_parser("hold", help="legal holds: what may not be removed, by retention or by the user"))
    maintain = commands.add_parser(
        "maintain", parents=[quietly], help="do now what is done when a conversation has gone quiet, and end"
    )
    maintain.add_argument("--user", type=_user_id, help="only this user's memory; everybody's by default")
    return parser


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


def _quality_limit(value: str) -> tuple[str, int]:
    check, equals, most = value.partition("=")
    if check not in QUALITY_CHECKS or (equals and not most.isdecimal()):
        raise argparse.ArgumentTypeError(f"give one of {', '.join(QUALITY_CHECKS)}, with =COUNT or without")
    return check, int(most or 0)


def _add_receipts(receipt: argparse.ArgumentParser) -> None:
    verbs = receipt.add_subparsers(dest="verb", required=True)
    verbs.add_parser("key", help="the public key of receipts: of MEMORY_RECEIPT_KEY, else of this database")
    verify = verbs.add_parser("verify", help="whether a receipt is as the server signed it")
    verify.add_argument("file", help="the receipt; - is the standard input")
    verify.add_argument("--public-key", help="the server's, as `receipt key` prints it; the database's by default")
    verify.add_argument("--user", type=_user_id, help="whom it must be about")


def _add_holds(hold: argparse.ArgumentParser) -> None:
    verbs = hold.add_subparsers(dest="verb", required=True)
    listing = verbs.add_parser("list", help="the holds there are")
    listing.add_argument("--user", type=_user_id, help="only this user's; everybody's by default")
    listing.add_argument("--json", action="store_true", help="print JSON")
    for verb, what in (("set", "keep what is remembered of a user"), ("lift", "let it go again")):
        parser = verbs.add_parser(verb, help=what)
        parser.add_argument("--user", type=_user_id, required=True, help="whose memory")
        parser.add_argument("--session", default="", help="only this conversation; everything by default")
        parser.add_argument("reference", help="what the hold is known by, such as the number of a case")


def _add_skills(skills: argparse.ArgumentParser, owner: argparse.ArgumentParser) -> None:
    shared = argparse.ArgumentParser(add_help=False, parents=[owner])
    shared.add_argument("--agent", default="assistant", help="whose embedding model to use (default: %(default)s)")
    shared.add_argument("--json", action="store_true", help="print JSON")
    verbs = skills.add_subparsers(dest="verb", required=True)
    export = verbs.add_parser("export", parents=[shared], help="write each skill in use as FOLDER/NAME/SKILL.md")
    export.add_argument("folder", help="where to; files that were written or edited by others are left as they are")
    import_ = verbs.add_parser("import", parents=[shared], help="take skills in, on probation; known ones stay")
    import_.add_argument("where", metavar="file", help="a SKILL.md, or a folder with such files in it and below")
    import_.add_argument("--dry-run", action="store_true", help="write nothing, and say what would be")


def _add_import(import_: argparse.ArgumentParser) -> None:
    import_.add_argument(
        "where",
        metavar="file",
        help="a file, a folder or an archive; - is the standard input; of langmem, the database",
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
    import_.add_argument("--agent", default="assistant", help="whose embedding model to use (default: %(default)s)")
    import_.add_argument("--json", action="store_true", help="print JSON")
    _add_importing(import_)


def _add_importing(parser: argparse.ArgumentParser, *, system: str | None = None) -> None:
    parser.add_argument(
        "--from",
        dest="system",
        choices=IMPORTED_SYSTEMS,
        default=system,
        required=system is None,
        help="the system that it is from" + (" (default: %(default)s)" if system else ""),
    )
    parser.add_argument(
        "--restore",
        action="store_true",
        help="of an export: keep whose words it says they are; for a backup that nobody else has had in hand",
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing, and say what would be")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _mapped(value: str) -> tuple[str, str]:
    name, equals, user = value.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError("an owner is given as NAME=USER")
    return name, _user_id(user)


def _add_memory(memory: argparse.ArgumentParser, owner: argparse.ArgumentParser) -> None:
    shared = argparse.ArgumentParser(add_help=False, parents=[owner])
    shared.add_argument(
        "--agent", default="assistant", help="the agent whose embedding model and policy to use (default: %(default)s)"
    )
    shared.add_argument("--json", action="store_true", help="print JSON")
    scoped = argparse.ArgumentParser(add_help=False)
    scoped.add_argument(
        "--scope",
        action="append",
        type=_scope,
        metavar="SCOPE",
        help=f"only this scope; may be repeated: {', '.join(MemoryScope)}",
    )
    scoped.add_argument("--limit", type=_count, default=50, help="how many, at most (default: %(default)s)")

    dated = argparse.ArgumentParser(add_help=False)
    dated.add_argument(
        "--as-of", type=_time, metavar="TIME", help="what was believed then: a date (its end), or a time, in ISO 8601"
    )

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
    undo = verbs.add_parser(
        "undo",
        parents=[shared],
        help="what a conversation asked to forget is hidden for a day: list it, or bring it back",
    )
    undo.add_argument("id", nargs="?", default="", help="its id, or the beginning of it; by default all are listed")
    undo.add_argument("--erase", action="store_true", help="erase it now instead")
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
    export.add_argument(
        "--format",
        choices=("jsonl", "html", "markdown"),
        default="jsonl",
        help="JSON Lines or Markdown, which come back, or a page without scripts (default: %(default)s)",
    )
    export.add_argument("--html", action="store_true", help="the same as --format html")
    export.add_argument("--quiet", action="store_true", help="show no progress")
    import_ = verbs.add_parser(
        "import",
        parents=[shared],
        help="bring an export back; nothing is overwritten",
        epilog="It becomes one user's. Of a file with the memories of several, react-mem import --map NAME=USER says "
        "whose is whose.",
    )
    import_.set_defaults(map=[], read=False, prefix="")
    import_.add_argument("where", metavar="file", help="where from; - is the standard input")
    _add_importing(import_, system="jsonl")
    graph = verbs.add_parser("graph", parents=[shared], help="links between memories: a page or JSON")
    graph.add_argument("--out", default="-", help="where to; by default, and for -, the standard output")
    graph.add_argument(
        "--format", choices=FORMATS, help="a page to look at, or for other programs (default: by the file's ending)"
    )
    forget = verbs.add_parser("forget", parents=[shared], help="forget one conversation, or everything about the user")
    forget.add_argument("--session", help="only this conversation and what came of it")
    forget.add_argument(
        "--receipt", metavar="FILE", help="look through the whole database afterwards, and write a signed receipt"
    )
    forget.add_argument("--yes", action="store_true", help="do not ask")


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
