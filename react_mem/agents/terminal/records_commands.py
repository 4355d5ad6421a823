"""Commands of an operator: holds, retention, receipts, the audit log, the database, its keys, and its worker."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from react_mem.agents.agent_opening import ConfiguredRunners
from react_mem.agents.config import available_agents, load_agent_config
from react_mem.agents.terminal.output import Terminal, counted, read_lines
from react_mem.agents.terminal.progress import Progress
from react_mem.errors import MemoryCommandError
from react_mem.integrations import audit_quality
from react_mem.integrations.quality import STALE_AFTER, QualityCheck, QualityReport
from react_mem.memory import MemoryFacade, StorageSettings
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.runtime import (
    RetentionSettings,
    SignedReceipt,
    Storage,
    Worker,
    distribute,
    load_embedding_model,
    maintain_all,
    memory_namespace,
    new_master_key,
    open_storage,
    receipt_key,
    reembed,
    retain_all,
)

# `react-mem hold`: legal holds, which whoever runs the database sets, lists and lifts.


async def run_hold(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Set, list or lift legal holds; return the exit code, 1 for no such hold to lift.

    Raises `MemoryCommandError` for an unusable reference.
    """
    user: str | None = arguments.user
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.memory)
        if arguments.verb == "list" or user is None:
            found = {user: await memory.holds(user)} if user is not None else await storage.holds()
            held = [(owner, hold) for owner, holds in sorted(found.items()) for hold in holds]
            rows = [(str(hold.set_at.date()), owner, hold.session_id or "all", hold.reference) for owner, hold in held]
            data = [{"user": owner, **hold.model_dump(mode="json", exclude={"kind"})} for owner, hold in held]
            return console.table(("since", "user", "conversation", "reference"), rows, data)
        reference, session = arguments.reference, arguments.session
        if arguments.verb == "lift":
            with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
                lifted = await memory.lift_hold(user, reference, session)
            console.say("lifted" if lifted else "there is no such hold")
            return 0 if lifted else 1
        try:
            with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
                hold = await memory.hold(user, reference, session)
        except ValueError as error:
            raise MemoryCommandError(f"{reference!r:.120} cannot name a hold: give a number such as case-17") from error
        console.say(hold.in_short())
    return 0


# `react-mem retention`: what the agents keep no longer, removed now or only counted.

_COUNTS = ("users", "rewritten", "conversations", "threads", "held")


async def run_retention(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Remove expired memories, or count them; return the exit code, 1 if something could not be done."""

    def limiting() -> dict[str, RetentionSettings]:
        kept = {name: load_agent_config(name).memory.retention for name in available_agents()}
        return {name: settings for name, settings in kept.items() if settings.limits}

    policies = await asyncio.to_thread(limiting)
    dry_run: bool = arguments.dry_run
    if not policies:
        nothing: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
        console.report(
            {"dry_run": dry_run, "agents": [], **nothing, "removed": {}, "problems": []},
            "no agent has a `retention` in its `memory`: everything is kept",
        )
        return 0
    with Progress("Counting" if dry_run else "Removing", "users", quiet=arguments.quiet or arguments.json) as progress:
        async with open_storage(settings) as storage:
            with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
                places = storage.memory, storage.checkpointer
                done = await retain_all(*places, policies, arguments.user, dry_run=dry_run, report=progress)
    data = {
        "dry_run": dry_run,
        "agents": sorted(policies),
        **{name: getattr(done, name) for name in _COUNTS},
        "removed": dict(done.removed),
        "problems": list(done.problems),
    }
    held = f"; {done.held} are under a legal hold and stay" if done.held else ""
    verb = "would be removed" if dry_run else "removed"
    text = f"{verb}: {done.in_words()}, of {done.users} users and {done.conversations} conversations{held}"
    console.report(data, "\n".join([text, *done.problems]))
    return 1 if done.problems else 0


# `react-mem receipt`: the key that receipts are signed with, and whether a receipt is one of a server's.

_MAX_CHARS = 50_000_000


async def run_receipt(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Print the key of receipts, or verify one; return 1 for a false receipt, or one that leaves rows.

    The database is not opened where the key is given, or the operator's own is set.
    """
    if arguments.verb == "key":
        console.say(await receipt_key(settings))
        return 0
    receipt = await asyncio.to_thread(_read, arguments.file)
    key = arguments.public_key or await receipt_key(settings)
    wrong = ""
    if not receipt.is_signed_by(key):
        other = receipt.is_signed_by(receipt.public_key)
        wrong = f"was signed by another key, {receipt.public_key}" if other else "was changed after it was signed"
    elif arguments.user is not None and not receipt.is_of(arguments.user):
        wrong = "is about another user"
    if wrong:
        console.say(f"{arguments.file}: {wrong}", "red")
        return 1
    told = receipt.receipt
    console.say(f"signed by {key}, at {told.at.isoformat()}: {told.in_short()}")
    return 0 if told.is_gone else 1


def _read(file: str) -> SignedReceipt:
    text = "\n".join(read_lines(file))
    if len(text) > _MAX_CHARS:
        raise MemoryCommandError(f"{file} is no receipt: it is longer than {_MAX_CHARS} characters")
    try:
        data = json.loads(text)
        # the answer of the route that erases, as a client saved it, has the receipt in it
        is_answer = isinstance(data, dict) and "public_key" not in data
        return SignedReceipt.model_validate(data.get("receipt") if is_answer else data)
    except ValueError:
        raise MemoryCommandError(
            f"{file} is no signed receipt, as `react-mem memory forget --receipt` writes it: something is wrong in it"
        ) from None


_ANEW = "The same command begins again."

# `react-mem audit`: who did what with whose memory, and whether the log of it is whole.


async def run_audit(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Print the audit log, the oldest entry first, or verify it; return the exit code.

    Raises `AuditBroken` for a changed log, and `MemoryCommandError` for a malformed known end.
    """
    if arguments.verb == "quality":
        return await _quality(arguments, settings, console)
    known = _head(arguments.head)
    if not settings.audit:
        note = Text("MEMORY_AUDIT is off: nothing is recorded now; what there is was recorded while it was on")
        Console(stderr=True, highlight=False).print(note, soft_wrap=True)
    # it is read whether or not anything is recorded at present
    settings = settings.model_copy(update={"audit": True})
    if arguments.verb == "verify":
        with Progress("Verifying", "entries", quiet=arguments.quiet or arguments.json, go_on=_ANEW) as progress:
            async with open_storage(settings) as storage:
                seq, digest = await storage.verify_audit(known, progress)
        console.report(
            {"entries": seq, "end": f"{seq}:{digest}" if seq else None},
            f"{counted(seq, 'entry', 'entries')}, nothing changed; the end is {seq}:{digest}"
            if seq
            else "the audit log is empty: nothing has been recorded",
        )
        return 0
    is_any = False
    async with open_storage(settings) as storage:
        async for seq, noted in storage.audit_entries(arguments.user, arguments.since):
            is_any = True
            entry = {"seq": seq, **noted._asdict(), "at": noted.at.isoformat(timespec="seconds")}
            line = json.dumps(entry) if arguments.json else "  ".join(map(str, entry.values()))
            console.say(line)
    if not is_any and not arguments.json:
        console.say("nothing", "dim")
    return 0


def _head(text: str | None) -> tuple[int, str] | None:
    if text is None:
        return None
    seq, _, digest = text.partition(":")
    try:
        return int(seq), bytes.fromhex(digest).hex()
    except ValueError:
        raise MemoryCommandError(
            f"{text!r} is no end of an audit log: give NUMBER:HASH, as `verify` prints it"
        ) from None


# `react-mem audit quality`: duplicates, contradictions, stale, secret or never recalled items, and growth.

_WORDS: dict[QualityCheck, str] = {
    "duplicates": "say what another item says",
    "contradictions": "differ from another one by a number or a denial, or are in doubt",
    "stale": "were not written again for {days} days, or are still believed although their end date has passed",
    "secrets": "hold what looks like a key, a token or a password",
    "never_recalled": "were used in no answer",
    "growth": "came in the last 30 days, after {before} in the 30 days before",
}


async def _quality(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Print the report; return 1 if a check of `--fail-on` found more than it allows."""
    with Progress("Reading", "items", quiet=arguments.quiet or arguments.json, go_on=_ANEW) as progress:
        async with open_storage(settings) as storage:
            found = await audit_quality(storage.store, memory_namespace(arguments.user), report=progress)
    failing = found.failing(dict(arguments.fail_on))
    data = {**found.to_json(), "failing": failing}
    console.report(data, _told(found, failing))
    return 1 if failing else 0


def _told(found: QualityReport, failing: list[QualityCheck]) -> str:
    lines = [f"{found.items:,} items in {found.namespaces:,} namespaces, {found.bytes:,} bytes"]
    for check, finding in found.findings.items():
        words = _WORDS[check].format(days=STALE_AFTER.days, before=f"{found.before:,}")
        mark = "FAILS" if check in failing else ""
        counted = f"unknown: {finding.why}" if finding.count is None else f"{finding.count:,} {words}"
        lines.append(f"{check.replace('_', ' '):15} {counted} {mark}".rstrip())
        for place in finding.examples:
            where = "  ".join(filter(None, (".".join(place.namespace), place.key, place.field)))
            lines.append(f"{'':15}   {where}" + (f"  beside {place.beside}" if place.beside else ""))
    months = ", ".join(f"{month} {count:,}" for month, count in list(found.by_month.items())[-12:])
    return "\n".join([*lines, *([f"{'by month':15} {months}"] if months else [])])


async def run_database(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Run `react-mem database`; return the exit code. Raises `StorageError` if it cannot be done here."""
    if arguments.verb == "reembed":
        go_on = "What is left is found by its words; the same command goes on from there."
        with Progress("Embedding", "texts", quiet=arguments.quiet, go_on=go_on) as progress:
            model = await asyncio.to_thread(load_embedding_model, arguments.to)
            done = await reembed(settings, model, progress)
        console.say(f"{done} texts embedded. The memories are now of {model.name}: set EMBEDDING_MODEL={model.name}")
        return 0
    steps: list[str] = []
    # what was done is told behind the bar, which both would otherwise be drawn over
    together = "Tables are distributed all together or not at all; the same command does what is left."
    try:
        with Progress("Distributing", "tables", quiet=arguments.quiet, go_on=together) as progress:
            await distribute(settings, steps.append, progress)
    finally:
        for step in steps:
            console.say(step)
    if not steps:
        console.say("the database is distributed already; there was nothing to do")
    return 0


# `react-mem keys`: the master key that memory is encrypted under, and the data keys of owners.


async def run_keys(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Run `react-mem keys`; return the exit code.

    Raises `StorageError` without a key, or for a wrong one.
    """
    if arguments.verb == "new":
        console.say(new_master_key())
        return 0
    if arguments.verb == "status":
        async with open_storage(settings) as storage:
            found = await storage.key_counts()
        console.json(found)
        return 0
    told: list[str] = []
    try:
        with Progress("Sealing", "records", quiet=arguments.quiet) as progress:
            async with open_storage(settings) as storage:
                if arguments.verb == "rotate":
                    await _rotate(storage, progress, told.append, data_keys=arguments.data_keys)
                else:
                    sealed = await storage.seal_records(progress)
                    _tell_sealed(sealed.from_plain, sealed.anew, sealed.refused, told.append)
    finally:
        # behind the bar, which is drawn over what is printed meanwhile
        for line in told:
            console.say(line)
    return 0


async def _rotate(storage: Storage, progress: Progress, tell: Callable[[str], None], *, data_keys: bool) -> None:
    progress.turn_to("Wrapping", "data keys")
    master, done = await storage.wrap_keys(progress)
    # of owners, and the few that the store keeps for itself
    tell(f"{counted(done, 'data key is', 'data keys are')} wrapped anew by the master key {master}")
    if not data_keys:
        return
    progress.turn_to("Sealing", "records")
    sealed, resumed = await storage.renew_keys(progress)
    if resumed is not None:
        at = resumed.isoformat(" ", timespec="minutes")
        tell(f"the rotation of {at} has gone on: who had a newer data key keeps it")
    tell(f"{counted(sealed.owners, 'owner has', 'owners have')} a new data key")
    _tell_sealed(sealed.from_plain, sealed.anew, sealed.refused, tell)


def _tell_sealed(from_plain: int, anew: int, refused: int, tell: Callable[[str], None]) -> None:
    # memories among them, and as much that memory keeps for itself: which is which is sealed
    tell(
        counted(from_plain, "record that was in plain is", "records that were in plain are")
        + f" sealed, and {anew} with another data key"
    )
    if refused:
        tell(
            counted(refused, "row does not open, or is", "rows do not open, or are")
            + " in plain though all were sealed before: left as found, and never read (the log names the keys)"
        )
    if from_plain:
        tell(
            "What was in plain stays in the database's files until they are written anew: VACUUM FULL store, "
            "store_vectors (nobody reads or writes meanwhile)"
        )


# `react-mem worker` and `react-mem maintain`: the work behind the turns, in a process of its own, or once and now.


async def run_worker(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Run the background work of all agents until the process is told to stop; return the exit code."""
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows Ctrl-C cancels us
            asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    runners = await asyncio.to_thread(ConfiguredRunners)
    async with open_storage(settings) as storage:
        worker = Worker(storage.memory, runners, checkpointer=storage.checkpointer)
        console.say(f"working for {', '.join(runners.names())}; Ctrl-C stops", "dim")
        try:
            await stopped.wait()
        finally:
            # what is not finished by then is taken over by another worker
            await worker.close()
    return 0


async def run_maintain(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Recover after crashes, conclude quiet conversations and reflect, for a user or all; return 1 after a problem."""
    runners = await asyncio.to_thread(ConfiguredRunners)
    with Progress("Maintaining", "users", quiet=arguments.quiet) as progress:
        async with open_storage(settings) as storage:
            done = await maintain_all(storage.memory, runners, arguments.user, progress)
    counts = f"new in memory: {len(done.stored)} · no longer believed: {len(done.retired)} · waiting: {done.waiting}"
    console.say(counts)
    if done.problem:
        console.say(done.problem, "yellow")
    return 1 if done.problem else 0
