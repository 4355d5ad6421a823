"""Every store that memory runs on, and LangGraph's own, by the conformance suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import ClassVar

import pytest
import pytest_asyncio
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph_store_conformance import EVERYTHING, Capability, WordEmbeddings, word_index

from react_mem.memory.adapters.vectorstore import with_vector_index
from react_mem.memory.store.postgres import MemoryStore
from tests.support.conformance import (
    IN_MEMORY_FAILURES,
    JSONB_NUMBERS,
    MEMORY_STORE_FAILURES,
    WHOLE_MINUTES,
    SharedStoreConformance,
)
from tests.support.databases import fresh_database, fresh_memory_store

_TTL = {"refresh_on_read": True}

_NESTED = "takes the names of nested fields for operators"
_LACKING = "compares with SQL's null, which is never unequal"
_AS_TEXT = 'compares numbers as text: "10" comes before "9"'
_OLD_VECTORS = "keeps the vectors of an item that is written again without"


class TestInMemoryStore(SharedStoreConformance):
    store_name = "`InMemoryStore`"
    capabilities = EVERYTHING - {Capability.TTL}
    expected_failures: ClassVar[Mapping[str, str]] = {
        **IN_MEMORY_FAILURES,
        "test_an_item_that_is_no_longer_indexed_loses_its_score": _OLD_VECTORS,
    }

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls) -> BaseStore:
        return InMemoryStore(index=word_index())

    @pytest.fixture
    def store_without_index(self) -> BaseStore:
        return InMemoryStore()


class TestSqliteStore(SharedStoreConformance):
    """Without its index, for which Python's `sqlite3` has to be built so that it loads extensions: some are not."""

    store_name = "`AsyncSqliteStore`"
    capabilities = EVERYTHING - {Capability.ATOMIC_BATCHES, Capability.VECTORS}
    expected_failures: ClassVar[Mapping[str, str]] = {
        "test_times_are_aware_and_in_order": "gives times without a time zone",
        "test_filter_by_a_nested_field": _NESTED,
        "test_filter_by_a_whole_nested_object": _NESTED,
        "test_an_operator_on_a_nested_field": _NESTED,
        "test_eq_of_a_list": "compares a list with bytes, which nothing is equal to",
        "test_ne_finds_what_lacks_the_field": _LACKING,
    }

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls) -> AsyncIterator[BaseStore]:
        async with AsyncSqliteStore.from_conn_string(":memory:", ttl=_TTL) as store:
            await store.setup()
            yield store

    @pytest.fixture
    def store_without_index(self, store: BaseStore) -> BaseStore:
        return store


class TestPostgresStore(SharedStoreConformance):
    store_name = "`AsyncPostgresStore`"
    capabilities = EVERYTHING - {Capability.ATOMIC_BATCHES}
    expected_failures: ClassVar[Mapping[str, str]] = {
        "test_fractions_of_any_size": JSONB_NUMBERS,
        "test_filter_by_a_nested_field": _NESTED,
        "test_filter_by_a_whole_nested_object": _NESTED,
        "test_an_operator_on_a_nested_field": _NESTED,
        "test_ne_finds_what_lacks_the_field": _LACKING,
        "test_gt_compares_numbers_as_numbers": _AS_TEXT,
        "test_gte_compares_numbers_as_numbers": _AS_TEXT,
        "test_lt_compares_numbers_as_numbers": _AS_TEXT,
        "test_lte_compares_numbers_as_numbers": _AS_TEXT,
        "test_a_range_of_one_field": _AS_TEXT,
        "test_comparison_with_a_fraction": _AS_TEXT,
        "test_a_query_with_a_range": _AS_TEXT,
        "test_a_query_with_a_nested_filter": _NESTED,
        "test_filter_by_none_finds_what_lacks_the_field": _LACKING,
        "test_several_texts_of_an_item_make_one_hit": "counts the texts of an item, and not the item, for a page",
        "test_pages_neither_repeat_nor_miss_of_one_batch": "orders by `updated_at` alone, which a batch has in common",
        "test_an_item_that_is_no_longer_indexed_loses_its_score": _OLD_VECTORS,
        "test_a_fraction_of_a_minute_is_refreshed_as_it_is": WHOLE_MINUTES,
    }

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls, database_server: str) -> AsyncIterator[BaseStore]:
        index = word_index()
        pool = {"min_size": 1, "max_size": 5}
        async with (
            fresh_database(database_server) as url,
            AsyncPostgresStore.from_conn_string(url, index=index, pool_config=pool) as store,  # type: ignore[arg-type]
        ):
            await store.setup()
            async with store.conn.connection() as conn:  # type: ignore[union-attr]
                # approximate: what a query finds by it differs from run to run
                await conn.execute("DROP INDEX store_vectors_embedding_idx")
            yield store

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store_without_index(cls, database_server: str) -> AsyncIterator[BaseStore]:
        async with fresh_database(database_server) as url, AsyncPostgresStore.from_conn_string(url) as store:
            await store.setup()
            yield store


class TestMemoryStore(SharedStoreConformance):
    store_name = "`MemoryStore`"
    expected_failures = MEMORY_STORE_FAILURES
    sealed: ClassVar[bool] = False

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls, database_server: str) -> AsyncIterator[MemoryStore]:
        async with fresh_memory_store(database_server, sealed=cls.sealed) as store:
            yield store


class TestSealedMemoryStore(TestMemoryStore):
    store_name = "`MemoryStore`, sealed"
    expected_failures: ClassVar[Mapping[str, str]] = {
        "test_a_fraction_of_a_minute_is_refreshed_as_it_is": WHOLE_MINUTES
    }
    sealed = True


class TestVectorIndex(SharedStoreConformance):
    store_name = "`with_vector_index`"
    capabilities = EVERYTHING - {Capability.TTL}
    expected_failures = IN_MEMORY_FAILURES  # of the store beneath

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls) -> BaseStore:
        return with_vector_index(InMemoryStore(), InMemoryVectorStore(WordEmbeddings()), scopes=None)


SUITES = (
    TestInMemoryStore,
    TestSqliteStore,
    TestPostgresStore,
    TestMemoryStore,
    TestSealedMemoryStore,
    TestVectorIndex,
)
