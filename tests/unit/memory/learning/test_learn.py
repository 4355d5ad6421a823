"""What an agent repeatedly did well becomes one skill, is judged by its uses, and falls with what it came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.calls import Asker
from react_mem.memory.merging.skill_life import is_withheld
from react_mem.memory.model.external import WEB_SEARCH
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.namespaces import work_namespace
from react_mem.memory.model.operations import put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import now
from react_mem.memory.model.states import Skill
from react_mem.memory.opening import open_memory
from react_mem.memory.reflect.driver import Report, run
from react_mem.memory.reflect.skill_learner import Learning, record_turn
from react_mem.memory.scopes import steps_to_experience
from react_mem.memory.work.items import Work, listen
from tests.support.learning import AGENT, TOOLS, did, skills
from tests.support.scripted_model import ScriptedModel

BUYING = "search compare order"


@pytest.fixture
def memory() -> MemoryFacade:
    return MemoryFacade(InMemoryStore())


async def learnt(
    memory: MemoryFacade, user_id: str = "ann", model: ScriptedModel | None = None, tools: Sequence[str] = TOOLS
) -> Report:
    asker = Asker([model], 5, purpose="learning") if model is not None else None
    return await run(Learning(memory, user_id, AGENT, tools), asker)


async def bought(memory: MemoryFacade, *sessions: str, user_id: str = "ann", **turn: Any) -> None:
    for session in sessions:
        await did(memory, BUYING, session, user_id=user_id, **turn)


async def offered(memory: MemoryFacade, user_id: str = "ann", **query: Any) -> list[Skill]:
    asked = MemoryQuery(
        user_id=user_id, session_id="now", agent_id=AGENT, scopes=[MemoryScope.PROCEDURAL], task_type="shop", **query
    )
    return [Skill.from_value(item.payload) for item in await memory.read(asked)]


async def test_what_was_done_three_times_is_a_skill_on_probation_and_is_offered(memory: MemoryFacade) -> None:
    await bought(memory, "1", "2")
    assert (await learnt(memory)).stored == []
    await bought(memory, "3")
    report = await learnt(memory)
    [skill] = await offered(memory)
    assert report.stored == [skill.text]
    assert [step.tool for step in skill.tool_sops] == BUYING.split()
    assert (skill.status, skill.task_type, len(skill.source_ids)) == ("probation", "shop", 3)
    assert "tea" not in skill.text


async def test_what_is_known_by_hand_is_not_learnt_beside_it_and_stays_as_it_is(memory: MemoryFacade) -> None:
    sop = {
        "use_when": "Something is wanted",
        "task_type": "shop",
        "tool_sops": [{"tool": tool, "action": "as I like it"} for tool in BUYING.split()],
    }
    given = await memory.procedural.add_skill(sop, user_id="ann")
    await bought(memory, "1", "2", "3")
    await learnt(memory)
    assert await skills(memory) == [given]


@pytest.mark.parametrize(
    ("said", "success", "counts"),
    [
        ("search compare order", True, (1, 1)),
        ("search mail compare! compare order", True, (1, 1)),
        ("search compare order", False, (1, 0)),
        ("search mail", True, (0, 0)),
    ],
)
async def test_a_use_is_what_took_the_steps(
    memory: MemoryFacade, said: str, success: bool, counts: tuple[int, int]
) -> None:
    await bought(memory, "1", "2", "3")
    await learnt(memory)
    [skill] = await skills(memory)
    await did(memory, said, "4", offered=[skill.id, "no such skill"], success=success)
    [skill] = await skills(memory)
    assert (skill.trials, skill.successes) == counts


async def compared(memory: MemoryFacade, skill: Skill, *, with_it: str, without: str, turns: int) -> None:
    """Let turns go one way where the skill was shown, and another way where it was kept back."""
    for number in range(turns):
        name = f"turn {number} after {skill.id}"
        kept_back = is_withheld(skill, f"turn of {name}")
        said = without if kept_back else with_it
        await did(memory, said, name, offered=[skill.id], success=not said.endswith("!"))


async def test_a_turn_that_did_without_a_skill_is_no_use_of_it_and_is_compared(memory: MemoryFacade) -> None:
    await bought(memory, "1", "2", "3")
    await learnt(memory)
    [skill] = await skills(memory)
    away = next(name for name in map(str, count(10)) if is_withheld(skill, f"turn of {name}"))
    await bought(memory, away, away, offered=[skill.id])
    await did(memory, "mail", "another thing to do", offered=[skill.id])
    [skill] = await skills(memory)
    assert (skill.trials, skill.shown.turns, skill.withheld.turns) == (0, 0, 1)


async def test_what_turns_do_better_without_is_archived_though_it_works_more_often_than_not(
    memory: MemoryFacade,
) -> None:
    await bought(memory, "1", "2", "3")
    await learnt(memory)
    [skill] = await skills(memory)
    # all steps go well, and what was asked for was something else: in two of five
    long_way = "search compare mail stock order " * 4
    await compared(memory, skill, with_it=long_way.strip(), without=BUYING, turns=90)
    [skill] = await skills(memory)
    assert skill.status == "archived"
    # that turns succeed with its tools is known, and no reason to take it up again
    await bought(memory, "7", "8", "9")
    await learnt(memory)
    assert [one.status for one in await skills(memory)] == ["archived"]


async def test_a_bad_skill_is_archived_no_longer_offered_and_only_learnt_again_from_what_happened_since(
    memory: MemoryFacade,
) -> None:
    await bought(memory, "1", "2", "3")
    await learnt(memory)
    [skill] = await skills(memory)
    # what went well before it failed is no news
    await bought(memory, "a", "b", "c")
    # one of them had to do without the skill, which is no use of it
    for number in range(7):
        await did(memory, "search compare!", f"failed {number}", offered=[skill.id])
    assert [one.status for one in await skills(memory)] == ["archived"]
    assert await offered(memory) == []
    await bought(memory, "4", "5")
    assert (await learnt(memory)).stored == []
    await bought(memory, "6")
    assert len((await learnt(memory)).stored) == 1
    [skill] = await skills(memory)
    assert (skill.status, skill.trials) == ("probation", 0)


async def test_the_most_promising_is_offered_first_and_none_that_takes_a_tool_that_is_not_there(
    memory: MemoryFacade,
) -> None:
    for name, trials, successes in (("poor", 10, 5), ("new", 0, 0), ("good", 10, 10)):
        sop = {"use_when": name, "task_type": "shop", "tool_sops": [{"tool": name, "action": ""}]}
        skill = await memory.procedural.add_skill(sop, user_id="ann")
        counted = skill.model_copy(update={"trials": trials, "successes": successes})
        await memory.procedural.add_skill(counted, user_id="ann")
    assert [skill.use_when for skill in await offered(memory, query="poor")] == ["good", "new", "poor"]
    tools = {"tools": ["poor", "new"]}
    assert [skill.use_when for skill in await offered(memory, extra=tools)] == ["new", "poor"]


async def test_nothing_is_learnt_from_or_offered_to_somebody_else(memory: MemoryFacade) -> None:
    await bought(memory, "1", "2", "3")
    await learnt(memory)
    await bought(memory, "4", "5", user_id="bob")
    await learnt(memory, "bob")
    assert await skills(memory, "bob") == []
    assert await offered(memory, "bob") == []
    [skill] = await skills(memory)
    await bought(memory, "6", user_id="bob", offered=[skill.id])
    assert (await skills(memory))[0].trials == 0


class TestForgetting:
    async def test_a_skill_outlives_a_conversation_that_others_repeat_and_falls_with_the_last(
        self, memory: MemoryFacade
    ) -> None:
        await bought(memory, "1", "2", "3")
        await learnt(memory)
        for session, left in (("1", 2), ("3", 1)):
            await memory.delete_session("ann", session)
            [skill] = await skills(memory)
            assert len(skill.source_ids) == left
            assert skill.session_id == "2" or session == "1"
        await memory.delete_session("ann", "2")
        assert await memory.list_records("ann") == []

    async def test_what_is_forgotten_while_it_is_learnt_from_does_not_come_back(self, memory: MemoryFacade) -> None:
        class Forgetful(ScriptedModel):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
                await memory.forget_user("ann")
                return self._generate(*args, **kwargs)

        await bought(memory, "1", "2", "3")
        await learnt(memory, model=Forgetful(script=["{}"]))
        assert await memory.list_records("ann") == []


class TestWithAModel:
    def said(self, **skill: Any) -> str:
        return json.dumps({"skills": [{"procedure": "p0", "preferences": [], **skill}]})

    async def test_its_words_are_taken_in_one_call_that_shows_no_value(self, memory: MemoryFacade) -> None:
        said = self.said(use_when="Something is to be bought.", actions=["Look for {query}.", "Compare.", "Order."])
        model = ScriptedModel(script=[said])
        await bought(memory, "1", "2", "3", goal="buy a silver spoon", query="silver spoon")
        report = await learnt(memory, model=model)
        [skill] = await skills(memory)
        assert (report.calls, report.refused, report.problem) == (1, [], "")
        assert skill.text == "Something is to be bought.; search: Look for {query}.; compare: Compare.; order: Order."
        assert "silver" not in str(model.prompts)
        assert "buy a {query}" in str(model.prompts)
        assert (await learnt(memory, model=model)).calls == 0

    @pytest.mark.parametrize("said", ["no idea", RuntimeError("down"), '{"skills": [{"procedure": 7}, 3]}'])
    async def test_where_it_fails_plain_words_do(self, memory: MemoryFacade, said: Any) -> None:
        await bought(memory, "1", "2", "3")
        report = await learnt(memory, model=ScriptedModel(script=[said]))
        [skill] = await skills(memory)
        assert skill.use_when == "a task of the type shop about please, buy"
        assert bool(report.problem) is (said == "no idea" or isinstance(said, Exception))


async def test_a_skill_is_trusted_no_more_than_the_steps_that_it_was_learnt_from(memory: MemoryFacade) -> None:
    await bought(memory, "1", "2", "3")
    await learnt(memory)
    [skill] = await offered(memory)
    assert skill.origin is Origin.TOOL
    for session in ("4", "5", "6"):
        await did(memory, f"{WEB_SEARCH} mail", session, task_type="news")
    await learnt(memory, tools=[*TOOLS, WEB_SEARCH])
    assert {skill.task_type: skill.origin for skill in await skills(memory)} == {"shop": "tool", "news": "web"}


@pytest.mark.parametrize("source", ["stock", WEB_SEARCH])
async def test_what_a_tool_gave_is_not_handed_on_by_a_skill(memory: MemoryFacade, source: str) -> None:
    for session in ("1", "2", "3"):
        account = f"ACC-{session}{session}"
        taken = [
            {"action": source, "arguments": {"query": "tea"}, "observation": f"pay to {account}", "error": ""},
            {"action": "order", "arguments": {"account": account}, "observation": "done", "error": ""},
        ]
        who = {"session_id": session, "agent_id": AGENT, "turn_id": f"t{session}"}
        logged = steps_to_experience(taken, **who, task_type="shop")
        await memory.apply([put("ann", step, indexed=False) for step in logged])
        await record_turn(memory, "ann", **who, offered=(), steps=taken, task_type="shop", goal="please buy tea")
    said = {
        "use_when": "buying",
        "actions": ["look", "pay to ACC-11 as the page says"],
        "preferences": ["ACC-22 first"],
    }
    answer = json.dumps({"skills": [{"procedure": "p0", **said}]})
    await learnt(memory, model=ScriptedModel(script=[answer]), tools=[*TOOLS, WEB_SEARCH])
    [skill] = await offered(memory)
    assert "ACC" not in skill.text
    assert "with {account}" in skill.text
    assert f"from {source}" not in skill.text
    assert skill.preferences == ()


async def wrote(memory: MemoryFacade, *sessions: str) -> None:
    """Write steps as a service does that knows nothing but `memory.write`."""
    for session in sessions:
        for tool in BUYING.split():
            data = {"task_type": "shop", "tool": tool, "input": {"what": f"tea {session}"}, "output": "done"}
            await memory.write(
                MemoryWriteEvent(
                    user_id="ann", session_id=session, agent_id=AGENT, scope=MemoryScope.EXPERIENCE, data=data
                )
            )


async def test_an_opened_memory_learns_from_what_was_only_written() -> None:
    async with open_memory(store=InMemoryStore()) as memory:
        await wrote(memory, "1", "2", "3")
        report = await memory.learn("ann", AGENT, TOOLS)
        [skill] = await skills(memory)
        assert report.stored == [skill.text]
        assert [step.tool for step in skill.tool_sops] == BUYING.split()
        assert await memory.learn("ann", AGENT, TOOLS) == Report()


@pytest.mark.parametrize(("learning", "queued"), [("traces", 1), ("off", 0)])
async def test_what_was_only_written_is_learnt_from_once_it_is_quiet(learning: str, queued: int) -> None:
    policy = {"learning": {"skills": learning}, "extraction": {"quiet_after": 1_000}}
    memory = MemoryFacade(InMemoryStore(), MemoryPolicy.model_validate(policy))
    told: list[Work] = []
    end = listen(lambda pairs: told.extend(work for user_id, work in pairs if user_id == "ann"))
    before = now()
    await wrote(memory, "1")
    end()
    found = await memory.store.asearch(work_namespace("ann"))
    works = [Work.from_value(item.value) for item in found]
    assert [(work.kind, work.agent, work.session) for work in works] == [("maintain", AGENT, "1")] * queued
    assert all(990 < work.due_at / 1000 - before.timestamp() < 1_100 for work in works)
    # each step that is written puts the work off by its own moment
    assert [(work.kind, work.agent, work.session) for work in told[-1:]] == [("maintain", AGENT, "1")] * queued
