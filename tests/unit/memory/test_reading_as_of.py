"""Reading memory as of a time: what was believed then, and nothing that came later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.interface import MemoryQuery, MemoryResults, MemoryScope
from react_mem.memory.model.operations import Operation, put
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import Document, Episode, Message, Summary, fact_id
from react_mem.memory.retrieval.last_known import DATABASE
from tests.contract.conftest import memory_store

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HUE, HANOI, TEA = "I live in Hue", "I live in Hanoi", "I live on tea"
STAMP = {"session_id": "s", "agent_id": "a"}


async def _memory(*, more: int = 0) -> MemoryFacade:
    """Return a memory of Hue on the first day, Hanoi instead on the third, tea on the fifth, and more after that."""
    memory = MemoryFacade(memory_store(), MemoryPolicy(recall={"similarity": 0}))
    told = [
        (0, Operation("new", HUE, source_ids=("m1",))),
        (2, Operation("changes", HANOI, target_id=fact_id("user", HUE), source_ids=("m2",))),
        (4, Operation("new", TEA, source_ids=("m3",))),
        *((6, Operation("new", f"I live in house {n}", source_ids=(f"n{n}",))) for n in range(more)),
    ]
    for day, operation in told:
        await write_facts(memory.store, "ann", [operation], at=START + day * DAY, **STAMP)
    records = [
        (MemoryScope.DIALOG, Message(id="m", text="I live here", role="user", content="I live here", turn=0, **STAMP)),
        (MemoryScope.DIALOG, Summary(id="s", text="They live here.", **STAMP)),
        (MemoryScope.EPISODIC, Episode(id="e", text="find where I live", goal="find where I live", **STAMP)),
        (MemoryScope.SEMANTIC, Document(id="d", text="I live by the sea", **STAMP)),
    ]
    dated = [(scope, record.model_copy(update={"created_at": START + 3 * DAY})) for scope, record in records]
    await memory.apply([put("ann", record) for _scope, record in dated])
    for day, city in ((0, "Hue"), (2, "Hanoi")):
        await memory.profile.update_profile("ann", {"city": city}, at=START + day * DAY)
    return memory


async def _read(
    memory: MemoryFacade,
    day: float | None,
    query: str | None = "Where do I live?",
    scopes: Sequence[MemoryScope] = (MemoryScope.SEMANTIC, MemoryScope.DIALOG, MemoryScope.EPISODIC),
) -> MemoryResults:
    as_of = None if day is None else START + day * DAY
    return await memory.read(MemoryQuery(user_id="ann", scopes=list(scopes), query=query, as_of=as_of, **STAMP))


def _texts(results: MemoryResults) -> set[str]:
    return {str(item.payload["text"]) for item in results}


LATER = {"I live here", "They live here.", "find where I live", "I live by the sea"}


@pytest.mark.parametrize("query", ["Where do I live?", None])
@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (-1, set()),
        (1.5, {HUE}),
        (3, {HANOI} | LATER),
        (None, {HANOI, TEA} | LATER),
    ],
)
async def test_what_was_believed_is_read(day: float | None, expected: set[str], query: str | None) -> None:
    results = await _read(await _memory(), day, query)
    assert _texts(results) == expected
    assert all(item.payload["current"] for item in results if item.source == "fact")
    assert all(item.payload["valid_to"] is None for item in results if item.source == "fact")


@pytest.mark.parametrize("query", ["Where do I live?", None])
async def test_what_came_later_does_not_crowd_out_what_was_there(query: str | None) -> None:
    assert _texts(await _read(await _memory(more=20), 1, query)) == {HUE}


async def test_what_ended_and_was_said_again_in_other_words_is_read_as_it_stood_each_day() -> None:
    memory = MemoryFacade(memory_store(), MemoryPolicy(recall={"similarity": 0}))
    hue = fact_id("user", HUE)
    for day, operation in (
        (0, Operation("new", HUE, source_ids=("m1",))),
        (2, Operation("ends", "", target_id=hue, source_ids=("m2",))),
        (4, Operation("new", HUE, source_ids=("m3",))),
        (6, Operation("same", "Hue is where I live", target_id=hue, source_ids=("m4",))),
    ):
        await write_facts(memory.store, "ann", [operation], at=START + day * DAY, **STAMP)
    for day, expected in ((1, {HUE}), (3, set()), (5, {HUE})):
        assert _texts(await _read(memory, day)) == expected
    wordings = [[one["text"] for one in (await _read(memory, day))[0].payload["wordings"]] for day in (5, 7)]
    assert wordings == [[], ["Hue is where I live"]]


async def test_a_field_that_was_cleared_since_is_read_as_it_was() -> None:
    memory = await _memory()
    await memory.profile.update_profile("ann", {"city": ""}, at=START + 4 * DAY)
    for day, expected in ((1, "Hue"), (3, "Hanoi"), (5, "")):
        [item] = await _read(memory, day, None, [MemoryScope.PROFILE])
        assert item.payload["fields"]["city"]["value"] == expected


async def test_history_as_of_a_time() -> None:
    memory = await _memory()

    async def told(day: float, query: str = "") -> list[str]:
        return [fact.text for fact in await memory.semantic.history(query, user_id="ann", as_of=START + day * DAY)]

    assert await told(-1) == []
    assert await told(1) == await told(1, "where") == [HUE]
    assert await told(2) == [HANOI]
    assert await told(9) == [HANOI, TEA]
    assert [fact.text for fact in await memory.semantic.history(user_id="ann")] == [HUE, HANOI, TEA]


async def test_what_was_believed_once_never_stands_in_for_what_is() -> None:
    memory = await _memory()
    await _read(memory, 1)
    now, then = (
        MemoryQuery(user_id="ann", scopes=[MemoryScope.SEMANTIC, MemoryScope.DIALOG, MemoryScope.EPISODIC], **STAMP),
        MemoryQuery(user_id="ann", scopes=[MemoryScope.SEMANTIC], as_of=START, **STAMP),
    )
    assert memory.last_known(now) is None
    await _read(memory, None)
    known = memory.last_known(now)
    assert known is not None
    assert DATABASE in known.missing
    assert memory.last_known(then) is None
