"""Rows of an index and questions to it, at random: with ties, pieces, zero vectors, unread rows and odd characters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations
from typing import Any

from react_mem.memory.index.entries import SPEAKS_OF_ITSELF, TELLS_WHEN, mark, marks_of, piece_name
from react_mem.memory.index.recall import Question, RecallOp
from react_mem.memory.language.times import Period
from react_mem.memory.model.interface import ALL_ARMS, Arm
from tests.support.sql_recall import SPACE, IndexedRow

VOCABULARY = ["tea", "boat", "zebra", "cà", "phê", "日本", "🦓", "ß", "ﬁ", *(f"w{number}" for number in range(20))]
SPEAKERS = ("Mira", "Tôm", "Zoë")
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
OF_SQL = ALL_ARMS - {Arm.STANDING, Arm.HUB}
"""The arms that the database's function had."""
SUBSETS = [frozenset(some) for some in chain.from_iterable(combinations(sorted(OF_SQL), n) for n in range(1, 6))]


def seeded(seed: int | str) -> random.Random:
    """Return numbers at random that are the same each time."""
    return random.Random(seed)  # noqa: S311 - not for secrets


def random_vector(random_: random.Random, dims: int, known: Sequence[Sequence[float]] = ()) -> list[float]:
    """Return a vector: one at random, one of those given, or zeros."""
    kind = random_.random()
    if kind < 0.1:
        return [0.0] * dims
    if known and kind < 0.4:
        return list(random_.choice(known))
    return [random_.gauss(0.02, 0.05) for _ in range(dims)]


def random_rows(random_: random.Random, count: int, dims: int) -> list[IndexedRow]:
    """Return rows of about so many texts."""
    known = [random_vector(random_, dims) for _ in range(3)]
    rows: list[IndexedRow] = []
    places = random_.sample(range(4 * count), 4 * count)
    for number in range(count):
        value: dict[str, Any] = {"kind": random_.choice(["message", "message", "fact"]), "text": "…"}
        if random_.random() < 0.8:
            value["role"] = random_.choice(["user", "assistant", "user", "assistant", "tool"])
        if random_.random() < 0.5:
            value |= {"current": random_.random() < 0.7, "speaker": random_.choice(SPEAKERS)}
        key = f"{random_.choice(['k', 'K', 'é', '🦓', 'k.'])}{number}"
        pieces = random_.choice([1, 1, 1, 2, 4])
        unread, expired, said = random_.random() < 0.05, random_.random() < 0.1, random_.random()
        said_at = None if said < 0.1 else FIRST + timedelta(days=random_.randrange(90), seconds=random_.randrange(99))
        placed, conversation, place = random_.random() < 0.8, random_.randrange(1, 6), places.pop()
        for piece in range(pieces):
            about = [t for t in (TELLS_WHEN, SPEAKS_OF_ITSELF) if random_.random() < 0.3]
            words = random_.choices(VOCABULARY, k=random_.randrange(12))
            rows.append(
                IndexedRow(
                    key,
                    piece_name("text", piece),
                    value,
                    None if unread else frozenset({*words, *about, *marks_of(value)}),
                    random_vector(random_, dims, known) if random_.random() < 0.9 else None,
                    None if unread else len(words),
                    (conversation << 32) + (place << 8) + piece if placed else None,
                    said_at,
                    expired,
                )
            )
    return rows


def random_op(random_: random.Random, rows: Sequence[IndexedRow]) -> RecallOp:
    """Return a recall of some of what rows may have."""
    words = random_.sample(VOCABULARY, random_.randrange(8))
    days = [random_.randrange(-5, 120) for _ in range(random_.choice([0, 0, 1, 1, 3]))]
    starts = [(FIRST + timedelta(days=day)).date() for day in days]
    question = Question(
        text="?",
        terms=tuple((word, random_.choice([1.0, 1.0, 0.4])) for word in words),
        speaker=random_.choice(["", "", mark("speaker", random_.choice(SPEAKERS)), mark("role", "user")]),
        periods=tuple(Period(day, day + timedelta(days=random_.choice([0, 1, 20]))) for day in starts),
        asks_when=random_.random() < 0.4,
    )
    conditions: dict[str, Any] = {}
    if random_.random() < 0.5:
        conditions["kind"] = random_.choice(["message", "message", "fact", "document"])
    if random_.random() < 0.3:
        conditions["current"] = random_.choice([True, {"$ne": False}, {"$ne": True}])
    if random_.random() < 0.2:
        conditions["role"] = random_.choice(["user", {"$ne": "user"}])
    return RecallOp(
        tuple(SPACE.split(".")),
        question,
        conditions,
        random_.choice([0, 1, 5, 10, 20, 50]),
        without=tuple(random_.choice(rows).key for _ in range(random_.choice([0, 0, 3]))),
        similarity=random_.choice([0.0, 0.3, 0.6, 0.75]),
        arms=random_.choice(SUBSETS),
        pairs=random_.random() < 0.5,
    )
