"""The nodes that make `react` remember: before the loop, within it and after it; with a search of the web.

A failing memory never fails a turn: the turn goes on as `react` would, and a `memory` event says what is missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NotRequired

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter

from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import ResolvedAgent
from react_mem.graphs import events
from react_mem.graphs.cards.memory_cards import TurnCards, recalled_memories
from react_mem.graphs.reason import Reason, is_empty, require_input
from react_mem.graphs.schemas import current_turn
from react_mem.graphs.switching import Switching, SwitchState
from react_mem.graphs.working_memory import WorkingMemory, update_working_memory, with_compressed_steps
from react_mem.memory import MemoryQuery, MemoryScope, Profile, telemetry
from react_mem.memory.context import (
    NOTICE,
    Frame,
    Layout,
    Section,
    WebAnswer,
    Window,
    added_in_run,
    followed_by,
    is_delegated,
    is_kept_out,
    is_users,
    kept_out,
    lay_out,
    message_record_id,
    text_of,
    tool_tokens,
)
from react_mem.memory.runtime import (
    AgentRunner,
    Asker,
    TaskNotes,
    Turns,
    TurnTasks,
    capabilities_of,
    kind_followed,
    record_turn,
    switched_off,
    withhold,
)
from react_mem.memory.turns import Identity, Recalled, TurnMemory, cause_of, identify
from react_mem.tools.plain_tools import recall_step

if TYPE_CHECKING:
    from react_mem.tools.web.search import WebSearch


log = logging.getLogger(__name__)

_PRIVACY_UNKNOWN = "memory cannot be read, so nobody knows what is private in the question"


def tasks_of(agent: ResolvedAgent) -> TurnTasks | None:
    """Return the tasks of an agent's turns; None with the policy's tasks off."""
    policy = agent.config.memory
    if not policy.tasks.enabled:
        return None
    models = agent.with_stand_ins(agent.small_model)
    planner = Asker(models, policy.recall.timeout, "planning") if models else None
    return TurnTasks(planner, {tool.name: tool.description for tool in agent.tools}, agent.config.name, policy)


def with_task(messages: Sequence[BaseMessage], notes: TaskNotes | None) -> list[BaseMessage]:
    """Return the messages for the prompt, the task at the end of the user's message."""
    asked = next((i for i in range(len(messages) - 1, -1, -1) if is_users(messages[i])), None)
    if asked is None or notes is None or not notes["shown"]:
        return list(messages)
    return [*messages[:asked], followed_by(messages[asked], notes["shown"]), *messages[asked + 1 :]]


class MemState(SwitchState):
    """The state of `react_mem`: every field beyond `AgentState` is private to it.

    `remembered` is the id of the last stored message of the thread; the layout, the notes and the card are of the turn.
    """

    layout: NotRequired[Layout | None]
    working_memory: NotRequired[WorkingMemory | None]
    remembered: NotRequired[str | None]
    task: NotRequired[TaskNotes | None]
    recall_card: NotRequired[dict[str, Any] | None]


class MemoryNodes:
    """The memory nodes of one agent; `act` runs `tools`, and `switches` is true if a turn chooses."""

    def __init__(self, agent: ResolvedAgent) -> None:
        self._agent = agent
        self._policy = agent.config.memory
        self._web: WebSearch | None = None
        if self._policy.web.enabled:
            # loaded where it is used: most agents never search; and now, not in a turn, since it takes a moment
            from react_mem.tools.web.search import shared_search

            self._web = shared_search(self._policy.web)
        self._recalls = recall_step.name in {tool.name for tool in agent.tools}
        self._switching = Switching.of(agent, remembers=True)
        found = (self._switching.find_tools,) if self._switching and self._switching.find_tools else ()
        recalling = () if self._recalls else (recall_step,)
        self.tools = (*agent.tools, *recalling, *found) if agent.tools else ()
        self.switches = self._switching is not None
        self._tool_tokens = self._switching.most_tokens if self._switching else tool_tokens(agent.tools)
        # of a turn without a layout, nothing has been counted: a command of the caller has led straight to the model
        self._reason = Reason(agent, self.compose, self.offer, lambda state: state.get("layout") is None)
        self._tasks = tasks_of(agent)
        self._task_tokens = self._tasks.tokens if self._tasks else 0
        self._memory = agent.remembering()
        models, tools = agent.with_stand_ins(agent.small_model), tuple(tool.name for tool in agent.tools)
        # a flow keeps nothing longer than its agent
        runner = AgentRunner(self._memory.turns, models, tools, agent.config.memory.retention)
        agent.work.runners[agent.config.name] = runner

    async def retrieve_context(self, state: MemState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Search memory and the web for the question, store the question, and lay out the prompt of the turn.

        The tools and layers of the turn are chosen at the same time: the tokens that the tools leave are room for
        memories, and the layers that the request asks for get it first.
        """
        thread, config = state["messages"], get_config()
        require_input(thread)
        theirs = {message.id: message for message in await added_in_run(thread, state.get("remembered"), config)}
        thread = [theirs.get(message.id, message) for message in thread] if theirs else thread
        context = AgentContext.of(runtime.context, config.get("configurable"))
        run = await self._agent.for_run(context)
        memory = TurnMemory.of(replace(self._memory, policy=run.policy), runtime)
        thread, unkept = await memory.withheld(thread)
        frame = Frame(
            thread=thread,
            policy=run.policy,
            window=Window.of(run.policy.context.window, run.model.model),
            instructions=run.instructions if isinstance(run.instructions, str) else run.instructions.text,
            tool_tokens=self._tool_tokens + self._task_tokens,
            times=not capabilities_of(run.model.model).follows_instructions,
        )
        await memory.metering.admit()
        delegated = is_delegated(config, thread)
        retrieving = self._retrieve(frame, memory, state.get("remembered"), stores=not delegated)
        planner = None if memory.switched_off or delegated or unkept else memory.identity
        planning = None
        if self._tasks:
            tell = partial(events.task, runtime.stream_writer)
            keeper = self._tasks.keeper(planner, runtime.store)
            beginning = self._tasks.begin(state["messages"], state.get("task"), keeper, tell)
            planning = asyncio.create_task(beginning)
        chosen: dict[str, Any] = {}
        favoured: tuple[str, ...] = ()
        milestone = False
        limited = self._switching is not None and self._switching.limits
        if self._switching is None:
            recalled, answer = await retrieving
        else:
            (recalled, answer), choice = await asyncio.gather(
                retrieving, self._switching.choose(thread, runtime, memory.turns)
            )
            frame = replace(frame, tool_tokens=self._switching.tokens(choice) + self._task_tokens)
            chosen, favoured, milestone = self._switching.update(choice), choice.layers, choice.snapshot
        recalled, kept_back = self._withhold(recalled, memory.turns, thread)
        assembled = await memory.assemble(frame, recalled, answer.pages, favoured, limited=limited)
        if kept_back:
            assembled.layout["offered"] = [*assembled.layout.get("offered", ()), *kept_back]
        if milestone:
            assembled.layout["snapshot"] = True
        events.context(runtime.stream_writer, assembled, frame.window.tokens)
        # each field that is written is a row in the checkpointer, and one more where it is no plain value
        update: dict[str, Any] = {"layout": assembled.layout, **chosen}
        if self._agent.config.cards:
            known = [item for item in recalled.results if item.id in assembled.ids.get(Section.PROFILE, ())]
            update["recall_card"] = recalled_memories([*assembled.memories.items, *known])
        notes = update_working_memory(thread, None, self._policy)
        if notes["steps"] or state.get("working_memory") is not None:
            update["working_memory"] = notes if notes["steps"] else None
        if planning is not None:
            update["task"] = await planning
        if delegated:
            update["messages"] = kept_out(thread)
        elif memory.switched_off:
            update["messages"] = kept_out(list(takewhile(is_users, reversed(thread))))
        elif theirs or unkept:
            update["messages"] = [*theirs.values(), *unkept]
        return update | {"remembered": memory.mark(thread)} if recalled.stored else update

    async def _retrieve(
        self, frame: Frame, memory: TurnMemory, remembered: str | None, *, stores: bool
    ) -> tuple[Recalled, WebAnswer]:
        thread, writer, turns = frame.thread, memory.runtime.stream_writer, memory.turns
        recalling = memory.begin(lambda who: self._query(frame, who), thread if stores else (), remembered)
        if turns is None or not self._policy.web.private_queries:
            # of somebody who has switched memory off, nobody knows what is private
            unknown = memory.switched_off and memory.identity is not None and self._policy.web.private_queries
            return await asyncio.gather(recalling, self._search(thread, None if unknown else {}, writer))
        # what is private is known once the profile has been read
        recalled = await recalling
        private = await private_values(turns, recalled) if self._web is not None else None
        return recalled, await self._search(thread, private, writer)

    def _withhold(
        self, recalled: Recalled, turns: Turns | None, thread: Sequence[AnyMessage]
    ) -> tuple[Recalled, list[str]]:
        """Take out the skills that this turn does without, for comparison, where outcomes are counted."""
        if turns is None or self._policy.learning.skills == "off":
            return recalled, []
        shown, kept_back = withhold(recalled.results, _turn_id(turns, thread))
        if not kept_back:
            return recalled, []
        results = copy(recalled.results)
        results[:] = shown
        return replace(recalled, results=results), kept_back

    def _query(self, frame: Frame, identity: Identity) -> MemoryQuery:
        query = frame.query(identity, self._memory.agent_id)
        # a skill that takes a tool which the agent does not have is of no use to it
        query.extra["tools"] = [tool.name for tool in self._agent.tools]
        return query

    async def _search(
        self, thread: Sequence[AnyMessage], private: dict[str, str] | None, writer: StreamWriter
    ) -> WebAnswer:
        """Search the web if the question asks for it, and report the result on the stream.

        `private` has private values by field, which must not leave the house; None where they are unknown.
        """
        if self._web is None:
            return WebAnswer()
        if private is None:
            telemetry.count("degradations", part="web_search")
            answer = WebAnswer(missing={"privacy": _PRIVACY_UNKNOWN})
        else:
            question, models = text_of(thread[-1]), self._agent.with_stand_ins(self._agent.search_model)
            answer = await self._web.search(question, profile_values=private, models=models, now=datetime.now(UTC))
        if answer.trigger != "none" or answer.missing:
            found = {"urls": [page.url for page in answer.pages], "missing": dict(answer.missing)}
            events.tell(writer, "search", trigger=answer.trigger, query=answer.query, **found)
        return answer

    def compose(self, state: MemState, instructions: str | SystemMessage) -> list[BaseMessage]:
        """Return the prompt: instructions, retrieved memories, and the latest turns of the thread.

        The beginning stays the same, byte for byte, within an invocation, so that provider caches hit.
        """
        layout = state.get("layout")
        laid_out = lay_out(state["messages"], layout, instructions)
        said = [message for message in laid_out if not (isinstance(message, HumanMessage) and is_empty(message))]
        noted = with_compressed_steps(said, state.get("working_memory"), layout["result_tokens"] if layout else None)
        return with_task(noted, state.get("task")) if self._tasks else noted

    async def reason(self, state: MemState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Call the model; read-only tools may run ahead at the same time."""
        answer = partial(self._reason, state, runtime=runtime)
        return await (self._switching.beside(state, answer) if self._switching else answer())

    def offer(self, state: MemState) -> tuple[BaseTool, ...]:
        """Return the tools for the model, with `recall_step` once its notes leave something out."""
        tools = self._switching.offered(state) if self._switching else self._agent.tools
        notes = state.get("working_memory")
        cut = bool(notes and notes["compressed"] and notes["compressed"]["cut"])
        return (*tools, recall_step) if cut and not self._recalls else tools

    async def update_working_memory(self, state: MemState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Note the last steps, for the task as well."""
        notes, layout = state.get("working_memory"), state.get("layout")
        room = layout["step_tokens"] if layout is not None else None
        # long results take a while to read
        updated = await asyncio.to_thread(update_working_memory, state["messages"], notes, self._policy, room)
        task = state.get("task")
        if self._tasks is None or task is None:
            return {"working_memory": updated}
        recompressed = (notes["compressed"] if notes else None) != updated["compressed"]
        config = get_config()
        unkept = switched_off(runtime, config) or is_kept_out(current_turn(state["messages"])[0])
        identity = None if unkept or is_delegated(config) else identify(runtime, config)
        tell = partial(events.task, runtime.stream_writer)
        keeper = self._tasks.keeper(identity, runtime.store)
        moved = await self._tasks.advance(state["messages"], task, updated["steps"], recompressed, keeper, tell)
        return {"working_memory": updated, "task": moved}

    async def extract(self, state: MemState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Store the turn and extract from it; the notes of the turn are discarded."""
        thread, task, notes = state["messages"], state.get("task"), state.get("working_memory")
        cards = TurnCards(thread, drawn=self._policy.extracts) if self._agent.config.cards else None
        tell = cards.telling(runtime.stream_writer) if cards else None
        memory = TurnMemory.of(self._memory, runtime, tell)
        layout: Layout | dict[str, Any] = state.get("layout") or {}
        done: dict[str, Any] = {"layout": None}
        if cards is not None:
            cards.show_recalled(state.get("recall_card"))
            done["recall_card"] = None
        if notes is not None:
            done["working_memory"] = None
        if self._tasks is not None and task is not None:
            done["task"] = self._tasks.finish(task)
        thread, unkept = await memory.withheld(thread, tells=False)
        turn = current_turn(thread)
        # also of a run that goes on with such a turn, and no longer says so
        if memory.switched_off or is_kept_out(turn[0]):
            return done | {"messages": kept_out(turn)}
        if unkept:
            done["messages"] = unkept
        turns = memory.turns
        if turns is None:
            return done
        if runtime.server_info is None:
            # a server has a worker for all agents
            self._agent.work.ensure(turns.memory.store)
        steps = notes["steps"] if notes and not unkept else ()
        kind = kind_followed(layout.get("kinds") or {}, steps)

        async def storing() -> None:
            await turns.close(
                thread,
                state.get("remembered"),
                steps,
                TurnTasks.taken_steps(task),
                searched=layout.get("searched", False),
                snapshot=layout.get("snapshot", False),
                task_type=kind,
                used=layout.get("used") or (),
                run_id=memory.run_id,
            )
            if cards is not None:
                cards.show_kept()
            if self._policy.learning.skills != "off" and steps:
                # an answer that the runtime gave in the model's place, such as that it stopped, is not a success
                stopped = bool(thread[-1].additional_kwargs.get(NOTICE))
                await record_turn(
                    turns.memory,
                    turns.user_id,
                    session_id=turns.session_id,
                    agent_id=turns.agent_id,
                    turn_id=_turn_id(turns, thread),
                    offered=layout.get("offered", ()),
                    steps=steps,
                    success=False if stopped else None,
                    task_type=kind,
                )

        return done | {"remembered": memory.mark(thread)} if await memory.end(turns, storing()) else done


def _turn_id(turns: Turns, thread: Sequence[AnyMessage]) -> str:
    [asked, *_] = current_turn(thread)
    return message_record_id(turns.session_id, asked)


async def private_values(turns: Turns, recalled: Recalled) -> dict[str, str] | None:
    """Return the user's private values from the profile; None if the profile cannot be read."""
    if not recalled.read:
        return None
    if not turns.memory.policy.recall.profile:
        # not in the prompt, but private all the same
        try:
            async with asyncio.timeout(turns.memory.policy.recall.timeout):
                profile = await turns.memory.profile.get_profile(turns.user_id)
        except Exception as error:
            log.warning("the profile cannot be read: %s", cause_of(error))
            return None
    else:
        profiles = (item.payload for item in recalled.results if item.scope is MemoryScope.PROFILE)
        profile = next((Profile.from_value(value) for value in profiles if value.get("fields")), None)
    return {} if profile is None else profile.known_values()
