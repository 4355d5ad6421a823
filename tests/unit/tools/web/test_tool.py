"""The tool web_search, as an agent calls it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.external import WebSettings
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.tools.registry import load_tools
from react_mem.tools.web.fetch import PageFetcher
from react_mem.tools.web.search import WebSearch, web_search
from tests.support.scripted_model import ScriptedModel, calls
from tests.support.web_server import GOLD, WebServer

SETTINGS = WebSettings.model_validate({"engines": ("tavily",)})
ANN = {"user_id": "ann"}


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """The web, and a key for its engine."""
    with WebServer() as server:
        monkeypatch.setenv("TAVILY_BASE_URL", server.base_url)
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
        monkeypatch.setattr(
            "react_mem.tools.web.search.shared_search",
            lambda settings: WebSearch(settings, fetcher=PageFetcher(server.network())),
        )
        yield server


async def call(query: str, *, said: str = "please", store: Any = None) -> ToolMessage:
    """Let an agent's model search for something, and return what it is told."""
    agent = resolve_agent(
        AgentConfig(
            name="tester",
            manager="react",
            system_prompt="",
            memory=MemoryPolicy.model_validate({"extraction": {"mode": "off"}, "web": SETTINGS}),
        ),
        model=ScriptedModel(script=[calls(("web_search", {"query": query})), "done"]),
        small_model=ScriptedModel(script=["never asked"]),
        tools=[web_search],
    )
    result = await build_agent(agent, store=store).ainvoke({"messages": [("user", said)]}, context=ANN)
    assert result["messages"][-1].text == "done"
    (told,) = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    return told


async def known() -> InMemoryStore:
    store = InMemoryStore()
    profile = MemoryFacade(store).profile
    await profile.update_profile("ann", {"name": "Nguyễn Thị Ánh"})
    await profile.update_profile("ann", {"name": "Ann Lee"})
    return store


async def test_it_returns_pages_with_their_addresses_that_cannot_end_their_block(web: WebServer) -> None:
    web.finds(web.page("/gold", GOLD), web.hostile("injection"))
    told = await call("gold price Hanoi")
    assert told.status == "success"
    assert "rose to 150 million dong" in told.text
    assert web.url("/gold") in told.text
    assert "</web_pages>" not in told.text
    assert "<|im_end|>" not in told.text


async def test_who_the_user_is_or_was_called_is_not_searched_for_unless_they_ask(web: WebServer) -> None:
    store = await known()
    web.finds(web.page("/gold", GOLD))
    await call("gold price for Ann Lee, nguyen thi anh", said="What does gold cost?", store=store)
    assert web.queries[-1]["query"] == "gold price for"
    await call("Ann Lee", said="Search the web for Ann Lee", store=store)
    assert web.queries[-1]["query"] == "Ann Lee"


async def test_where_the_profile_cannot_be_read_nothing_is_sent(web: WebServer) -> None:
    class Broken(InMemoryStore):
        async def abatch(self, ops: Any) -> Any:
            raise ConnectionError("no database")

    told = await call("gold price", store=Broken())
    assert (told.status, "the web is not searched now" in told.text) == ("error", True)
    assert web.queries == []


def test_a_model_gives_a_query_and_nothing_else() -> None:
    [found] = load_tools(["web_search"], MemoryPolicy(web=SETTINGS))
    assert list(convert_to_openai_tool(found)["function"]["parameters"]["properties"]) == ["query"]
