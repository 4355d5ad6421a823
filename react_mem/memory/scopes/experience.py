"""Experience scope: steps of agents and their outcomes, from which skills are learnt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from langgraph.store.base import GetOp, Item, Op, SearchOp

from react_mem.memory.index.recall import Question, RecallHit, RecallOp
from react_mem.memory.model.external import origin_of_result
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import EXPERIENCE, MESSAGE, OUTCOME
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import Record, now
from react_mem.memory.model.states import MS, StepExperience, TurnOutcome, as_step
from react_mem.memory.scopes.scope import ScopeStore, model_of
from react_mem.memory.work.items import Work, announce, put_work, upkeep

MAX_OUTPUT_CHARS = 4_000
"""Characters stored of a tool's result, enough to judge the step; the whole is in the thread."""

MAX_STEPS_READ = 2_000
"""Latest steps of a user read at once: some 300 turns, a few megabytes, a tenth of a second on a busy machine."""

_A_STEP = timedelta(microseconds=1)

_TRACE = "trace_id"
"""Key in `meta` of a step's trace id, which tells repeated steps apart."""


@dataclass(frozen=True)
class LoggedTurn:
    """Trace of an agent's turn.

    `turn_id` is the message it answers, or the trace of its steps, and `goal` the request; empty where they are not
    known.
    """

    session_id: str
    turn_id: str
    task_type: str
    goal: str
    steps: tuple[StepExperience, ...]
    succeeded: bool

    @property
    def at(self) -> datetime:
        """Time of its last step."""
        return self.steps[-1].created_at

    def is_of(self, task_type: str, step: StepExperience) -> bool:
        """Return true if a step of it has a kind of task; a step without one goes by the name of its agent."""
        return task_type in ("", self.task_type or step.agent_id)


class ExperienceMemoryStore(ScopeStore):
    """The experience scope: read by kind of task, the latest first, never searched by meaning.

    Embedding every step would cost more than all else that a turn writes.
    """

    scope = MemoryScope.EXPERIENCE

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Read the latest steps, of the query's kind of task if it names one; steps without a kind go by their
        agent.
        """
        kinds: list[dict[str, str]] = [{}]
        if query.task_type:
            kinds = [{"task_type": query.task_type}, {"task_type": "", "agent_id": query.task_type}]
        space, most = self.namespace(query.user_id), self._policy.recall.max_memories
        return [SearchOp(space, {"kind": EXPERIENCE.name, **kind}, most) for kind in kinds]

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return the latest first."""
        found = super().results(answers, query)
        latest = sorted(found, key=lambda item: str(item.payload["created_at"]), reverse=True)
        return latest[: self._policy.recall.max_memories]

    async def log_step(
        self,
        step_data: StepExperience | Mapping[str, Any],
        *,
        user_id: str = "",
        session_id: str = "",
        agent_id: str = "",
    ) -> StepExperience:
        """Log one step; a policy with `learning: {experience: false}` stores nothing.

        Args:
            step_data: A record, or {"task_type", "tool", "input", "output", "error", "success", "cost", "latency"}. The
                tool may be called `tool_name`, its latency be given as `latency_ms`, and the owner (one, or a
                ValueError), the conversation and the agent stand in it too.
        """
        if isinstance(step_data, StepExperience):
            step, named = step_data, user_id
        else:
            data = {"session_id": session_id, "agent_id": agent_id, **step_data}
            named = str(data.pop("user_id", "") or user_id)
            step = self.made(StepExperience, data)
        if not named or user_id not in ("", named):
            raise ValueError("memory scope experience: user_id: give the one owner of the step")
        await self._keep(named, [step], dated=False)
        return step

    def logged(self, user_id: str, steps: Sequence[Mapping[str, Any]], **turn: str) -> list[Change]:
        """Return the writes of a turn's steps (`steps_to_experience`), for a batch; none if no steps are kept."""
        made = steps_to_experience(steps, **turn) if self._policy.learning.experience else ()
        return [put(user_id, step) for step in made]

    async def get_failures(self, task_type: str, limit: int = 50, *, user_id: str) -> list[StepExperience]:
        """Return the failed steps of a kind of task, or of an agent's without one, the latest first; empty for any."""
        turns, _ = await self.turns(user_id, task_type=task_type)
        failed = [step for turn in turns for step in turn.steps if not step.success and turn.is_of(task_type, step)]
        return sorted(failed, key=lambda step: step.created_at, reverse=True)[:limit]

    async def get_successful_traces(
        self, task_type: str, limit: int = 50, *, user_id: str
    ) -> list[list[StepExperience]]:
        """Return the steps of each successful turn of a kind of task (see `get_failures`), the latest turn first."""
        turns, _ = await self.turns(user_id, task_type=task_type)
        return [list(turn.steps) for turn in reversed(turns) if turn.succeeded][:limit]

    async def turns(
        self, user_id: str, agent_id: str = "", *, task_type: str = ""
    ) -> tuple[list[LoggedTurn], list[TurnOutcome]]:
        """Return the recent turns for a user, of a named agent or kind of task, the oldest first, and outcomes."""
        steps = await self.latest_steps(user_id, agent_id, MAX_STEPS_READ)
        by = {"agent_id": agent_id} if agent_id else {}
        told = await self._latest(user_id, MAX_STEPS_READ, kind=OUTCOME.name, **by)
        outcomes = list(map(TurnOutcome.from_value, told))
        dialog = MESSAGE.namespace(user_id)
        ids = dict.fromkeys(source for step in steps for source in step.source_ids[:1])
        found = cast("list[Item | None]", await self.store.abatch([GetOp(dialog, id_) for id_ in ids]) if ids else [])
        asked = {item.key: str(item.value.get("text", "")) for item in found if item is not None}
        turns = to_turns(steps, {(outcome.session_id, outcome.turn_id): outcome for outcome in outcomes}, asked)
        # of the oldest turn the beginning may be missing
        whole = turns[1:] if len(steps) == MAX_STEPS_READ else turns
        return [turn for turn in whole if any(turn.is_of(task_type, step) for step in turn.steps)], outcomes

    async def latest_steps(self, user_id: str, agent_id: str, limit: int) -> list[StepExperience]:
        """Return the latest steps of an agent for a user, in order; of any agent where none is named."""
        by = {"agent_id": agent_id} if agent_id else {}
        found = await self._latest(user_id, limit, kind=EXPERIENCE.name, **by)
        return list(map(StepExperience.from_value, found))

    async def agents(self, user_id: str) -> list[str]:
        """Return the agents of a user's latest steps."""
        found = await self._latest(user_id, MAX_STEPS_READ, kind=EXPERIENCE.name)
        return list(dict.fromkeys(str(value["agent_id"]) for value in found))

    async def _keep(self, user_id: str, records: Sequence[Record], *, dated: bool = True) -> None:
        if not self._policy.learning.experience:
            return
        await super()._keep(user_id, records, dated=dated)
        announce(user_id, self._due(records))

    def beside(self, user_id: str, records: Sequence[Record]) -> list[Change]:
        """Return the work items that learn from the steps."""
        return [put_work(user_id, work) for work in self._due(records)]

    def _due(self, records: Sequence[Record]) -> list[Work]:
        if self._policy.learning.skills == "off":
            return []
        places = dict.fromkeys((one.agent_id, one.session_id) for one in records if isinstance(one, StepExperience))
        return [upkeep(*place, self._policy.extraction.quiet_after) for place in places]

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Derive the kind of task, by default the flow, and a step's id, text, success and origin."""
        if "task_type" in model_of(self.scope, data).model_fields:
            data = {"task_type": data.get("flow_id", ""), **data}
        return _complete(as_step(data)) if EXPERIENCE.may_be(data) else data

    def shown(self, found: RecallHit | Item) -> MemoryResultItem:
        """Return a step with the field names of a write event too: `tool_name`, and `latency_ms` if it is measured."""
        result = super().shown(found)
        if not EXPERIENCE.matches(result.payload):
            return result
        latency = result.payload.get("latency")
        timed = {} if latency is None else {"latency_ms": latency * MS}
        return result.model_copy(update={"payload": {**result.payload, "tool_name": result.payload["tool"], **timed}})


def steps_to_experience(
    steps: Sequence[Mapping[str, Any]], *, session_id: str, agent_id: str, turn_id: str, task_type: str = ""
) -> list[StepExperience]:
    """Return the steps of a turn as experience; the same turn gives the same records.

    The steps have `action`, `arguments`, `observation` and `error`, and perhaps `latency` and `cost`, as in working
    memory.
    """
    at = now()
    return [
        StepExperience.model_validate(
            _complete(
                {
                    # steps are told in order by when they were taken
                    "created_at": at + place * _A_STEP,
                    "id": EXPERIENCE.id(session_id, turn_id, str(place)),
                    "task_type": task_type,
                    "tool": step["action"],
                    "input": dict(step["arguments"]),
                    "output": step["observation"],
                    "error": step["error"],
                    "latency": step.get("latency"),
                    "cost": step.get("cost"),
                    "session_id": session_id,
                    "agent_id": agent_id,
                    "source_ids": (turn_id,),
                }
            )
        )
        for place, step in enumerate(steps)
    ]


def to_turns(
    steps: Iterable[StepExperience], outcomes: Mapping[tuple[str, str], TurnOutcome], asked: Mapping[str, str]
) -> list[LoggedTurn]:
    """Group steps into turns, one for each turn and kind of task, the oldest first.

    A turn is the message that it answers, by id in `asked`, or else the trace noted by the application. Without an
    outcome of its conversation and id, the last step decides.
    """
    groups: dict[tuple[str, str, str, str], list[StepExperience]] = {}
    for step in steps:
        turn_id = step.source_ids[0] if step.source_ids else _trace(step.meta)
        # agents share a turn only where it has a name
        alone = "" if turn_id else step.agent_id
        groups.setdefault((step.session_id, turn_id, step.task_type, alone), []).append(step)
    turns = []
    for (session_id, turn_id, task_type, _), taken in groups.items():
        outcome = outcomes.get((session_id, turn_id))
        turns.append(
            LoggedTurn(
                session_id=session_id,
                turn_id=turn_id,
                task_type=task_type or (outcome.task_type if outcome else ""),
                goal=(outcome.text if outcome else "") or asked.get(turn_id, ""),
                steps=tuple(taken),
                # what the user found bad is no example, whatever its steps came to
                succeeded=outcome.success and outcome.verdict >= 0 if outcome else taken[-1].success,
            )
        )
    return sorted(turns, key=lambda turn: turn.at)


def _trace(meta: Any) -> str:
    """Return the trace id in a step's notes; empty where there is none."""
    return str(meta.get(_TRACE) or "") if isinstance(meta, Mapping) else ""


def _as_text(value: Any) -> str:
    """Return the output of a step as text, cut; other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, BaseException):
        return (str(value) or type(value).__name__)[:MAX_OUTPUT_CHARS]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:MAX_OUTPUT_CHARS]


def _complete(data: dict[str, Any]) -> dict[str, Any]:
    """Derive a step's id, text, success and origin: equal steps of a conversation are one if time and trace agree."""
    tool, said_to_it = str(data.get("tool", "")), data.get("input")
    given = dict(said_to_it) if isinstance(said_to_it, Mapping) else {} if said_to_it is None else {"input": said_to_it}
    text = f"{tool}({json.dumps(given, ensure_ascii=False, sort_keys=True, default=str)})"[:500]
    said = (str(data.get(name, "")) for name in ("session_id", "task_type", "output", "error", "created_at"))
    # without a trace the id is what it was before traces counted
    traced = (trace, str(data.get("node_id", ""))) if (trace := _trace(data.get("meta"))) else ()
    told: dict[str, Any] = {name: _as_text(data[name]) for name in ("output", "error") if name in data}
    derived: dict[str, Any] = {
        "id": EXPERIENCE.id(text, *said, *traced),
        "text": text,
        "success": not data.get("error"),
        "origin": lowest([Origin.TOOL, origin_of_result(tool)]),
    }
    return {**derived, **data, "input": given, **told}
