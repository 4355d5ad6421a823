"""Dialogues about tasks, in English and Vietnamese: no step is done without proof, and going on takes up the same task.

`task_dialogues.json` has what the user says, what the planner says of it, what the agent does and answers, and which
steps have been done by then. The planner's word is `plan`, `anew` (it takes the request for a new task), `talk`, `same`
(it goes on, and knows nothing of how far), `none done`, or `done` with the steps that it reports as done; `proof` is
what it quotes for each of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import memory_store
from tests.support.scripted_model import ScriptedModel, calls
from tests.unit.graphs.test_memory_nodes import events
from tests.unit.graphs.test_task_graph import NOTHING, agent, kept, planner, tasks

Dialogue = dict[str, Any]
DIALOGUES: list[Dialogue] = json.loads((Path(__file__).parent / "task_dialogues.json").read_text(encoding="utf-8"))
ARGUMENTS = {"search": {"query": "what is needed"}, "book": {"flight": "VN123"}}


def said_by_the_planner(dialogue: Dialogue, turn: dict[str, Any]) -> dict[str, Any]:
    if turn["planner"] == "talk":
        return NOTHING
    reported = turn["planner"].removeprefix("done").split() if turn["planner"].startswith("done") else []
    quoted = turn.get("proof", {})
    steps = [
        {**step, "status": "done" if step["id"] in reported else "pending", "proof": quoted.get(step["id"], "")}
        for step in dialogue["steps"]
    ]
    return {"goes_on": turn["planner"] not in ("plan", "anew"), "goal": dialogue["goal"], "steps": steps}


def replies(turn: dict[str, Any]) -> list[Any]:
    return [*(calls((name, ARGUMENTS[name])) for name in turn["tools"]), turn["answer"]]


def test_there_are_thirty_two_of_them() -> None:
    assert len({dialogue["name"] for dialogue in DIALOGUES}) == 32


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda dialogue: dialogue["name"])
async def test_nothing_is_done_without_proof_and_going_on_takes_up_the_same_task(dialogue: Dialogue) -> None:
    store, turns = memory_store(), dialogue["turns"]
    model = ScriptedModel(script=[reply for turn in turns for reply in replies(turn)])
    small = planner(*(said_by_the_planner(dialogue, turn) for turn in turns))
    graph = agent(model, small, store)
    for turn in turns:
        seen = await events(graph, turn["user"])
        assert "degraded" not in [event["status"] for event in tasks(seen)]
        done = [step["name"] for step in await kept(store) if step["status"] == "done"]
        assert done == turn["done"], turn["user"]
    [before] = await kept(store, "task")
    again = ScriptedModel(script=["Let us go on."])
    await events(agent(again, planner(AssertionError("asked")), store), dialogue["resume"], name="2")
    [after] = await kept(store, "task")
    assert (after["id"], after["steps"]) == (before["id"], before["steps"])
    assert after["open"]
    assert f"Goal: {dialogue['goal']}" in again.prompts[0][-1].text
    assert [step["name"] for step in await kept(store) if step["status"] == "done"] == turns[-1]["done"]


@pytest.mark.parametrize(
    ("said", "is_done"),
    [
        ("I moved the boxes.", True),
        ("I will move the boxes tomorrow.", False),
        ("The lease is not signed yet.", False),
        ("Die Kisten habe ich heute morgen getragen.", True),
        ("Die Kisten trage ich morgen.", False),
        ("Ya firmé el contrato.", True),
        ("Firmaré el contrato.", False),
        ("Mình chuyển hộp rồi.", True),
        ("Hợp đồng mình định ký sau.", False),
        ("箱子搬完了。", True),
        ("我打算明天搬箱子。", False),
        ("箱を運びました。", True),
        ("来週サインする予定です。", False),
    ],
)
async def test_a_plan_or_a_denial_of_the_user_proves_no_step(said: str, is_done: bool) -> None:
    dialogue = {
        "goal": "Move house",
        "steps": [{"id": "1", "description": "Get it done"}, {"id": "2", "description": "Rest"}],
    }
    turns = [{"planner": "plan"}, {"planner": "done 1", "proof": {"1": said}}]
    store = memory_store()
    small = planner(*(said_by_the_planner(dialogue, turn) for turn in turns))
    graph = agent(ScriptedModel(script=["A plan.", "Fine."]), small, store)
    for one in ("Help me to move house.", said):
        await events(graph, one)
    done = [step["name"] for step in await kept(store) if step["status"] == "done"]
    assert done == (["1"] if is_done else [])
