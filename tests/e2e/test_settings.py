"""Every setting of an agent's memory, from its YAML to what runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

from react_mem.agents import open_agent
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.scripted_model import ScriptedModel, calls

pytestmark = pytest.mark.e2e

# Each other than its default. What would make a turn ask for more than a tool stays harmless: there is no such server.
CHANGED: dict[str, Any] = {
    "recall": {
        "dialog": False,
        "semantic": False,
        "episodic": False,
        "procedural": False,
        "profile": False,
        "similarity": 0.9,
        "links": True,
        "reranker": "tests.support.policy_tool:show_policy",
        "max_memories": 3,
        "max_docs": 2,
        "max_skills": 1,
        "timeout": 4.5,
    },
    "learning": {
        "experience": False,
        "skills": "traces",
        "concepts": "model",
        "duplicates": "off",
        "knowledge": "rules",
    },
    "context": {
        "dialog_turns": 7,
        "memory_tokens": 321,
        "window": 9000,
        "answer_tokens": 777,
        "compress_every": 9,
        "compress_above": 1234,
        "keep_raw_steps": 6,
    },
    "profile": {"diet": {"description": "What they eat"}},
    "summaries": {
        "enabled": False,
        "n_sum": 8,
        "sum_window": 4,
        "n_sum_sum": 5,
        "max_sum_lvl": 2,
        "window": "oldest",
        "summary_model": "extractive",
        "summary_length": 400,
        "check_coherence": True,
    },
    "web": {
        "enabled": True,
        "engines": ["searxng"],
        "keyword_threshold": 50.0,
        "domain_terms": ["bolt"],
        "ask_model": False,
        "slm_model": "extractive",
        "max_results": 4,
        "timeout": 2.5,
        "private_queries": False,
    },
    "tasks": {"enabled": True},
    "retention": {
        "dialog": "30d",
        "semantic": "forever",
        "episodic": "1y",
        "procedural": "2y",
        "profile": "3y",
        "experience": "90d",
        "state": "12h",
        "files": "45d",
        "max_memories": 5000,
        "max_bytes": 9_000_000,
    },
    "secrets": "keep",
    "quotas": {"messages_a_day": 5000, "model_calls_a_day": 9000, "memories": 40_000, "bytes": 80_000_000},
    "extraction": {
        "topics": True,
        "mode": "off",
        "debounce": 0.5,
        "quiet_after": 60.0,
        "engine": "langmem",
        "timeout": 33.0,
        "recover_after": 44.0,
    },
}
TOOL = "tests.support.policy_tool:show_policy"


def flat(value: Any, before: str = "") -> dict[str, Any]:
    """Return settings by their dotted names, as far as models go."""
    found: dict[str, Any] = {}
    for name, part in value.items():
        if isinstance(part, Mapping) and name in MemoryPolicy.model_fields and name != "profile":
            found |= flat(part, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = part
    return found


def names_of(model: type[BaseModel], before: str = "") -> set[str]:
    names: set[str] = set()
    for name, field in model.model_fields.items():
        kind = field.annotation
        inner = isinstance(kind, type) and issubclass(kind, BaseModel)
        names |= names_of(kind, f"{before}{name}.") if inner else {f"{before}{name}"}  # type: ignore[arg-type]
    return names


WANTED = flat(CHANGED)
DEFAULTS = flat(MemoryPolicy.model_validate({}).model_dump(mode="json"))


def test_every_setting_has_a_case_and_each_case_differs_from_the_default() -> None:
    assert names_of(MemoryPolicy) == set(WANTED)
    assert [name for name, value in WANTED.items() if value == DEFAULTS[name]] == []


def write_agent(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "changed.yaml"
    # the model's script is for the conversation alone
    models = {"small": "extractive"}
    file.write_text(yaml.safe_dump({"manager": "react_mem", "models": models, "tools": [TOOL], "memory": CHANGED}))
    return file


def shown(messages: Any) -> dict[str, Any]:
    [text] = [str(message["content"]) for message in messages if message["type"] == "tool"]
    return flat(json.loads(text))


def test_what_is_configured_is_what_runs(tmp_path: Path) -> None:
    async def run() -> dict[str, Any]:
        model = ScriptedModel(script=[calls(("show_policy", {})), "done"])
        config: Any = {"configurable": {"thread_id": "1"}}
        options: Any = {"model": model, "store": InMemoryStore(), "checkpointer": InMemorySaver()}
        async with open_agent(write_agent(tmp_path / "agents"), **options) as agent:
            result = await agent.ainvoke({"messages": [("user", "settings?")]}, config, context={"user_id": "ann"})
        return shown([message.model_dump() for message in result["messages"]])

    ran = asyncio.run(run())
    assert ran.pop("profile")["diet"]["description"] == WANTED["profile"]["diet"]["description"]
    assert ran == {name: value for name, value in WANTED.items() if name != "profile"}
