"""Times and instructions in a recall: no question about a time makes it raise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import date, timedelta
from typing import Any

import pytest

from react_mem.memory.index import recall as fusion
from react_mem.memory.index import recall as question
from react_mem.memory.index.ranked_hits import KnownCosines, RankedHits
from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.index.scorer import score_compared
from react_mem.memory.language.times import Period
from react_mem.memory.model.interface import ALL_ARMS, Arm
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.store import owner_recall
from react_mem.memory.store.postgres import MemoryStore
from tests.support.recalling import asked, message, open_recalling, put, shared_database

ALWAYS = "Always name the currency when I ask about budgets."

YEARS = (
    "My grandmother was born in {}, what do I like?",
    "What did I paint {} years ago?",
    "What comes after the summer of {}?",
    "Ngày 7 tháng 5 năm {} tôi ở đâu?",
    "{} ngày nữa tôi làm gì?",
)


@pytest.fixture(scope="module")
def shared_url(database_server: str) -> Iterator[str]:
    with shared_database(database_server) as url:
        yield url


@pytest.fixture
async def store(shared_url: str) -> AsyncIterator[MemoryStore]:
    async with open_recalling(shared_url) as opened:
        yield opened


async def said_on_many_days(store: MemoryStore, numbers: Sequence[int] = range(60)) -> None:
    """Store messages of many sessions, five days apart, of which every third is about a zebra."""
    days = {number: date(2024, 5, 1) - timedelta(days=5 * number) for number in numbers}
    await put(
        store,
        {
            f"m{number}": message(
                f"I paint {'a zebra' if number % 3 else 'a boat'} today",
                0,
                session=f"s{number}",
                created_at=f"{day}T12:00:00+00:00",
            )
            for number, day in days.items()
        },
    )


async def answers(store: MemoryStore, ops: Sequence[RecallOp]) -> list[Recall]:
    return [answer for answer in await store.arecall(list(ops)) if isinstance(answer, Recall)]


class TestTimes:
    async def test_any_number_in_a_question_is_answered(self, store: MemoryStore) -> None:
        await said_on_many_days(store)
        numbers = [1, 12, 39, *range(40, 9999, 970), 1000, 1945, 2024, 9998, 9999]
        questions = (asked(form.format(number)) for form in YEARS for number in numbers)
        distinct = {op.question.periods: op for op in questions}
        for answer in await answers(store, [*distinct.values()]):
            assert (answer.missing, len(answer.found)) == ({}, 10)

    async def test_a_time_that_is_far_from_all_that_was_said_still_counts(self, store: MemoryStore) -> None:
        await said_on_many_days(store, range(40))
        op = asked("What did I paint in the year 1998?")
        assert op.question.periods == (Period(date(1998, 1, 1), date(1998, 12, 31)),)
        [answer] = await answers(store, [op._replace(arms=ALL_ARMS - {Arm.WINDOW, Arm.SPEAKER})])
        assert [one.arms[Arm.TIME] for one in answer.found if not 0 < one.arms[Arm.TIME] < 1e-9] == []


async def test_a_time_that_cannot_be_read_costs_the_time(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> Any:
        raise OverflowError("date value out of range")

    await said_on_many_days(store, range(6))
    monkeypatch.setattr(question, "named_periods", broken)
    [answer] = await recall(store, [asked("zebra in May 2024")])
    assert isinstance(answer, Recall)
    assert len(answer.found) == 6
    assert list(answer.missing) == [Arm.TIME]


def _break(monkeypatch: pytest.MonkeyPatch, *arms: Arm) -> None:
    """Have scoring raise where one of some arms is asked, as a computation may that meets what nobody thought of."""
    whole = score_compared

    def broken(known: KnownCosines, op: RecallOp, *more: Any) -> RankedHits:
        if not op.arms.isdisjoint(arms):
            raise FloatingPointError('value "secret value" out of range: underflow')
        return whole(known, op, *more)

    monkeypatch.setattr(owner_recall, "score_compared", broken)


@pytest.mark.parametrize("arm", [Arm.VECTOR, Arm.TIME])
async def test_an_arm_that_raises_costs_only_itself(
    store: MemoryStore, arm: Arm, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    await said_on_many_days(store, range(6))
    [expected] = await answers(store, [asked("zebra in May 2024", arms=ALL_ARMS - {arm})])
    _break(monkeypatch, arm)
    [answer] = await answers(store, [asked("zebra in May 2024")])
    assert list(answer.missing) == [arm]
    assert [hit.key for hit in answer.found] == [hit.key for hit in expected.found]
    assert "FloatingPointError" in answer.missing[arm]
    assert str(arm) in caplog.text
    for said in (answer.missing[arm], caplog.text):
        assert "secret value" not in said


async def test_an_instruction_of_the_users_is_found_by_its_topic_alone(store: MemoryStore) -> None:
    lines = ["The museum was closed.", "My cat sleeps all day.", "Rain again, and no umbrella.", "A long walk home."]
    said = {str(number): message(lines[number % len(lines)], number) for number in range(40)}
    instructs = {"standing": "instruction"}
    said |= {
        "money": message(ALWAYS, 100, session="told", **instructs),
        "dates": message("Always write dates with the month first.", 102, session="told", **instructs),
        "not theirs": message(ALWAYS, 101, session="page", role="assistant"),
    }
    await put(store, said)
    # no threshold: the embedder of tests knows no meaning
    op = asked("How expensive are currency budgets?", limit=3, arms=frozenset({Arm.VECTOR, Arm.STANDING}))
    [answer] = await store.arecall([op])
    assert isinstance(answer, Recall)
    parts = {one.item.key: one.arms[Arm.STANDING] for one in answer.found}
    assert parts.pop("money") > fusion.INSTRUCTS
    assert set(parts.values()) <= {0.0, fusion.INSTRUCTS}
    assert parts.get("not theirs", 0.0) == 0.0
