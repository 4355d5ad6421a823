"""Messages of the context document: typed content blocks, optional tool calls and thinking, in the providers' forms."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.context.memories import render_memories
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.store.attachments import MAX_ATTACHMENT, Attachment

CAT = b"\x89PNG a cat on a sofa"
DATA = b64encode(CAT).decode()
REF = Attachment.of(DATA).ref
HELD: dict[str, Any] = {"ref": REF, "bytes": len(CAT)}
PNG = f"data:image/png;base64,{DATA}"

FORMS = [
    ({"type": "image", "base64": DATA, "mime_type": "image/png"}, {"type": "image", **HELD, "mime": "image/png"}),
    ({"type": "image_url", "image_url": {"url": PNG}}, {"type": "image", **HELD, "mime": "image/png"}),
    ({"type": "image_url", "image_url": PNG, "caption": "Miu"}, {"type": "image", "caption": "Miu"}),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
        {"type": "image", **HELD, "mime": "image/png"},
    ),
    (
        {"type": "image", "source_type": "base64", "data": DATA, "mime_type": "image/png"},
        {"type": "image", **HELD, "mime": "image/png"},
    ),
    ({"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}}, {"type": "audio", "mime": "audio/wav"}),
    (
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{DATA}", "filename": "plan.pdf"}},
        {"type": "file", **HELD, "mime": "application/pdf", "caption": "plan.pdf"},
    ),
    ({"type": "media", "mime_type": "video/mp4", "data": DATA}, {"type": "file", **HELD, "mime": "video/mp4"}),
    ({"type": "image", "url": "https://example.com/cat.png"}, {"type": "image", "url": "https://example.com/cat.png"}),
    ({"type": "image", "base64": "no base64!"}, {"type": "image", "omitted": True}),
    ({"type": "image", "file_id": "file-1"}, {"type": "image", "omitted": True}),
    ({"type": "refusal", "refusal": "No."}, {"type": "refusal", "omitted": True}),
]


@pytest.fixture
def memory() -> MemoryFacade:
    return MemoryFacade(InMemoryStore())


@pytest.mark.parametrize(("block", "kept"), FORMS)
async def test_a_block_is_kept_by_reference_in_whatever_form_it_comes(
    memory: MemoryFacade, block: dict[str, Any], kept: dict[str, Any]
) -> None:
    message = HumanMessage([{"type": "text", "text": "Look:"}, block], id="m1")
    [record] = await memory.dialog.append("ann", "s", [message], agent_id="a")
    assert record.text == "Look:"
    [words, shown] = record.content
    assert words == {"type": "text", "text": "Look:"}
    assert isinstance(shown, dict)
    assert shown.items() >= kept.items()
    assert DATA not in str(record)
    if "ref" in shown:
        assert await memory.attachment("ann", shown["ref"]) == CAT
    assert message.content[1] == block, "the caller's message stays as it is"


async def test_what_is_more_than_five_megabytes_is_named_with_its_size(memory: MemoryFacade) -> None:
    data = b64encode(bytes(MAX_ATTACHMENT + 1)).decode()
    message = HumanMessage([{"type": "image", "base64": data}], id="m1")
    [record] = await memory.dialog.append("ann", "s", [message], agent_id="a")
    assert record.content == [{"type": "image", "omitted": True, "bytes": MAX_ATTACHMENT + 1}]


async def test_a_message_that_is_written_as_an_event_keeps_its_blocks_apart_too(memory: MemoryFacade) -> None:
    data = {"role": "user", "text": "", "turn": 0, "id": "m1", "content": [{"type": "image", "base64": DATA}]}
    event = MemoryWriteEvent(user_id="ann", session_id="s", agent_id="a", scope=MemoryScope.DIALOG, data=data)
    for _ in range(2):
        await memory.write(event)
    [value] = await memory.dialog.every("ann", kind=MESSAGE.name)
    assert value["content"] == [{"type": "image", **HELD}]
    assert await memory.attachment("ann", REF) == CAT


async def test_what_was_shown_is_recalled_with_its_caption(memory: MemoryFacade) -> None:
    image = {"type": "image", "base64": DATA, "caption": "Miu [sleeping]"}
    thread = [
        HumanMessage([{"type": "text", "text": "Who is this?"}, image], id="m1"),
        AIMessage("A cat.", id="m2"),
        HumanMessage([{**image, "caption": "Rex"}], id="m3"),
    ]
    await memory.dialog.append("ann", "s", thread, agent_id="a")
    query = MemoryQuery(user_id="ann", session_id="s", agent_id="a", scopes=[MemoryScope.DIALOG])
    shown = render_memories(await memory.read(query), 500).text
    assert "Who is this?\n  (quoted: [image: Miu (sleeping)])" in shown
    # a caption is what somebody called it, nothing that the user says
    assert "(quoted) [image: Rex]" in shown


async def test_calls_and_thinking_are_optional_and_stay_with_the_answer(memory: MemoryFacade) -> None:
    call = {"name": "look_up", "args": {"what": "cats"}, "id": "c1"}
    thread = [
        HumanMessage("Which cat is it?", id="m1"),
        AIMessage([{"type": "thinking", "thinking": "Whiskers."}], tool_calls=[call], id="m2"),
        AIMessage("Miu.", id="m3"),
    ]
    asked, answered = await memory.dialog.append("ann", "s", thread, agent_id="a")
    assert (asked.tool_calls, asked.thinking) == ((), "")
    assert (answered.tool_calls[0].name, answered.tool_calls[0].id, answered.thinking) == ("look_up", "c1", "Whiskers.")
    assert "tool_calls" not in asked.to_value()
