"""`react-mem new`: a project of one's own around an agent."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from react_mem.agents.new_project import write_project

_NEXT = """
Next:
  cd {name}
  make install   # pip install -e ".[dev]"
  make test
  make chat
  make dev       # a LangGraph server: http://127.0.0.1:2024, or the address that it prints where that port is taken"""


def run_new(name: str, console: Console) -> int:
    """Carry the command out.

    Args:
        name: What the project is to be called.
        console: Where to draw.

    Returns:
        The exit code.

    Raises:
        ProjectError: If it cannot be written as it is called, or not here; nothing is.
    """
    files = write_project(name, Path.cwd())
    lines = [f"Written: {name}", *(f"  {file}" for file in files), _NEXT.format(name=name)]
    console.print(Text("\n".join(lines)), soft_wrap=True)
    return 0
