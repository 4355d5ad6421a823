"""Whose memory a run uses, who stands in on a developer's machine, and what is said where memory is off."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime, ServerInfo

from react_mem.agents.config import AgentConfig
from react_mem.agents.extractive import ExtractiveChatModel
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.model import identity as module
from react_mem.memory.model.identity import development_user, identify, why_off
from react_mem.memory.model.policy import MemoryPolicy
from tests.contract.conftest import memory_store

DEVELOPMENT = {"LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev", "LANGGRAPH_API_URL": "http://127.0.0.1:2024"}
THREAD: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGSMITH_LANGGRAPH_API_VARIANT", "LANGGRAPH_API_URL", "LANGGRAPH_AUTH", "REACT_MEM_DEV_USER"):
        monkeypatch.delenv(name, raising=False)
    module._warn_once.cache_clear()


@pytest.fixture
def development(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of `langgraph dev` as it starts by default."""
    for name, value in DEVELOPMENT.items():
        monkeypatch.setenv(name, value)


def served(user: Any = None, context: Any = None) -> Runtime[Any]:
    """Return the runtime of a node on a server."""
    return Runtime(context=context, server_info=ServerInfo(assistant_id="a", graph_id="g", user=user))


def owner(runtime: Runtime[Any], **configurable: Any) -> str | None:
    found = identify(runtime, {"configurable": {"thread_id": "t", **configurable}})
    return found.user_id if found else None


# --- who stands in ---


@pytest.mark.parametrize(
    ("environment", "user"),
    [
        (DEVELOPMENT, "dev"),
        ({**DEVELOPMENT, "REACT_MEM_DEV_USER": "me"}, "me"),
        ({**DEVELOPMENT, "REACT_MEM_DEV_USER": ""}, ""),
        ({**DEVELOPMENT, "REACT_MEM_DEV_USER": "\u200b"}, ""),
        ({**DEVELOPMENT, "LANGGRAPH_API_URL": "http://[::1]:2024"}, "dev"),
        ({**DEVELOPMENT, "LANGGRAPH_API_URL": "http://0.0.0.0:2024"}, ""),
        ({**DEVELOPMENT, "LANGGRAPH_API_URL": "https://some-words.trycloudflare.com"}, ""),
        ({**DEVELOPMENT, "LANGGRAPH_AUTH": '{"path": "./auth.py:auth"}'}, ""),
        ({**DEVELOPMENT, "LANGSMITH_LANGGRAPH_API_VARIANT": "cloud"}, ""),
        ({"LANGGRAPH_API_URL": "http://127.0.0.1:2024", "REACT_MEM_DEV_USER": "me"}, ""),
    ],
)
def test_there_is_a_development_user_on_the_loopback_interface_of_a_dev_server_only(
    environment: dict[str, str], user: str
) -> None:
    assert development_user(environment) == user


def test_the_development_user_stands_in_where_nobody_is_named_and_the_log_says_so_once(
    development: None, caplog: pytest.LogCaptureFixture
) -> None:
    found = [identify(served(), THREAD) for _ in range(3)]
    assert [(one.user_id, one.development) for one in found if one] == [("dev", True)] * 3
    [record] = caplog.records
    assert "'dev'" in record.message
    assert "REACT_MEM_DEV_USER" in record.message


def test_whoever_is_named_comes_first(development: None) -> None:
    assert owner(served(context={"user_id": "ann"})) == "ann"
    assert owner(served(), user_id="ann") == "ann"
    assert owner(served(SimpleNamespace(identity="bob"), {"user_id": "ann"}), user_id="ann") == "bob"
    named = identify(served(context={"user_id": "ann"}), THREAD)
    assert named is not None
    assert not named.development


UNSEEN = ["  ", "\u200b", "\u3164", "\u0301"]


@pytest.mark.parametrize("blank", UNSEEN)
def test_an_id_of_which_nothing_can_be_seen_names_nobody(blank: str) -> None:
    assert owner(Runtime(context={"user_id": blank})) is None
    assert owner(Runtime(context=None), user_id=blank) is None
    assert owner(served(SimpleNamespace(identity=blank)), user_id="ann") is None
    assert owner(Runtime(context={"user_id": blank}), user_id="ann") == "ann"


@pytest.mark.parametrize("odd", ["a\x00b", "a\nb", "a\u2028b", "x" * 901, "人" * 101], ids=repr)
def test_an_id_that_cannot_own_memories_names_nobody_and_is_not_replaced(odd: str) -> None:
    assert owner(Runtime(context={"user_id": odd}), user_id="ann") is None
    assert owner(served(SimpleNamespace(identity=odd)), user_id="ann") is None
    assert "cannot own memories" in why_off(Runtime(context={"user_id": odd}), {})


@given(
    said=st.sampled_from([None, "", " ", "ann"]),
    configured=st.sampled_from([None, "", "ann"]),
    empty=st.sampled_from(["", None, " ", "\u200b"]),
)
def test_an_authenticated_user_without_an_identity_is_nobody(said: Any, configured: Any, empty: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DEVELOPMENT.items():
            patch.setenv(name, value)
        assert owner(served(SimpleNamespace(identity=empty), {"user_id": said}), user_id=configured) is None
        # authenticated by a server that hands the user over in a form that is not known
        assert owner(served(None, {"user_id": said}), user_id=configured, langgraph_auth_user={"id": "x"}) is None


# --- what is said where memory is off ---


def test_in_a_deployment_the_log_says_once_that_memory_is_off_and_how_to_turn_it_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said = {why_off(served(), THREAD) for _ in range(3)}
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "memory is off" in record.message
    assert "Add authentication" in record.message
    assert said == {f"Memory is off for this run: {record.args[0]}"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("runtime", "cure"),
    [
        (Runtime(context=None), 'Pass context={"user_id": ...}'),
        (served(SimpleNamespace(identity="")), "authentication return one"),
        (Runtime(context={"user_id": "ann"}), "has no store"),
    ],
)
def test_why_and_what_to_do(runtime: Runtime[Any], cure: str) -> None:
    assert cure in why_off(runtime, THREAD)


def test_a_dev_server_whose_development_user_is_switched_off_names_the_variable(
    development: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REACT_MEM_DEV_USER", "")
    assert identify(served(), THREAD) is None
    assert "REACT_MEM_DEV_USER" in why_off(served(), THREAD)


# --- what the model says of it ---


def graph(model: BaseChatModel) -> Any:
    policy = MemoryPolicy.model_validate({"extraction": {"mode": "inline"}})
    agent = resolve_agent(AgentConfig(name="tester", manager="react_mem", memory=policy), model=model)
    return build_agent(agent, store=memory_store(), checkpointer=InMemorySaver())


async def said(agent: Any, text: str, thread: str = "1", **context: Any) -> str:
    config: Any = {"configurable": {"thread_id": thread}}
    result = await agent.ainvoke({"messages": [("user", text)]}, config, context=context or None)
    return str(result["messages"][-1].text)


@pytest.mark.parametrize(
    ("statement", "question", "off"),
    [
        ("I am allergic to peanuts.", "What is my cat called?", "Memory is off"),
        ("Tôi bị dị ứng với đậu phộng.", "Con mèo của tôi tên là gì?", "bộ nhớ đang tắt"),
    ],
)
async def test_the_keyless_model_notes_nothing_where_nothing_is_kept(statement: str, question: str, off: str) -> None:
    agent = graph(ExtractiveChatModel())
    answer = await said(agent, statement)
    assert off in answer
    assert statement not in answer
    assert off in await said(agent, question, "2")
    assert statement in await said(agent, statement, "3", user_id="ann")


def test_from_python_nobody_stands_in(development: None) -> None:
    assert owner(Runtime(context=None)) is None
