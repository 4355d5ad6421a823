"""A graph for other programs: what comes out can be read, whatever the memories say."""

from __future__ import annotations

import json
import re

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.retrieval.graph_reading import Graph, MemoryGraph, to_html, to_json
from tests.support.linking import record, store_records

HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)> & "quoted" \u2028 \x00\x0b \ud800 tiếng Việt'


@pytest.fixture
async def graph() -> Graph:
    store = InMemoryStore()
    await store_records(store, record("message", "m1", text=HOSTILE), record("message", 'm"2<', minute=1))
    one = record("fact", "f1", "m1", text="x" * 900, alike={"f2": 0.85})
    await store_records(store, one, record("fact", "f2", 'm"2<'))
    return await MemoryGraph(store).whole("ann")


def test_json_has_every_memory_and_link(graph: Graph) -> None:
    read = json.loads(to_json(graph))
    assert [node["id"] for node in read["nodes"]] == ["f1", "f2", "m1", 'm"2<']
    assert {(link["source"], link["kind"], link["target"], link["mutual"]) for link in read["links"]} == {
        ("f1", "support", "m1", False),
        ("f2", "support", 'm"2<', False),
        ("m1", "timeline", 'm"2<', False),
        ("f1", "semantic", "f2", True),
    }
    message = read["nodes"][2]
    assert message["text"] == HOSTILE
    assert message["type"] == "message"
    assert message["metadata"] == {
        "created_at": "2026-03-01T09:00:00.000000+00:00",
        "scope": "dialog",
        "session_id": "monday",
        "agent_id": "tester",
        "source_ids": [],
    }


def test_the_page_holds_the_memories_as_data_and_loads_nothing(graph: Graph) -> None:
    page = to_html(graph)
    assert page.count("<script") == page.count("</script>") == 1
    assert "<img" not in page
    [data] = re.findall(r"^const data = (.*);$", page, re.MULTILINE)
    assert not set(data) & set("<>&\u2028")
    assert not re.search(r"https?:|//cdn|src=|@import|url\(|import\(|fetch\(", page.replace(data, ""))
    read = json.loads(data)
    message = next(node for node in read["nodes"] if node["type"] == "message" and node["session"] == "monday")
    assert message["text"].startswith("</script><script>alert(1)")
    assert max(len(node["text"]) for node in read["nodes"]) == 600
    places = {(start, kind, end) for start, end, kind, _ in read["links"]}
    assert (2, "timeline", 3) in places


def test_of_a_large_graph_the_page_has_what_is_linked_most(graph: Graph) -> None:
    part = graph.largest(2)
    assert {node.id for node in part.nodes} == {"f1", "f2"}
    assert [(link.source, link.target) for link in part.links] == [("f1", "f2")]
    assert graph.largest(4) == graph


def test_nothing_is_a_graph_too() -> None:
    empty = Graph((), ())
    assert json.loads(to_json(empty)) == {"nodes": [], "links": []}
    assert "const data = {" in to_html(empty)
