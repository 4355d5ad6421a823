"""Settings of the authors' documents 001, 003 and 004: each by its own name and value, without a warning."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from langchain_core.documents import Document
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

import react_mem
from react_mem.agents.config import AgentConfig, load_agent_config_file
from react_mem.memory import IMemory, Memory, MemoryFacade, MemoryPolicy, MemoryQuery, MemoryScope, StorageSettings
from react_mem.memory.model.external import AUTHORS


@pytest.fixture(autouse=True)
def _no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def in_a_file(path: Path, **keys: Any) -> AgentConfig:
    file = path / "own.yaml"
    file.write_text(yaml.safe_dump({"manager": "react_mem", **keys}), encoding="utf-8")
    return load_agent_config_file(file)


# 003, section 4: the interface


def test_the_facade_is_an_imemory() -> None:
    assert react_mem.IMemory is IMemory is Memory
    assert isinstance(MemoryFacade(InMemoryStore()), IMemory)


# 003, section 7: the policy of a flow

DEFAULTS = {
    "use_dialog": True,
    "use_semantic": True,
    "use_procedural": True,
    "use_profile": True,
    "write_experience": True,
    "max_dialog_turns": 20,
    "max_docs": 5,
    "max_skills": 3,
}


def test_the_policys_fields_have_the_documents_defaults(tmp_path: Path) -> None:
    assert MemoryPolicy(**DEFAULTS) == MemoryPolicy()
    assert {name: getattr(MemoryPolicy(), name) for name in DEFAULTS} == DEFAULTS
    assert in_a_file(tmp_path, memory=DEFAULTS).memory == MemoryPolicy()


SMART_BUYER = {"use_semantic": True, "use_procedural": True, "max_docs": 8, "max_skills": 5}


async def test_a_flow_has_the_policy_that_its_config_says(tmp_path: Path) -> None:
    flow_config = {}
    flow_config["smart_buyer"] = MemoryPolicy(**SMART_BUYER)
    policy = flow_config["smart_buyer"]
    assert (policy.recall.semantic, policy.recall.procedural) == (True, True)
    assert (policy.recall.max_docs, policy.recall.max_skills) == (8, 5)
    assert in_a_file(tmp_path, flows={"smart_buyer": SMART_BUYER}).policy("smart_buyer") == policy

    memory = MemoryFacade(InMemoryStore(), policy)
    for number in range(10):
        await memory.semantic.add_documents([Document(f"laptop {number} on sale")], user_id="ann")
        await memory.procedural.add_skill({"use_when": f"buying laptop {number}"}, user_id="ann")
    found = await memory.read(
        MemoryQuery(
            user_id="ann",
            session_id="s",
            agent_id="planner",
            flow_id="smart_buyer",
            scopes=[MemoryScope.SEMANTIC, MemoryScope.PROCEDURAL],
            query="laptop",
        )
    )
    assert [item.source for item in found].count("document") == 8
    assert [item.source for item in found].count("skill") == 5


# 004: the parameters of the three strategies

STRATEGIES = {
    "external search": {
        "search_engines": ["google", "duckduckgo"],
        "max_results": 3,
        "keyword_threshold": 1.0,
        "slm_model": "openai:gpt-5-nano",
    },
    "memory search": {"similarity_threshold": 0.7, "max_memories": 8},
    "summarization": {
        "n_sum": 6,
        "sum_window": 3,
        "n_sum_sum": 3,
        "max_sum_lvl": 3,
        "summary_model": "openai:gpt-5-nano",
        "summary_length": 600,
    },
}
STANDARD = {"max_results", "similarity_threshold", "n_sum", "sum_window", "n_sum_sum", "max_sum_lvl"}
"""The parameters that the document gives a default for."""


@pytest.mark.parametrize("parameters", STRATEGIES.values(), ids=STRATEGIES)
def test_a_strategys_parameters_are_keys_of_the_memory(parameters: dict[str, Any], tmp_path: Path) -> None:
    policy = MemoryPolicy(**parameters)
    assert in_a_file(tmp_path, memory=parameters).memory == policy
    assert MemoryPolicy().model_copy(update=parameters) == policy
    for name, value in parameters.items():
        topic, _, key = AUTHORS[name].partition(".")
        read = getattr(getattr(policy, topic), key)
        assert getattr(policy, name) == read == (tuple(value) if isinstance(value, list) else value)
        if name in STANDARD:
            assert getattr(MemoryPolicy(), name) == value


def test_an_agent_names_its_embedding_model(tmp_path: Path) -> None:
    name = "huggingface:sentence-transformers/all-MiniLM-L6-v2"
    config = in_a_file(tmp_path, embedding_model=name, models={"chat": "extractive"})
    assert (config.models.embedding, config.models.chat) == (name, "extractive")


@pytest.mark.parametrize(
    ("config", "beside"),
    [
        ({"host": "h", "password": "s3cret"}, {}),
        ({"url": "postgresql://ann:s3cret@host/db"}, {"database_url": "postgresql://host/db"}),
        ("mine:Store", {"vector_store": "other:Store"}),
    ],
)
def test_a_config_that_cannot_be_used_says_why_and_shows_no_password(config: Any, beside: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"has no host, password; it has .*url|say the same") as caught:
        StorageSettings(vector_db_config=config, **beside)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "memory",
    [
        {"max_docs": 8, "recall": {"max_docs": 5}},
        {"web": {"engines": ["google"], "search_engines": ["google"]}},
        {"search_engines": ["google"], "web": {"engines": ["google"]}},
    ],
)
def test_a_setting_given_by_both_names_is_refused(memory: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"both say|say the same"):
        MemoryPolicy.model_validate(memory)
    with pytest.raises(ValidationError, match="both say embedding"):
        AgentConfig(name="a", manager="react_mem", embedding_model="local", models={"embedding": "auto"})


# 001: managers by name, when steps are compressed, who stores facts and episodes
