"""The command `react-mem`."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from dotenv import find_dotenv, load_dotenv
from rich.console import Console
from rich.text import Text

from react_mem.agents.config import load_agent_config, load_agent_config_file
from react_mem.agents.terminal.chat import Chat
from react_mem.agents.terminal.console import Terminal
from react_mem.agents.terminal.context_view import add_context_parser, run_context
from react_mem.agents.terminal.demo import hold_conversation, run_demo
from react_mem.agents.terminal.memory import run_memory
from react_mem.agents.terminal.memory_arguments import add_parser
from react_mem.agents.terminal.stats import add_stats_parser, run_stats
from react_mem.agents.terminal.worker_command import add_worker_parsers, run_maintain, run_worker
from react_mem.errors import AgentConfigError, MemoryCommandError, ModelConfigError, StorageError, ToolConfigError
from react_mem.memory import StorageSettings

_MAX_USER = 512  # characters of a user's id that a run's context takes


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
    arguments = _parser().parse_args(argv)
    console = Terminal()
    try:
        settings = _settings()
        if arguments.command == "demo":
            if arguments.conversation is None:
                return run_demo(settings, console)
            return asyncio.run(hold_conversation(arguments.conversation, arguments.user, settings, console))
        if arguments.command == "worker":
            return run_worker(settings, console)
        if arguments.command == "maintain":
            return run_maintain(arguments, settings, console)
        path = arguments.agent.endswith((".yaml", ".yml"))
        config = load_agent_config_file(Path(arguments.agent)) if path else load_agent_config(arguments.agent)
        if arguments.command == "memory":
            return run_memory(arguments, config, settings, console)
        if arguments.command == "context":
            return run_context(arguments, config, settings, console)
        if arguments.command == "stats":
            return run_stats(arguments, config, settings, console)
        return Chat(config, arguments.user, settings, console, verbose=arguments.verbose).run()
    except (AgentConfigError, ModelConfigError, ToolConfigError, StorageError, MemoryCommandError) as error:
        # the database's client goes on after a line break and a tab
        message = str(error).replace("\n\t", " ")
        Console(stderr=True, highlight=False).print(Text(message, style="red"), soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        return 130


def _settings() -> StorageSettings:
    try:
        return StorageSettings.from_env()
    except ValueError as error:
        raise StorageError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="react-mem", description="LangGraph agents that remember.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="watch an agent learn in one conversation and remember in the next")
    demo.add_argument("--conversation", type=int, choices=(1, 2), help=argparse.SUPPRESS)
    demo.add_argument("--user", default="demo", help=argparse.SUPPRESS)
    chat = commands.add_parser("chat", help="talk to an agent; it remembers when you come back")
    chat.add_argument("--agent", default="assistant", help="the name of an agent config, or the path of a YAML file")
    chat.add_argument("--user", type=_user_id, default=_user_name(), help="whose memory to use (default: %(default)s)")
    chat.add_argument("--verbose", action="store_true", help="show what is retrieved, thought, done and stored")
    add_parser(commands, _user_id, _user_name())
    add_context_parser(commands, _user_id, _user_name())
    add_stats_parser(commands, _user_id)
    add_worker_parsers(commands, _user_id)
    return parser


def _user_id(value: str) -> str:
    if not 1 <= len(value) <= _MAX_USER or not value.isprintable():
        raise argparse.ArgumentTypeError(f"a user's id is 1 to {_MAX_USER} printable characters")
    return value


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # a container may run under a number without a name
        return "me"


if __name__ == "__main__":
    sys.exit(main())
