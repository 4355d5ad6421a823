"""Assertions on what an agent remembers: what passes, and what a failure shows."""

import re
import subprocess
import sys
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.metadata import entry_points
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.memory.records import read_all
from react_mem.testing import assert_forgets, assert_not_leaked, assert_remembers
from tests.support.shuffled_store import ShuffledStore

ANN, BOB = ("memories", "ann"), ("memories", "bob")


@pytest.fixture
async def store() -> BaseStore:
    store = InMemoryStore()
    await store.aput(ANN, "cat", {"text": "My  cat is called\nMimi", "tags": ["pet", {"kind": "cat"}], "n": 4711})
    await store.aput(ANN, "tea", {"text": "I drink green tea"})
    await store.aput(BOB, "car", {"text": "My car is red"})
    return store


@pytest.fixture
def graph(store: BaseStore) -> Any:
    """A graph that answers with all that is stored of whom its config names."""

    async def answer(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> dict[str, Any]:
        found = await store.asearch(("memories", config["configurable"]["user_id"]))
        return {"messages": [AIMessage(" ".join(item.value["text"] for item in found) or "I do not know.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(store=store, checkpointer=InMemorySaver())


def of(user: str) -> Any:
    return {"configurable": {"user_id": user}}


async def message_of(check: Awaitable[None]) -> str:
    with pytest.raises(AssertionError) as raised:
        await check
    return str(raised.value)


class TestRemembers:
    @pytest.mark.parametrize("said", ["mimi", "called Mimi", re.compile(r"Mi(mi)+$"), "4711", "kind", "cat"])
    async def test_words_patterns_numbers_and_keys(self, store: BaseStore, said: Any) -> None:
        await assert_remembers(store, said)
        await assert_remembers(store, said, namespace=ANN)

    async def test_what_is_nowhere_is_shown_with_what_is_nearest(self, store: BaseStore) -> None:
        told = await message_of(assert_remembers(store, "my cat is called Momo", namespace=("memories",)))
        assert "Nothing below ('memories',) holds 'my cat is called Momo'; 3 items were looked at." in told
        first, second = told.splitlines()[2:4]
        assert "('memories', 'ann'), key 'cat', value.text: 'My  cat is called\\nMimi'" in first
        assert "key 'car'" in second

    async def test_an_answer(self, graph: Any) -> None:
        await assert_remembers(graph, "Mimi", asked="What is my cat called?", config=of("ann"))

    async def test_what_is_held_but_not_recalled_is_told_apart(self, graph: Any) -> None:
        told = await message_of(assert_remembers(graph, "Mimi", asked="My cat?", config=of("eve")))
        assert "The answer to 'My cat?' does not hold 'Mimi': 'I do not know.'" in told
        assert "The store holds it, but it was not recalled:\n  ('memories', 'ann'), key 'cat'" in told
        told = await message_of(assert_remembers(graph, "Momo", asked="My cat?", config=of("ann")))
        assert told.endswith("The store does not hold it.")


class TestForgets:
    async def test_what_is_left_is_shown_with_its_place(self, store: BaseStore) -> None:
        await assert_forgets(store, "Momo")
        await assert_forgets(store, "Mimi", namespace=BOB)
        told = await message_of(assert_forgets(store, "mimi"))
        assert (
            told == "'mimi' is still there:\n  ('memories', 'ann'), key 'cat', value.text: 'My  cat is called\\nMimi'"
        )

    async def test_threads_and_answers_are_looked_through(self, graph: Any) -> None:
        await graph.ainvoke(
            {"messages": [("user", "quagga-4711")]}, {"configurable": {"user_id": "eve", "thread_id": "t"}}
        )
        await assert_forgets(graph, "quagga-4711")
        told = await message_of(assert_forgets(graph, "quagga-4711", threads=["t"], config=of("eve")))
        assert "thread 't', messages[0].content" in told
        store: BaseStore = graph.store
        await store.adelete(BOB, "car")
        await assert_forgets(graph, "My car is red", asked="My car?", config=of("bob"))


class TestNotLeaked:
    async def test_the_owner_may_have_it(self, store: BaseStore) -> None:
        await assert_not_leaked(store, "Mimi", owner=ANN)
        await store.aput(("memories", "anna"), "copy", {"text": "Ann's cat is called Mimi"})
        told = await message_of(assert_not_leaked(store, "Mimi", owner=ANN))
        assert told.startswith("'Mimi' of ('memories', 'ann') is elsewhere, too:\n  ('memories', 'anna'), key 'copy'")
        assert "key 'cat'" not in told

    async def test_an_answer_to_somebody_else(self, graph: Any) -> None:
        await assert_not_leaked(graph, "Mimi", owner=ANN, asked="What is Ann's cat called?", config=of("bob"))
        told = await message_of(assert_not_leaked(graph, "Mimi", owner=ANN, asked="Cat?", config=of("ann")))
        assert "the answer to 'Cat?'" in told


LIVES = "Nguyễn sống ở Huế cùng Mimi"
SPELLINGS = {
    "decomposed": unicodedata.normalize("NFD", LIVES),
    "upper": LIVES.upper(),
    "full width": LIVES.replace("Mimi", "Ｍｉｍｉ").replace(" ", "\u3000"),
    "zero width": LIVES.replace("Mimi", "Mi\u200bmi").replace("Huế", "Hu\u00adế\ufeff"),
}


@pytest.mark.parametrize("kept", SPELLINGS.values(), ids=SPELLINGS)
async def test_another_spelling_hides_nothing(kept: str) -> None:
    store = InMemoryStore()
    await store.aput(ANN, "a", {"text": kept})
    for said in (LIVES, unicodedata.normalize("NFD", LIVES), "mimi", re.compile("(?i)huế CÙNG mimi")):
        await assert_remembers(store, said)
        assert "key 'a'" in await message_of(assert_forgets(store, said))
        assert "key 'a'" in await message_of(assert_not_leaked(store, said, owner=BOB))
    await assert_forgets(store, "Hue cung Mimi")


def checks(store: BaseStore, said: Any) -> list[Awaitable[None]]:
    return [assert_remembers(store, said), assert_forgets(store, said), assert_not_leaked(store, said, owner=ANN)]


@pytest.mark.parametrize("said", ["", "\u200b\ufeff"])
async def test_a_blank_is_refused(store: BaseStore, said: str) -> None:
    for check in checks(store, said):
        with pytest.raises(ValueError, match="said is blank, and a blank says nothing: pass the words"):
            await check


@pytest.mark.parametrize("said", [None, re.compile(b"Mimi")])
async def test_what_is_no_text_is_refused(store: BaseStore, said: Any) -> None:
    for check in checks(store, said):
        with pytest.raises(TypeError, match=f"said is a {type(said).__name__}: pass the words"):
            await check


async def test_one_text_for_several_is_refused(graph: Any) -> None:
    for wrong in ({"threads": "thread-77"}, {"deleted_threads": "thread-77"}, {"namespace": "thread-77"}):
        with pytest.raises(TypeError, match=r"is one text: pass a sequence of them, such as \['thread-77'\]"):
            await assert_forgets(graph, "Mimi", **wrong)
    with pytest.raises(TypeError, match="owner is one text"):
        await assert_not_leaked(graph, "Mimi", owner="ann")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="threads holds a int: pass texts"):
        await assert_forgets(graph, "Mimi", threads=[77])  # type: ignore[list-item]


async def test_a_thread_is_there_or_deleted_as_it_is_said_to_be(graph: Any) -> None:
    with pytest.raises(ValueError, match="there is no thread 't', so that nothing was looked at"):
        await assert_forgets(graph, "Momo", threads=["t"], config=of("eve"))
    await assert_forgets(graph, "Momo", deleted_threads=["t"], config=of("eve"))
    await graph.ainvoke({"messages": [("user", "Hello")]}, {"configurable": {"user_id": "eve", "thread_id": "t"}})
    await assert_forgets(graph, "Momo", threads=["t"], config=of("eve"))
    told = await message_of(assert_forgets(graph, "Momo", deleted_threads=["t"], config=of("eve")))
    assert "thread 't': 'its state is not deleted'" in told


@pytest.mark.parametrize("check", [assert_remembers, assert_forgets])
async def test_what_is_no_store_is_refused(check: Callable[..., Awaitable[None]], store: BaseStore) -> None:
    with pytest.raises(TypeError, match="a graph that was compiled with one, not a dict"):
        await check({}, "x")
    with pytest.raises(TypeError, match="only a compiled graph can be asked"):
        await check(store, "x", asked="?")


@pytest.mark.parametrize(("kind", "count"), [(InMemoryStore, 15), (ShuffledStore, 40), (ShuffledStore, 0)])
async def test_all_of_a_store_is_read_once(kind: type[InMemoryStore | ShuffledStore], count: int) -> None:
    store = kind()
    for number in range(count):
        await store.aput(("a", str(number % 3)), str(number), {"n": number})
    await store.aput(("ab",), "other", {"n": -1})

    async def pages() -> AsyncIterator[list[int]]:
        async for page in read_all(store, ("a",), page=5):
            assert 0 < len(page) <= 5
            yield [item.value["n"] for item in page]

    assert sorted([number async for page in pages() for number in page]) == list(range(count))


def test_the_plugin_is_found_and_costs_a_collection_nothing() -> None:
    [plugin] = entry_points(group="pytest11", name="react_mem")
    assert plugin.value == "react_mem.integrations.pytest_plugin"
    look = (
        "import sys, react_mem.integrations.pytest_plugin;"
        "print([name for name in sys.modules if name.startswith(('langgraph', 'langchain', 'react_mem.memory'))])"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_fixtures_are_the_assertions(
    assert_remembers: Any, assert_forgets: Any, assert_not_leaked: Any, store: BaseStore
) -> None:
    await assert_remembers(store, "Mimi")
    await assert_forgets(store, "Momo")
    await assert_not_leaked(store, "Mimi", owner=ANN)
