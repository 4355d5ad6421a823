"""Chain of the meta graph's example: a taste, a step, the milestone it led to, the next step, and back to the taste."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.language.folding import normalise
from react_mem.memory.model.concepts import Alias, Concept, Knowledge, Reference
from react_mem.memory.model.kinds import TASK_STEP
from react_mem.memory.model.operations import put
from react_mem.memory.model.records import Episode, Fact, Level, Message, Record, Summary
from react_mem.memory.model.states import Skill, StepExperience
from react_mem.memory.reflect.task_planning import parse
from react_mem.memory.reflect.task_store import TaskKeeper
from react_mem.memory.scopes.state import StateMemoryStore

AT = datetime(2024, 10, 1, 12, 34, 56, tzinfo=UTC)
NAMES = {
    "c13": "cool_climate_preference",
    "s1": "Define the switching engine",
    "e5": "milestone_switching_engine_defined",
    "s2": "Build the working memory graph",
}
PLANS: list[dict[str, Any]] = [
    {
        "goal": "Extracted Steps for Project X",
        "steps": [
            {"id": "s1", "description": NAMES["s1"], "status": "done"},
            {"id": "s2", "description": NAMES["s2"], "depends_on": ["s1"]},
        ],
    },
    # another task, that numbers its steps alike
    {"goal": "The other project", "steps": [{"id": "s1", "description": "Draw the house"}]},
]
S1, S2 = (TASK_STEP.id("project_x", "task", normalise(NAMES[name])) for name in ("s1", "s2"))
C13 = Concept.of([Alias(name=NAMES["c13"], since=AT, source_ids=("taste",))])


def record(id_: str, text: str, *sources: str, minute: int = 0) -> dict[str, Any]:
    """Return what records of every kind have."""
    return {
        "id": id_,
        "text": text,
        "session_id": "project_x",
        "agent_id": "planner",
        "created_at": AT + timedelta(minutes=minute),
        "source_ids": sources,
    }


def chain() -> list[Record]:
    """Return the example as memory keeps it, with what it was drawn from and what was drawn from it."""
    asked = "Define the switching engine, then build the working memory graph. I prefer a cool climate."
    defined = "The switching engine is defined."
    built = "The working memory graph is built."
    taste = "I prefer a cool climate"
    return [
        Message(**record("asked", asked), role="user", content=asked, turn=0),
        Message(**record("answered", defined, minute=1), role="assistant", content=defined, turn=1),
        Fact(**record("taste", taste, "asked"), alike={"again": 0.96}),
        Fact(**record("again", "Cool places are the best", "answered", minute=1)),
        C13,
        Episode(
            **record("e5", defined, "asked", "answered", minute=2),
            level=Level.MILESTONE,
            goal="Define the switching engine",
            milestone_title=NAMES["e5"],
            linked_steps=(S1,),
        ),
        Episode(**record("e6", built, "answered", minute=4), goal="Build the working memory graph"),
        # recursive summary, long-term memory and what an agent has learnt are nodes of the same graph
        Summary(**record("rs", defined, "asked", "answered"), episodes=("e5",), task_preferences=("taste",)),
        Knowledge(
            **record("ltm", "Prefers cool places", "taste", "again"),
            form="preference",
            about="user",
            proofs=2,
            confidence=0.75,
            made_by="rules",
            links=(Reference(to="rs"),),
        ),
        StepExperience(**record("tried", "search", "asked"), tool="search", success=True),
        Skill(**record("sop", "Look at the climate first", "tried"), use_when="a town is wanted"),
    ]


@pytest.fixture
async def memory() -> MemoryFacade:
    made = MemoryFacade(InMemoryStore())
    await made.apply([put("ann", one) for one in chain()])
    keeper = TaskKeeper(StateMemoryStore(made.store), "ann", "project_x", "planner")
    for id_, plan in zip(("task", "other"), PLANS, strict=True):
        await keeper.save(replace(parse(plan).graph, id=id_), "asked", new=True)
    return made


async def test_the_ring_of_the_example_is_walked_and_told_in_words(memory: MemoryFacade) -> None:
    ring = [C13.id, S1, "e5", S2, C13.id]
    words = []
    for here, there in itertools.pairwise(ring):
        assert there in {edge.to for edge in await memory.graph.neighbours("ann", here)}
        found = await memory.graph.explain("ann", here, there)
        assert found is not None
        assert len(found.hops) == 1
        words.append(found.words)
    assert words == [
        f'concept "{NAMES["c13"]}" came up in task step "{NAMES["s1"]}"',
        f'task step "{NAMES["s1"]}" led to episode "{NAMES["e5"]}"',
        f'episode "{NAMES["e5"]}" was reached through task step "{NAMES["s2"]}"',
        f'task step "{NAMES["s2"]}" brought up concept "{NAMES["c13"]}"',
    ]


async def test_the_edges_of_the_example_are_there_each_for_its_reason(memory: MemoryFacade) -> None:
    found = {(link.source, str(link.kind), link.target) for link in (await memory.graph.whole("ann")).links}
    assert {
        # concept -> working node, working node -> episodic, concept -> episodic
        (C13.id, "support", S1),
        (C13.id, "milestone", "e5"),
        ("e5", "milestone", S1),
        ("e5", "milestone", S2),
        # episodic -> episodic by time, steps by what they wait for, what is near by meaning
        ("e5", "timeline", "e6"),
        (S2, "dependency", S1),
        ("again", "semantic", "taste"),
        # recursive summary with its episodes and the preferences of the task; long-term memory with both
        ("rs", "summarization", "asked"),
        ("rs", "summarization", "e5"),
        ("rs", "summarization", "taste"),
        ("ltm", "summarization", "rs"),
        ("ltm", "support", "taste"),
        ("sop", "support", "tried"),
    } <= found
    around = await memory.graph.expand("ann", {C13.id: 1.0})
    assert {S1, S2, "e5", "taste", "rs"} <= {node.id for node in around.nodes}
