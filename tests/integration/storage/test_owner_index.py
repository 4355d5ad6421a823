"""Indexes of owners in the process: whoever writes, a read finds what one from scratch finds."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore

from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.model.interface import Arm
from react_mem.memory.store import large_namespaces, owner_recall, owner_texts
from react_mem.memory.store.postgres import MemoryStore
from tests.support.citus import CITUS_URL
from tests.support.recalling import SCALE, asked, keys, message, open_recalling, put, recalled, shared_database

TEXTS = (
    "a zebra in a zoo",
    "my terrier and my zebra",
    "I paint a boat in Lisbon",
    "green tea",
    "\n".join(f"Line {number} of a long text says zebra and tea again and again." for number in range(40)),
)
KEYS = ("a", "b", "c", "d")
OWNERS = (f"owner{number}" for number in itertools.count())


class Stores(NamedTuple):
    """Two stores as two processes have them, one that keeps nothing, and LangGraph's own, on one database."""

    first: MemoryStore
    second: MemoryStore
    scratch: MemoryStore
    stock: AsyncPostgresStore


@pytest.fixture(scope="module")
def shared_url(database_server: str) -> Iterator[str]:
    with shared_database(database_server) as url:
        yield url


@pytest.fixture
async def stores(shared_url: str) -> AsyncIterator[Stores]:
    async with open_recalling(shared_url) as first:
        index: Any = {"dims": first.embedding.dims, "embed": first.embedding.embeddings, "fields": ["text"]}
        second = MemoryStore(first.pool, first.embedding)
        scratch = MemoryStore(first.pool, first.embedding, index_bytes=0)
        for store in (second, scratch):
            assert store.scale.calibration
            await store.scale.settle()
            assert store.scale.calibration == SCALE
        yield Stores(first, second, scratch, AsyncPostgresStore(first.pool, index=index))


def said(key: str, text: str) -> dict[str, Any]:
    return message(text, KEYS.index(key), role="user" if key in "ac" else "assistant", kind="message")


async def write(stores: Stores, space: tuple[str, ...], step: tuple[Any, ...]) -> None:
    """Do one thing that changes an owner's memories."""
    what, number, key, text = step
    store = stores[number]
    if what == "put":
        await store.abatch([PutOp(space, key, said(key, text))])
    elif what == "stock":
        await stores.stock.abatch([PutOp(space, key, said(key, text))])
    elif what == "delete":
        await store.abatch([PutOp(space, key, None)])
    elif what == "forget":
        await store.abatch([PutOp(space, each, None) for each in KEYS])
    elif what == "expire":
        async with store.pool.connection() as conn:
            await conn.execute(
                "UPDATE store SET expires_at = now() - interval '1 hour' WHERE prefix = %s AND key = %s",
                (".".join(space), key),
            )
    elif what == "many":
        await store.abatch([PutOp(space, each, said(each, text)) for each in KEYS])


def shown(answer: Any) -> list[tuple[Any, ...]]:
    if isinstance(answer, Recall):
        found = [(one.item, one.arms, one.passage, one.partner) for one in answer.found]
        return [(item.key, item.value, round(item.score or 0, 6), *more) for item, *more in found]
    return [(item.key, item.value, round(item.score, 6)) for item in answer]


# LangGraph's own store does not write to distributed tables
KINDS = ["put", "put", "delete", "forget", "expire", "many", "read", "read", *([] if CITUS_URL else ["stock"])]
STEPS = st.tuples(
    st.sampled_from(KINDS),
    st.integers(0, 1),
    st.sampled_from(KEYS),
    st.sampled_from(TEXTS),
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=2, max_size=12))
@example(steps=[("put", 0, "b", TEXTS[0]), ("read", 0, "a", ""), ("put", 0, "a", TEXTS[0])])
@example(steps=[("many", 0, "a", TEXTS[0]), ("read", 0, "a", ""), ("delete", 1, "b", ""), ("read", 0, "a", "")])
async def test_a_read_finds_what_one_from_scratch_finds(stores: Stores, steps: Sequence[tuple[Any, ...]]) -> None:
    space = ("memory", next(OWNERS), "dialog")
    ops: list[RecallOp] = [
        asked("Which zebra did I paint?", namespace=space, pairs=True),
        asked("tea", 2, namespace=space, conditions={"role": "user"}),
    ]
    for step in [*steps, ("read", 0, "a", ""), ("read", 1, "a", "")]:
        if step[0] != "read":
            await write(stores, space, step)
            continue
        reader = stores[step[1]]
        for one, other in zip(await reader.arecall(ops), await stores.scratch.arecall(ops), strict=True):
            assert shown(one) == shown(other)
        for options in ({"limit": 3}, {"limit": 2, "offset": 1}, {"filter": {"role": "user"}}):
            found = await reader.asearch(space[:2], query="zebra tea", **options)
            assert shown(found) == shown(await stores.scratch.asearch(space[:2], query="zebra tea", **options))


class TestWhatIsWrittenMeanwhile:
    @pytest.mark.parametrize("change", ["changed", "deleted", "refused"])
    async def test_is_never_shown_as_it_was(self, stores: Stores, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
        space = ("memory", next(OWNERS), "dialog")
        before = {key: said(key, f"zebra number {key}") for key in KEYS}
        after = {
            "changed": said("a", "nothing of it"),
            "deleted": None,
            "refused": {**said("a", "zebra number a"), "role": "assistant"},
        }[change]
        await put(stores.first, before, space)
        read, left = owner_recall._read_records, [after]

        async def late(*arguments: Any) -> Any:
            while left:
                await stores.second.abatch([PutOp(space, "a", left.pop())])
            return await read(*arguments)

        op = asked("zebra", namespace=space, similarity=0.7, conditions={"role": "user"})
        assert keys(await recalled(stores.first, "zebra", namespace=space, similarity=0.7))
        monkeypatch.setattr(owner_recall, "_read_records", late)
        [answer] = await stores.first.arecall([op])
        assert isinstance(answer, Recall)
        assert not left
        assert shown(answer) == shown((await stores.scratch.arecall([op]))[0])
        assert "a" not in keys(answer) or change == "changed"
        assert all(one.item.value != before["a"] for one in answer.found)

    async def test_is_found_on_a_server_that_lost_what_was_known(self, stores: Stores) -> None:
        space = ("memory", next(OWNERS), "dialog")
        await put(stores.first, {"a": said("a", "green tea")}, space)
        known = await stores.first.owners.current(space[1])
        await put(stores.second, {"b": said("b", "a zebra")}, space)
        async with stores.first.pool.connection() as conn:
            # as a standby that took over before the revision that is known came to it
            late = "UPDATE store_vectors SET revision = %s WHERE owner = %s AND key = 'b'"
            await conn.execute(late, (known.revision, known.owner))
        stores.first.owners._drop(known)
        stores.first.owners._keep(replace(known, started=known.started - timedelta(hours=1)))
        assert keys(await recalled(stores.first, "zebra", namespace=space))[0] == "b"


class TestWhatIsKept:
    async def test_is_read_once_by_all_who_wait_for_it(self, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
        owner = next(OWNERS)
        await put(stores.first, {"a": "a zebra"}, ("memory", owner, "dialog"))
        reached, go, loads = asyncio.Event(), asyncio.Event(), []
        load = stores.second.owners._load

        async def slow(whose: str) -> Any:
            loads.append(whose)
            reached.set()
            await go.wait()
            return await load(whose)

        monkeypatch.setattr(stores.second.owners, "_load", slow)
        waiting = [asyncio.create_task(stores.second.owners.load(owner)) for _ in range(3)]
        await reached.wait()
        waiting[0].cancel()
        await asyncio.wait(waiting[:1])
        go.set()
        one, other = await asyncio.gather(*waiting[1:])
        assert one is other
        assert waiting[0].cancelled()
        assert loads == [owner]

    async def test_takes_no_more_bytes_than_it_may(self, stores: Stores) -> None:
        owners = [next(OWNERS) for _ in range(6)]
        for owner in owners:
            await put(stores.first, {"a": "a zebra"}, ("memory", owner, "dialog"))
        each = (await stores.first.owners.load(owners[0])).nbytes
        small = MemoryStore(stores.first.pool, stores.first.embedding, index_bytes=3 * each + each // 2)
        for owner in (*owners[:3], owners[0], *owners[3:5]):
            answer = await recalled(small, "zebra", namespace=("memory", owner, "dialog"))
            assert keys(answer) == ["a"]
            assert small.owners.nbytes <= 3 * each + each // 2
        kept = [owner for owner in owners if owner in small.owners._kept]
        assert kept == [owners[0], *owners[3:5]], "who was not asked for longest has gone"

    async def test_leaves_to_the_database_what_would_not_stay(
        self, stores: Stores, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        owner = next(OWNERS)
        spaces = {count: ("memory", owner, f"space{count}") for count in (12, 30)}
        for count, space in spaces.items():
            await put(stores.first, {f"k{n}": message(f"a zebra number {n}", n) for n in range(count)}, space)
        monkeypatch.setattr(owner_texts, "AT_ONCE", 20)
        room = 2 * 20 * owner_texts.bytes_of_a_text(stores.first.embedding.dims)
        small = MemoryStore(stores.first.pool, stores.first.embedding, index_bytes=room)
        assert small.scale.calibration
        await small.scale.settle()
        known = await small.owners.load(owner)
        assert known.large == {".".join(spaces[30])}
        assert small.owners._kept[owner] is known
        for space in spaces.values():
            found = await recalled(small, "zebra number 7", namespace=space)
            assert shown(found) == shown(await recalled(stores.first, "zebra number 7", namespace=space))
        await small.indexes.settle()


class TestALargeNamespace:
    async def test_is_scored_by_candidates_of_the_database(self, stores: Stores) -> None:
        space = ("memory", next(OWNERS), "dialog")
        values = {f"k{n}": message(f"{TEXTS[n % 4]} number {n}", n, session=f"s{n // 9}") for n in range(40)}
        await put(stores.first, values, space)
        large = MemoryStore(stores.first.pool, stores.first.embedding, index_limit=20)
        assert large.scale.calibration
        await large.scale.settle()
        try:
            for query, more in [
                ("Which zebra did I paint?", {}),
                ("Lisbon in January 2024", {"limit": 3, "without": ("k2",), "conditions": {"role": "user"}}),
                ("nothing of all that", {"similarity": 0.9}),
            ]:
                expected = await recalled(stores.first, query, namespace=space, **more)
                found = await recalled(large, query, namespace=space, **more)
                assert found.missing == {}
                assert shown(found) == shown(expected)
            found = await large.asearch(space, query="zebra", limit=5)
            assert len(found) == 5
        finally:
            await large.indexes.settle()

    async def test_proposes_what_has_all_common_words_beside_the_rare_ones(
        self, stores: Stores, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(large_namespaces, "_PROPOSED", 1)
        space = ("memory", next(OWNERS), "dialog")
        values = {f"c{n}": message(("rocket", "bakery")[n % 2], n, session="common") for n in range(30)}
        values |= {"rare": message("lantern", 1), "both": message("rocket and bakery", 1, session="both")}
        await put(stores.first, values, space)
        large = MemoryStore(stores.first.pool, stores.first.embedding, index_limit=20)
        try:
            found = await recalled(large, "rocket, bakery or lantern", namespace=space, arms=frozenset({Arm.LEXICAL}))
            assert {"both", "rare"} <= {hit.key for hit in found.found}
        finally:
            await large.indexes.settle()
