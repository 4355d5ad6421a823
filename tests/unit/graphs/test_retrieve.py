"""What a turn finds before its answer, how the prompt is put together from it, and what it says about that."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore
from pydantic import Field

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.budget import message_tokens
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import now
from tests.contract.conftest import memory_store
from tests.contract.test_loop import thread
from tests.support.scripted_model import ScriptedModel, calls
from tests.unit.graphs.test_memory_nodes import BrokenStore, build, events


class Web(BaseRetriever):
    """The web, to be searched: it tells what it was asked."""

    asked: list[str] = Field(default_factory=list)
    pages: list[Document] = Field(default_factory=list)
    fails: bool = False

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.asked.append(query)
        if self.fails:
            raise ConnectionError("no network")
        return self.pages


WEB = Web()
SEARCH: dict[str, Any] = {
    "enabled": True,
    "engines": ["tests.unit.graphs.test_retrieve:WEB"],
    "ask_model": False,
}
QUESTION = "What is the latest news about gold?"


@pytest.fixture(autouse=True)
def web() -> Web:
    """The web as it is at the start of a test."""
    text = "Gold is at an all-time high, the exchange said on Monday, and may go on to rise."
    WEB.asked, WEB.fails = [], False
    WEB.pages = [Document(text, metadata={"source": "https://news.example.org/gold", "title": "Gold rises"})]
    return WEB


def of_type(seen: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in seen if event["type"] == kind]


async def know(store: InMemoryStore, **fields: str) -> None:
    await MemoryFacade(store).profile.update_profile("ann", fields)


async def test_the_context_of_a_turn_is_told() -> None:
    store = memory_store()
    await know(store, name="Lan")
    model = ScriptedModel(script=["hello"], profile={"max_input_tokens": 9_000})
    [told] = of_type(await events(build(model, store), "hi"), "context")
    assert told["window"] == 9_000
    assert told["cut"] == 0
    assert told["dropped"] == {}
    assert {"system", "tools", "profile", "question"} <= {name for name, tokens in told["tokens"].items() if tokens}
    assert all(told["tokens"][name] <= told["budget"][name] for name in told["tokens"])
    assert 5_000 < told["budget"]["conversation"] < 7_000
    assert told["budget"]["memories"] < 2_000


async def test_what_does_not_fit_a_known_window_is_cut_and_told() -> None:
    model = ScriptedModel(script=["long"], profile={"max_input_tokens": 8_000})
    seen = await events(build(model, memory_store()), "Read this: " + "dữ liệu " * 20_000 + "What does it say?")
    [told] = of_type(seen, "context")
    assert told["cut"] > 100_000
    asked = model.prompts[0][-1].text
    assert asked.startswith("Read this:")
    assert asked.endswith("What does it say?")
    assert len(asked) < 30_000


@tool
def library(book: int) -> str:
    """Return a whole book."""
    return f"Book {book}: " + "中文文本" * 5_000


async def test_the_results_of_tools_fit_a_known_window() -> None:
    script = [*(calls(("library", {"book": n})) for n in range(9)), "read"]
    model = ScriptedModel(script=script, profile={"max_input_tokens": 8_000})
    agent = build(model, memory_store(), tools=[library])
    await events(agent, "Read all nine books.")
    assert len(model.prompts) == 10
    assert max(sum(map(message_tokens, prompt)) for prompt in model.prompts) < 8_000


async def test_the_web_is_not_searched_unless_the_policy_says_so(web: Web) -> None:
    seen = await events(build(ScriptedModel(script=["hello"]), memory_store()), QUESTION)
    assert (web.asked, of_type(seen, "search")) == ([], [])


async def test_what_the_web_says_is_in_the_prompt_with_its_address(web: Web) -> None:
    model = ScriptedModel(script=["hello"])
    seen = await events(build(model, memory_store(), web=SEARCH), QUESTION)
    [told] = of_type(seen, "search")
    assert told["trigger"] == "keywords"
    assert told["urls"] == ["https://news.example.org/gold"]
    system = model.prompts[0][0].text
    assert "<web_pages>" in system
    assert "https://news.example.org/gold" in system
    assert "all-time high" in system
    [context] = of_type(seen, "context")
    assert context["tokens"]["web_pages"] > 0


async def test_a_failing_search_costs_the_pages_not_the_answer(web: Web) -> None:
    web.fails = True
    seen = await events(build(ScriptedModel(script=["hello"]), memory_store(), web=SEARCH), QUESTION)
    assert {"type": "answer", "text": "hello"} in seen
    [told] = of_type(seen, "search")
    assert told["urls"] == []
    assert told["missing"]


@pytest.mark.parametrize("use_profile", [True, False])
async def test_what_the_profile_knows_does_not_leave_the_house(web: Web, use_profile: bool) -> None:
    store = memory_store()
    await know(store, name="Xuan Quynh")
    await know(store, name="Bich Ngoc")
    graph = build(ScriptedModel(script=["hello"]), store, web=SEARCH, recall={"profile": use_profile})
    seen = await events(graph, "I am Bich Ngoc, formerly Xuan Quynh. What is the latest news about gold today?")
    [query] = web.asked
    assert "gold" in query
    # what it knows, and what it knew before
    assert not any(name in query for name in ("Bich", "Ngoc", "Xuan", "Quynh"))
    assert of_type(seen, "search")[0]["query"] == query


async def test_while_nobody_knows_what_is_private_the_web_is_not_searched(web: Web) -> None:
    store = BrokenStore()
    store.broken = True
    seen = await events(build(ScriptedModel(script=["hello"]), store, web=SEARCH), QUESTION)
    assert web.asked == []
    [told] = of_type(seen, "search")
    assert "private" in told["missing"]["privacy"]
    assert {"type": "answer", "text": "hello"} in seen


async def test_what_was_last_read_of_the_profile_protects_it_as_well(web: Web) -> None:
    store = BrokenStore()
    await know(store, name="Bich Ngoc")
    graph = build(ScriptedModel(script=["hello"]), store, web=SEARCH)
    await events(graph, "hello")
    store.broken = True
    await events(graph, "I am Bich Ngoc. What is the latest news about gold today?")
    [query] = web.asked
    assert "Bich" not in query


async def test_a_turn_is_laid_out_anew(web: Web) -> None:
    model = ScriptedModel(script=["hello"])
    graph = build(model, memory_store(), web=SEARCH)
    await events(graph, QUESTION)
    await events(graph, "Thank you.")
    assert "<web_pages>" not in model.prompts[-1][0].text
    state = await graph.aget_state(thread())
    assert set(state.values) == {"messages"}


async def test_a_message_of_an_impossible_time_is_remembered_and_the_cause_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, secret = memory_store(), "my salary is 5,000"
    graph = build(ScriptedModel(script=["noted", "fine"]), store)
    wrong = HumanMessage("My cat is called Mimi.", additional_kwargs={"said_at": secret})
    before = now()
    seen = await events(graph, wrong)
    [told] = [event for event in of_type(seen, "memory") if event["operation"] == "store"]
    assert told["status"] == "degraded"
    assert "not an ISO 8601 time" in told["message"]
    assert "send an ISO 8601 time" in told["message"]
    stored = await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), limit=10)
    [said] = [item.value for item in stored if item.value["text"] == "My cat is called Mimi."]
    assert before <= datetime.fromisoformat(said["created_at"]) <= now()
    logged = [record.getMessage() for record in caplog.records if "said_at" in record.getMessage()]
    assert len(logged) == 1
    assert secret not in f"{seen}{logged}"
    # the next turn has the message in its thread, and says nothing of it again
    again = await events(graph, HumanMessage("And my dog is called Rex."))
    assert "said_at" not in str([event.get("message") for event in of_type(again, "memory")])
