"""Outcomes of a turn and of the skills that were offered in it: logged once a turn (idempotent)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from react_mem.memory.merging.skill_life import after_use
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import OUTCOME
from react_mem.memory.model.records import now
from react_mem.memory.model.skills import Skill, TurnOutcome
from react_mem.memory.reflect.skills.traces import match
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import Work, announce, put_work

if TYPE_CHECKING:
    from react_mem.memory.facade import MemoryFacade

_MAX_GOAL = 600
"""Characters of what was asked for that are kept, for what turns have in common."""


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
    """Log what became of a turn, and count it for the skills that it followed.

    A retry of the turn, or another worker, changes nothing; turns that end at once are all counted.

    Args:
        memory: The facade.
        user_id: The owner.
        session_id: The conversation.
        agent_id: The agent.
        turn_id: What the turn answers: the id of the message's record, or of whatever else there is one of a turn.
        offered: The ids of the skills that the agent was shown.
        steps: What it did, in order: `action` and `error` each, as working memory has them.
        success: Whether the turn succeeded; by default, whether its last step did.
        task_type: What kind of task it was.
        goal: What was asked for; needed only where `turn_id` is not a message that memory has.

    Returns:
        The skills that were followed, as they are now; none where the turn is logged already, or did nothing.
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
        followed = uses_of(skills, steps, success=came_off)
        outcome = TurnOutcome(
            id=id_,
            text=goal[:_MAX_GOAL],
            task_type=task_type,
            turn_id=turn_id,
            success=came_off,
            offered=tuple(found),
            followed=followed,
            session_id=session_id,
            agent_id=agent_id,
            source_ids=(turn_id,),
        )
        used = [after_use(skill, followed[skill.id]) for skill in skills if skill.id in followed]
        return used, [put(user_id, outcome), put_work(user_id, learning), *(put(user_id, skill) for skill in used)]

    # what was done is learnt from once it is quiet; a flow has no conversation that would be concluded then
    due_at = int((now().timestamp() + memory.policy.extraction.quiet_after) * 1000)
    learning = Work(kind="maintain", agent=agent_id, session=session_id, due_at=due_at)
    used = await transact(memory.store, user_id, step)
    announce(user_id, [learning])
    return used


def uses_of(skills: Sequence[Skill], steps: Sequence[Mapping[str, Any]], *, success: bool) -> dict[str, bool]:
    """Return which of the skills that were offered a turn followed, and with what success.

    Where the steps of one are all among those of another, the turn followed the other: that the short one leaves
    something out would never show.

    Args:
        skills: The skills.
        steps: What the agent did, in order: `action` and `error` each.
        success: Whether the turn succeeded.
    """
    uses = {skill.id: use for skill in skills if (use := use_of(skill, steps, success=success)) is not None}
    went_through = [[step.tool for step in skill.tool_sops] for skill in skills if uses.get(skill.id)]

    def is_part(skill: Skill) -> bool:
        own = [step.tool for step in skill.tool_sops]
        return any(len(own) < len(other) and match(own, other) is not None for other in went_through)

    return {
        skill.id: uses[skill.id] for skill in skills if skill.id in uses and not (uses[skill.id] and is_part(skill))
    }


def use_of(skill: Skill, steps: Sequence[Mapping[str, Any]], *, success: bool) -> bool | None:
    """Return whether a turn followed one skill with success; None where it did not follow it.

    It followed where all steps of the skill went well in their order: then the turn's success is the skill's. It failed
    where a step that was due failed, and was not simply tried again: the agent had to find its own way, and whether it
    did is not the skill's merit. What breaks off without that only begins alike.

    Args:
        skill: The skill.
        steps: What the agent did, in order: `action` and `error` each.
        success: Whether the turn succeeded.
    """
    due = [step.tool for step in skill.tool_sops]
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
