"""LangChain's chat history and retriever over memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.store.base import BaseStore

from react_mem.integrations import MemoryChatHistory, MemoryRetriever
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope, MemoryWriteEvent
from react_mem.memory.store.postgres import MemoryStore
from tests.contract.conftest import memory_store as in_memory_store
from tests.support.scripted_model import ScriptedModel


def history(store: BaseStore, user: str = "ann", session: str = "1", **kwargs: Any) -> MemoryChatHistory:
    return MemoryChatHistory(MemoryFacade(store), user_id=user, session_id=session, **kwargs)


async def test_what_is_added_comes_back_in_order_once() -> None:
    store = in_memory_store()
    kept = history(store)
    question = HumanMessage("I live in Hue.", id="1", name="Ann")
    called = AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "c"}], id="3")
    await kept.aadd_messages(
        [question, AIMessage("Noted.", id="2"), called, ToolMessage("x", tool_call_id="c", id="4")]
    )
    await kept.aadd_messages([question, HumanMessage("And I like tea.")])
    messages = await history(store).aget_messages()
    assert [(m.type, m.text) for m in messages] == [
        ("human", "I live in Hue."),
        ("ai", "Noted."),
        ("human", "And I like tea."),
    ]
    assert messages[0].name == "Ann"
    # what came out of it is not added again
    await kept.aadd_messages(messages)
    assert len(await kept.aget_messages()) == 3
    assert [m.text for m in await history(store, limit_turns=1).aget_messages()] == ["And I like tea."]


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_runnable_with_message_history(memory_store: MemoryStore, blocking: bool) -> None:
    model = ScriptedModel(script=["Noted.", "In Hue."])
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
    runnable = RunnableWithMessageHistory(
        prompt | model,
        lambda session_id: history(memory_store, session=session_id),
        input_messages_key="question",
        history_messages_key="history",
    )
    config: Any = {"configurable": {"session_id": "1"}}
    for question in ("I live in Hue.", "Where do I live?"):
        if blocking:
            await asyncio.to_thread(runnable.invoke, {"question": question}, config)
        else:
            await runnable.ainvoke({"question": question}, config)
    assert [m.text for m in model.prompts[1]] == ["I live in Hue.", "Noted.", "Where do I live?"]
    kept = history(memory_store)
    stored = await asyncio.to_thread(lambda: kept.messages) if blocking else await kept.aget_messages()
    assert [m.text for m in stored] == ["I live in Hue.", "Noted.", "Where do I live?", "In Hue."]
    other = history(memory_store, session="2")
    await other.aadd_messages([HumanMessage("I like tea.")])
    await kept.aclear()
    assert await kept.aget_messages() == await history(memory_store, user="bob", session="2").aget_messages() == []
    assert [m.text for m in await other.aget_messages()] == ["I like tea."]


async def fact(store: BaseStore, user: str, text: str) -> None:
    event = MemoryWriteEvent(
        user_id=user, session_id="s", agent_id="a", scope=MemoryScope.SEMANTIC, data={"text": text, "source_ids": ["m"]}
    )
    await MemoryFacade(store).write(event)


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_retriever_finds_what_memory_finds_of_its_owner(memory_store: MemoryStore, blocking: bool) -> None:
    await fact(memory_store, "ann", "Ann lives in Hue")
    await fact(memory_store, "ann", "Ann drinks tea")
    await fact(memory_store, "bob", "Bob lives in Hue")
    retriever = MemoryRetriever(memory=MemoryFacade(memory_store), user_id="ann")
    query = "lives in Hue"
    found = await asyncio.to_thread(retriever.invoke, query) if blocking else await retriever.ainvoke(query)
    assert found[0].page_content == "Ann lives in Hue"
    assert not [document for document in found if "Bob" in document.page_content]
    metadata = found[0].metadata
    assert (metadata["scope"], metadata["kind"]) == ("semantic", "fact")
    assert (metadata["session_id"], metadata["source_ids"]) == ("s", ["m"])
    assert metadata["score"] > 0
    assert 0 <= metadata["similarity"] <= 1
    assert "lexical" in metadata["arms"]
    assert str(metadata["date"]).startswith("20")


async def test_a_history_is_of_one_user_and_one_conversation() -> None:
    store = in_memory_store()
    await history(store).aadd_messages([HumanMessage("I live in Hue.")])
    assert await history(store, user="bob").aget_messages() == []
    await history(store, session="2").aadd_messages([HumanMessage("I like tea.")])
    await history(store).aclear()
    assert await history(store).aget_messages() == []
    assert [m.text for m in await history(store, session="2").aget_messages()] == ["I like tea."]
