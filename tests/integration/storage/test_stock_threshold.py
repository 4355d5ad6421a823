"""`recall.similarity` on LangGraph's own Postgres store, whose scores are those of its distance."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import pytest
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig

from react_mem.memory.store.embeddings import LOCAL_MODEL, MeasuredEmbeddings
from tests.support.citus import one_server
from tests.unit.memory.retrieval.test_threshold import FAR, LIKELY, NEAR, SIMILARITIES, Placed, found, kept

pytestmark = one_server

Distance = Literal["l2", "inner_product", "cosine"]


class PlacedQuestions(Placed):
    """The same for a store that embeds its questions as texts, as this one does."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        placed = super().embed_documents(texts)
        return [
            vector if text in SIMILARITIES else self.embed_query(text)
            for text, vector in zip(texts, placed, strict=True)
        ]


@asynccontextmanager
async def stock_store(url: str, distance: Distance) -> AsyncIterator[AsyncPostgresStore]:
    """Open LangGraph's store with facts of known similarity to any question."""
    embed = MeasuredEmbeddings(LOCAL_MODEL, PlacedQuestions())
    index = PostgresIndexConfig(dims=2, embed=embed, fields=["text"], distance_type=distance)
    async with AsyncPostgresStore.from_conn_string(url, index=index) as store:
        await store.setup()
        yield await kept(store)


async def test_what_is_too_far_and_shares_no_word_is_not_found(database_url: str) -> None:
    async with stock_store(database_url, "cosine") as store:
        assert await found(store, 0.0) == {NEAR, LIKELY, FAR}
        assert await found(store, 0.7) == {NEAR, LIKELY}
        assert await found(store, 0.8) == {NEAR}
        assert await found(store, 0.99, "How much steel?") == {FAR}


@pytest.mark.parametrize("distance", ["l2", "inner_product"])
async def test_scores_that_are_no_cosines_are_not_measured_by_it(database_url: str, distance: Distance) -> None:
    async with stock_store(database_url, distance) as store:
        assert await found(store, 0.99) == {NEAR, LIKELY, FAR}
