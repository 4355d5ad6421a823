"""Skills to and from a learning space of Acontext, by its real client over real HTTP."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langgraph.store.base import BaseStore

from react_mem.integrations import AcontextSkills
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.states import Skill
from tests.contract.conftest import memory_store
from tests.support.acontext_server import AcontextServer
from tests.support.services import service

REFUND = {
    "task_type": "refunds",
    "use_when": "a customer wants their money back: đổi trả hàng",
    "tool_sops": [
        {"tool": "find_order", "action": "look the order up by its number"},
        {"tool": "refund", "action": "refund what was paid:\nthe whole amount, `once`"},
    ],
    "preferences": ["never promise a date", "- be brief"],
}
LEARNT = """---
name: deployment-operations
description: Deploying services without downtime
---
# Deployment

Some words before.

## Blue-green switch
- Principle: Warm the new version before the switch.
- When to Apply: deploying a service that holds connections
- Steps:
  1. deploy_service: start the new version beside the old one
  2. Wait until its health check passes.
  3. `switch_traffic`: send everything to it
- Source: success, 2026-03-02 - payments release

## Migrations lock tables
- Symptom: writes hang during a release
- Root Cause: a migration took a lock
- Correct Approach: run it before the release
- Prevention: check every migration for locks
- Source: failure, 2026-03-03 - orders release

## Preferences
- Likes short reports
"""


@pytest.fixture
def server() -> Iterator[AcontextServer]:
    service("acontext", "acontext")
    with AcontextServer() as started:
        yield started


@pytest.fixture
async def space(server: AcontextServer) -> AsyncIterator[AcontextSkills]:
    async with AcontextSkills.connect(server.space_id, api_key=server.api_key, base_url=server.base_url) as opened:
        yield opened


async def procedures(store: BaseStore, user: str = "ann") -> dict[str, Skill]:
    found = await MemoryFacade(store).list_records(user, [MemoryScope.PROCEDURAL])
    return {item.payload["use_when"]: Skill.from_value(item.payload) for item in found}


async def with_skills(*skills: dict[str, Any], user: str = "ann") -> MemoryFacade:
    memory = MemoryFacade(memory_store())
    for skill in skills:
        await memory.procedural.add_skill(skill, user_id=user, agent_id="a")
    return memory


async def test_a_skill_goes_there_and_comes_back_as_it_was(space: AcontextSkills) -> None:
    memory = await with_skills({**REFUND, "status": "active", "trials": 9, "successes": 8})
    assert (await space.export_skills(memory, "ann")).added == 1
    other = MemoryFacade(memory_store())
    report = await space.import_skills(other, "bob")
    [skill] = report.added
    assert skill.model_dump(mode="json", include=set(REFUND)) == REFUND
    # somebody else's experience with it is not ours
    assert (skill.status, skill.trials) == ("probation", 0)
    assert skill.id == next(iter((await procedures(memory.store)).values())).id
    assert (await procedures(other.store, "bob"))[REFUND["use_when"]] == skill
    again = await space.import_skills(other, "bob")
    assert (again.added, again.kept) == ([], 1)


async def test_an_export_is_what_there_is_now(space: AcontextSkills, server: AcontextServer) -> None:
    memory = await with_skills(REFUND, {"use_when": "greet"})
    await space.export_skills(memory, "ann")
    assert (await space.export_skills(memory, "ann")).kept == 2
    await memory.procedural.add_skill({**REFUND, "preferences": ["be kind"]}, user_id="ann")
    greet = (await procedures(memory.store))["greet"]
    await memory.procedural.add_skill(greet.model_copy(update={"status": "archived"}), user_id="ann")
    report = await space.export_skills(memory, "ann")
    assert (report.added, report.replaced, report.kept, report.removed) == (0, 1, 0, 1)
    assert len(server.skills) == 1
    [skill] = (await space.import_skills(MemoryFacade(memory_store()), "bob")).added
    assert skill.preferences == ("be kind",)


async def test_what_others_have_there_is_left_alone(space: AcontextSkills, server: AcontextServer) -> None:
    server.add_skill(server.space_id, {"SKILL.md": LEARNT})
    for user in ("ann", "bob"):
        await space.export_skills(await with_skills(REFUND, user=user), user)
    assert len(server.skills) == 3
    assert await space.withdraw_skills("ann") == 1
    assert len(server.skills) == 2
    assert await space.withdraw_skills("ann") == 0
    # the service is not told whose they are
    assert "bob" not in str(server.skills) + str(server.files)


async def test_what_acontext_has_learnt_is_read(space: AcontextSkills, server: AcontextServer) -> None:
    id_ = server.add_skill(server.space_id, {"SKILL.md": LEARNT, "data.csv": "1,2", "note.md": "no procedure"})
    memory = MemoryFacade(memory_store())
    report = await space.import_skills(memory, "ann")
    assert set(report.skipped) == {"deployment-operations/data.csv", "deployment-operations/note.md"}
    known = await procedures(memory.store)
    assert len(known) == 2
    procedure = known["Blue-green switch: deploying a service that holds connections"]
    assert [(step.tool, step.action) for step in procedure.tool_sops] == [
        ("deploy_service", "start the new version beside the old one"),
        ("switch_traffic", "send everything to it"),
    ]
    assert procedure.preferences == (
        "Warm the new version before the switch.",
        "Wait until its health check passes.",
    )
    assert (procedure.agent_id, procedure.source_ids) == ("acontext", (f"acontext-{id_}",))
    warning = known["Migrations lock tables: writes hang during a release"]
    assert warning.preferences[1:] == ("run it before the release", "check every migration for locks")


async def test_an_export_that_was_cut_short_leaves_nothing_behind(
    space: AcontextSkills, server: AcontextServer
) -> None:
    memory = await with_skills(REFUND)
    server.failing = {"POST skills"}
    with pytest.raises(Exception, match="500"):
        await space.export_skills(memory, "ann")
    assert server.skills == {}
    server.failing = set()
    assert (await space.export_skills(memory, "ann")).added == 1


async def test_a_wrong_key_is_refused_without_showing_it(server: AcontextServer) -> None:
    async with AcontextSkills.connect(server.space_id, api_key="sk-wrong", base_url=server.base_url) as space:
        with pytest.raises(Exception, match="401") as caught:
            await space.export_skills(await with_skills(REFUND), "ann")
    assert "sk-wrong" not in str(caught.value)


async def test_without_the_client_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acontext", None)
    with pytest.raises(ImportError, match="pip install acontext"):
        async with AcontextSkills.connect("space"):
            pass
