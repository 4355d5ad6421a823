"""`react-mem database`: what is done with the database as a whole."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from react_mem.memory import StorageSettings
from react_mem.memory.runtime import distribute


async def run_distribute(settings: StorageSettings, console: Console) -> int:
    """Distribute the tables over the nodes of a Citus cluster.

    Args:
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code.

    Raises:
        StorageError: If it cannot be done here.
    """
    done = 0

    def report(step: str) -> None:
        nonlocal done
        done += 1
        console.print(Text(step), soft_wrap=True)

    await distribute(settings, report)
    if not done:
        console.print(Text("the database is distributed already; there was nothing to do"))
    return 0
