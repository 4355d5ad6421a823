"""The readable export: hostile texts stay texts, and everything of the export is in the page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.rights.readable_export import readable_export

HOSTILE = (
    "<script>alert(1)</script>",
    "</pre></details></li><img src=//evil.example/x onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "</title></style><iframe srcdoc='<script>1</script>'>",
    "&lt;script&gt;<!--<base href=https://evil.example>",
    "\u202eevil\x00\x1b[2J<a href=javascript:alert(1)>",
    "half a pair: \ud800 <meta http-equiv=refresh content='0;url=https://evil.example'>",
)

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p"),
    *("ul", "li", "b", "br", "small", "span", "details", "summary", "pre"),
}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "dir", "class"}


class _Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_data(self, data: str) -> None:
        self.text += data


def is_harmless(page: str) -> bool:
    read = _Page(page)
    assert set(read.tags) <= TAGS
    assert read.attributes <= ATTRIBUTES
    assert read.tags.count("meta") == 3
    assert "default-src 'none'" in page
    page.encode()
    return True


def line(record: dict[str, Any], place: str = "semantic") -> str:
    return json.dumps({"in": place, "record": record})


def test_what_anybody_wrote_is_text_wherever_it_stands() -> None:
    for text in HOSTILE:
        value = {"value": text, "origin": text, "updated_at": text}
        records = [
            {"kind": "fact", "id": text, "text": text, "about": text, "origin": text, "said_at": text},
            {"kind": "fact", "id": "2", "text": "x", "superseded_by": text, "current": False, text: text},
            {"kind": "message", "id": "3", "text": text, "role": text, "session_id": text},
            {"kind": "profile", "fields": {text: {**value, "previous": [value]}}},
            {"kind": text, "id": "4", "text": text, "wordings": [{"text": text}]},
            {"ref": text, "data": text},
        ]
        page = readable_export(["{}", *map(line, records)])
        assert is_harmless(page)
        assert text not in page


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text()) | st.none()), st.text())
def test_any_record_is_shown_and_harmless(extra: dict[str, Any], text: str) -> None:
    record = {"extra": extra, "kind": "fact", "text": text, "about": text}
    assert is_harmless(readable_export(["{}", line(record)]))


async def test_the_page_has_what_the_export_has_with_its_history() -> None:
    memory = MemoryFacade(InMemoryStore())
    who: dict[str, Any] = {"user_id": "ann", "session_id": "monday", "agent_id": "assistant"}
    await memory.semantic.add(["I live in <b>Huế</b>", {"text": "Miu is a cat", "about": "Miu"}], **who)
    for city in ("Huế", "Đà Nẵng"):
        await memory.profile.update_profile("ann", {"city": city})
    lines = [one async for one in memory.export_user("ann")]
    page = _Page(readable_export(lines))
    for told in ("Facts about the user", "Facts about Miu", "Profile", "I live in <b>Huế</b>", "Huế", "Đà Nẵng"):
        assert told in page.text
    for one in lines[1:]:
        record = json.loads(one)["record"]
        assert str(record.get("id") or record["kind"])[:19] in page.text or record["kind"] == "profile"
        assert str(record["created_at"])[:19] in page.text or record["kind"] == "profile"
    assert page.text.index("Profile") < page.text.index("Facts about the user") < page.text.index("Facts about Miu")
    assert page.text.count("origin: ") >= 4
