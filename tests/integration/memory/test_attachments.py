"""What is attached to messages: kept once, apart from memory, as long as a message names it, for its owner alone."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.namespaces import ATTACHMENTS, attachments_namespace
from react_mem.memory.model.operations import Extraction, TranscriptMessage
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.graph_reading import to_json
from react_mem.memory.store.attachments import MAX_ATTACHMENT, Attachment, refs_in, sizes
from react_mem.memory.store.capabilities import everything
from react_mem.memory.write.turns import Turns
from tests.support.loop_watch import loop_watched

CAT, DOG = b"a cat" * 100, b"a dog" * 100


class Limited(InMemoryStore):
    """A store that says how much may be attached."""

    attachment_bytes = 0


class Reader:
    """An extractor that only counts."""

    calls = 0

    async def extract(self, messages: Sequence[TranscriptMessage], *_: Any, **__: Any) -> Extraction:
        self.calls += 1
        return Extraction()


def image(data: bytes, caption: str = "") -> dict[str, Any]:
    block = {"type": "image", "base64": b64encode(data).decode(), "mime_type": "image/png"}
    return {**block, "caption": caption} if caption else block


def ref_of(data: bytes) -> str:
    return Attachment.of(b64encode(data).decode()).ref


def turns(memory: MemoryFacade, session: str = "monday", reader: Reader | None = None) -> Turns:
    return Turns(memory, reader, "ann", session, "tester")


async def say(one: Turns, number: int, *blocks: Any, since: str | None = None) -> str:
    """Have a turn with an agent, and return what of it is not kept."""
    asked = HumanMessage(list(blocks), id=f"q{number}")
    thread: list[BaseMessage] = [asked, AIMessage("I see.", id=f"a{number}")]
    problem = await one.open(thread[:1], since)
    await one.close(thread, f"q{number}")
    await one.extract()
    return problem


async def messages(memory: MemoryFacade, user: str = "ann") -> dict[str, dict[str, Any]]:
    return {value["id"]: value for value in await memory.dialog.every(user, kind=MESSAGE.name)}


async def shown(memory: MemoryFacade, user: str = "ann") -> list[dict[str, Any]]:
    return [value for value in (await messages(memory, user)).values() if refs_in(value)]


async def test_it_is_kept_once_and_read_by_its_owner_alone(memory: MemoryFacade) -> None:
    assert await say(turns(memory), 1, "Look", image(CAT), image(DOG), image(CAT)) == ""
    await say(turns(memory, "tuesday"), 1, image(CAT, "Miu"))
    assert await sizes(memory.store, "ann") == {ref_of(CAT): len(CAT), ref_of(DOG): len(DOG)}
    assert await memory.attachment("ann", ref_of(CAT)) == CAT
    for user, ref in [("bob", ref_of(CAT)), ("ann", ref_of(b"no")), ("ann", "../../etc/passwd")]:
        with pytest.raises(LookupError, match="no attachment"):
            await memory.attachment(user, ref)
    # neither a list, nor a graph, nor a read of everything takes it along
    data = b64encode(CAT).decode()[:60]
    assert data not in str(await everything(memory.store, "ann"))
    assert data not in str(await memory.list_records("ann"))
    graph = await memory.graph.whole("ann")
    assert data not in to_json(graph)
    assert ref_of(CAT) not in to_json(graph)


async def test_a_message_that_only_shows_something_is_no_reason_to_ask_a_model(memory: MemoryFacade) -> None:
    reader = Reader()
    await say(turns(memory, reader=reader), 1, image(CAT, "I am allergic to cats"))
    assert reader.calls == 0
    assert await memory.pending("ann") == []
    await say(turns(memory, reader=reader), 2, "And this?", image(DOG), since="a1")
    assert reader.calls == 1
    agents = MemoryPolicy(extraction={"mode": "agent"})
    await say(turns(MemoryFacade(memory.store, agents), "sunday", reader), 1, image(CAT))
    assert reader.calls == 1
    # without a model what the user states is kept: a caption is not stated
    await say(turns(memory, "tuesday"), 1, image(CAT, "I am allergic to cats"))
    assert [fact.text for fact in await memory.semantic.history(user_id="ann")] == []


async def test_it_goes_with_the_last_message_that_names_it(memory: MemoryFacade) -> None:
    await say(turns(memory), 1, "Look", image(CAT), image(DOG))
    await say(turns(memory, "tuesday"), 1, "Again", image(CAT))
    receipt = await memory.delete_session("ann", "monday")
    assert receipt.problems == ()
    assert await sizes(memory.store, "ann") == {ref_of(CAT): len(CAT)}
    [left] = await shown(memory)
    assert (await memory.forget("ann", left["id"])).problems == ()
    assert await memory.store.asearch((ATTACHMENTS,), limit=100) == []


async def test_it_goes_with_its_caption_where_that_is_to_be_forgotten(memory: MemoryFacade) -> None:
    await say(turns(memory), 1, "I am allergic to penicillin.")
    await say(turns(memory), 2, "Look", image(CAT, "penicillin allergy pass"), image(DOG, "Rex"), since="a1")
    await say(turns(memory), 3, image(CAT, "my penicillin allergy"), since="a2")
    done = await memory.forget_said("ann", "I am allergic to penicillin.")
    assert done.receipt.problems == ()
    [left] = [value for value in (await messages(memory)).values() if value["role"] == "user"]
    assert ([block.get("caption") for block in left["content"]], left["keywords"]) == ([None, "Rex"], "Rex")
    assert "penicillin" not in str(await everything(memory.store, "ann"))
    assert await sizes(memory.store, "ann") == {ref_of(DOG): len(DOG)}


async def test_it_waits_with_a_branch_that_is_left_and_goes_with_the_conversation(memory: MemoryFacade) -> None:
    one = turns(memory)
    thread: list[BaseMessage] = [HumanMessage("Hello", id="q0"), AIMessage("Hi", id="a0")]
    await one.close(thread, None)
    await one.close([*thread, HumanMessage([image(CAT)], id="q1"), AIMessage("A cat.", id="a1")], "a0")
    query = MemoryQuery(user_id="ann", session_id="monday", agent_id="tester", scopes=[MemoryScope.DIALOG])
    tip = (await memory.read(query)).tip
    [asked, first] = [value["id"] for value in (await messages(memory)).values() if value["turn"] < 2]
    back = first if (await messages(memory))[first]["role"] == "assistant" else asked
    assert await one.branches.follow(back)
    assert await shown(memory) == []
    assert await memory.attachment("ann", ref_of(CAT)) == CAT
    assert await one.branches.follow(tip)
    assert len(await shown(memory)) == 1
    await one.branches.follow(back)
    await memory.delete_session("ann", "monday")
    assert await memory.store.asearch((ATTACHMENTS,), limit=100) == []


async def test_it_comes_back_with_an_export(memory: MemoryFacade) -> None:
    await say(turns(memory), 1, "Look", image(CAT), image(b"x" * 600_000))
    lines = [line async for line in memory.export_user("ann")]
    await memory.import_user("bob", lines)
    assert [line async for line in memory.export_user("bob")] != lines, "as imported"
    assert await memory.attachment("bob", ref_of(b"x" * 600_000)) == b"x" * 600_000
    again = [line async for line in memory.export_user("bob")]
    await memory.import_user("cid", again)
    assert [line async for line in memory.export_user("cid")] == again


async def test_an_import_takes_what_it_names_and_has_and_nothing_else() -> None:
    memory = MemoryFacade(InMemoryStore())
    await say(turns(memory), 1, "Look", image(CAT), image(DOG))
    first, *records = [line async for line in memory.export_user("ann")]
    said = [line for line in records if '"in":"attachments"' not in line]
    dog, stray = (
        json.dumps({"in": "attachments", "record": {"ref": ref_of(data), "data": b64encode(data).decode()}})
        for data in (DOG, b"stray")
    )
    await memory.import_user("bob", [first, *said, dog, stray])
    assert await sizes(memory.store, "bob") == {ref_of(DOG): len(DOG)}
    [value] = await shown(memory, "bob")
    assert [block.get("omitted") for block in value["content"]] == [None, True, None]
    forged = json.dumps({"in": "attachments", "record": {"ref": ref_of(CAT), "data": "aGVsbG8="}})
    broken = json.dumps({"in": "attachments", "record": {"ref": ref_of(CAT)}})
    for line, cause in [(forged, "what its ref says"), (broken, "as base64")]:
        with pytest.raises(ValueError, match=f"line 2: .*{cause}"):
            await memory.import_user("cid", [first, line])


@pytest.mark.parametrize(("limit", "kept"), [(0, 0), (len(CAT), 1), (len(CAT) + len(DOG), 2)])
async def test_an_owner_has_so_much_room_and_no_more(limit: int, kept: int) -> None:
    store = Limited()
    store.attachment_bytes = limit
    memory = MemoryFacade(store)
    problem = await say(turns(memory), 1, "Look", image(CAT), image(DOG))
    assert len(await sizes(store, "ann")) == kept
    [value] = [value for value in (await messages(memory)).values() if value["role"] == "user"]
    left = [block for block in value["content"] if block.get("omitted")]
    assert [block["bytes"] for block in left] == [len(CAT), len(DOG)][kept:]
    # what is turned off is not told of in every turn
    assert ("MEMORY_ATTACHMENT_BYTES" in problem) == (kept == 1)
    # what is there already takes no more room
    assert await say(turns(memory, "tuesday"), 1, "Again", *([image(CAT)] if kept else [])) == ""


async def test_five_megabytes_keep_no_event_loop(store: BaseStore) -> None:
    memory = MemoryFacade(store)
    photo = os.urandom(MAX_ATTACHMENT)
    block, ref, one = image(photo), ref_of(photo), turns(memory)
    await say(one, 0, "warm")
    with loop_watched() as watch:
        await say(one, 1, "Look", block, since="a0")
        assert await memory.attachment("ann", ref) == photo
    if not isinstance(store, InMemoryStore):
        assert len(await store.asearch(attachments_namespace("ann", "pieces"), limit=100)) > 1
    assert watch.longest[0] < 0.02, watch.longest
