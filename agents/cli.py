"""The command `react-mem`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence

from dotenv import find_dotenv, load_dotenv
from rich.console import Console
from rich.text import Text

from react_mem.agents.agent_opening import load_agent
from react_mem.agents.terminal.arguments import command_line
from react_mem.agents.terminal.chat import Chat
from react_mem.agents.terminal.console import Terminal
from react_mem.agents.terminal.context_view import run_context
from react_mem.agents.terminal.database_command import run_distribute
from react_mem.agents.terminal.demo import hold_conversation, run_demo
from react_mem.agents.terminal.memory import run_memory
from react_mem.agents.terminal.stats import run_stats
from react_mem.agents.terminal.worker_command import run_maintain, run_worker
from react_mem.errors import AgentConfigError, MemoryCommandError, ModelConfigError, StorageError, ToolConfigError
from react_mem.memory import StorageSettings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: The arguments; by default those of the process.

    Returns:
        The exit code: 2 if it could not begin.
    """
    load_dotenv(find_dotenv(usecwd=True))
    # On the handler: some libraries set the level of their loggers themselves. What a user can do about comes as an
    # event or an error. Where somebody else has set up logging, it is theirs.
    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR)
    logging.basicConfig(handlers=[handler])
    arguments = command_line().parse_args(argv)
    console = Terminal()
    try:
        return _run(arguments, _settings(), console)
    except (AgentConfigError, ModelConfigError, ToolConfigError, StorageError, MemoryCommandError) as error:
        # the database's client goes on after a line break and a tab
        message = str(error).replace("\n\t", " ")
        Console(stderr=True, highlight=False).print(Text(message, style="red"), soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    match arguments.command:
        case "demo" if arguments.conversation is None:
            return run_demo(settings, console)
        case "demo":
            return asyncio.run(hold_conversation(arguments.conversation, arguments.user, settings, console))
        case "database":
            return asyncio.run(run_distribute(settings, console))
        case "worker":
            return asyncio.run(run_worker(settings, console))
        case "maintain":
            return asyncio.run(run_maintain(arguments.user, settings, console))
    config = load_agent(arguments.agent)
    if config.models.embedding != "auto":
        settings = settings.model_copy(update={"embedding": config.models.embedding})
    match arguments.command:
        case "memory":
            return asyncio.run(run_memory(arguments, config, settings, console))
        case "context":
            return asyncio.run(run_context(arguments, config, settings, console))
        case "stats":
            return run_stats(arguments, config, settings, console)
    return Chat(config, arguments.user, settings, console, verbose=arguments.verbose).run()


def _settings() -> StorageSettings:
    try:
        return StorageSettings.from_env()
    except ValueError as error:
        raise StorageError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
