"""The command `react-mem`: it dispatches to the subcommands."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import logging
import sys
from collections.abc import Sequence

from dotenv import find_dotenv, load_dotenv
from rich.console import Console
from rich.text import Text

from react_mem.agents.config import load_agent, with_embedding_of
from react_mem.agents.terminal.arguments import command_line
from react_mem.agents.terminal.doctor_command import refuse_nothing, run_doctor
from react_mem.agents.terminal.output import Terminal
from react_mem.errors import ConfigError, LegalHoldError, MemoryCommandError, ProjectError, StorageError
from react_mem.integrations.coding_hooks import hook_client
from react_mem.memory import StorageSettings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` or the process's arguments; return the exit code, 2 for an error before the start."""
    load_dotenv(find_dotenv(usecwd=True))
    # On the handler: some libraries set the level of their loggers themselves. What a user can do about comes as an
    # event or an error. Where somebody else has set up logging, it is theirs.
    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR)
    logging.basicConfig(handlers=[handler])
    arguments = command_line().parse_args(argv)
    console = Terminal(as_json=getattr(arguments, "json", False))
    try:
        if arguments.command == "doctor":
            # settings that cannot be used are what it is there to tell
            return asyncio.run(run_doctor(arguments, console))
        return _run(arguments, _settings(), console)
    except (ConfigError, LegalHoldError, MemoryCommandError, ProjectError, StorageError) as error:
        # the database's client goes on after a line break and a tab
        message = str(error).replace("\n\t", " ")
        Console(stderr=True, highlight=False).print(Text(message, style="red"), soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    refuse_nothing(arguments, settings)
    if arguments.command == "hook":
        return hook_client.run(arguments.user, arguments.agent, arguments.seconds)
    module, _, name = arguments.run.partition(":")
    run = getattr(importlib.import_module(module), name)
    if "agent" in arguments:
        config = load_agent(arguments.agent)
        done = run(arguments, config, with_embedding_of(config, settings), console)
    else:
        done = run(arguments, settings, console)
    code: int = asyncio.run(done)
    return code


def _settings() -> StorageSettings:
    try:
        return StorageSettings.from_env()
    except ValueError as error:
        raise StorageError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
