"""What a recall scores: the same as the arms say in plain Python, over conversations at random."""

from __future__ import annotations

import math
import random
import re
import struct
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from psycopg import AsyncConnection

from react_mem.memory.index import recall as fusion
from react_mem.memory.index.entries import SPEAKS_OF_ITSELF, TELLS_WHEN, Entry, mark
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.model.interface import ALL_ARMS, Arm
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.stored_text import index_entries
from tests.support.recalling import DIALOG, SCALE, asked, message, open_recalling, put, shared_database

SPEAKERS = ("Mira", "Tom")
WORDS = re.findall(
    r"\S+", "zebra lion boat kayak puppy terrier paint painted salary Lisbon green tea coffee cà phê mèo I me my was"
)
STANDING = {
    mark("standing", "instruction"): (fusion.INSTRUCTS, fusion.INSTRUCTS_ON),
    mark("standing", "preference"): (fusion.PREFERS, fusion.PREFERS_ON),
}
ENDS = ["", "", " on Friday", " last summer", "?", " yesterday", " in May 2024"]
QUERIES = [
    "When did Mira paint the zebra?",
    "What did I say about my boat last week?",
    "kayak and puppy in Lisbon",
    "mèo ca phe",
    "Did Tom and Mira see a lion in March 2024?",
    "green green tea",
    "the of and",
    "What happened yesterday?",
]


@dataclass(frozen=True)
class Text:
    """A text of the index, with its vector in half precision."""

    key: str
    entry: Entry
    vector: Sequence[float]

    @property
    def conversation(self) -> int | None:
        return None if self.entry.place is None else self.entry.place >> 32


class Reference:
    """All texts of one owner, scored one by one."""

    def __init__(
        self, values: Mapping[str, Mapping[str, Any]], embed: Callable[[list[str]], list[list[float]]]
    ) -> None:
        made = [(key, entry) for key, value in values.items() for entry in index_entries(value, None)]
        vectors = map(halved, embed([entry.text for _, entry in made]))
        texts = [Text(key, entry, vector) for (key, entry), vector in zip(made, vectors, strict=True)]
        # in the order of their conversations
        self.texts = sorted(texts, key=lambda text: (text.entry.place is None, text.entry.place or 0))
        self.mean_length = max(1.0, sum(text.entry.length for text in texts) / len(texts))

    def scores(self, op: RecallOp, question: Sequence[float]) -> dict[str, dict[Arm, float]]:
        """Return what each arm says of each item that is found."""
        question = halved(question)
        required = {mark(name, value) for name, value in op.conditions.items()}
        open_ = [
            number
            for number, text in enumerate(self.texts)
            if required <= text.entry.terms and text.key not in op.without
        ]
        proposed = [number for number in open_ if self._is_proposed(number, op, question)]
        found: dict[str, dict[Arm, float]] = {}
        for number in open_:
            near = self._neighbours(number) if Arm.WINDOW in op.arms else {}
            if number not in proposed and not set(near) & set(proposed):
                continue
            arms = self._arms(number, op, question, open_)
            if Arm.VECTOR in op.arms and not (
                number in proposed or arms[Arm.LEXICAL] > 0 or self._stands(number, op, question)
            ):
                # the threshold of similarity holds for neighbours too
                continue
            key = self.texts[number].key
            if key not in found or sum(arms.values()) > sum(found[key].values()):
                found[key] = arms
        return found

    def _is_proposed(self, number: int, op: RecallOp, question: Sequence[float]) -> bool:
        text = self.texts[number]
        alike = Arm.VECTOR in op.arms and cosine(text.vector, question) >= SCALE.cosine(op.similarity)
        worded = Arm.LEXICAL in op.arms and not text.entry.terms.isdisjoint(dict(op.question.terms))
        then = Arm.TIME in op.arms and any(distance == 0 for distance in distances(text, op))
        return alike or worded or then or self._stands(number, op, question)

    def _stands(self, number: int, op: RecallOp, question: Sequence[float]) -> bool:
        text = self.texts[number]
        stands = {Arm.STANDING, Arm.VECTOR} <= op.arms and not STANDING.keys().isdisjoint(text.entry.terms)
        return stands and cosine(text.vector, question) >= SCALE.cosine(max(0.5, op.similarity))

    def _neighbours(self, number: int) -> dict[int, int]:
        """Return the numbers of those within two places in the same conversation, with their distance."""
        here = self.texts[number].conversation
        return {
            other: other - number
            for other in range(max(0, number - 2), min(len(self.texts), number + 3))
            if other != number and here is not None and self.texts[other].conversation == here
        }

    def _arms(self, number: int, op: RecallOp, question: Sequence[float], open_: Sequence[int]) -> dict[Arm, float]:
        text = self.texts[number]
        windowed = Arm.WINDOW in op.arms
        near = self._neighbours(number)
        said = {number: 0, **near} if windowed else {number: 0}
        lexical = 0.0
        for term, weight in op.question.terms:
            having = sum(term in other.entry.terms for other in self.texts)
            rarity = weight * math.log(1 + (len(self.texts) - having + 0.5) / (having + 0.5))
            times = sum(
                fusion.KERNEL[away + 2] * self._norm(other)
                for other, away in said.items()
                if term in self.texts[other].entry.terms
            )
            lexical += rarity * times * (fusion.SATURATION + 1) / (fusion.SATURATION + times)
        own = cosine(text.vector, question)
        around = [cosine(self.texts[other].vector, question) for other in near] or [own]
        unrelated = SCALE.cosine(0.5)
        marks = text.entry.terms
        speaker = fusion.SPEAKER * (op.question.speaker in marks) + fusion.SPEAKS_OF_ITSELF * (
            SPEAKS_OF_ITSELF in marks
        )
        at = max((math.exp(-days / fusion.TIME_DECAY_DAYS) for days in distances(text, op)), default=0.0)
        arms = {
            Arm.LEXICAL: fusion.LEXICAL * lexical,
            Arm.VECTOR: fusion.VECTOR * SCALE.rise * (own - unrelated),
            Arm.WINDOW: fusion.WINDOW * SCALE.rise * (sum(around) / len(around) - unrelated),
            Arm.SPEAKER: speaker,
            Arm.TIME: fusion.TIME * at + fusion.TELLS_WHEN * (op.question.asks_when and TELLS_WHEN in marks),
            Arm.STANDING: self._standing(number, op, question, open_),
            Arm.HUB: -fusion.HUB * SCALE.rise * self._crowding(number, question, open_),
        }
        # the neighbours' similarity is the vectors' as well
        counted = op.arms if Arm.VECTOR in op.arms else op.arms - {Arm.WINDOW, Arm.STANDING, Arm.HUB}
        return {arm: part * (arm in counted) for arm, part in arms.items()}

    def _standing(self, number: int, op: RecallOp, question: Sequence[float], open_: Sequence[int]) -> float:
        found = 0.0
        for stands, (least, on_topic) in STANDING.items():
            if self._stands(number, op, question) and stands in self.texts[number].entry.terms:
                alike = [self._cosine(other, question) for other in open_ if stands in self.texts[other].entry.terms]
                alike = sorted(alike)[-fusion.SEEDS :]
                nearer = self._cosine(number, question) - sum(alike) / len(alike)
                found += least + on_topic * SCALE.rise * max(nearer, 0.0)
        return found

    def _crowding(self, number: int, question: Sequence[float], open_: Sequence[int]) -> float:
        near = sorted(open_, key=lambda other: -self._cosine(other, question))[: fusion.SEEDS]
        count = min(10, len(near) - 1)
        if count < 1:
            return 0.0

        def crowd(one: int) -> float:
            between = [cosine(self.texts[one].vector, self.texts[other].vector) for other in near if other != one]
            return sum(sorted(between)[-count:]) / count

        return crowd(number) - sum(map(crowd, near)) / len(near)

    def _cosine(self, number: int, question: Sequence[float]) -> float:
        return cosine(self.texts[number].vector, question)

    def _norm(self, number: int) -> float:
        return 1 / (1 - fusion.LENGTH + fusion.LENGTH * self.texts[number].entry.length / self.mean_length)


def distances(text: Text, op: RecallOp) -> Iterator[float]:
    """Yield how many days from each of the question's periods a text was said."""
    for period in op.question.periods:
        first = datetime.combine(period.start, time(), UTC)
        last = datetime.combine(period.end + timedelta(days=1), time(), UTC)
        if text.entry.said_at is not None:
            outside = max(first - text.entry.said_at, text.entry.said_at - last, timedelta())
            yield outside.total_seconds() / 86400


def halved(vector: Sequence[float]) -> list[float]:
    return [struct.unpack("e", struct.pack("e", part))[0] for part in vector]


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def conversations(chance: random.Random) -> dict[str, dict[str, Any]]:
    """Return some conversations and a few summaries."""
    values: dict[str, dict[str, Any]] = {}
    for session in range(chance.randint(1, 4)):
        day = datetime(2024, chance.randint(3, 5), chance.randint(1, 28), 9, tzinfo=UTC)
        place = 0
        for turn in range(chance.randint(1, 9)):
            place += chance.randint(1, 2)
            text = " ".join(chance.choices(WORDS, k=chance.randint(1, 9))) + chance.choice(ENDS)
            if chance.random() < 0.1:
                text = "\n".join(" ".join(chance.choices(WORDS, k=60)) for _ in range(6))
            values[f"{session}-{turn}"] = message(
                text,
                place,
                session=f"session {session}",
                role="assistant" if turn % 2 else "user",
                speaker=chance.choice([*SPEAKERS, ""]),
                created_at=(day + timedelta(minutes=turn)).isoformat(),
                keywords=chance.choice(["", "", "animal zebra"]),
                standing="" if turn % 2 else chance.choice(["", "", "instruction", "preference"]),
            )
    for number in range(chance.randint(0, 3)):
        text = " ".join(chance.choices(WORDS, k=5))
        values[f"sum {number}"] = {"kind": "summary", "text": text, "created_at": "2024-05-02T00:00:00+00:00"}
    return values


@pytest.fixture(scope="module")
def shared_url(database_server: str) -> Iterator[str]:
    with shared_database(database_server) as url:
        yield url


@pytest.fixture
async def store(shared_url: str) -> AsyncIterator[MemoryStore]:
    # which must not matter
    async with await AsyncConnection.connect(shared_url, autocommit=True) as conn:
        await conn.execute(f"ALTER DATABASE {conn.info.dbname} SET timezone = 'Asia/Ho_Chi_Minh'")
        async with open_recalling(shared_url) as opened:
            yield opened
        await conn.execute(f"ALTER DATABASE {conn.info.dbname} RESET timezone")


@pytest.mark.parametrize("seed", range(5))
async def test_it_is_what_the_arms_say(store: MemoryStore, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    values = conversations(chance)
    await put(store, values)
    embeddings = store.embedding.embeddings
    reference = Reference(values, embeddings.embed_documents)
    ops = [
        asked(
            query,
            limit=chance.choice([1, 5, 100, 100]),
            speakers=SPEAKERS,
            arms=chance.choice([ALL_ARMS, ALL_ARMS, ALL_ARMS, frozenset(chance.sample(sorted(Arm), 3))]),
            similarity=chance.choice([0.0, 0.5, 0.7, 0.9]),
            conditions=chance.choice([{}, {}, {"role": "user"}, {"kind": "summary"}]),
            without=tuple(chance.sample(sorted(values), chance.choice([0, 0, 1]))),
        )
        for query in QUERIES
    ]
    assert any(len(answer.found) > 1 for answer in await store.arecall(ops))  # type: ignore[union-attr]
    for op, answer in zip(ops, await store.arecall(ops), strict=True):
        expected = reference.scores(op, embeddings.embed_query(op.question.text))
        found = {one.item.key: one for one in answer.found}  # type: ignore[union-attr]
        assert len(found) == min(op.limit, len(expected))
        for key, one in found.items():
            assert one.item.namespace == DIALOG
            assert one.arms == pytest.approx(expected[key], abs=2e-3)
            assert one.item.score == pytest.approx(sum(expected[key].values()), abs=2e-3)
        totals = sorted((sum(arms.values()) for arms in expected.values()), reverse=True)
        scores = [one.item.score for one in answer.found]  # type: ignore[union-attr]
        assert scores == pytest.approx(totals[: op.limit], abs=2e-3)
