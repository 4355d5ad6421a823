"""Skills that others have written, taken into a user's own: on probation, and what is known stays as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from react_mem.errors import MemoryFull
from react_mem.memory import MemoryFacade, MemoryScope, Origin, Skill
from react_mem.memory.records import KINDS

SKILL = KINDS["skill"]


@dataclass(frozen=True)
class SkillImport:
    """Result of an import.

    Args:
        added: The skills that are new here, on probation.
        kept: How many were known already, and stay as they are.
        skipped: What was not taken, by its place, such as a file's path, with the reason.
        cut: The places of which only the beginning was taken.
    """

    added: list[Skill] = field(default_factory=list)
    kept: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)


async def owned_skills(memory: MemoryFacade, user_id: str) -> list[Skill]:
    """Return all skills of a user, archived ones too.

    Args:
        memory: The facade.
        user_id: The owner.
    """
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
    """Keep skills that are not known yet: none is for the same kind of task and occasion as one of the user's.

    Args:
        memory: The facade.
        user_id: The owner.
        found: Each skill as `ProceduralMemoryStore.add_skill` takes it, with its place, such as a file's path.
        agent_id: Who adds them.
        dry_run: Whether nothing is written.
    """
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
    # a learnt skill is known by its task and tools, whatever its words
    return {skill.id, Skill.identity(skill.task_type, skill.use_when)}
