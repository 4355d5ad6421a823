"""Conformance suite for LangGraph stores: what `BaseStore` promises, checked of any store that a fixture gives."""

import pytest

# Before the checks are imported: what they assert is to be explained as in any test.
pytest.register_assert_rewrite("langgraph_store_conformance.checks")

from langgraph_store_conformance.capabilities import EVERYTHING, Capability  # noqa: E402
from langgraph_store_conformance.embeddings import WordEmbeddings, word_index  # noqa: E402
from langgraph_store_conformance.suite import StoreConformance  # noqa: E402

__all__ = ["EVERYTHING", "Capability", "StoreConformance", "WordEmbeddings", "word_index"]
