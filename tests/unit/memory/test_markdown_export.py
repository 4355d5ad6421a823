"""Markdown of an export can be read by a person, and comes back as the same memories."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore
from markdown_it import MarkdownIt

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import put, write
from react_mem.memory.model.records import Document, Fact, Message, fact_id, now
from react_mem.memory.rights.readable_export import exported_lines, markdown_export
from tests.support.imported import but_for_origin

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40) | st.sampled_from(
    ["-->", "<!-- react-mem {} -->", "-- > <", "# x\n- y", "\\u003c--", "a\u2028b", "*b* `c` [d](e)", "Huế 🌸 喜欢"]
)


def header() -> str:
    return json.dumps({"format": "react-mem memory", "version": 1})


@settings(max_examples=60, deadline=None)
@given(said=st.lists(TEXTS, max_size=6), noted=TEXTS)
async def test_whatever_is_remembered_comes_back_as_it_was(said: list[str], noted: str) -> None:
    store, other = InMemoryStore(), InMemoryStore()
    common: dict[str, Any] = {"session_id": "s", "agent_id": "a", "created_at": now()}
    records = [
        *(Fact(id=fact_id("user", text), text=text, meta={"n": noted}, **common) for text in said),
        *(Message(id=f"m{n}", role="user", content=t, text=t, turn=n, **common) for n, t in enumerate(said)),
        Document(id="d", text=noted, title=noted, **common),
    ]
    await write(store, [put("ann", record, indexed=False) for record in records])
    lines = [line async for line in MemoryFacade(store).export_user("ann")]
    markdown = "\n".join(markdown_export(lines))
    back = list(exported_lines(markdown.split("\n")))
    assert sorted(map(json.dumps, map(json.loads, back))) == sorted(map(json.dumps, map(json.loads, lines)))
    report = await MemoryFacade(other).import_user("bob", back)
    assert report.added == len(lines) - 1
    assert but_for_origin([line async for line in MemoryFacade(other).export_user("bob")]) == but_for_origin(lines)


@given(text=TEXTS.filter(str.strip))
def test_a_text_is_shown_as_text_whatever_stands_in_it(text: str) -> None:
    record = {"id": "1", "kind": "fact", "text": text, "about": "user"}
    lines = [header(), json.dumps({"in": "semantic", "record": record}, ensure_ascii=False)]
    page = "\n".join(markdown_export(lines))
    tokens = MarkdownIt("commonmark").parse(page)
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", "h2"]
    assert sum(token.type == "list_item_open" for token in tokens) == 1
    [shown] = [token for token in tokens if token.type == "inline" and token.level > 1][:1]
    assert {child.type for child in shown.children or ()} <= {"text", "text_special", "softbreak", "html_inline"}


async def test_what_is_over_is_struck_through_and_dated() -> None:
    memory = MemoryFacade(InMemoryStore())
    [fact] = await memory.semantic.add(["I live in Hue"], user_id="ann", session_id="s", agent_id="a")
    await memory.correct("ann", fact.id, "I live in Hội An")
    lines = [line async for line in memory.export_user("ann")]
    page = list(markdown_export(lines))
    assert "## Facts about the user" in page
    [past] = [line for line in page if "I live in Hue" in line and line.startswith("- ")]
    assert past.startswith("- ~~I live in Hue~~ *(said 20")
    assert "then: I live in Hội An" in past


async def test_an_export_tells_how_many_are_out_and_of_how_many() -> None:
    store = InMemoryStore()
    common: dict[str, Any] = {"session_id": "s", "agent_id": "a"}
    texts = [f"Likes tea number {n}" for n in range(450)]
    records = [Fact(id=fact_id("user", text), text=text, **common) for text in texts]
    await write(store, [put("ann", record, indexed=False) for record in records])
    told: list[tuple[int, int | None]] = []
    lines = [
        line async for line in MemoryFacade(store).export_user("ann", lambda done, total: told.append((done, total)))
    ]
    assert told == [(0, 450), (0, 450), (200, 450), (400, 450), (450, 450)]
    assert len(lines) == 451
