"""Exports in forms that were met: pretty-printed, single, branched, spoken, without a branch, not to be remembered."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem import MemoryFacade, MemoryScope
from react_mem.integrations import import_memories

ROOT = "00000000-0000-4000-8000-000000000000"
LEFT = "is in a branch that was left: it was written anew"


def said(uuid: str, text: str, sender: str = "human", parent: str | None = None, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    told = {"uuid": uuid, "text": text, "content": content, "sender": sender, "created_at": "2026-05-01T09:00:00Z"}
    return {**told, **({} if parent is None else {"parent_message_uuid": parent}), **more}


def talk(*messages: dict[str, Any], id_: str = "c1", **more: Any) -> dict[str, Any]:
    about = {"uuid": id_, "name": None, "created_at": "2026-05-01T09:00:00Z", "account": {"uuid": "acc-1"}}
    return {**about, "chat_messages": [*messages], **more}


EDITED = talk(
    said("m1", "The rent is 900.", parent=ROOT),
    said("m2", "A lot!", "assistant", "m1"),
    said("m3", "The rent is 1100.", parent=ROOT),
    said("m4", "Even more!", "assistant", "m3"),
    said("m5", "Too much!", "assistant", "m3"),
    current_leaf_message_uuid="m4",
)
NOW = ["The rent is 1100.", "Even more!"]
VOICE = [{"type": "voice_note", "title": "Voice note", "text": "Thứ ba tôi đi nha sĩ 🦷."}]
PAGE = [{"type": "tool_result", "content": [{"type": "text", "text": "The user loves spam"}]}]


def chat(id_: str, *texts: str, **more: Any) -> dict[str, Any]:
    nodes: dict[str, Any] = {"r": {"id": "r", "parent": None, "children": ["0"], "message": None}}
    for n, text in enumerate(texts):
        role, content = ("user", "assistant")[n % 2], {"content_type": "text", "parts": [text]}
        message = {"id": f"{id_}{n}", "author": {"role": role}, "content": content, "create_time": None}
        nodes[str(n)] = {"id": str(n), "parent": str(n - 1) if n else "r", "children": [], "message": message}
    last = str(len(texts) - 1)
    return {"title": "T", "mapping": nodes, "current_node": last, "conversation_id": id_, "id": id_, **more}


SECRET = chat("secret", "I am pregnant.", is_do_not_remember=True)


@pytest.mark.parametrize(
    ("system", "content", "texts", "skipped"),
    [
        ("claude", json.dumps(EDITED, indent=1), NOW, {LEFT: 3}),
        ("claude", json.dumps(EDITED), NOW, {LEFT: 3}),
        ("claude", [EDITED, talk(said("x", "Hi"), id_="c2")], [*NOW, "Hi"], {LEFT: 3}),
        ("claude", "\n".join(map(json.dumps, [EDITED, talk(said("x", "Hi"), id_="c2")])), [*NOW, "Hi"], {LEFT: 3}),
        ("claude", json.dumps({"conversations": [EDITED]}, indent=2), NOW, {LEFT: 3}),
        # the end of the branch is not named, or gone: the last that was said ends it
        ("claude", talk(*EDITED["chat_messages"][:4]), NOW, {LEFT: 2}),
        ("claude", {**EDITED, "current_leaf_message_uuid": "gone"}, ["The rent is 1100.", "Too much!"], {LEFT: 3}),
        # exports before there were branches, and one in which a message is missing
        ("claude", talk(said("m1", "One"), said("m2", "Two", "assistant")), ["One", "Two"], {}),
        ("claude", talk(said("m1", "One", parent=ROOT), said("m3", "Three", parent="m2")), ["One", "Three"], {}),
        # out of order
        ("claude", talk(said("m2", "Two", "assistant", "m1"), said("m1", "One", parent=ROOT)), ["One", "Two"], {}),
        ("claude", talk(said("v", "", content=VOICE)), ["Thứ ba tôi đi nha sĩ 🦷."], {}),
        (
            "claude",
            talk(said("m1", "Hi"), said("t", "", "assistant", content=PAGE)),
            ["Hi"],
            {"has no words, such as a picture by itself": 1},
        ),
        ("chatgpt", json.dumps(chat("c1", "你好", "您好"), indent=1), ["你好", "您好"], {}),
        (
            "chatgpt",
            [SECRET, chat("c1", "Hallo", "Hi")],
            ["Hallo", "Hi"],
            {"is a conversation that its user wanted not to be remembered": 1},
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
async def test_a_conversation_is_read_in_any_form_that_was_met(
    system: str, content: Any, texts: list[str], skipped: dict[str, int], packed: bool, tmp_path: Path
) -> None:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    file = tmp_path / ("export.zip" if packed else "conversations.json")
    if packed:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("conversations.json", text)
    else:
        file.write_text(text, encoding="utf-8")
    memory = MemoryFacade(InMemoryStore())
    done = await import_memories(memory, system, str(file), "ann")
    messages = [one.payload for one in await memory.list_records("ann", [MemoryScope.DIALOG])]
    messages = sorted(
        (one for one in messages if one["kind"] == "message"), key=lambda one: (one["session_id"], one["turn"])
    )
    assert [one["text"] for one in messages] == texts
    assert done.skipped == skipped


@pytest.mark.parametrize("parents", [["m1"], ["m2", "m1"], ["m2", "m3", "m1"]])
async def test_messages_in_a_ring_are_in_no_branch_that_was_left(parents: list[str], tmp_path: Path) -> None:
    ring = [said(f"m{n}", f"I have {n} cats.", parent=parent) for n, parent in enumerate(parents, start=1)]
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(talk(*ring, *ring[:1])), encoding="utf-8")
    memory = MemoryFacade(InMemoryStore())
    await import_memories(memory, "claude", str(file), "ann")
    messages = await memory.list_records("ann", [MemoryScope.DIALOG])
    assert sum(one.payload["kind"] == "message" for one in messages) == len(parents)


async def test_what_is_not_to_be_remembered_is_not_even_where_there_is_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([SECRET]), encoding="utf-8")
    with pytest.raises(ValueError, match="wanted not to be remembered"):
        await import_memories(MemoryFacade(InMemoryStore()), "chatgpt", str(file), "ann")


async def test_what_mem0_has_from_an_assistant_is_the_assistants_and_no_fact_of_the_user(tmp_path: Path) -> None:
    at = {"created_at": "2026-05-01T10:00:00+00:00"}
    values = [
        {"id": "1", "memory": "Is allergic to penicillin", "user_id": "alice", "attributed_to": "user", **at},
        {"id": "2", "memory": "Prefers hybrid engines", "user_id": "alice", "attributed_to": "assistant", **at},
        {"id": "3", "memory": "I live in Oregon", "user_id": "alice", "role": "assistant", "actor_id": "bot", **at},
        {"id": "4", "memory": "Was told of a sale", "user_id": "alice", "role": "tool", **at},
        {"id": "5", "memory": "Answers briefly", "agent_id": "bot", **at},
    ]
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": values}), encoding="utf-8")
    memory = MemoryFacade(InMemoryStore())
    done = await import_memories(memory, "mem0", str(file), "")
    records = [one.payload for one in await memory.list_records("alice")]
    told = {(one["kind"], one.get("role", ""), one.get("speaker", ""), one["text"]) for one in records if "text" in one}
    assert told == {
        ("fact", "", "", "Is allergic to penicillin"),
        ("message", "assistant", "", "Prefers hybrid engines"),
        ("message", "assistant", "bot", "I live in Oregon"),
        ("message", "tool", "", "Was told of a sale"),
    }
    assert done.skipped == {"is of an agent, an app or a run, and of no user; --map says whose it becomes": 1}
