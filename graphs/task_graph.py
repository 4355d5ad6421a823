"""The task of a turn: planned before the answer, moved on as tools are called, kept for the conversation to come.

On by the policy's `tasks.enabled`. A plan that cannot be had costs the plan, not the turn: a `task` event says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NotRequired

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter
from typing_extensions import TypedDict

from react_mem.agents.extractive import ExtractiveChatModel
from react_mem.agents.resolve import ResolvedAgent
from react_mem.errors import ExtractionError
from react_mem.graphs import events
from react_mem.graphs.state import current_turn
from react_mem.graphs.working_memory import WorkingMemory, with_note
from react_mem.memory import telemetry
from react_mem.memory.context import message_record_id, text_of
from react_mem.memory.runtime import (
    SAID,
    Asker,
    Identity,
    KeptTask,
    Plan,
    StateMemoryStore,
    Taken,
    Task,
    TaskGraph,
    TaskKeeper,
    all_taken,
    asks_to_go_on,
    cause_of,
    context_of,
    continues,
    evidence_in,
    meant,
    merge,
    observed,
    plan_of,
    proven,
)
from react_mem.prompts import load_prompt

_FORM = load_prompt("task_graph_context")

TASK_TOKENS = 450
"""What a task takes in the prompt: its lines (`memory.reflect.tasks.task_lines.MAX_TOKENS`) in their frame."""

ASK_EVERY = 6
"""Steps of the loop after which the model is asked again how far the task is: what tools do is seen without it."""


class TaskNotes(TypedDict):
    """The task of a conversation, as its checkpoint has it.

    Args:
        id: The id of its record.
        graph: The task graph, as JSON.
        shown: What the prompt shows of it; empty for nothing.
        noted: How many steps of the turn it knows.
        asked: At how many steps the model was asked last.
        current: The step that was worked on last.
        taken: The ids of the steps that were taken in this turn.
        records: The ids of the steps' records, by the steps' ids.
        proofs: The words of this conversation that have proven a step, and prove no other.
    """

    id: str
    graph: dict[str, Any]
    shown: str
    noted: int
    asked: int
    current: str | None
    taken: list[str]
    records: dict[str, str]
    # a checkpoint of an earlier version has none
    proofs: NotRequired[Taken]


class TaskGraphs:
    """The task graphs of one agent.

    Args:
        agent: The agent; its small model plans.
    """

    @classmethod
    def of(cls, agent: ResolvedAgent) -> TaskGraphs | None:
        """Return those of an agent, None where its policy has none."""
        return cls(agent) if agent.config.memory.tasks.enabled else None

    def __init__(self, agent: ResolvedAgent) -> None:
        self._agent_id = agent.config.name
        self._policy = agent.config.memory
        self._tools = {tool.name: tool.description for tool in agent.tools}
        small, seconds = agent.small_model, self._policy.recall.timeout
        # one that only quotes cannot plan
        quotes = isinstance(small, ExtractiveChatModel)
        self._planner = None if quotes else Asker(small, seconds, agent.stand_ins_for(small), "planning")

    async def begin(
        self,
        thread: Sequence[AnyMessage],
        before: TaskNotes | None,
        identity: Identity | None,
        runtime: Runtime[Any],
    ) -> TaskNotes | None:
        """Return the task of a turn that begins: what was begun before, or what the model plans.

        Args:
            thread: The messages of the conversation, the request last.
            before: The task of the turn before.
            identity: The user and the conversation; None where nothing is remembered.
            runtime: The run.
        """
        keeper, writer = self._keeper(identity, runtime), runtime.stream_writer
        request = text_of(thread[-1])
        taken = before.get("proofs", {}) if before else {}
        try:
            known = await self._known(request, before, keeper)
            if known is not None and asks_to_go_on(request):
                events.task(writer, "ok", "Going on with an unfinished task.", graph=known.graph.to_json())
                return await self._kept(_notes(known, taken), thread, keeper)
            if self._planner is None:
                events.task(writer, "degraded", "The turn goes on without a plan: the small model can only quote.")
                return _resting(before)
            # not meant by any word, but the model may see that the request is about it
            latest = await self._latest(keeper) if known is None else None
            offered = known or latest
            graph = offered.graph if offered else None
            plan = await self._planner.ask(plan_of(self._tools, thread[:-1], request, graph))
            if latest is not None and continues(plan, latest.graph):
                known = latest
            shown = thread[-SAID - 1 :]
            plan, taken = await _proven(plan, graph, shown, _still_shown(taken, shown))
            notes = _planned(plan, request, known, thread, keeper, taken)
            if notes is None:
                # talk in between: the task that is known waits for its next turn
                return _resting(_notes(known, taken) if known else None)
            note = "; ".join(f"left out: {repair}" for repair in plan.repairs)
            events.task(writer, "ok", note, graph=notes["graph"])
            return await self._kept(notes, thread, keeper, new=known is None or notes["id"] != known.id)
        except Exception as error:
            _degrade(writer, error)
            return _resting(before)

    async def advance(
        self,
        thread: Sequence[AnyMessage],
        notes: TaskNotes,
        working: WorkingMemory,
        recompressed: bool,
        identity: Identity | None,
        runtime: Runtime[Any],
    ) -> TaskNotes:
        """Return the task after tools were called.

        What the prompt shows of it changes only where the prompt changes anyhow, or the model was asked: in between it
        grows at its end, and provider caches hit.

        Args:
            thread: The messages of the conversation.
            notes: The task.
            working: The steps of the turn.
            recompressed: Whether older steps have just been compressed.
            identity: The user and the conversation; None where nothing is remembered.
            runtime: The run.
        """
        steps = working["steps"]
        if not notes["shown"]:
            return notes
        graph = TaskGraph.from_json(notes["graph"])
        after, current = observed(graph, steps[notes["noted"] :])
        notes = {**notes, "noted": len(steps), "current": current or notes["current"]}
        fresh = recompressed
        try:
            if len(steps) - notes["asked"] >= ASK_EVERY and not after.is_over:
                notes["asked"] = len(steps)
                after, notes["proofs"] = await self._asked(notes, working, after, thread)
                fresh = True
        except ExtractionError as error:
            _degrade(runtime.stream_writer, error)
        if fresh:
            notes["shown"] = _shown(after, notes["current"])
        return await self._moved(notes, graph, after, thread, identity, runtime)

    def finish(self, notes: TaskNotes) -> TaskNotes:
        """Return the task after the answer, which does no step of it by itself: it waits for the next turn.

        Args:
            notes: The task.
        """
        return {**notes, "shown": "", "noted": 0, "asked": 0}

    def _keeper(self, identity: Identity | None, runtime: Runtime[Any]) -> TaskKeeper | None:
        if identity is None or runtime.store is None:
            return None
        return TaskKeeper(
            StateMemoryStore(runtime.store, self._policy), identity.user_id, identity.session_id, self._agent_id
        )

    async def _known(self, request: str, before: TaskNotes | None, keeper: TaskKeeper | None) -> KeptTask | None:
        if keeper is None:
            return _as_kept(before) if before and not _as_kept(before).graph.is_over else None
        async with asyncio.timeout(self._policy.recall.timeout):
            # what was forgotten meanwhile must not come back from the checkpoint
            kept = await keeper.load(before["id"]) if before else None
            return kept if kept is not None and not kept.graph.is_over else await keeper.find(request)

    async def _latest(self, keeper: TaskKeeper | None) -> KeptTask | None:
        if keeper is None:
            return None
        async with asyncio.timeout(self._policy.recall.timeout):
            return await keeper.latest()

    async def _asked(
        self, notes: TaskNotes, working: WorkingMemory, task: TaskGraph, thread: Sequence[AnyMessage]
    ) -> tuple[TaskGraph, Taken]:
        """Return a task as the model sees it in the middle of a turn, and the words that have proven a step."""
        taken = notes.get("proofs", {})
        if self._planner is None:
            return task, taken
        steps = working["steps"][-ASK_EVERY:]
        plan = await self._planner.ask(plan_of(self._tools, (), working["goal"], task, steps))
        plan, taken = await _proven(plan, task, current_turn(thread), taken)
        return merge(task, plan.graph) if plan.graph.steps else task, taken

    async def _moved(
        self,
        notes: TaskNotes,
        before: TaskGraph,
        after: TaskGraph,
        thread: Sequence[AnyMessage],
        identity: Identity | None,
        runtime: Runtime[Any],
    ) -> TaskNotes:
        if after == before:
            return notes
        writer = runtime.stream_writer
        taken = [step.id for step in after.steps if (old := before.step(step.id)) and old.status != step.status]
        moved: TaskNotes = {
            **notes,
            "graph": after.to_json(),
            "taken": list(dict.fromkeys([*notes["taken"], *taken])),
        }
        events.task(writer, "ok", "", graph=moved["graph"])
        try:
            return await self._kept(moved, thread, self._keeper(identity, runtime))
        except Exception as error:
            _degrade(writer, error)
            return moved

    async def _kept(
        self, notes: TaskNotes, thread: Sequence[AnyMessage], keeper: TaskKeeper | None, *, new: bool = False
    ) -> TaskNotes:
        if keeper is None:
            return notes
        async with asyncio.timeout(self._policy.recall.timeout):
            records = await keeper.save(_as_kept(notes), _source(thread, keeper), new=new)
        return {**notes, "records": records}


def with_task(messages: Sequence[BaseMessage], notes: TaskNotes | None) -> list[BaseMessage]:
    """Return the messages for the prompt, the task at the end of the user's message.

    Args:
        messages: The messages.
        notes: The task.
    """
    asked = next((i for i in range(len(messages) - 1, -1, -1) if isinstance(messages[i], HumanMessage)), None)
    if asked is None or notes is None or not notes["shown"]:
        return list(messages)
    return [*messages[:asked], with_note(messages[asked], notes["shown"]), *messages[asked + 1 :]]


def taken_steps(notes: TaskNotes | None) -> tuple[str, ...]:
    """Return the ids of the records of the steps that a turn took."""
    return tuple(notes["records"][id_] for id_ in notes["taken"] if id_ in notes["records"]) if notes else ()


def _planned(
    plan: Plan,
    request: str,
    known: KeptTask | None,
    thread: Sequence[AnyMessage],
    keeper: TaskKeeper | None,
    taken: Taken,
) -> TaskNotes | None:
    if known is not None and plan.goes_on:
        return _notes(KeptTask(known.id, merge(known.graph, plan.graph)), taken)
    if not plan.graph.steps:
        return None
    # nothing has been done for it yet, whatever the model says
    graph = TaskGraph(plan.graph.goal, tuple(replace(step, status="pending", error="") for step in plan.graph.steps))
    if known is not None and meant(request, [known.graph.goal]) is not None:
        # who asks to go on with it has set no new one, even if the model takes it for one
        return _notes(KeptTask(known.id, merge(known.graph, graph)), taken)
    source = _source(thread, keeper)
    task = KeptTask(Task.identity(keeper.session_id if keeper else "", source), graph)
    # what is wished for in these words is not done by them
    return _notes(task, all_taken(taken, thread[-1]))


async def _proven(plan: Plan, known: TaskGraph | None, shown: Sequence[AnyMessage], taken: Taken) -> tuple[Plan, Taken]:
    # long messages take a while to read
    return await asyncio.to_thread(lambda: proven(plan, known, evidence_in(shown), taken))


def _still_shown(taken: Taken, shown: Sequence[AnyMessage]) -> Taken:
    ids = {str(message.id) for message in shown}
    return {id_: spans for id_, spans in taken.items() if id_ in ids}


def _notes(task: KeptTask, taken: Taken) -> TaskNotes:
    return TaskNotes(
        id=task.id,
        graph=task.graph.to_json(),
        shown=_shown(task.graph, None),
        noted=0,
        asked=0,
        current=None,
        taken=[],
        records={},
        proofs=taken,
    )


def _resting(notes: TaskNotes | None) -> TaskNotes | None:
    """Return a task that this turn does not work on."""
    return {**notes, "shown": "", "taken": []} if notes else None


def _as_kept(notes: TaskNotes) -> KeptTask:
    return KeptTask(notes["id"], TaskGraph.from_json(notes["graph"]))


def _shown(graph: TaskGraph, current: str | None) -> str:
    lines = context_of(graph, current)
    return _FORM.format(task=lines) if lines else ""


def _source(thread: Sequence[AnyMessage], keeper: TaskKeeper | None) -> str:
    asked = next((message for message in reversed(thread) if isinstance(message, HumanMessage)), thread[-1])
    return message_record_id(keeper.session_id if keeper else "", asked)


def _degrade(writer: StreamWriter, error: Exception) -> None:
    telemetry.count("degradations", part="task_graph")
    events.task(writer, "degraded", f"The turn goes on without a plan: {cause_of(error)}")
