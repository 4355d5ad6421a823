"""What an agent's YAML says beside its memory reaches its models, in Python and on `langgraph dev`."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

from react_mem.agents import open_agent
from react_mem.agents.config import AgentConfig, ModelsConfig
from react_mem.errors import ModelCallError
from react_mem.tools.routing.routes import SwitchSettings
from tests.support.dev_server import database_for_a_server, dev_server
from tests.support.openai_server import OpenAIServer, Reply, Request, ToolCall

pytestmark = pytest.mark.e2e

ASKED = "What is the weather of this city?"
TOOLS = ["calculator", "current_time", "tests.support.user_tools:weather", "tests.support.user_tools:broken"]
SWITCHED = {"mode": "semantic", "above": 2, "max_tools": 2}
NEVER = threading.Event()
OK = Reply(text="ok")
CALL = Reply(tool_calls=[ToolCall("current_time")])


@dataclass(frozen=True)
class Case:
    """A setting: an agent that has it, what its models say, and whether what they were asked shows it.

    Args:
        settings: The agent's YAML, in which {me} is the case's own name; a part of the models' names.
        shows: Whether the requests of a turn show it.
        replies: What the models say, by their name; "ok" where none is named.
    """

    settings: Mapping[str, Any]
    shows: Callable[[Sequence[Request]], bool]
    replies: Mapping[str, Sequence[Reply]]


def case(shows: Callable[[Sequence[Request]], bool], replies: Mapping[str, Any] | None = None, **settings: Any) -> Case:
    return Case({"manager": "react", "models": {}, "system_prompt": "", **settings}, shows, replies or {})


def models_of(requests: Sequence[Request]) -> list[str]:
    """Return which models were asked, by what the case calls them."""
    return [request.body["model"].rpartition(".")[2] for request in requests]


INLINE = {"extraction": {"mode": "inline"}, "summaries": {"enabled": False}}
CASES = {
    "manager": case(lambda seen: models_of(seen) == ["chat"], memory=INLINE),
    "system_prompt": case(
        lambda seen: seen[0].messages[0]["content"] == "You sell maps.", system_prompt="You sell maps."
    ),
    "tools": case(lambda seen: seen[0].tools == ["calculator", "current_time", "weather", "broken"], tools=TOOLS),
    "max_iterations": case(lambda seen: len(seen) == 2, {"chat": [CALL, CALL, OK]}, tools=TOOLS, max_iterations=2),
    "models.chat": case(lambda seen: models_of(seen) == ["other"], models={"chat": "openai:{me}.other"}),
    "models.small": case(
        lambda seen: models_of(seen)[:2] == ["chat", "small"],
        manager="react_mem",
        memory=INLINE,
        models={"small": "openai:{me}.small"},
    ),
    "models.fallback": case(
        lambda seen: models_of(seen) == ["chat", "second"],
        {"chat": [Reply(status=503, error="down", headers={"x-should-retry": "false"})]},
        models={"fallback": ["openai:{me}.second"]},
    ),
    "models.fallback_after": case(
        lambda seen: models_of(seen) == ["chat", "second"],
        {"chat": [Reply(text="late", hold=NEVER)]},
        models={"fallback": ["openai:{me}.second"], "fallback_after": 0.5},
    ),
    "switching.mode": case(lambda seen: "find_tools" in seen[0].tools, tools=TOOLS, switching=SWITCHED),
    "switching.above": case(lambda seen: "find_tools" in seen[0].tools, tools=TOOLS, switching=SWITCHED),
    "switching.max_tools": case(
        lambda seen: len(set(seen[0].tools) - {"find_tools"}) == 1, tools=TOOLS, switching={**SWITCHED, "max_tools": 1}
    ),
    "switching.always": case(
        lambda seen: "calculator" in seen[0].tools and "find_tools" in seen[0].tools,
        tools=TOOLS,
        switching={**SWITCHED, "max_tools": 1, "always": ["calculator"]},
    ),
}
ELSEWHERE = {
    "name": "the file's own: every case here is found by it",
    "description": "for people",
    "memory": "tests/e2e/test_settings.py",
    "flows": "tests/unit/agents/test_config.py; the flows of graphs.planner_worker and graphs.smart_buyer",
    "models.choices": "tests/contract/test_choices.py, tests/attacks/test_choices.py",
    "overridable": "tests/contract/test_choices.py, tests/attacks/test_choices.py",
    "standing_instructions": "tests/unit/agents/test_standing_files.py",
    "models.embedding": "tests/unit/agents/test_embedding.py",
    "cards": "tests/unit/graphs/test_cards.py, tests/e2e/test_chat_ui.py",
    "switching.routes": "tests/contract/test_switching.py",
    "switching.layers": "tests/contract/test_switching.py",
    "switching.max_suggestions": "tests/contract/test_switching.py",
    "switching.show_suggestions": "tests/contract/test_switching.py",
    "switching.learn": "tests/contract/test_switching.py",
    "switching.timeout": "tests/contract/test_switching.py",
    "switching.prefetch_seconds": "tests/contract/test_switching.py",
}


def test_every_setting_has_a_case_or_is_shown_elsewhere() -> None:
    inner: dict[str, type[BaseModel]] = {"models": ModelsConfig, "switching": SwitchSettings}
    plain = set(AgentConfig.model_fields) - set(inner)
    settings = plain | {f"{name}.{field}" for name, model in inner.items() for field in model.model_fields}
    assert settings == CASES.keys() | ELSEWHERE.keys()
    assert not CASES.keys() & ELSEWHERE.keys()


def agent_of(setting: str) -> str:
    return setting.replace(".", "-")


def write_agents(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for setting, one in CASES.items():
        me = agent_of(setting)
        models = {"chat": "openai:{me}.chat", **one.settings["models"]}
        (folder / f"{me}.yaml").write_text(yaml.safe_dump({**one.settings, "models": models}).replace("{me}", me))


def is_for(model: str) -> Callable[[Request], bool]:
    return lambda request: request.body.get("model") == model


def play(model: OpenAIServer) -> None:
    """Have each case's models say what it scripts, and all others "ok"."""
    for setting, one in CASES.items():
        for name, replies in one.replies.items():
            model.add(*replies, when=is_for(f"{agent_of(setting)}.{name}"))
    model.add(OK, repeat=True)


def asked_of(model: OpenAIServer, agent: str) -> list[Request]:
    return [request for request in model.chats() if request.body["model"].startswith(f"{agent}.")]


Ask = Callable[[str], Sequence[Request]]


@pytest.fixture(scope="module")
def in_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Return what runs an agent by its file, and tells what its models were asked."""
    folder = tmp_path_factory.mktemp("python")
    write_agents(folder)

    async def run(name: str) -> None:
        file, store, threads = folder / f"{name}.yaml", InMemoryStore(), InMemorySaver()
        config: Any = {"configurable": {"thread_id": "1"}}
        async with open_agent(file, store=store, checkpointer=threads) as agent:
            await agent.ainvoke({"messages": [("user", ASKED)]}, config, context={"user_id": "ann"})

    with OpenAIServer() as model, pytest.MonkeyPatch.context() as patch:
        play(model)
        patch.setenv("OPENAI_BASE_URL", model.base_url)
        patch.setenv("OPENAI_API_KEY", "none")

        def ask(name: str) -> Sequence[Request]:
            with contextlib.suppress(ModelCallError):  # what was asked shows it
                asyncio.run(run(name))
            return asked_of(model, name)

        yield ask


@pytest.fixture(scope="module")
def served(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Return what runs an agent by its name on a server, and tells what its models were asked."""
    folder = tmp_path_factory.mktemp("served")
    write_agents(folder / "agents")
    with OpenAIServer() as model, database_for_a_server(database_server) as url:
        play(model)
        environment = {
            "DATABASE_URL": url,
            "OPENAI_BASE_URL": model.base_url,
            "EMBEDDING_MODEL": "local",
            "REACT_MEM_AGENTS": str(folder / "agents"),
        }
        with dev_server(folder, environment) as server:

            async def run(name: str) -> None:
                client = server.client()
                thread = await client.threads.create()
                given: Any = {"messages": [{"role": "user", "content": ASKED}]}
                context: Any = {"agent": name, "user_id": "ann"}
                await client.runs.wait(thread["thread_id"], "agent", input=given, context=context)

            def ask(name: str) -> Sequence[Request]:
                asyncio.run(run(name))
                return asked_of(model, name)

            yield ask


@pytest.mark.parametrize(
    ("where", "setting"),
    [
        *(("in_python", setting) for setting in CASES),
        *(("served", setting) for setting in ("models.small", "models.fallback", "switching.always", "system_prompt")),
    ],
)
def test_what_is_configured_is_what_runs(where: str, setting: str, request: pytest.FixtureRequest) -> None:
    seen = request.getfixturevalue(where)(agent_of(setting))
    assert CASES[setting].shows(seen), [(one.body["model"], one.tools, one.text[:300]) for one in seen]
