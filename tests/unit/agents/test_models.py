"""Chat models by name, and what a user reads when one fails; the client and its HTTP are real."""

from __future__ import annotations

import httpx
import pytest
from langchain_openai import ChatOpenAI
from openai import Timeout

from react_mem.agents.models import explain_model_error, load_chat_model, resolve_chat_spec
from react_mem.errors import ModelConfigError
from tests.support.openai_server import OpenAIServer, Reply, openai_server

__all__ = ["openai_server"]

KEY = "sk-very-secret-0123456789"
SPEC = "openai:scripted"
ENVIRONMENT = """
CHAT_MODEL OPENAI_API_KEY OPENAI_ADMIN_KEY OPENAI_BASE_URL OPENAI_API_BASE OPENAI_MODEL ANTHROPIC_API_KEY
ANTHROPIC_AUTH_TOKEN GROQ_API_KEY LANGSMITH_GATEWAY
"""


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT.split():
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "spec"),
    [
        ({}, "extractive"),
        ({"OPENAI_API_KEY": KEY}, "openai:gpt-5.4-mini"),
        ({"OPENAI_BASE_URL": "http://localhost:1/v1", "OPENAI_MODEL": "qwen"}, "openai:qwen"),
        ({"OPENAI_API_KEY": KEY, "CHAT_MODEL": "anthropic:claude"}, "anthropic:claude"),
        ({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "CHAT_MODEL": ""}, "extractive"),
    ],
)
def test_auto_takes_what_the_environment_offers(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], spec: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert resolve_chat_spec("auto") == spec
    assert resolve_chat_spec("groq:llama") == "groq:llama"


def test_a_model_has_a_time_limit_and_bounded_retries() -> None:
    model = load_chat_model("openai:gpt-4.1-mini", api_key=KEY, temperature=0.5)
    assert isinstance(model, ChatOpenAI)
    assert (model.request_timeout, model.max_retries, model.temperature) == (Timeout(60.0), 2, 0.5)
    patient = load_chat_model("openai:gpt-4.1-mini", api_key=KEY, timeout=300, max_retries=0)
    assert isinstance(patient, ChatOpenAI)
    assert (patient.request_timeout, patient.max_retries) == (Timeout(300), 0)


async def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch, openai_server: OpenAIServer) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "scripted")
    openai_server.add(Reply(text="hello"))
    assert (await load_chat_model("auto").ainvoke("hi")).content == "hello"


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ("openai:gpt-4.1-mini", "'openai:gpt-4.1-mini' but OPENAI_API_KEY is not set: set it in .env"),
        ("groq:llama", "GROQ_API_KEY is not set"),
        ("fireworks:x", "pip install langchain-fireworks"),
        ("extractiv", "did you mean 'extractive'?"),
        ("nonsense", "names no known provider; write auto, extractive or provider:model"),
    ],
)
def test_a_model_that_cannot_be_loaded_says_why_and_what_to_do(spec: str, cause: str) -> None:
    with pytest.raises(ModelConfigError) as caught:
        load_chat_model(spec)
    assert repr(spec) in str(caught.value)
    assert cause in str(caught.value)


async def failure(model: ChatOpenAI) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the client raises is what is explained
        await model.ainvoke("hi")
    return explain_model_error(caught.value, SPEC).message


def scripted(server: OpenAIServer, **options: object) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.base_url, api_key=KEY, model="scripted", max_retries=0, **options)


@pytest.mark.parametrize(
    ("reply", "cause", "fix"),
    [
        (Reply(status=401, error=f"Incorrect API key provided: {KEY}"), "refused the API key (401)", "OPENAI_API_KEY"),
        (Reply(status=403, error="no access"), "may not use", "no access"),
        (Reply(status=404, error="no such model"), "no model 'openai:scripted'", "models.chat"),
        (Reply(status=429, error="slow down", headers={"retry-after": "7"}), "(429)", "Wait 7 seconds"),
        (
            Reply(
                status=429,
                error={"error": {"message": "x", "code": "insufficient_quota", "type": "insufficient_quota"}},
            ),
            "no credit left",
            "Add credit",
        ),
        (
            Reply(status=400, error={"error": {"message": "too long", "code": "context_length_exceeded"}}),
            "longer than the model",
            "Start a new one",
        ),
        (Reply(status=400, error="image_url is not supported by this model"), "cannot read images", "Send text"),
        (Reply(status=400, error="this model does not support tools"), "refused the tools", "model that calls tools"),
        (Reply(status=400, error=f"bad thing with {KEY}"), "invalid", "bad thing with [hidden]"),
        (Reply(status=500, error="oops"), "failed on its own side", "Send it again later"),
        (Reply(status=503, error="busy"), "(503)", "later"),
    ],
)
async def test_a_failed_call_is_explained(
    monkeypatch: pytest.MonkeyPatch, openai_server: OpenAIServer, reply: Reply, cause: str, fix: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    openai_server.add(reply)
    message = await failure(scripted(openai_server))
    assert cause in message
    assert fix in message
    assert KEY not in message
    assert "secret" not in message


async def test_a_server_that_is_not_there_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = load_chat_model(SPEC, max_retries=0)
    assert isinstance(model, ChatOpenAI)
    message = await failure(model)
    assert "cannot be reached" in message
    assert "OPENAI_BASE_URL" in message


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (httpx.ReadTimeout("x"), "models: {fallback_after: SECONDS}"),
        (ConnectionRefusedError("refused"), "cannot be reached"),
        (ValueError("what is this"), "failed: ValueError: what is this"),
    ],
)
def test_errors_of_other_clients_are_explained(error: Exception, cause: str) -> None:
    assert cause in explain_model_error(error, "somebody:model").message


def test_an_explanation_is_bounded_and_tells_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMEBODY_TOKEN", "abcdefghij")
    error = ValueError(f"at https://ann:pw@host/ with abcdefghij, Bearer xyz and sk-abc*****def {'x' * 10_000}")
    message = explain_model_error(error, "somebody:model").message
    assert len(message) < 500
    assert not any(secret in message for secret in ("ann:pw", "abcdefghij", "xyz", "abc***"))
