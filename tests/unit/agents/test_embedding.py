"""An agent's embedding model, and the one that its store has."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents import open_agent
from react_mem.agents.config import AgentConfig, check_embedding, check_served_embeddings
from react_mem.agents.extractive import ExtractiveChatModel
from react_mem.errors import AgentConfigError
from react_mem.memory.store.capabilities import StoreCapabilities
from react_mem.memory.store.embeddings import LOCAL_MODEL, EmbeddingModel
from tests.contract.conftest import memory_store
from tests.support.databases import WordEmbeddings

OTHER = "openai:text-embedding-3-large"


class NamedStore(InMemoryStore, StoreCapabilities):
    """A store that tells its embedding model, as ours does."""

    def __init__(self, name: str = LOCAL_MODEL) -> None:
        super().__init__()
        self.embedding = EmbeddingModel(name, 64, WordEmbeddings(64))


def config(embedding: str) -> AgentConfig:
    models: Any = {"embedding": embedding}
    return AgentConfig.model_validate({"name": "tester", "manager": "react_mem", "models": models})


async def test_what_it_has_not_is_refused_in_python_with_cause_and_cure() -> None:
    with pytest.raises(AgentConfigError) as caught:
        async with open_agent(
            config(OTHER), model=ExtractiveChatModel(), store=NamedStore(), checkpointer=InMemorySaver()
        ):
            pass
    for said in ("'tester'", OTHER, LOCAL_MODEL, f"EMBEDDING_MODEL={OTHER}", "react-mem database reembed"):
        assert said in str(caught.value)


def test_a_store_that_does_not_tell_is_taken_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    check_embedding(config("auto"), memory_store())
    assert caplog.records == []
    check_embedding(config(OTHER), memory_store())
    [record] = caplog.records
    assert "not looked at" in record.message


async def test_a_server_says_at_its_start_which_agents_do_not_get_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "dreamer.yaml").write_text(f"manager: react_mem\nmodels: {{embedding: {OTHER!r}}}\n")
    (tmp_path / "broken.yaml").write_text("manager: nothing\n")
    monkeypatch.setenv("REACT_MEM_AGENTS", str(tmp_path))
    await check_served_embeddings(NamedStore())
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert any("'dreamer'" in text and OTHER in text and "EMBEDDING_MODEL" in text for text in said)
    assert not any("assistant" in text for text in said)
