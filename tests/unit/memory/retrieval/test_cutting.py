"""A fact that is far below the best that was found is not shown; the best always is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import SearchItem

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.recall import RecallHit
from react_mem.memory.model.interface import Arm, MemoryQuery, MemoryScope
from react_mem.memory.model.kinds import FACT, MESSAGE
from react_mem.memory.retrieval.outline import GAP, SHARE, relevant
from react_mem.memory.store.embeddings import LOCAL_MODEL, MeasuredEmbeddings
from tests.unit.memory.retrieval.test_threshold import LIKELY, NEAR, QUESTION, Placed, kept, store_of

NO_ARMS: Mapping[Arm, float] = {}


def hit(
    score: float | None, similarity: float | None = 0.5, kind: str = FACT.name, arms: Mapping[Arm, float] = NO_ARMS
) -> RecallHit:
    item: Any = SearchItem(("memory",), str(score), {"kind": kind, "text": ""}, None, None, score)  # type: ignore[arg-type]
    return RecallHit(item, arms, similarity)


def scores(*found: RecallHit) -> list[float | None]:
    return [one.item.score for one in relevant(found)]


def test_a_fact_stays_by_its_similarity_or_by_its_score() -> None:
    best = hit(40, 0.9)
    assert scores(best, hit(20, 0.9 - GAP + 0.01)) == [40, 20]
    assert scores(best, hit(20, 0.9 - GAP - 0.01)) == [40]
    assert scores(best, hit(40 * SHARE, 0.5)) == [40, 40 * SHARE]


def test_messages_are_not_cut() -> None:
    assert scores(hit(40, 0.9, MESSAGE.name), hit(1, 0.5, MESSAGE.name)) == [40, 1]


def test_what_a_reranker_has_put_in_order_stays_in_it() -> None:
    assert scores(hit(7, 0.85), hit(1), hit(10, 0.9)) == [7, 10]


def test_what_is_found_by_the_same_words_stays() -> None:
    best = hit(40, 0.9, arms={Arm.LEXICAL: 10.0})
    assert scores(best, hit(9, 0.5, arms={Arm.LEXICAL: 8.0}), hit(8, 0.5, arms={Arm.LEXICAL: 5.0})) == [40, 9]


def test_without_vectors_or_scores_all_stay() -> None:
    assert scores(hit(10, None), hit(1, None)) == [10, 1]
    assert scores(hit(None, 0.9), hit(None, 0.5)) == [None, None]


@given(st.lists(st.tuples(st.floats(-5, 50), st.none() | st.floats(0, 1)), max_size=20))
def test_the_best_is_always_there(given_: list[tuple[float, float | None]]) -> None:
    found = [hit(score, similarity) for score, similarity in given_]
    kept_ = relevant(found)
    assert not found or max(score for score, _ in given_) in scores(*found)
    assert kept_ == [one for one in found if one in kept_]


async def read(**extra: Any) -> set[str]:
    store = await kept(store_of(MeasuredEmbeddings(LOCAL_MODEL, Placed())))
    memory = MemoryFacade(store)
    query = MemoryQuery(
        user_id="ann", session_id="now", agent_id="a", scopes=[MemoryScope.SEMANTIC], query=QUESTION, extra=extra
    )
    return {str(item.payload["text"]) for item in await memory.read(query)}


async def test_a_read_leaves_out_what_is_far_below_the_best_unless_it_is_asked_for_all() -> None:
    assert await read() == {NEAR}
    assert await read(cut=False) == {NEAR, LIKELY}
