"""Skills as `SKILL.md` files: what is written for others to follow, and what is read of what others have written.

The front matter of one of ours has the procedure as it is; its body says the same in the form in which Acontext writes
what it has learnt, so that whoever reads or extends it there finds what they know:

    ## Title
    - When to Apply: ...
    - Steps:
      1. tool: action
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from react_mem.memory.language.folding import fold
from react_mem.memory.language.text import normalise
from react_mem.memory.model.bounded_yaml import read_yaml
from react_mem.memory.model.skills import Skill

NAME = "SKILL.md"

MAX_FILE_CHARS = 200_000
"""A file longer than this is not a procedure."""

_FRONT = re.compile(r"\A\s*---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)(.*)", re.DOTALL)
_FIELD = re.compile(r"^-\s+\**([A-Z][\w /-]{1,40}?)\**:\**\s*(.*)$")
_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+(.*)$")
_TOOL = re.compile(r"^`?([A-Za-z_][\w.-]*)`?:\s+(.+)$")
_SLUG = re.compile(r"[^a-z0-9]+")

_LESSON = ("Principle", "Root Cause", "Correct Approach", "Prevention")
"""Labels of entries that are constraints rather than steps, in this order."""


def skill_name(skill: Skill, owner: str) -> str:
    """Return the name of a skill's file: readable, and another one for each owner and each version.

    A space takes a name once, and a new version is to be there before the old one goes.

    Args:
        skill: The skill.
        owner: What stands for its owner.
    """
    slug = _SLUG.sub("-", fold(skill.use_when).encode("ascii", "ignore").decode()).strip("-")[:40].strip("-")
    version = f"{owner}:{skill.id}:{write_skill(skill, '')}"
    return f"{slug or 'skill'}-{hashlib.sha256(version.encode()).hexdigest()[:12]}"


def write_skill(skill: Skill, name: str) -> str:
    """Return a skill as the text of a `SKILL.md`.

    Args:
        skill: The skill.
        name: Its name there.
    """
    front = {
        "name": name,
        "description": skill.use_when,
        "task_type": skill.task_type,
        "tool_sops": [step.model_dump() for step in skill.tool_sops],
        "preferences": list(skill.preferences),
    }
    title = " ".join(skill.use_when.split())
    lines = [f"## {title}", f"- When to Apply: {title}"]
    if skill.tool_sops:
        lines.append("- Steps:")
        lines += [
            f"  {number}. {step.tool}: {' '.join(step.action.split())}"
            for number, step in enumerate(skill.tool_sops, start=1)
        ]
    lines += [f"- Preference: {' '.join(preference.split())}" for preference in skill.preferences]
    head = yaml.safe_dump(front, allow_unicode=True, sort_keys=False, width=1_000)
    return f"---\n{head}---\n\n" + "\n".join(lines) + "\n"


def read_skills(text: str) -> list[dict[str, Any]]:
    """Return the procedures in a Markdown file, each as `ProceduralMemoryStore.add_skill` takes it.

    Args:
        text: The file: one of ours, or one whose entries have the form above.

    Raises:
        ValueError: If it cannot be read; the message says why.
    """
    if len(text) > MAX_FILE_CHARS:
        raise ValueError(f"it has {len(text)} characters, more than {MAX_FILE_CHARS}")
    front, body = _parts(text)
    found: list[dict[str, Any]] = []
    task_type = str(front.get("task_type") or "")
    if "tool_sops" in front:
        found.append(_own(front, task_type))
    known = {normalise(skill["use_when"]) for skill in found}
    for title, fields in _entries(body):
        skill = _learnt(title, fields, task_type)
        if skill is not None and normalise(skill["use_when"]) not in known:
            known.add(normalise(skill["use_when"]))
            found.append(skill)
    return found


def _parts(text: str) -> tuple[dict[str, Any], str]:
    match = _FRONT.match(text)
    if match is None:
        return {}, text
    try:
        front = read_yaml(match[1])
    except yaml.YAMLError as error:
        raise ValueError(f"its front matter is not YAML: {' '.join(str(error).split())[:200]}") from None
    return (front if isinstance(front, dict) else {}), match[2]


def _own(front: Mapping[str, Any], task_type: str) -> dict[str, Any]:
    steps, preferences = front.get("tool_sops") or [], front.get("preferences") or []
    if not isinstance(steps, list) or not all(isinstance(s, dict) and {"tool", "action"} <= s.keys() for s in steps):
        raise ValueError("tool_sops: must be a list of {tool, action}")
    if not isinstance(preferences, list):
        raise ValueError("preferences: must be a list of texts")
    if not str(front.get("description") or "").strip():
        raise ValueError("description: is missing; it says when the skill is to be used")
    return {
        "task_type": task_type,
        "use_when": str(front["description"]),
        "tool_sops": [{"tool": str(step["tool"]), "action": str(step["action"])} for step in steps],
        "preferences": [str(preference) for preference in preferences],
    }


def _entries(body: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the entries of a body: a title, and its fields in order, each line of a list below one on its own."""
    title, fields = "", list[tuple[str, str]]()
    for line in body.splitlines():
        if line.startswith("#"):
            if fields:
                yield title, fields
            title, fields = line.lstrip("#").strip(), []
        elif field := _FIELD.match(line):
            fields.append((field[1], field[2].strip()))
        elif fields and line.strip():
            step = _STEP.match(line)
            fields.append((fields[-1][0], (step[1] if step else line).strip()))
    if fields:
        yield title, fields


def _learnt(title: str, fields: list[tuple[str, str]], task_type: str) -> dict[str, Any] | None:
    """Return an entry as a skill: a procedure by when it applies, a warning by its symptom; None for anything else."""
    said: dict[str, list[str]] = {}
    for name, text in fields:
        if text:
            said.setdefault(name, []).append(text)
    when = " ".join(said.get("When to Apply") or said.get("Symptom") or ())
    if not when:
        return None
    steps = [(text, _TOOL.match(text)) for text in said.get("Steps", ())]
    lesson = [" ".join(said[name]) for name in _LESSON if name in said]
    return {
        "task_type": task_type,
        "use_when": when if not title or normalise(title) == normalise(when) else f"{title}: {when}",
        "tool_sops": [{"tool": named[1], "action": named[2]} for _, named in steps if named],
        # a step that names no tool is something to mind
        "preferences": [*lesson, *(text for text, named in steps if not named), *said.get("Preference", ())],
    }
