"""A small model with a key and an address of its own: what is accepted, what is sent where, and what never shows."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from langchain_openai import ChatOpenAI

from react_mem.agents.config import AgentConfig, load_agent_config_file
from react_mem.agents.resolve import ResolvedAgent, resolve_agent
from react_mem.errors import AgentConfigError, ModelConfigError

KEY = "own-key-of-the-small-model"
ADDRESS = "http://user:s3cret-word@127.0.0.1:9/v1"
OTHERS = "sk-key-of-the-chat-model"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHAT_MODEL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_MODEL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", OTHERS)
    monkeypatch.setenv("SLM_WORD", KEY)


def written(folder: Path, **config: Any) -> AgentConfig:
    file = folder / "tester.yaml"
    file.write_text(yaml.safe_dump({"manager": "react_mem", "models": {"chat": "openai:big"}, **config}))
    return load_agent_config_file(file)


def small(folder: Path, **endpoint: Any) -> ResolvedAgent:
    return resolve_agent(written(folder, models={"chat": "openai:big", "small": endpoint}))


def key_of(model: Any) -> str:
    assert isinstance(model, ChatOpenAI)
    key: Any = model.openai_api_key
    return str(key.get_secret_value())


@pytest.mark.parametrize("key", [{"api_key_env": "SLM_WORD", "name": "openai:tiny"}, {"api_key": KEY}])
def test_the_small_model_has_a_key_and_an_address_of_its_own(tmp_path: Path, key: dict[str, str]) -> None:
    agent = small(tmp_path, **(key if "name" in key else {"model": "openai:tiny", **key}), base_url=ADDRESS)
    tiny: Any = agent.small_model
    assert (tiny.model_name, key_of(tiny), tiny.openai_api_base) == ("tiny", KEY, ADDRESS)
    assert key_of(agent.model) == OTHERS
    assert agent.summary_model is tiny
    assert agent.search_model is tiny


def test_another_server_is_not_sent_the_key_of_the_environment(tmp_path: Path) -> None:
    assert key_of(small(tmp_path, model="openai:tiny", base_url=ADDRESS).small_model) == "none"


def test_no_secret_is_shown_by_a_config_or_an_agent(tmp_path: Path) -> None:
    agent = small(tmp_path, model="openai:tiny", api_key=KEY, base_url=ADDRESS)
    shown = f"{agent!r} {agent.config} {agent.config.model_dump_json(exclude={'models': {'small': {'base_url'}}})}"
    assert KEY not in shown
    assert "s3cret-word" not in repr(agent.config)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a key that is misspelt": ({"model": "openai:tiny", "api_kye": KEY}, "did you mean 'api_key'"),
    "two keys": ({"model": "openai:tiny", "api_key": KEY, "api_key_env": "SLM_WORD"}, "give one of them"),
    "a key for the variable": ({"model": "openai:tiny", "api_key_env": KEY}, "models.small.api_key_env"),
    "a key that is no text": ({"model": "openai:tiny", "api_key": [KEY]}, "models.small.api_key"),
}


@pytest.mark.parametrize(("endpoint", "cause"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_without_the_key(tmp_path: Path, endpoint: dict[str, Any], cause: str) -> None:
    with pytest.raises(AgentConfigError) as caught:
        small(tmp_path, **endpoint)
    assert cause in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_stand_in_that_cannot_be_loaded_is_found_at_the_start(tmp_path: Path) -> None:
    config = written(tmp_path, models={"chat": "openai:big", "fallback": ["anthropic:claude"]})
    with pytest.raises(ModelConfigError, match=r"anthropic:claude.*ANTHROPIC_API_KEY is not set"):
        resolve_agent(config)


def test_a_variable_that_is_not_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLM_WORD")
    with pytest.raises(ModelConfigError, match="'openai:tiny' but SLM_WORD is not set"):
        small(tmp_path, model="openai:tiny", api_key_env="SLM_WORD")


def test_a_model_that_cannot_be_set_up_says_so_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise RuntimeError(f"bad key {options['api_key']} for {options['base_url']}")

    monkeypatch.setattr("langchain.chat_models.init_chat_model", refuse)
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelConfigError) as caught:
        small(tmp_path, model="openai:tiny", api_key=KEY, base_url=ADDRESS)
    shown = f"{caught.value} {caught.value.__cause__} {caplog.text}"
    assert KEY not in shown
    assert "s3cret-word" not in shown
