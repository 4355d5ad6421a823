"""What an owner may ask for: a copy that comes back as it went, and to be forgotten."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.interface import MemoryScope, MemoryWriteEvent
from react_mem.memory.model.namespaces import terminal_namespace
from react_mem.memory.model.operations import Operation, put
from react_mem.memory.model.records import now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.store.capabilities import everything
from tests.integration.memory.conftest import every_store
from tests.integration.memory.test_scopes import fill
from tests.support.imported import but_for_origin
from tests.support.retiring import retire

store = every_store

MONDAY: dict[str, Any] = {"user_id": "ann", "session_id": "monday", "agent_id": "assistant"}
TUESDAY: dict[str, Any] = {**MONDAY, "session_id": "tuesday"}


async def lines(memory: MemoryFacade, user_id: str = "ann") -> list[str]:
    return [line async for line in memory.export_user(user_id)]


async def say(memory: MemoryFacade, session_id: str, text: str) -> str:
    """Say something in a conversation; return the id of its record."""
    said = [HumanMessage(text, id=f"{session_id}-{text}")]
    [message] = await memory.dialog.append("ann", session_id, said, agent_id="assistant")
    return message.id


async def move(memory: MemoryFacade, session_id: str, city: str) -> None:
    """Say in a conversation where one lives now, which supersedes where one lived."""
    said = await say(memory, session_id, f"I live in {city}")
    known = [fact for fact in await memory.semantic.history(user_id="ann") if fact.current]
    moved = Operation("changes", f"I live in {city}", target_id=known[0].id if known else None, source_ids=(said,))
    await write_facts(memory.store, "ann", [moved], at=now(), session_id=session_id, agent_id="assistant")


NUL = json.dumps(
    {"in": "semantic", "record": {"kind": "fact", "id": "a\0b", "text": "I swim", "session_id": "s", "agent_id": "a"}}
)


class TestExport:
    async def test_it_comes_back_byte_for_byte_for_anybody(self, memory: MemoryFacade) -> None:
        for word in ("tea", "cà phê", 'a "quoted" \u2028 word'):
            await fill(memory, "ann", word)
        file = {"path": "/notes.md", "text": "tea\r\n"}
        await memory.write(MemoryWriteEvent(**MONDAY, scope=MemoryScope.FILES, data=file))
        waiting = PendingTurn(id="p", text="", session_id="monday", agent_id="assistant", source_ids=("m",))
        await memory.apply([put("ann", waiting)])
        await retire(memory, *[item.id for item in await memory.list_records("ann")][:3])
        exported = await lines(memory)
        assert {line.split('"')[3] for line in exported[1:]} == {*MemoryScope, "pending"}
        for user_id in ("bob", "an.n@example.com"):
            report = await memory.import_user(user_id, exported)
            assert (report.added, report.kept) == (len(exported) - 1, 0)
            assert but_for_origin(await lines(memory, user_id)) == but_for_origin(exported)
            assert "ann" not in "".join(exported).replace("annual", "")
        elsewhere = MemoryFacade(InMemoryStore())
        await elsewhere.import_user("ann", [f"{line}\n" for line in exported])
        once = await lines(elsewhere)
        assert but_for_origin(once) == but_for_origin(exported)
        # what is told by a file is told by a file, whoever vouched for it before; a second time changes nothing
        assert {json.loads(line)["record"]["origin"] for line in once[1:]} == {"import"}
        again = MemoryFacade(InMemoryStore())
        await again.import_user("ann", once)
        assert await lines(again) == once

    @pytest.mark.parametrize(
        ("garbage", "cause"),
        [
            ("not json", "line 3: is not JSON"),
            ("[1]", "line 3: is not a JSON object"),
            ('{"in": "semantic"}', 'line 3: must be {"in": scope'),
            ('{"in": "semantics", "record": {}}', "line 3: there is no memory scope 'semantics'"),
            ('{"in": "semantic", "record": {"kind": "episode"}}', "line 3: memory scope semantic: kind: 'episode'"),
            ('{"in": "pending", "record": {"attempts": NaN}}', "line 3: is not JSON"),
            ('{"in": "pending", "record": {"id": "1"}}', "line 3: text: is missing"),
            (NUL, "line 3: the record's id holds NUL"),
        ],
    )
    async def test_garbage_is_named_by_its_line_and_nothing_is_imported(self, garbage: str, cause: str) -> None:
        source, target = MemoryFacade(InMemoryStore()), MemoryFacade(InMemoryStore())
        await source.semantic.add(["User likes tea"], **MONDAY)
        with pytest.raises(ValueError, match=cause.replace("{", r"\{")):
            await target.import_user("ann", [*await lines(source), garbage])
        assert await everything(target.store, "ann") == []

    @pytest.mark.parametrize("first", [[], ["hello"], ['{"format":"react-mem memory","version":99}']])
    async def test_a_file_that_is_no_export_is_refused(self, first: list[str]) -> None:
        with pytest.raises(ValueError, match="line 1"):
            await MemoryFacade(InMemoryStore()).import_user("ann", first)

    async def test_a_record_that_does_not_say_its_kind_is_one_of_its_scope_and_trusted_no_more(self) -> None:
        source, target = MemoryFacade(InMemoryStore()), MemoryFacade(InMemoryStore())
        await source.profile.update_profile("ann", {"name": "Ann"})
        first, line = await lines(source)
        told = json.loads(line)
        del told["record"]["kind"]
        await target.import_user("ann", [first, json.dumps(told)])
        [_, kept] = [json.loads(line) for line in await lines(target)]
        assert (kept["record"]["kind"], kept["record"]["fields"]["name"]["origin"]) == ("profile", "import")


class TestDeleteSession:
    async def test_what_it_alone_said_goes_and_what_others_say_stays(self, memory: MemoryFacade) -> None:
        monday, tuesday = [await say(memory, day, "I like tea") for day in ("monday", "tuesday")]
        only = await say(memory, "monday", "I have a secret car")
        await memory.semantic.add([{"text": "User likes tea", "source_ids": [monday]}], **MONDAY)
        await memory.semantic.add([{"text": "User likes tea", "source_ids": [tuesday]}], **TUESDAY)
        # drawn from Monday's words by a later conversation, as after a crash
        await memory.semantic.add([{"text": "User has a secret car", "source_ids": [only]}], **TUESDAY)
        await memory.semantic.add(["User has a secret house"], **MONDAY)
        await memory.episodic.record("the secret plan", source_ids=[monday, tuesday], **TUESDAY)
        await memory.profile.update_profile("ann", {"drink": "tea"}, source_ids=[tuesday])
        await memory.profile.update_profile("ann", {"drink": "secret brew", "car": "secret"}, source_ids=[only])
        await memory.state.save_state("trip", "monday", {"secret": 1}, user_id="ann", agent_id="assistant")
        await memory.experience.log_step({"tool": "secret"}, **MONDAY)
        waiting = PendingTurn(id="p", text="", session_id="monday", agent_id="secret", source_ids=(only,))
        await memory.apply([put("ann", waiting)])
        await memory.import_user("bob", await lines(memory))
        bobs = await lines(memory, "bob")

        receipt = await memory.delete_session("ann", "monday")

        assert receipt.problems == ()
        assert len(receipt.removed["message"]) == 2
        left = await everything(memory.store, "ann")
        assert "secret" not in str([item.value for item in left])
        assert "monday" not in str([item.value for item in left])
        [fact] = await memory.semantic.history(user_id="ann")
        assert (fact.support, fact.source_ids, fact.session_id) == (1, (tuesday,), "tuesday")
        profile = await memory.profile.get_profile("ann")
        assert profile is not None
        assert profile.text == "drink: tea"
        assert await lines(memory, "bob") == bobs

    async def test_what_it_had_superseded_is_believed_again(self, memory: MemoryFacade) -> None:
        for day, city in [("sunday", "Huế"), ("monday", "Hà Nội")]:
            await move(memory, day, city)
        await memory.delete_session("ann", "monday")
        [fact] = await memory.semantic.search("lives in", user_id="ann")
        assert (fact.payload["text"], fact.payload["valid_to"]) == ("I live in Huế", None)

    async def test_what_ended_before_it_ends_with_what_came_after_it(self, memory: MemoryFacade) -> None:
        for day, city in [("sunday", "Huế"), ("monday", "Hà Nội"), ("tuesday", "Đà Nẵng")]:
            await move(memory, day, city)
        await memory.delete_session("ann", "monday")
        first, last = await memory.semantic.history(user_id="ann")
        assert (first.text, first.current, first.superseded_by) == ("I live in Huế", False, last.id)
        assert (last.text, last.current, first.valid_to) == ("I live in Đà Nẵng", True, last.said_at)


class TestForgetUser:
    async def test_nothing_is_left_and_nobody_else_is_touched(self, store: BaseStore, memory: MemoryFacade) -> None:
        await fill(memory, "ann", "tea")
        await fill(memory, "bob", "tea")
        await store.aput((*terminal_namespace("ann"), "assistant"), "last", {"thread_id": "left-off"}, index=False)
        bobs = await lines(memory, "bob")
        assert set(await memory.forget_user("ann")) == {"monday", "left-off"}
        assert {item.namespace[1] for item in await store.asearch((), limit=1000)} == {"bob"}
        assert await lines(memory, "bob") == bobs
        assert await memory.forget_user("ann") == []
