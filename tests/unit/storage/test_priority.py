"""Turns before the work behind them: how much work there is room for, and whose turn a connection is."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from react_mem.memory.store import priority
from react_mem.memory.store.priority import Front, PoolShare, behind_turns, is_behind


class SetClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    clock = SetClock()
    monkeypatch.setattr(priority, "time", clock)
    return clock


def test_a_crowd_of_turns_leaves_no_room_for_work_and_after_a_while_some(clock: SetClock) -> None:
    front = Front()
    with ExitStack() as few:
        for _ in range(4):
            few.enter_context(front.turn())
        assert front.room_for_work(4) == 4
        with front.turn():
            assert front.room_for_work(4) == 0
            clock.now += 9.9
            with front.turn():
                assert front.room_for_work(4) == 0
            clock.now += 0.1
            assert front.room_for_work(4) == 1
        assert front.room_for_work(4) == 4
        with front.turn():
            assert front.room_for_work(4) == 0
    assert front.room_for_work(4) == 4


async def test_work_has_a_quarter_of_the_connections_and_turns_all_they_ask_for() -> None:
    share, free = PoolShare(8), asyncio.Event()
    at_hand = {True: 0, False: 0}

    async def hold() -> None:
        async with share.admitted():
            at_hand[is_behind()] += 1
            await free.wait()

    with behind_turns():
        work = [asyncio.create_task(hold()) for _ in range(3)]
    turns = [asyncio.create_task(hold()) for _ in range(9)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert at_hand == {True: 2, False: 9}
    free.set()
    await asyncio.gather(*work, *turns)
    assert at_hand == {True: 3, False: 9}


async def test_work_takes_no_connection_while_a_turn_waits_for_one() -> None:
    share, taken = PoolShare(8), asyncio.Event()

    async def take() -> None:
        async with share.admitted():
            taken.set()

    with share.waiting():
        with behind_turns():
            work = asyncio.create_task(take())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not taken.is_set()
    await work
    assert taken.is_set()


async def test_work_that_has_a_connection_gets_another_to_go_on() -> None:
    share = PoolShare(1)
    async with asyncio.timeout(60):
        with behind_turns():
            async with share.admitted(), share.admitted():
                pass
            # the place is free again
            async with share.admitted():
                pass
