"""A recall on a real database: what each arm finds that no other does, and what all of them come to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any

import pytest

from react_mem.memory.index import recall as fusion
from react_mem.memory.index.recall import Recall
from react_mem.memory.model.interface import ALL_ARMS, Arm, MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.store.postgres import MemoryStore
from tests.support.recalling import asked, keys, message, open_recalling, put, recalled, shared_database

FACTS = ("memory", "ann", "semantic")
LONG = "\n".join(
    f"Paragraph {n} is about nothing that anybody would look for, and goes on like this." for n in range(50)
)
"""4,000 characters of which no question in these tests asks."""


@pytest.fixture(scope="module")
def shared_url(database_server: str) -> Iterator[str]:
    with shared_database(database_server) as url:
        yield url


@pytest.fixture
async def store(shared_url: str) -> AsyncIterator[MemoryStore]:
    async with open_recalling(shared_url) as opened:
        yield opened


class TestWhatIsFound:
    async def test_an_answer_by_the_words_of_its_question(self, store: MemoryStore) -> None:
        said = {
            "question": message("Which zebra did you draw?", 0),
            "answer": message("Number seven", 1, role="assistant"),
            "next": message("Lovely", 2),
            "far": message("Goodbye", 3, role="assistant"),
            "elsewhere": message("Number seven", 1, role="assistant", session="tuesday"),
        }
        await put(store, said)
        assert set(keys(await recalled(store, "zebra", similarity=0.7))) == {"question", "answer", "next"}
        assert keys(await recalled(store, "zebra", similarity=0.7, arms=ALL_ARMS - {Arm.WINDOW})) == ["question"]

    async def test_what_was_said_at_the_time_that_is_named(self, store: MemoryStore) -> None:
        await put(
            store,
            {
                "then": message("Nothing much", 0, session="a", created_at="2024-05-08T09:00:00+00:00"),
                "before": message("Nothing else", 0, session="b", created_at="2024-03-08T09:00:00+00:00"),
            },
        )
        assert keys(await recalled(store, "zebra last week", similarity=0.7)) == ["then"]
        assert keys(await recalled(store, "zebra last week", similarity=0.7, now=datetime(2024, 3, 15))) == ["before"]
        assert keys(await recalled(store, "tuần trước", similarity=0.7)) == ["then"]

    async def test_who_is_named_comes_first_and_i_am_the_user(self, store: MemoryStore) -> None:
        names = ("Ada", "Mira", "Tom")
        said = {name: message("we cook zebra soup", 0, session=name, speaker=name) for name in names}
        await put(store, {**said, "an answer": message("we cook zebra soup", 0, session="b", role="assistant")})
        assert keys(await recalled(store, "What does mira cook?", speakers=names))[0] == "Mira"
        assert keys(await recalled(store, "Did I mention zebra soup?"))[-1] == "an answer"

    async def test_vietnamese_with_and_without_its_marks(self, store: MemoryStore) -> None:
        said = {"with": "Tôi thích cà phê sữa đá", "without": "toi thich ca phe sua da", "tea": "Tôi thích trà đào"}
        await put(store, said)
        for query in ("cà phê sữa đá", "ca phe sua da", "CÀ PHÊ", "Ca\u0300 phe\u0302"):
            found = keys(await recalled(store, query, arms=frozenset({Arm.LEXICAL})))
            assert sorted(found) == ["with", "without"]
            assert query.isascii() or found[0] == "with", "with them it says more"

    async def test_words_that_the_text_does_not_say(self, store: MemoryStore) -> None:
        await put(store, {"surf": message("The waves were great", 0, keywords="sports surfing"), "tea": "Tea is great"})
        assert keys(await recalled(store, "sport", arms=frozenset({Arm.LEXICAL}))) == ["surf"]

    async def test_a_passage_in_the_middle_of_a_long_text(self, store: MemoryStore) -> None:
        barks = "The terrier barks. " * 40
        text = f"{LONG[:2500]}\nThe zebra lives in Lisbon.\n{LONG[2500:]}\n{barks}"
        long = message(text, 0)
        await put(store, {"long": long, "short": "Lisbon is a city"})
        for arm, query, part in [(Arm.LEXICAL, "zebra", "The zebra lives"), (Arm.VECTOR, "puppy", "terrier barks")]:
            first = (await recalled(store, query, arms=frozenset({arm}))).found[0]
            assert (first.item.key, first.item.value) == ("long", long)
            assert part in first.passage
            assert len(first.passage) <= 800
            assert first.passage in text
            assert first.text == first.passage
        short = (await recalled(store, "Lisbon city")).found[0]
        assert (short.item.key, short.passage, short.text) == ("short", "", "Lisbon is a city")


class TestConditions:
    @pytest.fixture
    async def known(self, store: MemoryStore) -> MemoryStore:
        await put(
            store,
            {
                "now": {"kind": "fact", "current": True, "text": "zebra now"},
                "then": {"kind": "fact", "current": False, "text": "zebra then"},
                "paper": {"kind": "document", "current": True, "text": "zebra paper"},
                "old": {"kind": "skill", "status": "archived", "task_type": "draw", "text": "zebra skill of old"},
                "new": {"kind": "skill", "status": "active", "task_type": "draw", "text": "zebra skill of new"},
                "bare": {"text": "zebra alone"},
            },
            FACTS,
        )
        return store

    @pytest.mark.parametrize("indexed_by", ["this version", "an older one"])
    async def test_they_hold(self, known: MemoryStore, indexed_by: str) -> None:
        if indexed_by == "an older one":
            async with known.pool.connection() as conn:
                await conn.execute("UPDATE store_vectors SET words = NULL, length = NULL, place = NULL, said_at = NULL")
        cases: list[tuple[dict[str, Any], set[str]]] = [
            ({}, {"now", "then", "paper", "old", "new", "bare"}),
            ({"kind": "fact"}, {"now", "then"}),
            ({"kind": "fact", "current": True}, {"now"}),
            ({"kind": "fact", "current": False}, {"then"}),
            ({"kind": "document"}, {"paper"}),
            ({"status": {"$ne": "archived"}}, {"now", "then", "paper", "new", "bare"}),
            ({"status": {"$ne": "archived"}, "task_type": "draw"}, {"new"}),
            ({"status": {"$ne": "archived"}, "kind": {"$ne": "fact"}}, {"paper", "new", "bare"}),
            ({"kind": "nothing"}, set()),
            ({"kind": "fact\x00' OR TRUE --"}, set()),
        ]
        answers = await known.arecall(
            [asked("zebra", namespace=FACTS, conditions=conditions) for conditions, _ in cases]
        )
        for answer, (conditions, expected) in zip(answers, cases, strict=True):
            assert isinstance(answer, Recall)
            assert set(keys(answer)) == expected, conditions

    async def test_what_does_not_meet_them_takes_no_place(
        self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fusion, "SEEDS", 3)
        facts = {str(n): {"kind": "fact", "current": n == 29, "text": f"zebra {'very ' * n}"} for n in range(30)}
        await put(store, facts, FACTS)
        assert keys(await recalled(store, "zebra", namespace=FACTS, conditions={"current": True})) == ["29"]
        seen = tuple(str(n) for n in range(27))
        assert set(keys(await recalled(store, "zebra", namespace=FACTS, without=seen))) == {"27", "28", "29"}


class TestBounds:
    async def test_as_many_as_are_wanted(self, store: MemoryStore) -> None:
        """Whatever an arm proposes by itself: what exists and is wanted is returned."""
        await put(store, {str(n): {"kind": "fact", "text": f"zebra {n}"} for n in range(90)}, FACTS)
        # what is far from all else may be better than what an arm proposes
        arms = ALL_ARMS - {Arm.HUB}
        whole = (await recalled(store, "zebra", namespace=FACTS, limit=1000, arms=arms)).found
        assert len({one.item.key for one in whole}) == len(whole) == 90
        for limit in (0, 1, 40, 200, 10**30):
            found = (await recalled(store, "zebra", namespace=FACTS, limit=limit, arms=arms)).found
            assert [one.item.score for one in found] == [one.item.score for one in whole[:limit]]

    async def test_an_item_counts_once_by_its_best_piece(self, store: MemoryStore) -> None:
        pieces = [f"{LONG[:700]}\n", f"The zebra. {LONG[:700]}\n", "zebra zebra zebra " * 20]
        await put(store, {"long": message("".join(pieces), 0), "short": "zebra"})
        answer = await recalled(store, "zebra")
        assert sorted(keys(answer)) == ["long", "short"]
        [long] = [one for one in answer.found if one.item.key == "long"]
        assert long.passage.startswith("zebra zebra")

    async def test_what_has_expired_is_not_found_and_takes_no_place(self, store: MemoryStore) -> None:
        await put(store, {str(n): f"zebra {n}" for n in range(5)})
        async with store.pool.connection() as conn:
            await conn.execute("UPDATE store SET expires_at = now() - interval '1 minute' WHERE key IN ('1', '3')")
        assert set(keys(await recalled(store, "zebra", limit=3))) == {"0", "2", "4"}


class TestPairs:
    async def test_a_message_brings_the_other_half(self, store: MemoryStore) -> None:
        await put(
            store,
            {
                "q": message("Which zebra?", 0),
                "q2": message("Or which lion?", 1),
                "a": message(f"The striped one. {LONG}", 2, role="assistant"),
                "q3": message("And a giraffe?", 5),
                "alone": "Nobody answers a rhino",
            },
        )
        everything = (await recalled(store, "zebra striped", pairs=True)).found
        partners = {one.item.key: one.partner and one.partner["id"] for one in everything}
        assert partners == {"q": "a", "q2": "a", "a": "q2", "q3": None, "alone": None}
        [found] = (await recalled(store, "zebra", limit=1, pairs=True)).found
        assert found.partner is not None
        assert (found.partner["role"], found.partner["text"][:16]) == ("assistant", "The striped one.")
        assert all(one.partner is None for one in (await recalled(store, "zebra")).found)

    async def test_the_other_half_is_of_the_same_conversation(self, store: MemoryStore) -> None:
        for session in map(str, range(5)):
            said = {
                f"a{session}": message("zebra", 0, session=session, role="assistant"),
                f"b{session}": message("lion", 1, session=session, role="assistant"),
                f"c{session}": message("giraffe", 2, session=session),
            }
            await put(store, said)
        found = (await recalled(store, "zebra lion giraffe", limit=100, pairs=True)).found
        assert len(found) == 15
        assert [one.partner["id"] for one in found if one.partner] == []


async def test_nobody_finds_what_is_another_users(store: MemoryStore) -> None:
    await put(store, {"1": "ann's zebra"})
    others = ["anna", "a%", "ann.", "ann' OR '1'='1", "Ann", "ann\x00"]
    for other in others:
        theirs = scope_namespace(other, MemoryScope.DIALOG)
        await put(store, {"1": f"a zebra of {other}", "2": "zebra"}, theirs)
        mine, not_mine = await store.arecall([asked("zebra"), asked("zebra", namespace=theirs)])
        assert isinstance(mine, Recall)
        assert isinstance(not_mine, Recall)
        assert [found.item.value["text"] for found in mine.found] == ["ann's zebra"]
        assert {found.item.namespace for found in not_mine.found} == {theirs}
        assert len(not_mine.found) == 2
    assert keys(await recalled(store, "zebra", namespace=("memory", "ann"))) == [], "nor what is below a namespace"
    assert keys(await recalled(store, "zebra", namespace=("memory",))) == []


async def test_a_neighbour_that_is_too_far_and_has_no_word_is_not_found(store: MemoryStore) -> None:
    said = {
        "near": message("a terrier", 0),
        "beside": message("Quite another matter", 1, role="assistant"),
        "worded": message("My puppy is asleep", 0, session="tuesday"),
        "beside the word": message("Quite another matter", 1, role="assistant", session="tuesday"),
    }
    await put(store, said)
    for similarity, found in ((0.0, {*said}), (0.7, {*said} - {"beside"}), (1.0, {"worded", "beside the word"})):
        assert set(keys(await recalled(store, "puppy", similarity=similarity))) == found


async def test_a_preference_that_has_nothing_to_do_with_the_question_is_left_out(store: MemoryStore) -> None:
    values = {
        "tea": message("I prefer green tea.", 0, session="a", standing="preference"),
        "food": message("I prefer food from the boat.", 0, session="b", standing="preference"),
    }
    await put(store, values)
    assert keys(await recalled(store, "the kayak", similarity=0.7)) == ["food"]
    assert keys(await recalled(store, "the capital of Mongolia", similarity=0.7)) == []
