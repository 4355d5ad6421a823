"""Synthetic tenants of very different sizes and their memories: deterministic, without an embedder."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from benchmarks.measures import unit
from benchmarks.stand_ins import InstantEmbeddings

WANTED = 10
"""Results of a search."""

PROBES = (100, 2_000, 5_000, 10_000, 20_000)
"""Tenants of exactly these sizes exist, as far as they take half of all rows at most."""

_TOPICS = 1_000
_SPREAD = 0.8
"""Distance of a memory from its unit topic: two memories of a topic have a cosine of 0.6."""
_ASKED = 0.5
"""Distance of a question from a memory that answers it."""
_WORDS = 20_000
_TEXT_WORDS = 20


def tenant_sizes(rows: int, tenants: int) -> list[int]:
    """Return the rows of each tenant: the probes, then the others after Zipf, the largest first.

    >>> tenant_sizes(1_000, 5)
    [100, 432, 216, 144, 108]
    """
    probes: list[int] = []
    for size in PROBES:
        if sum(probes) + size <= rows / 2 and len(probes) < tenants - 1:
            probes.append(size)
    others = tenants - len(probes)
    shares = 1 / np.arange(1, others + 1)
    sizes = np.maximum(1, (rows - sum(probes)) * shares / shares.sum()).astype(int)
    sizes[0] += rows - sum(probes) - int(sizes.sum())
    if sizes[0] < 1:
        raise ValueError(f"{rows} rows are too few for {tenants} tenants")
    return [*probes, *map(int, sizes)]


@dataclass(frozen=True)
class Question:
    """A search of one tenant by a text that stands for its vector."""

    tenant: int
    text: str


@dataclass
class Data:
    """All stored memories and questions, with vectors of one length."""

    rows: int
    tenants: int
    dims: int
    asked: list[np.ndarray] = field(default_factory=list)

    @cached_property
    def sizes(self) -> list[int]:
        return tenant_sizes(self.rows, self.tenants)

    @cached_property
    def starts(self) -> np.ndarray:
        """The number of each tenant's first memory; the others follow."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def owners(self) -> np.ndarray:
        return np.repeat(np.arange(self.tenants), self.sizes)

    @cached_property
    def vectors(self) -> np.ndarray:
        random = np.random.default_rng(11)
        topics = unit(random.normal(size=(_TOPICS, self.dims)))
        vectors = np.empty((self.rows, self.dims), dtype=np.float32)
        for start in range(0, self.rows, 10_000):
            part = slice(start, min(start + 10_000, self.rows))
            chosen = topics[random.integers(_TOPICS, size=part.stop - start)]
            vectors[part] = unit(chosen + _SPREAD * unit(random.normal(size=chosen.shape)))
        return vectors

    def arrivals(self) -> np.ndarray:
        """Return the memories in order of writing: by turns, a question and its answer."""
        turns = np.random.default_rng(12).permutation((self.rows + 1) // 2)
        order = np.stack([2 * turns, 2 * turns + 1], axis=1).ravel()
        return order[order < self.rows]

    def text(self, row: int) -> str:
        """Return the text of a memory; its first word is its number."""
        ranks = np.random.default_rng(row).zipf(1.3, size=_TEXT_WORDS) % _WORDS
        return f"r{row} " + " ".join(f"w{rank}" for rank in ranks)

    def ask(self, tenant: int, seed: int) -> Question:
        """Return a question that one of a tenant's memories answers."""
        random = np.random.default_rng(seed)
        row = self.starts[tenant] + random.integers(self.sizes[tenant])
        vector = unit(self.vectors[row] + _ASKED * unit(random.normal(size=self.dims)))
        self.asked.append(vector.astype(np.float32))
        return Question(tenant, f"q{len(self.asked) - 1}")

    def vector_of(self, text: str) -> np.ndarray:
        """Return the vector of a text of `text` or `ask`."""
        number = int(text[1 : text.find(" ") if " " in text else None])
        vector: np.ndarray = (self.vectors if text[0] == "r" else self.asked)[number]
        return vector

    def nearest(self, question: Question) -> set[str]:
        start, end = self.starts[question.tenant], self.starts[question.tenant + 1]
        cosines = self.vectors[start:end] @ self.vector_of(question.text)
        return {key(start + place) for place in np.argsort(-cosines, kind="stable")[:WANTED]}


def key(row: int) -> str:
    return f"{row:032x}"


class GivenEmbeddings(InstantEmbeddings):
    """Precomputed vectors, so that only storing and searching takes time."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._data.vector_of(text).tolist()
        return vector
