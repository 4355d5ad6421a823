"""Prompts of the models: one Markdown file each."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.resources import files


@cache
def load_prompt(name: str) -> str:
    """Return a prompt's text. A file is read once a process; load what an event loop needs before it runs.

    Args:
        name: The file's name, without `.md`.

    Returns:
        The text, without white space at its ends.

    Raises:
        ValueError: If there is no such prompt; it lists the ones there are and the nearest match.
    """
    known = sorted(file.name[:-3] for file in files(__name__).iterdir() if file.name.endswith(".md"))
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no prompt {name!r}.{hint} The prompts are: {', '.join(known)}.")
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
