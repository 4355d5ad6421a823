"""Prompts of the models: one Markdown file each."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.resources import files


@cache
def load_prompt(name: str) -> str:
    """Return the text of a prompt by the name of its file, without `.md`. A file is read once a process, blocking.

    Raises:
        ValueError: If there is no such prompt; it lists the prompts and the nearest match.
    """
    known = sorted(file.name[:-3] for file in files(__name__).iterdir() if file.name.endswith(".md"))
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no prompt {name!r}.{hint} The prompts are: {', '.join(known)}.")
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
