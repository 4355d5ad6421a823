"""`react-mem hold`: legal holds, which whoever runs the database sets, lists and lifts."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.text import Text

from react_mem.agents.terminal.output import Output
from react_mem.errors import MemoryCommandError
from react_mem.memory import MemoryFacade, StorageSettings
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.runtime import all_holds, open_storage


async def run_hold(arguments: argparse.Namespace, settings: StorageSettings, console: Console) -> int:
    """Carry out one of the commands.

    Args:
        arguments: The command's.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code: 1 if there is no such hold to lift.

    Raises:
        MemoryCommandError: If the reference cannot be used.
        StorageError: If the database cannot be opened.
    """
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.memory)
        if arguments.verb == "list":
            return await _list(memory, arguments, console)
        user, reference, session = arguments.user, arguments.reference, arguments.session
        if arguments.verb == "lift":
            with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
                lifted = await memory.lift_hold(user, reference, session)
            console.print(Text("lifted" if lifted else "there is no such hold"))
            return 0 if lifted else 1
        try:
            with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
                hold = await memory.hold(user, reference, session)
        except ValueError as error:
            raise MemoryCommandError(f"{reference!r:.120} cannot name a hold: give a number such as case-17") from error
        console.print(Text(hold.in_short()), soft_wrap=True)
    return 0


async def _list(memory: MemoryFacade, arguments: argparse.Namespace, console: Console) -> int:
    user: str | None = arguments.user
    found = {user: await memory.holds(user)} if user is not None else await all_holds(memory.store)
    held = [(owner, hold) for owner, holds in sorted(found.items()) for hold in holds]
    rows = [(str(hold.set_at.date()), owner, hold.session_id or "all", hold.reference) for owner, hold in held]
    data = [{"user": owner, **hold.model_dump(mode="json", exclude={"kind"})} for owner, hold in held]
    return Output(console, as_json=arguments.json).table(("since", "user", "conversation", "reference"), rows, data)
