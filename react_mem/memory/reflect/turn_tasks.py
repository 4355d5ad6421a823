"""Task of a turn: planned before the answer, advanced by tool calls, stored; a failed plan never fails the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from react_mem.memory import telemetry
from react_mem.memory.llm.answers import flat
from react_mem.memory.llm.budget import count_lines
from react_mem.memory.llm.calls import Asker
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.authors import is_users
from react_mem.memory.merging.transcript import message_record_id, text_of
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.states import Task
from react_mem.memory.reflect import task_planning as planning
from react_mem.memory.reflect.task_store import Step, TaskGraph, TaskKeeper, asks_to_go_on, meant, merge
from react_mem.memory.scopes.state import StateMemoryStore
from react_mem.prompts import load_prompt

# A task graph as the prompt shows it: what can be done now, and what that rests on, within a budget.

MAX_TOKENS = 300  # Tokens of the whole block: the goal and a frontier of five steps with their dependencies take 150
_LINE_CHARS = 200
_ERROR_CHARS = 120


def context_of(task: TaskGraph, current: str | None = None, max_tokens: int = MAX_TOKENS) -> str:
    """Return a task in a few lines within a token budget; empty where nothing is left to do.

    First the frontier, from the current step on, then what it depends on; the rest is counted.
    """
    if task.is_over:
        return ""
    ready = task.frontier()
    order = sorted(ready, key=lambda step: 0 if step.id == current else 1 if current in step.depends_on else 2)
    needed = {before for step in order for before in step.depends_on}
    wanted = [*order, *(step for step in task.steps if step.id in needed)]
    goal = f"Goal: {flat(task.goal, _LINE_CHARS)}"
    room = max_tokens - count_lines(goal) - count_lines(_rest(len(task.steps)))
    lines: dict[str, str] = {}
    for step in wanted:
        line = _line(step, step in ready)
        if (cost := count_lines(line)) <= room:
            lines[step.id] = line
            room -= cost
    hidden = sum(step.id not in lines for step in task.steps)
    shown = [lines[step.id] for step in task.steps if step.id in lines]
    return "\n".join([goal, *shown, *([_rest(hidden)] if hidden else [])])


def _line(step: Step, ready: bool) -> str:
    mark = step.status if step.status in ("done", "skipped", "failed", "running") else "now" if ready else "later"
    after = f" (after {', '.join(step.depends_on)})" if step.depends_on else ""
    error = f" (failed: {flat(step.error, _ERROR_CHARS)})" if step.error else ""
    return f"{flat(step.id, _LINE_CHARS)}. [{mark}] {flat(step.description, _LINE_CHARS)}{after}{error}"


def _rest(count: int) -> str:
    return f"({count} more, done already or to come later)"


_FORM = load_prompt("task_graph_context")


class TaskNotes(TypedDict):
    """The task of a conversation in its checkpoint."""

    id: str
    graph: dict[str, Any]
    shown: str  # in the prompt; empty for none
    noted: int  # of the turn's steps
    current: str | None
    taken: list[str]  # steps that changed in this turn
    records: dict[str, str]  # ids by step
    proofs: NotRequired[planning.Taken]  # a checkpoint of an earlier version has none


# Callback for the progress of a turn's task: called with `ok` or `degraded`, a message, and maybe the `graph`
Tell = Callable[..., None]


class TurnTasks:
    """The tasks of one agent's turns; the planner is the small model, None if it cannot plan."""

    tokens = 450
    """Tokens of a task in the prompt: its lines (`MAX_TOKENS`) in their frame."""

    def __init__(self, planner: Asker | None, tools: Mapping[str, str], agent_id: str, policy: MemoryPolicy) -> None:
        self._planner = planner
        self._tools = dict(tools)
        self._agent_id = agent_id
        self._policy = policy

    async def begin(
        self, thread: Sequence[AnyMessage], before: TaskNotes | None, keeper: TaskKeeper | None, tell: Tell
    ) -> TaskNotes | None:
        """Return the task of a new turn, the request last in the thread: the earlier one, or a new plan."""
        request = text_of(thread[-1])
        taken = before.get("proofs", {}) if before else {}
        try:
            known = await self._known(request, before, keeper)
            if known is not None and asks_to_go_on(request):
                tell("ok", "Going on with an unfinished task.", graph=known.to_json())
                return await self._kept(_notes(known, taken), thread, keeper)
            if self._planner is None:
                tell("degraded", "The turn goes on without a plan: the small model can only quote.")
                return _resting(before)
            plan = await self._planner.ask(planning.plan_of(self._tools, thread[:-1], request, known))
            shown = thread[-planning.SAID - 1 :]
            ids = {str(message.id) for message in shown}
            taken = {id_: spans for id_, spans in taken.items() if id_ in ids}
            plan, taken = await _proven(plan, known, shown, taken)
            notes = _planned(plan, request, known, thread, keeper, taken)
            if notes is None:
                # talk in between: the task that is known waits for its next turn
                return _resting(_notes(known, taken) if known else None)
            note = "; ".join(f"left out: {repair}" for repair in plan.repairs)
            tell("ok", note, graph=notes["graph"])
            return await self._kept(notes, thread, keeper, new=known is None or notes["id"] != known.id)
        except Exception as error:
            _degrade(tell, error)
            return _resting(before)

    async def advance(
        self,
        thread: Sequence[AnyMessage],
        notes: TaskNotes,
        steps: Sequence[Mapping[str, Any]],
        recompressed: bool,
        keeper: TaskKeeper | None,
        tell: Tell,
    ) -> TaskNotes:
        """Return the task after tool calls; its text changes with the prompt alone, so that provider caches hit."""
        if not notes["shown"]:
            return notes
        graph = TaskGraph.from_json(notes["graph"])
        after, current = planning.observed(graph, steps[notes["noted"] :])
        notes = {**notes, "noted": len(steps), "current": current or notes["current"]}
        if recompressed:
            notes["shown"] = _shown(after, notes["current"])
        if after == graph:
            return notes
        taken = [step.id for step in after.steps if (old := graph.step(step.id)) and old.status != step.status]
        notes |= {"graph": after.to_json(), "taken": list(dict.fromkeys([*notes["taken"], *taken]))}
        tell("ok", "", graph=notes["graph"])
        try:
            return await self._kept(notes, thread, keeper)
        except Exception as error:
            _degrade(tell, error)
            return notes

    def finish(self, notes: TaskNotes) -> TaskNotes:
        """Return the task after the answer: hidden until the next turn, with no step completed by the answer itself."""
        return {**notes, "shown": "", "noted": 0}

    @staticmethod
    def taken_steps(notes: TaskNotes | None) -> tuple[str, ...]:
        """Return the ids of the records of the steps that a turn took."""
        return tuple(notes["records"][id_] for id_ in notes["taken"] if id_ in notes["records"]) if notes else ()

    def keeper(self, identity: Identity | None, store: BaseStore | None) -> TaskKeeper | None:
        """Return the stored tasks of a conversation; None without memory."""
        if identity is None or store is None:
            return None
        state = StateMemoryStore(store, self._policy)
        return TaskKeeper(state, identity.user_id, identity.session_id, self._agent_id)

    async def _known(self, request: str, before: TaskNotes | None, keeper: TaskKeeper | None) -> TaskGraph | None:
        if keeper is None:
            return _as_kept(before) if before and not _as_kept(before).is_over else None
        async with asyncio.timeout(self._policy.recall.timeout):
            # what was forgotten meanwhile must not come back from the checkpoint
            kept = await keeper.load(before["id"]) if before else None
            return kept if kept is not None and not kept.is_over else await keeper.find(request)

    async def _kept(
        self, notes: TaskNotes, thread: Sequence[AnyMessage], keeper: TaskKeeper | None, *, new: bool = False
    ) -> TaskNotes:
        if keeper is None:
            return notes
        async with asyncio.timeout(self._policy.recall.timeout):
            records = await keeper.save(_as_kept(notes), _source(thread, keeper), new=new)
        return {**notes, "records": records}


def _planned(
    plan: planning.Plan,
    request: str,
    known: TaskGraph | None,
    thread: Sequence[AnyMessage],
    keeper: TaskKeeper | None,
    taken: planning.Taken,
) -> TaskNotes | None:
    if known is not None and plan.goes_on:
        return _notes(merge(known, plan.graph), taken)
    if not plan.graph.steps:
        return None
    # nothing has been done for it yet, whatever the model says
    graph = TaskGraph(plan.graph.goal, tuple(replace(step, status="pending", error="") for step in plan.graph.steps))
    if known is not None and meant(request, [known.goal]) is not None:
        # who asks to go on with it has set no new one, even if the model takes it for one
        return _notes(merge(known, graph), taken)
    source = _source(thread, keeper)
    task = replace(graph, id=Task.identity(keeper.session_id if keeper else "", source))
    # what is wished for in these words is not done by them
    return _notes(task, planning.all_taken(taken, thread[-1]))


async def _proven(
    plan: planning.Plan, known: TaskGraph | None, shown: Sequence[AnyMessage], taken: planning.Taken
) -> tuple[planning.Plan, planning.Taken]:
    # long messages take a while to read
    return await asyncio.to_thread(lambda: planning.proven(plan, known, planning.evidence_in(shown), taken))


def _notes(task: TaskGraph, taken: planning.Taken) -> TaskNotes:
    shown = _shown(task, None)
    return TaskNotes(
        id=task.id, graph=task.to_json(), shown=shown, noted=0, current=None, taken=[], records={}, proofs=taken
    )


def _resting(notes: TaskNotes | None) -> TaskNotes | None:
    """Return a task that this turn does not work on."""
    return {**notes, "shown": "", "taken": []} if notes else None


def _as_kept(notes: TaskNotes) -> TaskGraph:
    return replace(TaskGraph.from_json(notes["graph"]), id=notes["id"])


def _shown(graph: TaskGraph, current: str | None) -> str:
    lines = context_of(graph, current)
    return _FORM.format(task=lines) if lines else ""


def _source(thread: Sequence[AnyMessage], keeper: TaskKeeper | None) -> str:
    asked = next((message for message in reversed(thread) if is_users(message)), thread[-1])
    return message_record_id(keeper.session_id if keeper else "", asked)


def _degrade(tell: Tell, error: Exception) -> None:
    telemetry.count("degradations", part="task_graph")
    tell("degraded", f"The turn goes on without a plan: {cause_of(error)}")
