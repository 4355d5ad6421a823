"""Agent configs: what is accepted, and what a user reads when it is not."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest

import react_mem.agents.config
from react_mem.agents.config import AgentConfig, available_agents, load_agent_config, load_agent_config_file
from react_mem.errors import AgentConfigError
from react_mem.prompts import load_prompt

SHIPPED = Path(react_mem.agents.config.__file__).parent


def write(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(AgentConfigError) as caught:
        load_agent_config_file(write(folder, text))
    assert "mine.yaml" in str(caught.value)
    return str(caught.value)


def test_the_shipped_agents_differ_by_the_managers_name_alone() -> None:
    assistant = (SHIPPED / "assistant.yaml").read_text(encoding="utf-8").splitlines()
    plain = (SHIPPED / "plain.yaml").read_text(encoding="utf-8").splitlines()
    changes = [line for line in difflib.ndiff(assistant, plain) if line[0] in "+-"]
    assert changes == ["- manager: react_mem", "+ manager: react"]


def test_a_system_prompt_is_text_or_a_file_in_prompts(tmp_path: Path) -> None:
    inline = load_agent_config_file(write(tmp_path, "manager: react\nsystem_prompt: |\n  Be brief.\n"))
    assert inline.system_prompt == "Be brief.\n"
    named = load_agent_config_file(write(tmp_path, "manager: react\nsystem_prompt: {file: system}\n"))
    assert named.system_prompt == load_prompt("system")


def test_everything_wrong_is_listed_with_valid_values_and_the_nearest(tmp_path: Path) -> None:
    message = refusal(
        tmp_path,
        """
manager: raect
tols: []
tools: [calculater, tool-box.x, my_pkg.tools:search]
models: {chatt: auto}
memory: {recal: {}, use_dialg: true, extraction: {mode: inlin}, recall: {max_memories: 0, semantik: true}}
max_iterations: 101
system_prompt: {file: sistem}
""",
    )
    lines = message.splitlines()

    def line(key: str) -> str:
        return next(one for one in lines if one.startswith(f"  {key}: "))

    assert "valid: react, react_mem; did you mean 'react'?" in line("manager")
    assert "unknown key" in line("tols")
    assert "did you mean 'tools'?" in line("tols")
    assert "valid: calculator, " in line("tools")
    assert line("tools").endswith("did you mean 'calculator'?")
    assert any("'tool-box.x' is not a dotted path" in one for one in lines)
    assert "my_pkg" not in message
    assert "valid: chat, choices, embedding, fallback, fallback_after, small; did you mean 'chat'?" in line(
        "models.chatt"
    )
    assert "did you mean 'recall'?" in line("memory.recal")
    assert "did you mean 'recall.dialog'?" in line("memory.use_dialg")
    assert "did you mean 'semantic'?" in line("memory.recall.semantik")
    assert "did you mean 'inline'?" in line("memory.extraction.mode")
    assert "greater than or equal to 1, got 0" in line("memory.recall.max_memories")
    assert "less than or equal to 100, got 101" in line("max_iterations")
    assert "'system'" in line("system_prompt")
    assert "errors.pydantic.dev" not in message


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("description: no manager\n", "manager: is missing; valid: react, react_mem"),
        ("manager: react\nmodels: gpt\n", "models: must be 'key: value' lines, got 'gpt'"),
        ("manager: react\ntools: calculator\n", "tools: must be a list such as [a, b], got 'calculator'"),
        ("manager: react\nsystem_prompt: {fil: x}\n", "system_prompt: must be the prompt's text, or {file: name}"),
        ("manager: react\nname: other\n", "name: 'other' is not the file's name 'mine'"),
        ("- react\n", "expected 'key: value' lines"),
        (
            "manager: react\nstanding_instructions: {files: [notes.txt]}\n",
            "standing_instructions.files: 'notes.txt' is no Markdown file",
        ),
        (
            "manager: react_mem\nflows: {planning: {recall: {dialg: false}}}\n",
            "flows.planning.recall.dialg: unknown key; valid: ",
        ),
    ],
)
def test_each_mistake_says_its_cause(tmp_path: Path, text: str, cause: str) -> None:
    assert cause in refusal(tmp_path, text)


def test_a_flow_says_only_what_differs_there(tmp_path: Path) -> None:
    text = """
manager: react_mem
memory: {recall: {max_memories: 3, max_docs: 4}, profile: {name: What to call the user.}}
flows:
  planning: {recall: {semantic: false, max_docs: 2}}
"""
    config = load_agent_config_file(write(tmp_path, text))
    planning = config.policy("planning")
    recall = planning.recall
    assert (recall.semantic, recall.max_docs, recall.max_memories, list(planning.profile)) == (False, 2, 3, ["name"])
    assert config.policy() == config.policy("another") == config.memory
    assert config.memory.recall.semantic


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("memory: {embedding_model: local}", "memory.embedding_model: belongs elsewhere: write `models.embedding`"),
        (
            "vector_db_config: {url: x}",
            "vector_db_config: belongs elsewhere: a file of an agent names no database; set",
        ),
        ("memory: {vector_db_config: {url: x}}", "StorageSettings(vector_db_config=...)"),
        ("slm_model: auto", "did you mean 'memory.web.slm_model'?"),
    ],
)
def test_the_authors_name_in_another_place_says_where_it_belongs(tmp_path: Path, text: str, hint: str) -> None:
    assert hint in refusal(tmp_path, f"manager: react_mem\n{text}\n")


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        ("manager: react\ntools: [a, b\n", 3, "expected ',' or ']'"),
        ("manager: react\nmemory: {}\nmanager: react_mem\n", 3, "the key 'manager' is given twice"),
    ],
)
def test_broken_yaml_names_the_line_and_the_cause(tmp_path: Path, text: str, line: int, cause: str) -> None:
    message = refusal(tmp_path, text)
    assert f"line {line}, " in message
    assert cause in message


def test_the_users_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REACT_MEM_AGENTS", str(tmp_path))
    write(tmp_path, "manager: react\ndescription: mine\n", name="assistant")
    write(tmp_path, "manager: react\n", name="travel")
    assert available_agents() == ["assistant", "plain", "travel"]
    assert load_agent_config("assistant").description == "mine"
    assert load_agent_config("travel").name == "travel"
    with pytest.raises(AgentConfigError, match=r"none\.yaml cannot be read"):
        load_agent_config_file(tmp_path / "none.yaml")
    monkeypatch.setenv("REACT_MEM_AGENTS", str(tmp_path / "none"))
    with pytest.raises(AgentConfigError, match=r"REACT_MEM_AGENTS is .*none.*not a folder"):
        available_agents()


def test_a_key_with_nothing_after_it_means_its_default_and_off_needs_no_quotes(tmp_path: Path) -> None:
    text = "manager: react_mem\nmemory:\n  recall:\n    # dialog: false\n  extraction: {mode: off}\ntools:\n"
    config = load_agent_config_file(write(tmp_path, text))
    assert (config.memory.extraction.mode, config.memory.recall.dialog, config.tools) == ("off", True, ())


def test_an_unknown_agent_is_refused_with_the_nearest() -> None:
    with pytest.raises(AgentConfigError, match=r"unknown agent 'asistant'; valid: .*plain.*did you mean 'assistant'\?"):
        load_agent_config("asistant")


@pytest.mark.parametrize("form", ["../{}/secret", "{}/secret", "", "x" * 10_000])
def test_a_name_never_reads_another_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    write(tmp_path, "manager: react\n", name="secret")
    monkeypatch.setenv("REACT_MEM_AGENTS", str(folder))
    for name in {form.replace("{}", ".."), form.replace("{}", str(tmp_path)), form.replace("{}", tmp_path.name)}:
        with pytest.raises(AgentConfigError, match="unknown agent") as caught:
            load_agent_config(name)
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("fallback", "cause"),
    [
        (
            "[extractive, 'openai:gpt']",
            "models.fallback: 'extractive' always answers, so that what follows it is never",
        ),
        ("['openai:gpt', 'openai:gpt']", "models.fallback: 'openai:gpt' is there twice"),
        ("extractive", "models.fallback: must be a list such as [a, b], got 'extractive'"),
    ],
)
def test_a_fallback_that_makes_no_sense_is_refused(tmp_path: Path, fallback: str, cause: str) -> None:
    assert cause in refusal(tmp_path, f"manager: react\nmodels: {{fallback: {fallback}}}\n")


@pytest.mark.parametrize("kept", [{"retention": {"dialog": "30d"}}, {"quotas": {"messages_a_day": 1}}])
def test_what_is_kept_is_the_same_in_all_flows(kept: Any) -> None:
    with pytest.raises(ValueError, match=f"plan: {next(iter(kept))} is the same in all flows"):
        AgentConfig(name="a", manager="react_mem", flows={"plan": kept})
