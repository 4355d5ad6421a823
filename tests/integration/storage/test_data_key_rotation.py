"""A rotation of data keys that is stopped goes on where it was, and the next one begins anew."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from react_mem.memory.store.keys.key_ring import KeyRing
from react_mem.memory.store.keys.master_key import LocalMasterKey, MasterKey
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.sealing.resealing import begin_rotation, end_rotation, renew_all, reseal
from tests.support.databases import open_memory_store, word_model

OWNERS = [f"user{number}" for number in range(5)]


class Stopped(Exception):  # noqa: N818 - Ctrl-C
    """Somebody has stopped it."""


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[MemoryStore]:
    async with open_memory_store(database_url, word_model(), sealed=True) as opened:
        for owner in OWNERS:
            await opened.aput(("memory", owner, "semantic"), "1", {"text": "tea"})
        yield opened


def ring(store: MemoryStore) -> KeyRing:
    return KeyRing(store.pool, MasterKey(LocalMasterKey(bytes(range(32)))))


async def versions(store: MemoryStore) -> dict[str, int]:
    return {owner: key.version for owner, key in (await ring(store).find(OWNERS)).items()}


def no_report(done: int, total: int) -> None:
    """Nobody asks how far it is."""


async def rotate(store: MemoryStore, stopped_after: int | None = None) -> int:
    """Give new keys as the command does, and stop after so many owners."""

    def report(done: int, total: int) -> None:
        if done == stopped_after:
            raise Stopped

    begun, _ = await begin_rotation(store.pool, ring(store))
    return await renew_all(store.pool, ring(store), begun, report)


async def finish(store: MemoryStore) -> None:
    await reseal(store.pool, ring(store), no_report)
    await end_rotation(store.pool, ring(store))


async def test_who_has_a_new_key_keeps_it_when_the_rotation_goes_on(store: MemoryStore) -> None:
    before = await versions(store)
    with pytest.raises(Stopped):
        await rotate(store, stopped_after=2)
    between = await versions(store)
    assert [owner for owner in OWNERS if between[owner] != before[owner]] == ["user0", "user1"]
    assert await rotate(store) == 3
    after = await versions(store)
    assert [owner for owner in OWNERS if after[owner] != between[owner]] == ["user2", "user3", "user4"]


async def test_stopped_while_it_sealed_it_makes_no_second_key(store: MemoryStore) -> None:
    assert await rotate(store) == 5
    made = await versions(store)

    def stop(done: int, total: int) -> None:
        assert total == 5
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped):
        await reseal(store.pool, ring(store), stop)
    assert await rotate(store) == 0
    assert await versions(store) == made
    await finish(store)
    assert await rotate(store) == 5


async def test_what_sealing_alone_has_ended_is_not_gone_on_with(store: MemoryStore) -> None:
    await rotate(store)
    made = await versions(store)
    await reseal(store.pool, ring(store), no_report)
    _, before = await begin_rotation(store.pool, ring(store))
    assert not before
    assert await rotate(store) == 5
    assert not set(made.items()) & set((await versions(store)).items())
