"""Requests and records made at random: a few in every run of the tests, as many as one likes by `make fuzz`."""

from __future__ import annotations

import os

import pytest

from react_mem.graphs.chat_summary_route import MAX_BODY_BYTES
from react_mem.graphs.memory_api import callers_memory
from react_mem.memory.facade import MemoryFacade
from tests.attacks.fuzz import STORED, TARGETS, FuzzWorld, attempt, run
from tests.attacks.random_values import VICTIM
from tests.support.stores import open_any_store

CASES = int(os.environ.get("FUZZ_CASES", "1200"))


async def test_a_longer_run_over_one_world_finds_nothing_and_leaves_the_other_owner_as_they_were() -> None:
    thrown, wrong = await run(CASES, seed=0)
    assert thrown.keys() == TARGETS.keys()
    assert wrong == []


async def test_a_run_over_a_database_finds_nothing_and_leaves_the_other_owner_as_they_were(
    database_server: str,
) -> None:
    async with open_any_store("sealed memory store", database_server) as store:
        thrown, wrong = await run(CASES // 8, seed=0, store=store)
    assert thrown.keys() == STORED.keys()
    assert wrong == []


async def test_an_answer_with_somebody_elses_memory_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await FuzzWorld.create()
    monkeypatch.setattr(callers_memory, "owner_of", lambda request, said: VICTIM)
    found = [await attempt(world, "rest", seed) for seed in range(120)]
    assert any("shows another owner's memory" in one for one in found)
    assert any("shows the id of another owner's memory" in one for one in found)
    await world.memory.delete_session(VICTIM, "wednesday")
    assert await world.left()


async def test_what_nobody_has_foreseen_is_seen_and_its_text_reaches_no_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("INSERT INTO store VALUES ('my diary')")

    monkeypatch.setattr(MemoryFacade, "read", broken)
    monkeypatch.setattr(MemoryFacade, "forget_said", broken)
    world = await FuzzWorld.create()
    assert (await attempt(world, "reads", 1)).startswith("RuntimeError")
    answer = await world.http.post("/memory/v1/forget", json={"text": "tea"})
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert "diary" not in answer.text


_ROUTES = ["forget", "feedback", "erase"]


@pytest.mark.parametrize(
    ("path", "most"),
    [
        *((f"/memory/v1/{name}", callers_memory.MAX_MEMORY_BYTES) for name in _ROUTES),
        ("/conversations/monday/end", MAX_BODY_BYTES),
    ],
)
async def test_a_request_beyond_the_bounds_is_refused(path: str, most: int) -> None:
    http = (await FuzzWorld.create()).http
    assert (await http.post(path, content=b" " * (most + 1))).status_code == 413
    assert (await http.post(path, content=b" " * most)).status_code != 413
    assert (await http.post("/conversations/" + "a" * 201 + "/end", json={})).status_code == 422
