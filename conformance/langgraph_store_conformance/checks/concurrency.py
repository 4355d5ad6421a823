"""Checks of writers at once: nothing is lost, nothing is mixed."""

from __future__ import annotations

import asyncio

from langgraph.store.base import BaseStore, PutOp

from langgraph_store_conformance.capabilities import Capability, needs
from langgraph_store_conformance.checks.shown import Space, keys, value_of

_WRITERS = 8


class ConcurrencyChecks:
    """Writers that do not wait for each other."""

    async def test_writers_of_different_items_lose_nothing(self, store: BaseStore, space: Space) -> None:
        async def write(writer: int) -> None:
            for n in range(20):
                await store.aput(space, f"{writer}/{n}", {"writer": writer, "n": n}, index=False)

        await asyncio.gather(*(write(writer) for writer in range(_WRITERS)))
        found = await store.asearch(space, limit=1_000)
        assert {(item.value["writer"], item.value["n"]) for item in found} == {
            (writer, n) for writer in range(_WRITERS) for n in range(20)
        }

    async def test_writers_of_one_item_leave_one_whole_value(self, store: BaseStore, space: Space) -> None:
        async def write(writer: int) -> None:
            await store.aput(space, "one", {"first": writer, "list": [writer] * 50, "last": writer}, index=False)

        await asyncio.gather(*(write(writer) for writer in range(_WRITERS)))
        value = await value_of(store, space, "one")
        assert value is not None
        assert {value["first"], value["last"], *value["list"]} == {value["first"]}
        assert keys(await store.asearch(space)) == ["one"]

    async def test_writers_and_readers_at_once(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "one", {"n": 0, "twice": 0}, index=False)

        async def write() -> None:
            for n in range(1, 21):
                await store.aput(space, "one", {"n": n, "twice": 2 * n}, index=False)

        async def read() -> list[tuple[int, int]]:
            seen = []
            for _ in range(20):
                value = await value_of(store, space, "one")
                assert value is not None, "an item that is overwritten is never absent"
                seen.append((value["n"], value["twice"]))
            return seen

        _, *seen = await asyncio.gather(write(), *(read() for _ in range(4)))
        assert all(twice == 2 * n for each in seen for n, twice in each)  # type: ignore[union-attr]

    async def test_writers_of_different_namespaces_stay_apart(self, store: BaseStore, space: Space) -> None:
        spaces = [(*space, str(writer)) for writer in range(_WRITERS)]
        await asyncio.gather(
            *(store.aput(own, str(n), {"of": own[-1]}, index=False) for own in spaces for n in range(10))
        )
        for own in spaces:
            found = await store.asearch(own, limit=100)
            assert [item.value["of"] for item in found] == [own[-1]] * 10

    async def test_what_is_written_is_read_by_who_wrote_it(self, store: BaseStore, space: Space) -> None:
        async def write_and_read(writer: int) -> bool:
            await store.aput(space, str(writer), {"n": writer}, index=False)
            return await value_of(store, space, str(writer)) == {"n": writer}

        assert all(await asyncio.gather(*(write_and_read(writer) for writer in range(40))))

    @needs(Capability.SYNC)
    async def test_writers_in_threads_lose_nothing(self, store: BaseStore, space: Space) -> None:
        def write(writer: int) -> None:
            for n in range(10):
                store.put(space, f"{writer}/{n}", {"n": n}, index=False)

        await asyncio.gather(*(asyncio.to_thread(write, writer) for writer in range(4)))
        assert len(await store.asearch(space, limit=100)) == 40

    @needs(Capability.ATOMIC_BATCHES)
    async def test_batches_over_the_same_items_stay_whole(self, store: BaseStore, space: Space) -> None:
        names = [str(n) for n in range(30)]

        async def write(writer: int) -> None:
            order = names if writer % 2 else names[::-1]
            for _ in range(5):
                await store.abatch([PutOp(space, name, {"writer": writer}, index=False) for name in order])

        await asyncio.gather(*(write(writer) for writer in range(6)))
        found = await store.asearch(space, limit=100)
        assert len(found) == len(names)
        assert len({item.value["writer"] for item in found}) == 1
