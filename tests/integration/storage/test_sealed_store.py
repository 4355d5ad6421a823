"""Sealing on a database: nothing of what is stored can be read there, and the store does what it does without a key."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import GetOp, PutOp, SearchOp
from psycopg.types.json import Jsonb

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.recall import Recall, RecallOp, read_question
from react_mem.memory.model.interface import ALL_ARMS, Arm
from react_mem.memory.model.records import now
from react_mem.memory.store.key_ring import KeyRing
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.reembed import reembed
from react_mem.memory.store.resealing import reseal
from react_mem.memory.store.storage_settings import StorageSettings
from react_mem.memory.store.transactions import Guard
from tests.support.databases import MASTER_KEY, fresh_memory_store, open_memory_store, word_model
from tests.support.recalling import message
from tests.support.telling import tell

DIALOG, FACTS, META = ("memory", "ann", "dialog"), ("memory", "ann", "semantic"), ("memory", "ann", "meta")
NOTES, WORK = ("users", "ann", "notes"), ("memory_work", "ann")
WORDS = ["tea", "coffee", "cat", "dog", "Hanoi", "Hue", "terrier", "kayak", "salary", "zebra", "rain", "garden"]


@pytest.fixture
async def sealed(database_server: str) -> AsyncIterator[MemoryStore]:
    async with fresh_memory_store(database_server, sealed=True) as opened:
        yield opened


def fact(id_: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "kind": "fact",
        "text": text,
        "session_id": f"session of {id_}",
        "created_at": "2024-05-01T12:00:00Z",
        "current": True,
        "retired_at": None,
        **more,
    }


def texts(seed: int, count: int) -> list[PutOp]:
    chance = random.Random(seed)  # noqa: S311 - no secret
    puts = []
    for number in range(count):
        said = " ".join(chance.choices(WORDS, k=chance.randint(2, 9)))
        value = message(said, number % 50, role=chance.choice(["user", "assistant"]))
        value |= {"session_id": f"s{number % 3}", "nested": {"odd": number % 2, "words": said.split()[:2]}}
        puts.append(PutOp(DIALOG, f"m{number:03}", value))
    return puts


FILTERS: list[dict[str, Any] | None] = [
    None,
    {"session_id": "s1"},
    {"turn": {"$gte": 20, "$lt": 40}},
    {"nested": {"odd": 1}, "session_id": "s2"},
    {"nothing": None},
    {"text": {"$gt": "kayak"}},
]


async def test_searches_lists_and_recalls_find_the_same_as_without_a_key(
    database_server: str, sealed: MemoryStore
) -> None:
    async with (
        fresh_memory_store(database_server, sealed=False) as plain,
    ):
        for store in (plain, sealed):
            puts = texts(7, 60)
            await store.abatch(puts[:40])
            await store.asearch(DIALOG, query="tea")  # has the index at hand
            store.scale.known()  # what cosines mean is measured behind the first recall
            await store.scale.settle()
            await store.abatch([*puts[40:], *(PutOp(DIALOG, f"m{number:03}", None) for number in range(0, 36, 9))])
            await store.aput(DIALOG, "m005", {**puts[5].value, "text": "zebra in the rain"})  # type: ignore[dict-item]
        for conditions in FILTERS:
            for query in (None, "tea with the cat"):
                for limit, offset in ((7, 3), (500, 0)):
                    found = []
                    for store in (plain, sealed):
                        items = await store.asearch(DIALOG, query=query, filter=conditions, limit=limit, offset=offset)
                        found.append(([(item.key, item.value) for item in items], [item.score for item in items]))
                    (plainly, scores), (opened, others) = found
                    if query is None:
                        assert opened == plainly, (conditions, limit, offset)
                        continue
                    assert others == pytest.approx(scores, abs=1e-6)
                    # of texts that are equally near, the database's rounding decides
                    near = {item.key: item for item in await plain.asearch(DIALOG, query=query, limit=500)}
                    assert len({key for key, _ in opened}) == len(plainly)
                    assert all(near[key].value == value for key, value in opened)
                    assert [near[key].score for key, _ in opened] == pytest.approx(scores, abs=1e-6)
        found_any: set[Arm] = set()
        for asked in ("Which zebra is in the rain?", "What did I say about the cat in Hanoi?", "salary"):
            question = read_question(asked, datetime(2024, 5, 15, 12))
            for arms in (ALL_ARMS, *(frozenset({arm}) for arm in ALL_ARMS)):
                op = RecallOp(DIALOG, question, {"kind": "message"}, 10, arms=arms, pairs=True)
                answers = [await recall(store, op) for store in (plain, sealed)]
                shown = [[(hit.item.key, hit.item.value) for hit in answer.found] for answer in answers]
                assert shown[0] == shown[1]
                scores = [[hit.item.score for hit in answer.found] for answer in answers]
                assert scores[1] == pytest.approx(scores[0], abs=1e-9)
                found_any |= {*arms} if shown[0] else set()
        assert found_any >= {Arm.VECTOR, Arm.LEXICAL}


async def recall(store: MemoryStore, op: RecallOp) -> Recall:
    [answer] = await store.arecall([op])
    assert isinstance(answer, Recall)
    return answer


async def test_links_are_found_as_without_a_key(database_server: str, sealed: MemoryStore) -> None:
    async with fresh_memory_store(database_server, sealed=False) as plain:
        found = []
        for store in (plain, sealed):
            await store.abatch(
                [
                    PutOp(DIALOG, "m1", {**message("tea", 0), "id": "m1", "session_id": "s"}),
                    PutOp(DIALOG, "m2", {**message("cat", 1), "id": "m2", "session_id": "s"}),
                    PutOp(FACTS, "f1", fact("f1", "I like tea", source_ids=["m1:0"], superseded_by="f2")),
                    PutOp(FACTS, "f2", fact("f2", "I like coffee", source_ids=["m2"], alike={"f3": 0.9}, needs=["f3"])),
                    PutOp(FACTS, "f3", fact("f3", "I have a cup", links=[{"to": "f1", "as": "cup"}])),
                ]
            )
            found.append([await store.alinked([DIALOG, FACTS], [id_]) for id_ in ("m1", "m2", "f1", "f2", "f3")])
        assert found[0] == found[1]
        assert {str(value["id"]) for _, value in found[1][2]} >= {"f1", "f2", "m1", "f3"}


async def test_a_batch_is_written_only_if_what_is_held_is_stored(sealed: MemoryStore) -> None:
    nothing, one, two = Guard(META, "revision", None), {"revision": 1, "of": "tea"}, {"of": "tea", "revision": 2}
    assert await sealed.abatch_if([PutOp(META, "revision", one, index=False)], nothing)
    assert not await sealed.abatch_if([PutOp(META, "revision", two, index=False)], nothing)
    assert not await sealed.abatch_if([PutOp(FACTS, "f", fact("f", "tea"))], Guard(META, "revision", two))
    # in another order of its names it is the same
    held = Guard(META, "revision", {"of": "tea", "revision": 1})
    assert await sealed.abatch_if(
        [PutOp(META, "revision", two, index=False), PutOp(FACTS, "f", fact("f", "tea"))], held
    )
    assert await sealed.aerase_if([], Guard(META, "revision", one)) is False
    assert await sealed.aerase_if([], Guard(META, "revision", two))
    assert await sealed.asearch(("memory", "ann")) == []


@pytest.mark.parametrize("other", [("memory", "ann", "semantic"), ("memory", "bob", "dialog")])
async def test_a_value_that_is_moved_to_another_row_does_not_open(sealed: MemoryStore, other: tuple[str, ...]) -> None:
    await sealed.aput(DIALOG, "m1", message("my secret", 0))
    await sealed.aput(other, "m1", message("nothing", 0))
    async with sealed.pool.connection() as conn:
        [row] = await (await conn.execute("SELECT value FROM store WHERE prefix = 'memory.ann.dialog'")).fetchall()
        moved = (Jsonb(row["value"]), ".".join(other))
        assert (await conn.execute("UPDATE store SET value = %s WHERE prefix = %s", moved)).rowcount == 1
    assert await sealed.aget(other, "m1") is None
    assert sealed.refused_rows(other[1]) != []


class TestBesideRowsInPlain:
    @pytest.fixture
    async def mixed(self, database_server: str) -> AsyncIterator[MemoryStore]:
        async with fresh_memory_store(database_server, sealed=False) as plain:
            await plain.abatch(
                [PutOp(FACTS, f"p{number}", fact(f"p{number}", f"tea {WORDS[number]}")) for number in range(8)]
            )
            await plain.aput(META, "revision", {"revision": 4}, index=False)
            async with open_memory_store(plain.pool.conninfo, word_model(), sealed=True) as opened:
                await opened.abatch(
                    [PutOp(FACTS, f"s{number}", fact(f"s{number}", f"tea {WORDS[number]}")) for number in range(8)]
                )
                yield opened

    async def test_both_are_found(self, mixed: MemoryStore) -> None:
        every = {f"{kind}{number}" for kind in "ps" for number in range(8)}
        assert {item.key for item in await mixed.asearch(FACTS, limit=50)} == every
        assert {item.key for item in await mixed.asearch(FACTS, query="tea", limit=50)} == every
        by_session = await mixed.asearch(FACTS, filter={"session_id": "session of p3"})
        assert [item.key for item in by_session] == ["p3"]
        got = await mixed.abatch([GetOp(FACTS, "p1"), GetOp(FACTS, "s1"), GetOp(FACTS, "x1")])
        assert [item and item.key for item in got] == ["p1", "s1", None]  # type: ignore[union-attr]
        paged: list[str] = []
        behind = ("", "")
        while (page := await mixed.apage(("memory", "ann"), behind, 3)).items:
            behind = page.behind
            paged += [item.key for item in page.items]
            assert {item.namespace for item in page.items} <= {FACTS, META}
        assert sorted(paged) == sorted({*every, "revision"})

    async def test_one_that_is_written_again_takes_the_place_of_its_row(self, mixed: MemoryStore) -> None:
        await mixed.aput(FACTS, "p2", fact("p2", "kayak in the garden"))
        await mixed.adelete(FACTS, "p3")
        assert await mixed.abatch_if(
            [PutOp(META, "revision", {"revision": 5}, index=False)], Guard(META, "revision", {"revision": 4})
        )
        assert [item.key for item in await mixed.asearch(FACTS, query="kayak garden", limit=1)] == ["p2"]
        async with mixed.pool.connection() as conn:
            rows = await (await conn.execute("SELECT key FROM store WHERE key IN ('p2', 'p3', 'revision')")).fetchall()
            assert rows == []
            [row] = await (await conn.execute("SELECT count(*) AS count FROM store")).fetchall()
        assert row["count"] == 16
        assert len(await mixed.asearch(FACTS, limit=50)) == 15


async def test_a_user_who_was_forgotten_by_another_process_and_comes_back_is_read_and_written(
    sealed: MemoryStore,
) -> None:
    await sealed.aput(FACTS, "f1", fact("f1", "I like tea"))
    await sealed.asearch(FACTS, query="tea")
    async with open_memory_store(sealed.pool.conninfo, word_model(), sealed=True) as other:
        assert await other.aerase_if([], Guard(META, "revision", None))
        # the first one has the former key at hand: what it writes and reads is of the new one
        await sealed.aput(FACTS, "f2", fact("f2", "I like coffee"))
        assert [item.key for item in await other.asearch(FACTS, query="coffee")] == ["f2"]
        assert await other.aerase_if([], Guard(META, "revision", None))
        await other.aput(FACTS, "f3", fact("f3", "I like rain"))
        # a write that is one statement is told as well
        await sealed.aput(META, "last", {"of": "tea"}, index=False)
        assert (await other.aget(META, "last")) is not None
        assert [item.key for item in await sealed.asearch(FACTS, query="rain")] == ["f3"]
        assert (await sealed.aget(FACTS, "f3")) is not None
        assert (await sealed.aget(FACTS, "f2")) is None


async def test_work_is_found_across_owners_by_what_the_database_sees(sealed: MemoryStore) -> None:
    for owner in ("ann", "bob"):
        for number in range(3):
            value = {"kind": "extract", "agent": "a", "session": f"{owner}{number}", "due_at": number, "lease_by": ""}
            await sealed.aput(("memory_work", owner), f"w{number}", value, index=False)
    [found] = await sealed.abatch([SearchOp(("memory_work",), {"agent": "a", "due_at": {"$lte": 1}}, 10)])
    assert sorted(item.value["session"] for item in found) == ["ann0", "ann1", "bob0", "bob1"]  # type: ignore[union-attr]
    assert {item.key for item in await sealed.asearch(("memory_work", "ann"), filter={"session": "ann1"})} == {"w1"}
    assert {item.key for item in await sealed.asearch(("memory",), query="tea")} == set()


async def test_what_is_embedded_anew_is_sealed_and_found(sealed: MemoryStore) -> None:
    await sealed.abatch([PutOp(FACTS, f"f{n}", fact(f"f{n}", f"tea {WORDS[n]}")) for n in range(5)])
    model, url = word_model(32, "test:others"), sealed.pool.conninfo
    settings = StorageSettings.model_validate({"database_url": url, "encryption_key": bytes(range(32)).hex()})
    assert await reembed(settings, model, lambda done, total: None) == 5
    async with open_memory_store(url, model, sealed=True) as moved:
        assert [item.key for item in await moved.asearch(FACTS, query="tea cat", limit=1)] == ["f2"]
        async with moved.pool.connection() as conn:
            rows = await (await conn.execute("SELECT half, words, sealed_vector FROM store_vectors")).fetchall()
    assert [(row["half"], row["words"]) for row in rows] == [(None, None)] * 5
    assert all(row["sealed_vector"] for row in rows)


async def test_equal_values_of_two_records_and_of_two_owners_are_sealed_differently(sealed: MemoryStore) -> None:
    for namespace in (DIALOG, ("memory", "bob", "dialog")):
        for key in ("m1", "m2"):
            await sealed.aput(namespace, key, message("the same", 0))
    async with sealed.pool.connection() as conn:
        rows = await (await conn.execute("SELECT key, value ->> ':sealed' AS sealed FROM store")).fetchall()
    assert len({row["sealed"] for row in rows}) == len({row["key"] for row in rows}) == 4
    keys = await KeyRing(sealed.pool, MASTER_KEY).find(["ann", "bob"])
    assert keys["ann"].keyed("m1") != keys["bob"].keyed("m1")


async def break_rows(store: MemoryStore, statement: str) -> int:
    async with store.pool.connection() as conn:
        return (await conn.execute(statement.encode())).rowcount


_VALUE = "jsonb_set(value, '{{:sealed}}', to_jsonb({}))"
DAMAGES = {
    "cut": _VALUE.format("left(value ->> ':sealed', 12)"),
    "no base64": _VALUE.format("'!' || (value ->> ':sealed')"),
    "its format": _VALUE.format("'BB' || substr(value ->> ':sealed', 3)"),
    "its version": _VALUE.format("substr(value ->> ':sealed', 1, 2) || 'ZZZZ' || substr(value ->> ':sealed', 7)"),
    "its text": _VALUE.format("left(value ->> ':sealed', -6) || 'AAAA' || right(value ->> ':sealed', 2)"),
    "emptied": "'{}'",
    "no object": "'7'",
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_row_is_left_out_named_and_in_the_way_of_nothing(
    sealed: MemoryStore, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory = MemoryFacade(sealed)
    for text, session in (("I like tea", "monday"), ("I keep a zebra", "tuesday")):
        await memory.dialog.append("ann", session, [HumanMessage(text, id=text)], agent_id="a")
    await tell(sealed, "I like coffee", user_id="ann", session_id="monday")
    await tell(sealed, "I live in Hue", user_id="ann", session_id="tuesday")
    [coffee] = [item.key for item in await sealed.asearch(FACTS) if "coffee" in item.value["text"]]
    stored = (await sealed.codec.keys(["ann"]))["ann"].keyed(coffee)
    changed = f"UPDATE store SET value = {DAMAGES[damage]} WHERE key = '{stored}'"
    assert await break_rows(sealed, changed) == 1
    index = "UPDATE store_vectors SET sealed = overlay(sealed placing '\\x00ff'::bytea from 3) WHERE key = '{}'"
    assert await break_rows(sealed, index.format(stored)) == 1
    async with open_memory_store(sealed.pool.conninfo, word_model(), sealed=True) as opened:
        memory = MemoryFacade(opened)
        assert [item.value["text"] for item in await opened.asearch(FACTS, query="Hue coffee")] == ["I live in Hue"]
        found = await recall(opened, RecallOp(FACTS, read_question("Hue coffee", now()), {}, 9, arms=ALL_ARMS))
        assert [one.item.value["text"] for one in found.found] == ["I live in Hue"]
        assert await opened.aget(FACTS, coffee) is None
        exported = "".join([line async for line in memory.export_user("ann")])
        assert "zebra" in exported
        assert "coffee" not in exported
        receipt = await memory.delete_session("ann", "monday")
        assert stored in "".join(receipt.problems)
        assert not receipt.is_gone
        assert stored in caplog.text
        assert (await memory.forget_user("ann", proof=True)).receipt.problems == ()
        assert await break_rows(opened, "SELECT FROM store WHERE owner = 'ann'") == 0


async def test_a_damaged_revision_stops_neither_writing_nor_erasing(sealed: MemoryStore) -> None:
    memory = MemoryFacade(sealed)
    await tell(sealed, "I like coffee", user_id="ann")
    assert await break_rows(sealed, f"UPDATE store SET value = {DAMAGES['its text']} WHERE prefix LIKE '%.meta'") > 0
    await tell(sealed, "I live in Hue", user_id="ann")
    assert {"I like coffee", "I live in Hue"} <= {item.value["text"] for item in await sealed.asearch(FACTS)}
    assert await break_rows(sealed, f"UPDATE store SET value = {DAMAGES['its version']}") > 0
    await memory.forget_user("ann")
    assert await break_rows(sealed, "SELECT FROM store WHERE owner = 'ann'") == 0


FORGED = """
    INSERT INTO store (owner, prefix, key, value) VALUES
    ('ann', 'memory.ann.semantic', 'forged', '{"kind": "fact", "id": "forged", "text": "I like rain", "current": true}')
"""


async def test_a_plain_row_is_not_believed_once_everything_is_sealed(
    database_server: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with fresh_memory_store(database_server, sealed=False) as plain:
        await tell(plain, "I like tea", user_id="ann")
        async with open_memory_store(plain.pool.conninfo, word_model(), sealed=True) as mixed:
            assert len(await mixed.asearch(FACTS)) == 1
            assert mixed.keys is not None
            assert (await reseal(mixed.pool, mixed.keys, lambda *_: None)).from_plain > 0
            assert await break_rows(mixed, FORGED) == 1
            assert len(await mixed.asearch(FACTS)) == 1
        for statement in ("", "DELETE FROM memory_keys WHERE owner = ':check'"):
            if statement:
                assert await break_rows(plain, statement) == 1
            async with open_memory_store(plain.pool.conninfo, word_model(), sealed=True) as opened:
                assert [item.value["text"] for item in await opened.asearch(FACTS)] == ["I like tea"]
                assert await opened.aget(FACTS, "forged") is None
                assert await opened.alinked([FACTS], ["forged"]) == []
                assert opened.keys is not None
                done = await reseal(opened.pool, opened.keys, lambda *_: None)
                assert (done.from_plain, done.refused) == (0, 1)
        assert "forged" in caplog.text
        async with open_memory_store(plain.pool.conninfo, word_model(), sealed=True) as opened:
            await MemoryFacade(opened).forget_user("ann")
            assert await break_rows(opened, "SELECT FROM store WHERE owner = 'ann'") == 0
