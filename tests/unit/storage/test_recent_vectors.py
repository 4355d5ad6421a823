"""Vectors that were made a while ago are not made again, and nothing is looked for again where nothing has changed."""

from __future__ import annotations

from react_mem.memory.store import embeddings as recent_vectors
from react_mem.memory.store.embeddings import RecentVectors
from react_mem.memory.store.storage_settings import CACHE_BYTES


def test_a_vector_is_kept_for_a_while() -> None:
    seconds = 0.0
    known = RecentVectors("document", clock=lambda: seconds)
    known.add({"tea": b"one", "coffee": None})
    assert (known.get("tea"), known.get("coffee"), known.get("Tea")) == (b"one", None, None)
    seconds = recent_vectors._SECONDS + 1
    assert known.get("tea") is None


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    vector = bytes(CACHE_BYTES // 4)
    known = RecentVectors("document", clock=lambda: 0.0)
    for text in "abcd":
        known.add({text: vector})
    assert known.get("a") == vector
    known.add({"e": vector})
    assert [text for text in "abcde" if known.get(text) is None] == ["b"]


def test_a_vector_that_is_too_long_is_left_out() -> None:
    known = RecentVectors("document")
    known.add({"tea": bytes(CACHE_BYTES + 1), "coffee": b"one"})
    assert (known.get("tea"), known.get("coffee")) == (None, b"one")
