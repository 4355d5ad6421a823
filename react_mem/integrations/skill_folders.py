"""Skills in folders of `SKILL.md` files, the format of Agent Skills, which Claude Code, Deep Agents and others read."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from react_mem.errors import MemoryFull
from react_mem.integrations import skill_files
from react_mem.memory import MemoryFacade, MemoryScope, Origin, Skill
from react_mem.memory.records import KINDS, checked

# Import of others' skills: on probation, without changing known ones.

SKILL = KINDS["skill"]


@dataclass(frozen=True)
class SkillImport:
    """Result of an import: new skills, on probation, the number of existing ones, reasons by place, truncated files."""

    added: list[Skill] = field(default_factory=list)
    kept: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)


async def owned_skills(memory: MemoryFacade, user_id: str) -> list[Skill]:
    """Return all skills of a user, archived ones too."""
    found = await memory.list_records(user_id, [MemoryScope.PROCEDURAL])
    return [Skill.from_value(item.payload) for item in found if SKILL.matches(item.payload)]


async def take_in_skills(
    memory: MemoryFacade,
    user_id: str,
    found: Iterable[tuple[str, Mapping[str, Any]]],
    *,
    agent_id: str,
    dry_run: bool = False,
) -> SkillImport:
    """Store skills, given with their places, for new occasions on probation; one for a known occasion is skipped."""
    known = {name for skill in await owned_skills(memory, user_id) for name in _names(skill)}
    taken: dict[str, str] = {}
    outcome = SkillImport()
    kept = 0
    for place, data in found:
        try:
            given = {"session_id": "", **data, "agent_id": agent_id, "origin": Origin.IMPORT}
            skill = await asyncio.to_thread(memory.procedural.made, Skill, given)
            if (first := next((taken[name] for name in _names(skill) if name in taken), None)) is not None:
                raise ValueError(f"is for the same occasion as {first}, which is taken: describe it otherwise")
            if not known.isdisjoint(_names(skill)):
                kept += 1
                continue
            if not dry_run:
                await memory.procedural.add_skill(skill, user_id=user_id)
            taken |= dict.fromkeys(_names(skill), place)
        except (ValueError, MemoryFull) as error:
            outcome.skipped[place] = str(error)
        else:
            outcome.added.append(skill)
    return SkillImport(outcome.added, kept, outcome.skipped)


def _names(skill: Skill) -> set[str]:
    # a learnt skill is identified by its task and tools, and not by its words
    return {skill.id, Skill.identity(skill.task_type, skill.use_when)}


AGENT = "skill-files"  # Agent id of skills from files
MAX_FILES = 1_000  # Skill files of one import
_MAX_FOLDERS = 20_000  # Folders that are searched for skill files
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class SkillFilesExport:
    """Result of an export: names of new and changed skills, the number of unchanged ones, and reasons by name."""

    written: list[str] = field(default_factory=list)
    kept: int = 0
    skipped: dict[str, str] = field(default_factory=dict)


@checked()
async def export_skills(memory: MemoryFacade, user_id: str, folder: str | Path) -> SkillFilesExport:
    """Write each active skill of a user as `<folder>/<name>/SKILL.md`, and make the folder.

    Foreign and edited files are not overwritten. Exported files outlive forgetting.

    Raises:
        ValueError: If the folder cannot be written.
    """
    skills = [skill for skill in await owned_skills(memory, user_id) if skill.status != "archived"]
    return await asyncio.to_thread(_write, Path(folder), skills)


@checked()
async def import_skills(memory: MemoryFacade, user_id: str, where: str | Path, *, dry_run: bool = False) -> SkillImport:
    """Import the skills of a file, or of every `SKILL.md` below a folder, on probation; known skills stay unchanged.

    Free Markdown becomes preferences, from its beginning, lines unchanged. Others have written the files: import only
    files that you trust to instruct your agent.

    Args:
        where: The file or folder. Symbolic links in it are not followed.
        dry_run: Read and write nothing.

    Raises:
        ValueError: If there is no such file or folder, or too much in it; nothing is imported.
    """
    found, skipped, cut = await asyncio.to_thread(_read, Path(where))
    outcome = await take_in_skills(memory, user_id, found, agent_id=AGENT, dry_run=dry_run)
    return replace(outcome, skipped=skipped | outcome.skipped, cut=cut)


def _write(folder: Path, skills: Sequence[Skill]) -> SkillFilesExport:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror or error}") from error
    done = SkillFilesExport()
    kept = 0
    names = skill_files.agent_skill_names(skills)
    for skill in skills:
        name = names[skill.id]
        file, text = folder / name / skill_files.NAME, skill_files.write_skill(skill, name)
        try:
            if file.parent.is_symlink() or file.is_symlink():
                raise ValueError("is a symbolic link, which is not followed")
            before = _text_of(file) if file.exists() else None
            if before == text:
                kept += 1
                continue
            if before is not None and not skill_files.is_unedited(before, skill.id):
                raise ValueError("is there already, and is another's or was edited; rename or remove it")
            file.parent.mkdir(exist_ok=True)
            # whole, or not at all
            unfinished = file.with_name(f".{skill_files.NAME}.{secrets.token_hex(4)}")
            unfinished.write_text(text, encoding="utf-8", newline="\n")
            unfinished.replace(file)
        except OSError as error:
            done.skipped[name] = f"cannot be written: {error.strerror or error}"
        except ValueError as error:
            done.skipped[name] = str(error)
        else:
            done.written.append(name)
    return SkillFilesExport(done.written, kept, done.skipped)


def _read(where: Path) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, str], list[str]]:
    if not where.exists():
        raise ValueError("cannot be read: there is no such file or folder")
    found: list[tuple[str, dict[str, Any]]] = []
    skipped: dict[str, str] = {}
    cut: list[str] = []
    # a link given by name is followed
    root = where.resolve()
    for number, file in enumerate(_files(root) if root.is_dir() else [root], start=1):
        if number > MAX_FILES:
            raise ValueError(f"has more than {MAX_FILES:,} skill files: import it in parts")
        place = file.relative_to(root).as_posix() if file != root else file.name
        try:
            skills, is_cut = skill_files.read_agent_skill(_text_of(file))
        except OSError as error:
            skipped[place] = f"cannot be read: {error.strerror or error}"
        except ValueError as error:
            skipped[place] = str(error)
        else:
            found += [(place, skill) for skill in skills]
            cut += [place] if is_cut else []
    return found, skipped, cut


def _files(root: Path) -> Iterator[Path]:
    for number, (folder, folders, files) in enumerate(os.walk(root), start=1):
        if number > _MAX_FOLDERS:
            raise ValueError(f"has more than {_MAX_FOLDERS:,} folders: give the one with the skills")
        # `os.walk` goes into no link; nobody knows whether it leads to skills, so that each is named
        yield from sorted(path for name in folders if (path := Path(folder, name)).is_symlink())
        folders.sort()
        yield from (Path(folder, name) for name in sorted(files) if name.upper() == skill_files.NAME.upper())


def _text_of(file: Path) -> str:
    """Return the text of a regular file; OSError if it cannot be read, ValueError if it is no text."""
    if file.is_symlink():
        raise ValueError("is a symbolic link, which is not followed")
    with open(os.open(file, _OPEN), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("is no file")
        # a character has four bytes at most
        data = stream.read(4 * skill_files.MAX_FILE_CHARS + 1)
    if len(data) > 4 * skill_files.MAX_FILE_CHARS:
        raise ValueError(f"has more than {skill_files.MAX_FILE_CHARS:,} characters")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 ({error.reason}); save it as UTF-8") from None
