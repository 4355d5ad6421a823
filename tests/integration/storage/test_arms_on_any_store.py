"""All arms on stores that know nothing of them: the same finds as on the store that does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore

from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.model.interface import ALL_ARMS, Arm
from react_mem.memory.retrieval import stock_recall as stock_index
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.store.calibration import KNOWN
from react_mem.memory.store.embeddings import LOCAL_MODEL, MeasuredEmbeddings
from tests.support.recalling import DIALOG, DIMS, SenseEmbeddings, asked, keys, message, open_recalling

SAID = {
    "boat": message("I bought a kayak in the spring", 0, speaker="Mira", created_at="2024-03-05T12:00:00+00:00"),
    "good": message("How nice, where will you go?", 1, role="assistant", created_at="2024-03-05T12:00:00+00:00"),
    "lake": message("To the lake, with my terrier", 2, speaker="Mira", created_at="2024-03-05T12:00:00+00:00"),
    "pay": message("My wage went up", 0, session="b", speaker="Tom", created_at="2024-05-08T12:00:00+00:00"),
    "tea": message("Green tea is what I drink", 1, session="b", speaker="Tom", created_at="2024-05-08T12:00:00+00:00"),
    "soup": message("The soup was cold", 0, session="c", speaker="Mira", created_at="2024-01-02T12:00:00+00:00"),
    "long": message(("The harbour is quiet. " * 60) + "A zebra crossed the road.", 0, session="d"),
}
QUESTIONS = (
    "Which canoe did Mira buy?",
    "green tea",
    "What did Tom say last week?",
    "zebra",
    "When did my salary rise?",
)


@asynccontextmanager
async def opened(name: str, url: str) -> AsyncIterator[BaseStore]:
    index: Any = {"dims": DIMS, "embed": MeasuredEmbeddings(LOCAL_MODEL, SenseEmbeddings()), "fields": ["text"]}
    if name == "in memory":
        yield InMemoryStore(index=index)
    else:
        async with AsyncPostgresStore.from_conn_string(url, index=index) as store:
            await store.setup()
            yield store


@pytest.fixture(params=["in memory", "stock postgres"])
async def store(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[BaseStore]:
    async with opened(request.param, database_url) as store:
        await put(store, SAID)
        yield store


async def put(store: BaseStore, values: Mapping[str, Any]) -> None:
    await store.abatch([PutOp(DIALOG, key, value) for key, value in values.items()])


async def answer(store: BaseStore, op: RecallOp) -> Recall:
    [found] = await recall(store, [op])
    assert isinstance(found, Recall)
    return found


async def test_a_long_text_is_shown_by_its_passage(store: BaseStore) -> None:
    [zebra] = (await answer(store, asked("zebra", arms=frozenset({Arm.LEXICAL})))).found
    assert zebra.passage.endswith("A zebra crossed the road.")
    assert len(zebra.passage) < 900


async def test_what_is_written_and_deleted_since(store: BaseStore) -> None:
    words = frozenset({Arm.LEXICAL})
    assert keys(await answer(store, asked("kayak", arms=words))) == ["boat"]
    await put(store, {"boat": message("I sold it for a bicycle", 0), "new": message("A bicycle needs oil", 5)})
    assert keys(await answer(store, asked("kayak", arms=words))) == []
    assert set(keys(await answer(store, asked("bicycle", arms=words)))) == {"boat", "new"}
    await store.adelete(DIALOG, "new")
    assert keys(await answer(store, asked("bicycle", arms=words))) == ["boat"]


async def test_it_finds_what_the_memory_store_finds(database_url: str) -> None:
    scale = KNOWN[LOCAL_MODEL]
    async with opened("in memory", "") as store, open_recalling(database_url, scale=scale) as ours:
        short = {key: value for key, value in SAID.items() if key != "long"}
        await put(store, short)
        await put(ours, short)
        for query in QUESTIONS:
            # no other store tells how near its items are to each other
            told = ALL_ARMS - {Arm.HUB}
            for arms in (told, told - {Arm.VECTOR}, told - {Arm.WINDOW}, frozenset({Arm.LEXICAL, Arm.SPEAKER})):
                op = asked(query, speakers=("Mira", "Tom"), arms=arms, pairs=True)
                found, expected = await answer(store, op), await answer(ours, op)
                assert keys(found) == keys(expected)
                assert found.missing == expected.missing
                for one, other in zip(found.found, expected.found, strict=True):
                    # vectors are compared in half precision there
                    assert one.item.score == pytest.approx(other.item.score, abs=0.05)
                    assert one.similarity == pytest.approx(other.similarity, abs=0.001)
                    assert (one.partner, one.passage) == (other.partner, other.passage)


class LatestFirst(BaseStore):
    """A store that lists the latest first, as those on a database do, and counts what it lists."""

    def __init__(self) -> None:
        self.inner = InMemoryStore()
        self.listed = 0

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [self._answer(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.batch(ops)

    def _answer(self, op: Op) -> Result:
        if not isinstance(op, SearchOp) or op.query:
            return self.inner.batch([op])[0]
        [every] = self.inner.batch([op._replace(limit=100_000, offset=0)])
        page = sorted(every, key=lambda item: item.updated_at, reverse=True)[op.offset :][: op.limit]  # type: ignore[union-attr,arg-type]
        self.listed += len(page)
        return page

    def date_back(self, days: int) -> None:
        """Let what is there have been written so many days ago."""
        for items in self.inner._data.values():
            for number, item in enumerate(items.values()):
                item.updated_at = datetime.now(UTC) - timedelta(days=days, seconds=number)


async def test_only_what_is_new_is_read_of_a_store_that_lists_the_latest_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stock_index, "_FIRST", 10)
    store = LatestFirst()
    await put(store, {f"k{number}": message(f"zebra number {number}", number) for number in range(65)})
    store.date_back(3)
    words = frozenset({Arm.LEXICAL})
    assert len((await answer(store, asked("zebra", 100, arms=words))).found) == 65
    assert store.listed == 10 + 65  # the first page, and then all at once
    await put(store, {"new": message("zebra of today", 70)})
    store.listed = 0
    assert "new" in keys(await answer(store, asked("zebra today", arms=words)))
    assert store.listed == 10 + 66  # the first page has something new
    store.listed = 0
    assert len((await answer(store, asked("zebra", 100, arms=words))).found) == 66
    assert store.listed == 10
    # nothing told that it went: what is found is read before it is shown
    await store.adelete(DIALOG, "k0")
    assert len((await answer(store, asked("zebra", 100, arms=words))).found) == 65


async def test_there_is_a_bound_to_what_is_read_and_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock_index, "_FIRST", 10)
    monkeypatch.setattr(stock_index, "MOST", 30)
    store = LatestFirst()
    await put(store, {f"k{number}": message(f"zebra number {number}", number) for number in range(65)})
    store.date_back(3)
    found = await answer(store, asked("zebra", 100, arms=frozenset({Arm.LEXICAL})))
    assert len(found.found) == 30
    assert "no index of words" in found.missing[Arm.LEXICAL]
    assert store.listed == 10 + 31


async def test_namespaces_of_a_store_take_bounded_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock_index, "_BYTES", 10_000)
    store, listed = InMemoryStore(), stock_index.ListedItems()
    for user in range(6):
        space = ("memory", f"u{user}", "dialog")
        await store.abatch([PutOp(space, f"k{number}", message("zebra", number)) for number in range(10)])
        page = await store.asearch(space, limit=100)
        assert len((await listed.follow(store, space, page)).texts) == 10
        assert 0 < listed.known.currsize <= 10_000


async def test_an_embedder_that_fails_costs_its_arm_alone() -> None:
    embeddings = SenseEmbeddings()
    store = InMemoryStore(index={"dims": DIMS, "embed": embeddings, "fields": ["text"]})
    await put(store, SAID)
    embeddings.error = ConnectionError("no such host")
    found = await answer(store, asked("Which kayak?"))
    assert keys(found)[0] == "boat"
    assert list(found.missing) == [Arm.VECTOR]
    assert "ConnectionError" in found.missing[Arm.VECTOR]
    embeddings.error = None
    assert (await answer(store, asked("Which kayak?"))).missing == {}


async def test_a_store_without_an_index_answers_with_what_there_is_beside_other_reads() -> None:
    store = InMemoryStore()
    await put(store, {"tea": SAID["tea"]})
    got, found, nothing = await recall(store, [GetOp(DIALOG, "tea"), asked("coffee"), GetOp(DIALOG, "nothing")])
    assert isinstance(got, Item)
    assert isinstance(found, Recall)
    assert (keys(found), found.found[0].arms, found.missing) == (["tea"], {}, {})
    assert nothing is None
    assert await recall(store, []) == []
