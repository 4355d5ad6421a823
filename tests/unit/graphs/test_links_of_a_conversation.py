"""Links between the memories of a real conversation: a taste, two steps and an episode, in a ring."""

from __future__ import annotations

import itertools
import json

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import Node
from react_mem.memory.merging.concepts.concept_store import refresh_concepts
from react_mem.memory.model.kinds import CONCEPT, EPISODE, EXPERIENCE, FACT
from tests.contract.conftest import memory_store
from tests.support.labels import Says, episode, labelled
from tests.support.scripted_model import ScriptedModel, calls
from tests.unit.graphs.test_memory_nodes import build, events


@tool
def search(query: str) -> str:
    """Search for towns."""
    return "Sa Pa has 15 degrees"


@tool
def book(town: str) -> str:
    """Book a room."""
    return "booked"


def extracted(messages: list[BaseMessage]) -> AIMessage:
    """Label what the user said, and tell the episode."""
    told = labelled(messages[-1].text, Says("I prefer a cool climate"))
    done = episode("Find a town with a cool climate", outcome="A room is booked", milestone="A room in Sa Pa")
    return AIMessage(json.dumps({**told, "episode": done}))


async def test_a_taste_leads_to_a_step_to_an_episode_to_a_step_and_back_to_the_taste() -> None:
    store = memory_store()
    script = [calls(("search", {"query": "cool"})), calls(("book", {"town": "Sa Pa"})), "A room is booked in Sa Pa."]
    agent = build(ScriptedModel(script=script), store, small=ScriptedModel(script=[extracted]), tools=(search, book))
    await events(agent, "I prefer a cool climate. Find me a town and book a room!")
    await refresh_concepts(store, "ann")

    memory = MemoryFacade(store)
    graph = await memory.graph.whole("ann")
    of_kind = {
        kind.name: [node.id for node in graph.nodes if node.type == kind.name]
        for kind in (CONCEPT, FACT, EPISODE, EXPERIENCE)
    }
    [c13], [fact], [e5] = of_kind["concept"], of_kind["fact"], of_kind["episode"]
    s1, s2 = of_kind["experience"]
    assert next(node.name for node in graph.nodes if node.id == c13) == "cool climate"

    ring = [c13, s1, e5, s2, c13]
    for here, there in itertools.pairwise(ring):
        assert there in {edge.to for edge in await memory.graph.neighbours("ann", here)}
    words = []
    for here, there in itertools.pairwise(ring):
        found = await memory.graph.explain("ann", here, there)
        assert found is not None
        words.append(found.words)
    search_, book_ = (next(node.name for node in graph.nodes if node.id == id_) for id_ in (s1, s2))
    assert words == [
        f'concept "cool climate" came up in experience "{search_}"',
        f'experience "{search_}" led to episode "A room in Sa Pa"',
        f'episode "A room in Sa Pa" was reached through experience "{book_}"',
        f'experience "{book_}" brought up concept "cool climate"',
    ]
    # the taste itself, too
    assert {s1, s2, e5} <= {edge.to for edge in await memory.graph.neighbours("ann", fact)}
    ranked: list[tuple[Node, float]] = await memory.graph.rank("ann", {c13: 1.0})
    assert {node.id for node, share in ranked if share > 0} >= {c13, s1, s2, e5, fact}
