"""Outcomes of a turn and of its skills, logged once a turn (idempotent)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from react_mem.memory.merging.skill_life import after_turn, after_use, is_withheld, worth
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import OUTCOME
from react_mem.memory.model.receipt import Change, put
from react_mem.memory.model.skills import Skill, TurnOutcome
from react_mem.memory.reflect.skills.skill_drafts import match, tools_of
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import announce, put_work, upkeep

if TYPE_CHECKING:
    from react_mem.memory.facade import MemoryFacade

_MAX_GOAL = 600
"""Stored characters of the request, used to find common words of turns."""


async def record_turn(
    memory: MemoryFacade,
    user_id: str,
    *,
    session_id: str,
    agent_id: str,
    turn_id: str,
    offered: Sequence[str],
    steps: Sequence[Mapping[str, Any]],
    success: bool | None = None,
    task_type: str = "",
    goal: str = "",
) -> list[Skill]:
    """Log the outcome of a turn and count it for the skills. Idempotent; concurrent turns are all counted.

    Args:
        turn_id: Record id of the user's message, or another stable id of the turn.
        offered: Ids of the skills found for the agent, including those withheld for comparison (`skill_life.withhold`).
        steps: The agent's steps in order, each with `action` and `error`.
        success: Result of the turn; by default that of its last step.
        goal: The request; needed only where `turn_id` is no stored message.

    Returns:
        The followed skills, updated; none if the turn is already logged or had no steps.
    """
    if not steps or not memory.policy.learning.experience:
        return []
    came_off = success if success is not None else not steps[-1]["error"]

    async def step() -> tuple[list[Skill], list[Change]]:
        id_ = OUTCOME.id(session_id, turn_id)
        if await memory.records(user_id, MemoryScope.EXPERIENCE, [id_]):
            return [], []
        found = await memory.records(user_id, MemoryScope.PROCEDURAL, offered)
        skills = [Skill.from_value(value) for value in found.values()]
        kept_back = [skill.id for skill in skills if is_withheld(skill, turn_id)]
        followed = uses_of([skill for skill in skills if skill.id not in kept_back], steps, success=came_off)
        outcome = TurnOutcome(
            id=id_,
            text=goal[:_MAX_GOAL],
            task_type=task_type,
            turn_id=turn_id,
            success=came_off,
            offered=tuple(id_ for id_ in found if id_ not in kept_back),
            withheld=tuple(kept_back),
            followed=followed,
            session_id=session_id,
            agent_id=agent_id,
            source_ids=(turn_id,),
        )
        taken, came_to = {step["action"] for step in steps}, worth(came_off, len(steps))
        after = []
        for skill in skills:
            used = after_use(skill, followed[skill.id]) if skill.id in followed else skill
            # a turn that took none of its tools had another thing to do
            if skill.source_ids and taken & {step.tool for step in skill.tool_sops}:
                used = after_turn(used, came_to, withheld=skill.id in kept_back)
            after.append(used)
        changed = [put(user_id, skill) for skill, before in zip(after, skills, strict=True) if skill != before]
        return [skill for skill in after if skill.id in followed], [
            put(user_id, outcome),
            put_work(user_id, learning),
            *changed,
        ]

    learning = upkeep(agent_id, session_id, memory.policy.extraction.quiet_after)
    used = await transact(memory.store, user_id, step)
    announce(user_id, [learning])
    return used


def kind_followed(kinds: Mapping[str, Sequence[str]], steps: Sequence[Mapping[str, Any]]) -> str:
    """Return the kind of task of the skill that a turn followed, given the tools by kind; empty for none.

    >>> kind_followed({"shop": ["find", "order"]}, [{"action": n, "error": ""} for n in ("find", "look", "order")])
    'shop'
    """
    done = [step["action"] for step in steps if not step["error"]]
    return next((kind for kind, tools in kinds.items() if match(tools, done) is not None), "")


def uses_of(skills: Sequence[Skill], steps: Sequence[Mapping[str, Any]], *, success: bool) -> dict[str, bool]:
    """Return the followed skills by id, with their success.

    If one skill's steps are a part of another's, only the longer one counts: the shorter one's gap would never show.
    """
    uses = {skill.id: use for skill in skills if (use := use_of(skill, steps, success=success)) is not None}
    went_through = [tools_of(skill) for skill in skills if uses.get(skill.id)]

    def is_part(own: Sequence[str]) -> bool:
        return any(len(own) < len(other) and match(own, other) is not None for other in went_through)

    tools = {skill.id: tools_of(skill) for skill in skills}
    return {id_: use for id_, use in uses.items() if not (use and is_part(tools[id_]))}


def use_of(skill: Skill, steps: Sequence[Mapping[str, Any]], *, success: bool) -> bool | None:
    """Return a skill's success in a turn; None if the turn did not follow it.

    It was followed if all its steps went well in order: then the turn's success is the skill's. It failed if a due step
    failed and the agent went on with another tool. A turn that merely begins alike does not count.
    """
    due = tools_of(skill)
    if not due:
        return None
    failing = False
    for step in steps:
        if not due:
            break
        if step["action"] == due[0]:
            failing = bool(step["error"])
            due = due if failing else due[1:]
        elif failing:
            return False
    if due:
        return False if failing else None
    return success
