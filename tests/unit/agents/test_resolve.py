"""A config made real: which models it comes to."""

from __future__ import annotations

import pytest

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import ResolvedAgent, resolve_agent
from react_mem.errors import ModelConfigError


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHAT_MODEL", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")


def resolve(chat: str, *fallback: str, summary_model: str = "") -> ResolvedAgent:
    return resolve_agent(
        AgentConfig.model_validate(
            {
                "name": "tester",
                "manager": "react_mem",
                "models": {"chat": chat, "fallback": fallback},
                "memory": {"summaries": {"summary_model": summary_model}},
            }
        )
    )


def test_what_stands_in_is_the_models_and_then_the_quotes() -> None:
    agent = resolve("openai:first", "openai:second", "extractive")
    assert agent.model_name == "openai:first"
    assert [model.name for model in agent.fallback] == ["openai:second"]
    assert agent.quotes is not None


def test_nothing_stands_in_for_the_model_that_cannot_fail() -> None:
    agent = resolve("extractive", "openai:second", "extractive")
    assert (agent.fallback, agent.quotes) == ((), None)


def test_a_stand_in_that_cannot_be_loaded_is_found_at_the_start() -> None:
    with pytest.raises(ModelConfigError, match=r"anthropic:claude.*ANTHROPIC_API_KEY is not set"):
        resolve("openai:first", "anthropic:claude")
