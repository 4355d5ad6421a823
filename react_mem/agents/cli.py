"""The command `react-mem`: it dispatches to the subcommands."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence

from dotenv import find_dotenv, load_dotenv
from rich.console import Console
from rich.text import Text

from react_mem.agents import terminal
from react_mem.agents.config import load_agent
from react_mem.agents.terminal.arguments import command_line
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
    console = terminal.Terminal()
    try:
        if arguments.command == "doctor":
            # settings that cannot be used are what it is there to tell
            return asyncio.run(terminal.run_doctor(arguments, console))
        return _run(arguments, _settings(), console)
    except (ConfigError, LegalHoldError, MemoryCommandError, ProjectError, StorageError) as error:
        # the database's client goes on after a line break and a tab
        message = str(error).replace("\n\t", " ")
        Console(stderr=True, highlight=False).print(Text(message, style="red"), soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(arguments: argparse.Namespace, settings: StorageSettings, console: terminal.Terminal) -> int:
    terminal.refuse_nothing(arguments, settings)
    match arguments.command:
        case "hook":
            return hook_client.run(arguments.user, arguments.agent, arguments.seconds)
        case "demo" if arguments.conversation is None:
            return terminal.run_demo(settings, console)
        case "demo":
            return asyncio.run(terminal.hold_conversation(arguments.conversation, arguments.user, settings, console))
        case "new":
            return terminal.run_new(arguments.name, console)
        case "users":
            return asyncio.run(terminal.run_users(arguments, settings, console))
        case "database":
            return asyncio.run(terminal.run_database(arguments, settings, console))
        case "audit" if arguments.verb == "quality":
            return asyncio.run(terminal.run_quality(arguments, settings, console))
        case "audit":
            return asyncio.run(terminal.run_audit(arguments, settings, console))
        case "keys":
            return asyncio.run(terminal.run_keys(arguments, settings, console))
        case "retention":
            return asyncio.run(terminal.run_retention(arguments, settings, console))
        case "hold":
            return asyncio.run(terminal.run_hold(arguments, settings, console))
        case "receipt":
            return asyncio.run(terminal.run_receipt(arguments, settings, console))
        case "worker":
            return asyncio.run(terminal.run_worker(settings, console))
        case "maintain":
            return asyncio.run(terminal.run_maintain(arguments.user, settings, console, quiet=arguments.quiet))
    config = load_agent(arguments.agent)
    if config.models.embedding != "auto":
        settings = settings.model_copy(update={"embedding": config.models.embedding})
    match arguments.command:
        case "memory" if arguments.verb == "import":
            return asyncio.run(terminal.run_import(arguments, config, settings, console))
        case "import":
            return asyncio.run(terminal.run_import(arguments, config, settings, console))
        case "memory":
            return asyncio.run(terminal.run_memory(arguments, config, settings, console))
        case "context":
            return asyncio.run(terminal.run_context(arguments, config, settings, console))
        case "skills":
            return asyncio.run(terminal.run_skills(arguments, config, settings, console))
        case "mcp":
            return asyncio.run(terminal.run_mcp(arguments.user, config, settings))
    return terminal.Chat(config, arguments.user, settings, console, verbose=arguments.verbose).run()


def _settings() -> StorageSettings:
    try:
        return StorageSettings.from_env()
    except ValueError as error:
        raise StorageError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
