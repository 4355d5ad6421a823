"""Memory by texts on what `open_memory` yields, and LangMem's two tools over it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem import create_manage_memory_tool, create_search_memory_tool, open_agent, open_memory
from react_mem.errors import NotThere
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.write.turns import Turns
from tests.support.labels import Labeller, Says
from tests.support.scripted_model import ScriptedModel, calls


async def test_it_remembers_finds_changes_and_forgets_by_texts(memory_store: MemoryStore) -> None:
    async with open_memory(store=memory_store) as memory:
        [home] = await memory.add("I live in Hue.", user_id="ann")
        chat = [
            {"role": "user", "content": "Hi! What can you do?"},
            {"role": "assistant", "content": "You live in Rome."},
            {"role": "user", "content": [{"type": "text", "text": "Tôi dị ứng với lạc 🥜."}]},
        ]
        [allergy] = await memory.add(chat, user_id="ann")
        [order] = await memory.add({"role": "user", "content": "Always answer in French."}, user_id="ann")
        await memory.add("I live in Oslo.", user_id="bob")
        listed = await memory.list(user_id="ann")
        assert [one.id for one in listed] == [order.id, allergy.id, home.id]
        assert [one.id for one in await memory.get_all(user_id="ann", limit=2)] == [order.id, allergy.id]
        found = await memory.search("Where do I live in Hue?", user_id="ann")
        assert found[0].id == home.id
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        assert all(0 <= one.score <= 1 for one in found)
        assert all(one.text != "I live in Oslo." for one in found)

        moved = await memory.update(home.id, "I live in Hanoi.", user_id="ann")
        versions = await memory.history(moved.id, user_id="ann")
        assert [(one.text, one.why) for one in versions] == [
            ("I live in Hue.", "replaced"),
            ("I live in Hanoi.", "believed"),
        ]
        assert (await memory.delete(moved.id, user_id="ann")).is_gone
        assert await memory.get(moved.id, user_id="ann") is None


TERSE = ["Likes tea", "Thích trà", "Mag Tee", "Vegetariana", "喜欢茶", "茶が好き", "{'theme': 'dark'}", "Thanks!", "🙂"]


@pytest.mark.parametrize("text", TERSE)
async def test_a_text_of_any_form_is_an_explicit_wish_and_kept(text: str) -> None:
    async with open_memory(store=InMemoryStore()) as memory:
        [told] = await memory.add(text, user_id="ann")
        assert [one.id for one in await memory.add(text, user_id="ann")] == [told.id]
        changed = await memory.update(told.id, "Vegan", user_id="ann")
        assert [one.text for one in await memory.list(user_id="ann")] == [changed.text] == ["Vegan"]
        assert [one.text for one in await memory.history(changed.id, user_id="ann")] == [text, "Vegan"]
        # beside other sentences, and in a conversation, it is small talk
        said = ["Thanks!", "Write me a haiku. Likes jazz 🙂", "Hi! Always answer in French."]
        told_in_chat = await memory.add([("user", one) for one in said], user_id="bob")
        assert [one.text for one in told_in_chat] == ["Likes jazz 🙂", said[2]]


async def test_a_text_stays_where_a_model_finds_nothing_in_it(memory_store: MemoryStore) -> None:
    async with open_memory(store=memory_store) as memory:
        for text in ("Vegan", "Likes tea", "I live in Hue."):
            await memory.add(text, user_id="ann", agent_id="clerk")
        model = Labeller(Says("I live in Hue", "new", text="The user lives in Hue."))
        await Turns(memory, model, "ann", "remembered", "clerk").extract()
        assert {one.text for one in await memory.list(user_id="ann")} == {"Vegan", "Likes tea", "I live in Hue."}


async def test_a_call_that_cannot_be_meant_is_refused_with_its_cure() -> None:
    async with open_memory(store=InMemoryStore()) as memory:
        [home] = await memory.add("I live in Hue.", user_id="ann")
        for call, told in [
            (memory.add("Where do I live?", user_id="ann"), "states nothing"),
            (memory.add([{"text": "secret"}], user_id="ann"), "messages: are no messages; give a text"),
            (memory.search(" ", user_id="ann"), "query: is empty"),
            (memory.list(user_id="ann", limit=0), "limit: must be 1"),
            (memory.update(home.id, "Where do I live?", user_id="ann"), "states nothing"),
        ]:
            with pytest.raises(ValueError, match=told):
                await call
        for other in (
            memory.update(home.id, "I live in Rome.", user_id="bob"),
            memory.delete(home.id, user_id="bob"),
            memory.history(home.id, user_id="bob"),
        ):
            with pytest.raises(NotThere, match="take an `id`"):
                await other
        assert await memory.get(home.id, user_id="bob") is None


async def told_by(agent: Any, said: str, user_id: str | None = "ann") -> list[ToolMessage]:
    """Run a turn, and return what the tools tell the model."""
    config = {"configurable": {"user_id": user_id} if user_id else {}}
    result = await asyncio.to_thread(agent.invoke, {"messages": [("user", said)]}, config)
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


async def test_the_tools_of_langmem_work_in_an_agent_of_create_agent() -> None:
    async with open_memory(store=InMemoryStore()) as memory:
        tools = [create_manage_memory_tool(("memories", "{langgraph_user_id}")), create_search_memory_tool(("m",))]

        def agent(name: str, **given: Any) -> Any:
            script = [calls((name, given)), "done"]
            return create_agent(ScriptedModel(script=script), tools=tools, store=memory.store)

        # a model of strict schemas gives every argument
        hue = {"content": "I live in Hue", "action": "create", "id": None, "user_id": "bob"}
        [unsaid] = await told_by(agent("manage_memory", **hue), "Good morning")
        assert unsaid.text.startswith("Nothing was stored: the user did not say this")
        [created] = await told_by(agent("manage_memory", **hue), "I live in Hue.")
        [home] = await memory.list(user_id="ann")
        assert created.text == f"created memory {home.id}"
        [found] = await told_by(agent("search_memory", query="live"), "Where do I live?")
        strict = {"query": "live", "limit": None, "offset": None, "filter": None}
        [again] = await told_by(agent("search_memory", **strict), "Where do I live?")
        assert again.text == found.text
        [first] = json.loads(found.text)
        assert (first["id"], first["content"]) == (home.id, "I live in Hue.")
        [nobody] = await told_by(agent("search_memory", query="live"), "Where do I live?", user_id=None)
        assert "no user is named" in nobody.text
        [others] = await told_by(agent("search_memory", query="live", user_id="ann"), "Where do I live?", "bob")
        assert others.text == "[]"
        moved = {"action": "update", "id": home.id, "content": "I live in Hanoi"}
        [updated] = await told_by(agent("manage_memory", **moved), "I live in Hanoi.")
        [now] = await memory.list(user_id="ann")
        assert updated.text == f"updated memory {home.id}: it is memory {now.id} now"
        [gone] = await told_by(
            agent("manage_memory", action="delete", id=now.id, content=None), "Forget that I live in Hanoi."
        )
        assert gone.text == f"Deleted memory {now.id}"
        assert await memory.list(user_id="ann") == []
        [missing] = await told_by(agent("manage_memory", action="delete", id=now.id), "Forget it.")
        assert (missing.status, missing.text[:28]) == ("error", "this user has no such memory")


async def test_an_agent_of_ours_takes_the_tools_and_only_the_actions_that_are_permitted() -> None:
    tool = create_manage_memory_tool(actions_permitted=["create", "delete"], name="note")
    shown = convert_to_openai_tool(tool)["function"]
    assert (shown["name"], shown["parameters"]["properties"]["action"]["enum"]) == ("note", ["create", "delete"])
    store = InMemoryStore()
    model = ScriptedModel(script=[calls(("note", {"content": "I like jazz"})), "done"])
    async with open_agent("plain", model=model, tools=[tool], store=store, checkpointer=InMemorySaver()) as agent:
        said = {"messages": [("user", "I like jazz.")]}
        await agent.ainvoke(said, {"configurable": {"thread_id": "1"}}, context={"user_id": "ann"})
    async with open_memory(store=store) as memory:
        assert [one.text for one in await memory.list(user_id="ann")] == ["I like jazz."]
    with pytest.raises(ValueError, match="actions_permitted"):
        create_manage_memory_tool(actions_permitted=[])
