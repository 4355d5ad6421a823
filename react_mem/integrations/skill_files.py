"""Skills as `SKILL.md` files: writing ours, and reading the files of others.

They are in the format of Agent Skills, which allows own keys in `metadata` alone: these hold the procedure. The body
repeats it in the form in which Acontext writes lessons, so that its readers find the usual:

    ## Title
    - When to Apply: ...
    - Steps:
      1. tool: action
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from react_mem.memory import Skill
from react_mem.memory.records import fold, normalise, read_yaml

NAME = "SKILL.md"
MAX_FILE_CHARS = 200_000  # Characters of a file; a longer one is no procedure

MAX_NAME, MAX_DESCRIPTION = 64, 1_024  # Characters of a name and of a description in the format of Agent Skills

# Characters read of a body in free Markdown: a longer one is a manual, which no prompt shows whole
MAX_BODY_CHARS = 4_000

MARK = "react-mem"  # Metadata key of the procedure in one of our files
_META = "skill_file"  # Key of a record's `meta` for the original name and front matter of an imported skill
_MAX_FRONT_BYTES = 3_000  # Bytes of a front matter that are kept, of the four thousand of a record's `meta`
_FRONT = re.compile(r"\A\s*---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)(.*)", re.DOTALL)
_FIELD = re.compile(r"^-\s+\**([A-Z][\w /-]{1,40}?)\**:\**\s*(.*)$")
_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+(.*)$")
_TOOL = re.compile(r"^`?([A-Za-z_][\w.-]*)`?:\s+(.+)$")
_SLUG = re.compile(r"[^a-z0-9]+")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_AGENT_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# Labels of entries that are constraints rather than steps, in this order
_LESSON = ("Principle", "Root Cause", "Correct Approach", "Prevention")


def skill_name(skill: Skill, owner: str) -> str:
    """Return a readable file name of a skill, unique for version and owner: a space takes a name once."""
    version = f"{owner}:{skill.id}:{write_skill(skill, '')}"
    return f"{_slug(skill.use_when, 40) or 'skill'}-{hashlib.sha256(version.encode()).hexdigest()[:12]}"


def _slug(text: str, chars: int) -> str:
    return _SLUG.sub("-", fold(text).encode("ascii", "ignore").decode()).strip("-")[:chars].strip("-")


def agent_skill_names(skills: Sequence[Skill]) -> dict[str, str]:
    """Return readable unique names in the format of Agent Skills, by skill id."""
    slugs = {}
    for skill in skills:
        name = (_theirs(skill.meta.get(_META)) or {}).get("name", "")
        slugs[skill.id] = _slug(name if _is_agent_name(name) else skill.use_when, MAX_NAME)
    many = Counter(slugs.values())
    for id_, slug in slugs.items():
        if not slug or many[slug] > 1:
            slugs[id_] = f"{slug[: MAX_NAME - 9].strip('-') or 'skill'}-{_slug(id_, 8)}"
    return slugs


def write_skill(skill: Skill, name: str) -> str:
    """Return a skill as the text of a `SKILL.md` in the format of Agent Skills, named like its folder."""
    own = skill.model_dump(mode="json", include={"id", "use_when", "task_type", "tool_sops", "preferences"})
    theirs = _theirs(skill.meta.get(_META))
    if theirs is not None:
        own[_META] = theirs
    others = dict(theirs["front"]) if theirs else {}
    metadata = others.pop("metadata", {})
    front = {
        "name": name,
        "description": _description(skill.use_when),
        **others,
        # a text, as the format wants it
        "metadata": {**metadata, MARK: json.dumps(own, ensure_ascii=False)},
    }
    head = yaml.safe_dump(front, allow_unicode=True, sort_keys=False, width=1_000)
    return f"---\n{head}---\n\n{_body(own)}"


def _theirs(given: Any) -> dict[str, Any] | None:
    if not isinstance(given, Mapping) or not isinstance(front := given.get("front"), Mapping):
        return None
    metadata = front.get("metadata", {})
    if not isinstance(metadata, Mapping) or {"name", "description"} & front.keys():
        return None
    return {"name": str(given.get("name") or ""), "front": dict(front)}


def _is_agent_name(name: str) -> bool:
    return len(name) <= MAX_NAME and _AGENT_NAME.fullmatch(name) is not None


def _body(own: Mapping[str, Any]) -> str:
    """Return the body of a file: the original one of an imported skill without steps, else in our form."""
    if own.get(_META) is not None and not own["tool_sops"]:
        return "\n\n".join(own["preferences"]) + "\n"
    title = " ".join(own["use_when"].split())
    steps = enumerate(((step["tool"], " ".join(step["action"].split())) for step in own["tool_sops"]), start=1)
    told = [f"  {number}. {tool}: {action}" for number, (tool, action) in steps]
    lines = [f"## {title}", f"- When to Apply: {title}", *(["- Steps:", *told] if told else [])]
    lines += [f"- Preference: {' '.join(preference.split())}" for preference in own["preferences"]]
    return "\n".join(lines) + "\n"


def _description(use_when: str) -> str:
    # some who read the format take angle brackets for markup, and refuse them
    return " ".join(re.sub("[<>]", " ", use_when).split())[:MAX_DESCRIPTION].strip()


def read_skills(text: str) -> list[dict[str, Any]]:
    """Return the procedures in a Markdown file, one of ours or with entries as above; ValueError if unreadable."""
    if len(text) > MAX_FILE_CHARS:
        raise ValueError(f"it has {len(text)} characters, more than {MAX_FILE_CHARS}")
    front, body = _parts(text)
    own = _marked(front)
    if own and is_unedited(text):
        return [own]
    found: dict[str, dict[str, Any]] = {}
    for title, said in _entries(body):
        if skill := _learnt(title, said, own["task_type"] if own else ""):
            found.setdefault(normalise(skill["use_when"]), skill)
    return list(found.values())


def read_agent_skill(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the procedures in a `SKILL.md`, true if it was cut; free Markdown becomes preferences. Else ValueError."""
    found = read_skills(text)
    if found:
        return found, False
    front, body = _parts(text)
    when = " ".join(str(front.get("description") or "").split())[:MAX_DESCRIPTION].strip()
    if not when:
        raise ValueError("says nowhere when it applies: give it a `description` in its front matter")
    told, is_cut = _instructions(body)
    if not told:
        raise ValueError("has no instructions below its front matter")
    skill = {"task_type": "", "use_when": when, "tool_sops": [], "preferences": told}
    return [{**skill, "meta": {_META: _kept_front(front)}}], is_cut


def _kept_front(front: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name and other plain keys of a front matter, as far as there is room."""
    others = {str(key): value for key, value in front.items() if key not in ("name", "description")}
    if not isinstance(others.get("metadata", {}), Mapping):
        others.pop("metadata")
    elif "metadata" in others:
        others["metadata"] = {str(key): str(value) for key, value in others["metadata"].items() if key != MARK}
    kept: dict[str, Any] = {}
    for key, value in others.items():
        # dates and the like are read as texts
        plain = json.loads(json.dumps(value, ensure_ascii=False, default=str))
        if len(json.dumps({**kept, key: plain}, ensure_ascii=False).encode("utf-8", "replace")) <= _MAX_FRONT_BYTES:
            kept[key] = plain
    return {"name": name if _is_agent_name(name := str(front.get("name") or "")) else "", "front": kept}


def _instructions(body: str) -> tuple[list[str], bool]:
    """Return the first paragraphs of a body, as far as there is room, and true if there are more."""
    told: list[str] = []
    room = MAX_BODY_CHARS
    for paragraph in _paragraphs(body):
        if len(paragraph) > room:
            return ([*told, f"{paragraph[: room - 1]}…"] if room > 1 else told), True
        told.append(paragraph)
        room -= len(paragraph)
    return told, False


def _paragraphs(body: str) -> Iterator[str]:
    """Yield the paragraphs of a body, lines unchanged; a fenced block stays within one."""
    fence = ""
    lines: list[str] = []
    for line in body.strip("\n").split("\n"):
        if not (line or fence) and any(map(str.strip, lines)):
            yield "\n".join(lines)
            lines = []
            continue
        lines.append(line)
        mark = _FENCE.match(line)
        if mark is None:
            continue
        if not fence:
            fence = mark[1]
        elif mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
    if any(map(str.strip, lines)):
        yield "\n".join(lines)


def is_unedited(text: str, id_: str = "") -> bool:
    """Return true if a file is an unchanged output of `write_skill` for a skill, or any, apart from its name."""
    try:
        front, body = _parts(text)
        own = _marked(front)
    except ValueError:
        return False
    if own is None or (id_ and own.get("id") != id_):
        return False
    is_as_described = _description(own["use_when"]) == front.get("description")
    told = {**own, _META: own.get("meta", {}).get(_META)}
    return is_as_described and body.strip() == _body(told).strip()


def _marked(front: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the procedure in the metadata of one of our files; None for any other."""
    metadata = front.get("metadata")
    if not isinstance(metadata, Mapping) or MARK not in metadata:
        return None
    try:
        given = json.loads(str(metadata[MARK]))
        own: dict[str, Any] = {
            "task_type": str(given.get("task_type") or ""),
            "use_when": str(given["use_when"]),
            "tool_sops": [{"tool": str(step["tool"]), "action": str(step["action"])} for step in given["tool_sops"]],
            "preferences": [str(preference) for preference in given["preferences"]],
        }
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise ValueError(f"metadata: {MARK}: is not as it was written; remove it, and the body is read") from None
    if (theirs := _theirs(given.get(_META))) is not None:
        own["meta"] = {_META: theirs}
    return {**own, "id": given["id"]} if _UUID.fullmatch(str(given.get("id"))) else own


def _parts(text: str) -> tuple[dict[str, Any], str]:
    match = _FRONT.match(text)
    if match is None:
        return {}, text
    try:
        front = read_yaml(match[1])
    except yaml.YAMLError as error:
        raise ValueError(f"its front matter is not YAML: {' '.join(str(error).split())[:200]}") from None
    return (front if isinstance(front, dict) else {}), match[2]


def _entries(body: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield the entries of a body: a title and the texts of its fields, each list item by itself."""
    title, name, said = "", "", defaultdict[str, list[str]](list)
    for line in body.splitlines():
        if line.startswith("#"):
            yield title, said
            title, name, said = line.lstrip("#").strip(), "", defaultdict(list)
        elif field := _FIELD.match(line):
            name, text = field[1], field[2].strip()
            said[name] += [text] if text else []
        elif name and line.strip():
            step = _STEP.match(line)
            said[name].append((step[1] if step else line).strip())
    yield title, said


def _learnt(title: str, said: Mapping[str, list[str]], task_type: str) -> dict[str, Any] | None:
    """Return an entry as a skill: a procedure by its occasion, a warning by its symptom; None for anything else."""
    when = " ".join(said.get("When to Apply") or said.get("Symptom") or ())
    if not when:
        return None
    steps = [(text, _TOOL.match(text)) for text in said.get("Steps", ())]
    lesson = [" ".join(said[name]) for name in _LESSON if said.get(name)]
    return {
        "task_type": task_type,
        "use_when": when if not title or normalise(title) == normalise(when) else f"{title}: {when}",
        "tool_sops": [{"tool": named[1], "action": named[2]} for _, named in steps if named],
        # a step that names no tool is something to mind
        "preferences": [*lesson, *(text for text, named in steps if not named), *said.get("Preference", ())],
    }
