"""Each system's memories are read as that system writes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.integrations.importers.as_records import ForeignEntry
from react_mem.integrations.importers.chat_exports import chatgpt_entries, claude_entries
from react_mem.integrations.importers.import_memories import LangGraphItems
from react_mem.integrations.importers.memory_files import jsonl_entries, markdown_entries, mem0_entries, zep_entries
from tests.unit.adapters.imports.reading import in_file, read

MARCH = datetime(2026, 3, 3, 20, tzinfo=UTC)
APRIL = datetime(2026, 4, 1, tzinfo=UTC)


def mem0(**more: Any) -> dict[str, Any]:
    return {
        "id": "4d1b",
        "memory": "Sống ở Huế",
        "hash": "d41d",
        "metadata": {"source": "chat"},
        "created_at": "2026-03-03T12:00:00-08:00",
        "updated_at": None,
        "user_id": "ann",
        **more,
    }


@pytest.mark.parametrize("form", ["array", "page", "lines", "line"])
def test_mem0_in_each_of_its_forms(form: str, tmp_path: Path) -> None:
    one, two = mem0(categories=["places"]), mem0(id="5e2c", memory="喜欢喝茶 🍵", user_id="bob")
    content: Any = {
        "array": [one, two],
        "page": json.dumps({"count": 2, "next": None, "previous": None, "results": [one, two]}, indent=2),
        "lines": "\n".join(json.dumps(value) for value in (one, two)),
        "line": json.dumps(one),
    }[form]
    entries, unusable = read(mem0_entries, in_file(tmp_path, content))
    assert unusable == []
    first, *rest = entries
    assert (first.id, first.text, first.owner, first.at) == ("4d1b", "Sống ở Huế", "ann", MARCH)
    assert first.notes == {"categories": ["places"], "metadata": {"source": "chat"}}
    assert [(entry.text, entry.owner) for entry in rest] == ([] if form == "line" else [("喜欢喝茶 🍵", "bob")])


def test_mem0_with_the_names_of_its_typescript_library(tmp_path: Path) -> None:
    one = {"id": "1", "memory": "Likes tea", "userId": "ann", "createdAt": "2026-03-03T20:00:00Z", "updatedAt": None}
    bots = {"id": "2", "memory": "Likes figs", "agentId": "bot", "createdAt": "TIME"}
    file = in_file(tmp_path, json.dumps([one, bots]).replace('"TIME"', "NaN"))
    first, second = read(mem0_entries, file)[0]
    assert (first.owner, first.at, first.misdated) == ("ann", MARCH, False)
    assert (second.owner, second.is_persons, second.misdated) == ("agent_id bot", False, True)


@pytest.mark.parametrize("time", ['"2100-01-01T00:00:00Z"', "4102444800", "NaN"])
def test_a_time_that_cannot_be_is_counted_also_where_one_stands_beside_it(time: str, tmp_path: Path) -> None:
    for beside, at in ((None, None), ("2026-03-03T20:00:00Z", MARCH)):
        memory = json.dumps(mem0(created_at="TIME", updated_at=beside, metadata={"score": 1})).replace('"TIME"', time)
        [entry], _ = read(mem0_entries, in_file(tmp_path, memory))
        assert (entry.at, entry.misdated) == (at, True)
    own = json.dumps({"text": "Likes tea", "updated_at": "TIME"}).replace('"TIME"', time)
    assert [entry.misdated for entry in read(jsonl_entries, in_file(tmp_path, own, "own.jsonl"))[0]] == [True]
    value = chat()
    value["mapping"]["asked"]["message"]["create_time"] = "TIME"
    file = in_file(tmp_path, json.dumps([value]).replace('"TIME"', time), "conversations.json")
    entries, _ = read(chatgpt_entries, file)
    assert [entry.misdated for entry in entries] == [True, False, False, False]
    assert entries[0].at == datetime.fromtimestamp(1772568000, UTC)


def test_of_mem0_what_is_of_no_user_is_of_nobody_else_and_history_is_left_out(tmp_path: Path) -> None:
    row = {"id": "r2", "memory_id": "4d1b", "old_memory": "Lives in Hue", "new_memory": "Lives in Hội An"}
    nobodys = {"user_id": None}
    values = [
        {**row, "event": "UPDATE"},
        mem0(),
        mem0(id="2", agent_id="bot", run_id="r1", **nobodys),
        mem0(id="3", run_id="r1", **nobodys),
        mem0(id="4", **nobodys),
        mem0(id="5", agent_id="bot"),
        mem0(id="6", user_id=["ann"]),
    ]
    entries, unusable = read(mem0_entries, in_file(tmp_path, values))
    assert [(entry.owner, entry.is_persons) for entry in entries] == [
        ("ann", True),
        ("agent_id bot", False),
        ("run_id r1", False),
        ("", True),
        ("ann", True),
    ]
    assert [one.reason for one in unusable] == [
        "is of a memory's history: what it says now is in `get_all()`",
        "has a `user_id` that is neither a text nor a number",
    ]


GRAPH = {
    "edges": [
        {
            "uuid": "e1",
            "group_id": "ann",
            "name": "WORKS_AT",
            "fact": "Ann works at the library",
            "fact_embedding": None,
            "source_node_uuid": "n1",
            "target_node_uuid": "n2",
            "episodes": ["p1"],
            "created_at": "2026-03-03T20:00:00Z",
            "valid_at": "2026-03-03T20:00:00Z",
            "invalid_at": "2026-04-01T00:00:00Z",
            "expired_at": "2026-04-01T00:00:00Z",
        },
        {"uuid": "e2", "fact": "", "group_id": "ann"},
    ],
    "nodes": [
        {"uuid": "n1", "name": "Ann", "labels": ["Entity"], "group_id": "ann", "summary": "Ann works."},
        {"uuid": "n2", "name": "library", "labels": ["Entity"], "group_id": "ann", "summary": ""},
    ],
    "episodes": [
        {
            "uuid": "p1",
            "name": "first",
            "group_id": "ann",
            "source": "message",
            "source_description": "chat",
            "content": "user: I work at the library",
            "valid_at": "2026-03-03T20:00:00Z",
            "created_at": "2026-03-03T20:00:00Z",
            "entity_edges": ["e1"],
        },
        {"uuid": "p2", "source": "text", "name": "notes", "content": "Opening hours", "group_id": "ann"},
    ],
}


def test_a_graph_of_graphiti_with_the_times_of_its_facts(tmp_path: Path) -> None:
    (fact, message, document), unusable = read(zep_entries, in_file(tmp_path, GRAPH))
    assert (fact.text, fact.about, fact.owner) == ("Ann works at the library", "Ann", "ann")
    assert (fact.at, fact.valid_from, fact.valid_to, fact.expired_at) == (MARCH, MARCH, APRIL, APRIL)
    assert fact.notes == {"name": "WORKS_AT", "episodes": ["p1"], "target": "library"}
    assert (message.kind, message.role, message.text, message.at) == ("message", "user", "I work at the library", MARCH)
    assert (document.kind, document.title, document.text) == ("document", "notes", "Opening hours")
    assert [one.reason for one in unusable] == [
        "has no `uuid` or no `fact`",
        *["is a node: what its summary says, its facts say"] * 2,
    ]


def test_edges_and_messages_of_zep(tmp_path: Path) -> None:
    edge = {
        "uuid": "e1",
        "fact": "Ann likes tea",
        "fact_name": "LIKES",
        "source_node": {"uuid": "n1", "name": "Ann", "labels": ["User"]},
        "valid_at": "2026-03-03T20:00:00Z",
    }
    said = {"uuid": "m1", "role": "assistant", "name": "Tea house", "content": "Noted: tea", "thread_uuid": "t1"}
    (fact, message), _ = read(zep_entries, in_file(tmp_path, {"edges": [edge], "messages": [said]}))
    assert (fact.about, fact.at, fact.notes) == ("user", MARCH, {"fact_name": "LIKES"})
    assert (message.role, message.speaker, message.conversation) == ("assistant", "Tea house", "t1")


def node(id_: str, parent: str | None, role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
    message = {"id": f"m-{id_}", "author": {"role": role}, "create_time": 1772568000.5, "content": content, **more}
    return {"id": id_, "message": message if role else None, "parent": parent, "children": []}


def chat(**more: Any) -> dict[str, Any]:
    nodes = [
        node("root", None, ""),
        node("system", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        node("asked", "system", "user", "My cat is called Miu"),
        node("noted", "asked", "assistant", "User's cat is called Miu.", recipient="bio"),
        node("done", "noted", "tool", "Model set context updated."),
        node("first try", "asked", "assistant", "Which cat?"),
        node("thought", "done", "assistant", "hm", content_type="thoughts"),
        node("answer", "thought", "assistant", "Hello Miu! 🐱", recipient="all", create_time=None),
        node(
            "shown",
            "answer",
            "user",
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"},
            "This is Miu",
            {"content_type": "audio_transcription", "text": "She purrs"},
            content_type="multimodal_text",
        ),
        node("picture", "shown", "user", {"content_type": "image_asset_pointer"}, content_type="multimodal_text"),
    ]
    return {
        "title": "Cats",
        "create_time": 1772568000,
        "update_time": 1772568100,
        "mapping": {one["id"]: one for one in nodes},
        "current_node": "picture",
        "conversation_id": "c1",
        **more,
    }


def test_of_chatgpt_the_branch_that_was_open_last_and_its_memory(tmp_path: Path) -> None:
    entries, unusable = read(chatgpt_entries, in_file(tmp_path, [chat()], "conversations.json"))
    assert [(entry.kind, entry.role, entry.text) for entry in entries] == [
        ("message", "user", "My cat is called Miu"),
        ("fact", "user", "User's cat is called Miu."),
        ("message", "assistant", "Hello Miu! 🐱"),
        ("message", "user", "This is Miu\n\nShe purrs"),
    ]
    assert {entry.conversation for entry in entries} == {"c1"}
    assert [entry.turn for entry in entries] == sorted({entry.turn for entry in entries})
    at = datetime.fromtimestamp(1772568000.5, UTC)
    assert {entry.at for entry in entries} == {at}
    assert [one.reason for one in unusable].count("is in a branch that was left: it was written anew") == 1
    assert len(unusable) == 5


def test_of_chatgpt_a_conversation_whose_end_is_not_named_ends_with_its_last_leaf(tmp_path: Path) -> None:
    value = chat(current_node="gone")
    for one in value["mapping"].values():
        one["children"] = [other["id"] for other in value["mapping"].values() if other["parent"] == one["id"]]
    value["mapping"]["first try"]["message"]["create_time"] = 1772568999.0
    entries, _ = read(chatgpt_entries, in_file(tmp_path, [value], "conversations.json"))
    assert [entry.text for entry in entries] == ["My cat is called Miu", "Which cat?"]


def test_of_chatgpt_a_circle_and_what_is_no_conversation_do_no_harm(tmp_path: Path) -> None:
    value = chat()
    value["mapping"]["root"]["parent"] = "picture"
    entries, unusable = read(chatgpt_entries, in_file(tmp_path, [value, {"title": "?"}, 3], "conversations.json"))
    assert len(entries) == 4
    assert [one.reason for one in unusable[-2:]] == ["is no conversation of ChatGPT: it has no `mapping`"] * 2
    with pytest.raises(ValueError, match="has no conversations of ChatGPT"):
        read(chatgpt_entries, in_file(tmp_path, {"error": "expired"}))


CLAUDE = {
    "uuid": "c1",
    "name": "Cats",
    "created_at": "2026-03-03T20:00:00Z",
    "updated_at": "2026-03-03T21:00:00Z",
    "account": {"uuid": "a1"},
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "My cat is called Miu",
            "content": [{"type": "text", "text": "My cat is called Miu"}],
            "created_at": "2026-03-03T20:00:00Z",
            "attachments": [{"file_name": "diary.txt", "extracted_content": "Miu slept."}],
            "files": [],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "whole",
            "content": [
                {"type": "thinking", "thinking": "A cat."},
                {"type": "tool_use", "name": "search", "input": {}},
                {"type": "text", "text": "Hello Miu!"},
            ],
            "created_at": "2026-03-03T20:00:01Z",
        },
        {"uuid": "m3", "sender": "human", "text": "", "content": []},
        {"sender": "human", "text": "no id"},
    ],
}


def test_conversations_memories_and_documents_of_claude(tmp_path: Path) -> None:
    in_file(tmp_path, [CLAUDE], "conversations.json")
    in_file(
        tmp_path,
        [{"conversations_memory": "Has a cat.", "project_memories": {"p1": "Writes"}, "account_uuid": "a1"}],
        "memories.json",
    )
    docs = [{"uuid": "d1", "filename": "plan.md", "content": "# Plan", "created_at": "2026-03-03T20:00:00Z"}]
    in_file(tmp_path, [{"uuid": "p1", "name": "Book", "docs": docs, "creator": {"uuid": "a1"}}], "projects.json")
    in_file(tmp_path, [{"uuid": "a1", "email_address": "ann@example.com"}], "users.json")
    entries, unusable = read(claude_entries, tmp_path)
    assert [(entry.kind, entry.title, entry.text) for entry in entries] == [
        ("message", "", "My cat is called Miu"),
        ("document", "diary.txt", "Miu slept."),
        ("message", "", "Hello Miu!"),
        ("document", "What Claude remembers", "Has a cat."),
        ("document", "What Claude remembers of project p1", "Writes"),
        ("document", "plan.md", "# Plan"),
    ]
    assert {(entry.owner, entry.owner_also) for entry in entries} == {("ann@example.com", "a1")}
    assert [entry.at for entry in entries if entry.kind == "message"] == [MARCH, MARCH.replace(second=1)]
    assert len(unusable) == 2


def test_a_project_of_claude_that_has_a_file_to_itself(tmp_path: Path) -> None:
    project = {"uuid": "p1", "name": "Book", "docs": [{"uuid": f"d{n}", "content": f"text {n}"} for n in range(3)]}
    for indent in (None, 1):
        entries, _ = read(claude_entries, in_file(tmp_path, json.dumps(project, indent=indent), "p1.json"))
        assert [entry.text for entry in entries] == ["text 0", "text 1", "text 2"]


async def test_items_of_a_langgraph_store() -> None:
    store = InMemoryStore()
    await store.aput(("memories", "ann"), "1", {"content": "Likes tea"})
    await store.aput(("memories", "ann"), "2", {"kind": "Memory", "content": {"content": "Lives in Huế"}})
    triple = {"subject": "Bob", "predicate": "is the brother of", "object": "Ann"}
    await store.aput(("memories", "bob"), "3", {"kind": "Triple", "content": triple})
    episode = {"observation": "Tree", "thoughts": "Draw", "action": "Drew it", "result": "Understood"}
    await store.aput(("memories", "bob", "deep"), "4", {"kind": "Episode", "content": episode})
    await store.aput(("memories",), "5", {"kind": "Card", "content": {"name": "Ann", "age": 9}})
    await store.aput(("other", "ann"), "6", {"content": "elsewhere"})
    found = [entry async for batch in LangGraphItems(store, ("memories", "{user}")).batches() for entry in batch]
    assert all(isinstance(entry, ForeignEntry) for entry in found)
    told = {(e.owner, e.kind, e.text, e.about) for e in found if isinstance(e, ForeignEntry)}
    assert told == {
        ("ann", "fact", "Likes tea", "user"),
        ("ann", "fact", "Lives in Huế", "user"),
        ("bob", "fact", "Bob is the brother of Ann", "Bob"),
        ("bob", "episode", "Tree", "user"),
        ("", "document", '{\n "name": "Ann",\n "age": 9\n}', "user"),
    }


async def test_whose_items_of_a_store_are_is_said_by_a_prefix_that_fits_or_nothing_is_read() -> None:
    store = InMemoryStore()
    for namespace in (("memories", "ann"), ("memories", "bob"), ("app", "x", "carl"), ("app", "x", "carl", "deep")):
        await store.aput(namespace, "1", {"content": f"Of {namespace[-1]}"})

    async def owners(*prefix: str) -> list[str]:
        batches = LangGraphItems(store, prefix).batches()
        return sorted([one.owner async for batch in batches for one in batch if isinstance(one, ForeignEntry)])

    assert await owners("memories") == ["ann", "bob"]
    assert await owners("app", "x", "{user}") == ["carl", "carl"]
    assert await owners("app", "x", "{user_id}", "deep") == ["carl"]
    there = r"There are namespaces below 'memories' \(2\), 'app.x' \(1\), 'app.x.carl' \(1\)"
    for prefix, told in (
        ((), "say which label of the namespaces is the owner's"),
        (("app",), "'app.x.carl.*' goes on behind the label 'x', which would be the owner"),
        (("app", "x"), "'app.x.carl.deep' goes on behind the label 'carl'"),
        (("nope",), "has nothing below 'nope'"),
        (("app", "{user}", "deep"), "has nothing below"),
    ):
        with pytest.raises(ValueError, match=f"{told}.*{there}"):
            await owners(*prefix)
    with pytest.raises(ValueError, match="the store is empty"):
        [batch async for batch in LangGraphItems(InMemoryStore(), ("memories",)).batches()]


def test_entries_that_anybody_can_write(tmp_path: Path) -> None:
    lines = [
        {"text": "Sister lives in Đà Nẵng", "user": "ann", "about": "sister", "created_at": "2026-03-03T20:00:00Z"},
        {"text": "Hi", "kind": "message", "conversation": "c", "role": "user", "speaker": "Ann"},
        {"text": "Hi", "kind": "message", "conversation": "c", "role": "user"},
        {"text": "x", "kind": "rumour"},
        {"text": "x", "role": "king"},
        {"text": "x", "colour": "red"},
        ["x"],
        {"text": "x", "user": {"id": "bob"}},
    ]
    file = in_file(tmp_path, "\n".join(json.dumps(line) for line in lines))
    (fact, first, second), unusable = read(jsonl_entries, file)
    assert (fact.text, fact.owner, fact.about, fact.at) == ("Sister lives in Đà Nẵng", "ann", "sister", MARCH)
    assert (first.turn, second.turn) == (0, 1)
    assert first.id != second.id
    assert [one.place.split(", ")[1] for one in unusable] == [f"line {n}" for n in range(4, 9)]
    assert unusable[4].reason == "has a `user` that is neither a text nor a number"
    assert "of which nobody knows what it means" in unusable[2].reason


def test_items_of_a_list_in_markdown(tmp_path: Path) -> None:
    text = "# Me\n\nIntro, not a memory.\n\n- Likes tea\n  and cake\n* [x] Lives in Huế 🌸\n2. 喜欢猫\n-\n- \n\nEnd\n"
    entries, _ = read(markdown_entries, in_file(tmp_path, text, "me.md"))
    assert [entry.text for entry in entries] == ["Likes tea and cake", "Lives in Huế 🌸", "喜欢猫"]
    with pytest.raises(ValueError, match="is not UTF-8"):
        read(markdown_entries, in_file(tmp_path, "- café".encode("latin-1"), "me.md"))


def test_of_mem0_what_makes_no_memory_is_named_with_its_line(tmp_path: Path) -> None:
    values = [mem0(memory=""), mem0(id=""), "text", mem0(created_at="soon")]
    file = in_file(tmp_path, "[\n" + ",\n".join(json.dumps(value) for value in values) + "\n]")
    entries, unusable = read(mem0_entries, file)
    places = ["line 2, entry 1 (4d1b)", "line 3, entry 2", "line 4, entry 3"]
    assert [one.place for one in unusable] == [f"export.json, {place}" for place in places]
    assert {one.reason for one in unusable} == {"has no `id` or no `memory`", "is not a JSON object"}
    assert [(entry.at, entry.misdated) for entry in entries] == [(None, True)]
