"""A memory policy: nested by topic, and read in the flat form of earlier versions too."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from react_mem.agents.config import AgentConfig, load_agent_config_file
from react_mem.memory.model.arms import Arm
from react_mem.memory.model.flat_policy import AUTHORS, FORMER
from react_mem.memory.model.policy import MemoryPolicy

COUNTS = st.integers(1, 100)
SECONDS = st.integers(1, 60).map(float)

FLAT: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "use_dialog": ("recall.dialog", st.booleans()),
    "use_semantic": ("recall.semantic", st.booleans()),
    "use_episodic": ("recall.episodic", st.booleans()),
    "use_procedural": ("recall.procedural", st.booleans()),
    "use_profile": ("recall.profile", st.booleans()),
    "max_memories": ("recall.max_memories", COUNTS),
    "max_docs": ("recall.max_docs", COUNTS),
    "max_skills": ("recall.max_skills", COUNTS),
    "similarity_threshold": ("recall.similarity", st.floats(0, 1)),
    "arms": ("recall.arms", st.sets(st.sampled_from(Arm))),
    "reranker": ("recall.reranker", st.sampled_from(["", "builtins:sorted"])),
    "read_timeout": ("recall.timeout", SECONDS),
    "max_dialog_turns": ("context.dialog_turns", COUNTS),
    "max_message_chars": ("context.message_chars", st.integers(500, 9_000)),
    "memory_tokens": ("context.memory_tokens", st.integers(50, 9_000)),
    "context_window": ("context.window", st.none() | st.integers(1_000, 200_000)),
    "answer_tokens": ("context.answer_tokens", st.integers(100, 9_000)),
    "compress_every": ("context.compress_every", COUNTS),
    "compress_above": ("context.compress_above", st.integers(100, 9_000)),
    "keep_raw_steps": ("context.keep_raw_steps", COUNTS),
    "extraction": ("extraction.mode", st.sampled_from(["inline", "background", "agent", "off", False])),
    "engine": ("extraction.engine", st.sampled_from(["structured", "langmem"])),
    "debounce": ("extraction.debounce", SECONDS),
    "quiet_after": ("extraction.quiet_after", SECONDS),
    "recover_after": ("extraction.recover_after", SECONDS),
    "extraction_timeout": ("extraction.timeout", SECONDS),
    "use_summaries": ("summaries.enabled", st.booleans()),
    "write_experience": ("learning.experience", st.booleans()),
    "learn": ("learning.skills", st.sampled_from(["off", "model", "traces", False])),
    "consolidate": ("learning.knowledge", st.sampled_from(["off", "rules", "model", False])),
    "resolve_concepts": ("learning.concepts", st.sampled_from(["names", "model"])),
    "deduplicate": ("learning.duplicates", st.sampled_from(["off", "model", False])),
    "use_task_graph": ("tasks.enabled", st.booleans()),
    "external_search": ("web", st.fixed_dictionaries({}, optional={"enabled": st.booleans(), "max_results": COUNTS})),
}
"""Every key that a policy had in the flat form and has no more, with its place and what it may be."""

BY_THE_AUTHORS = AUTHORS.keys() & FLAT.keys()
"""Those of them that stay, without a warning."""

SAME = {
    "profile": st.just({"tea": "The tea they like"}),
    "summaries": st.fixed_dictionaries({}, optional={"n_sum": st.integers(3, 9), "window": st.just("oldest")}),
}
"""Keys that both forms have."""

flat_policies = st.fixed_dictionaries({}, optional={name: values for name, (_, values) in FLAT.items()} | SAME)


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    by_topic: dict[str, Any] = {}
    for key, value in flat.items():
        topic, _, name = FLAT[key][0].partition(".") if key in FLAT else (key, "", "")
        by_topic.setdefault(topic, {}).update({name: value} if name else value)
    return by_topic


@given(flat=flat_policies.filter(lambda flat: flat.get("external_search", {}).get("max_results", 1) <= 20))
def test_a_flat_policy_is_the_same_as_its_nested_form(flat: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        policy = MemoryPolicy.model_validate(flat)
        assert MemoryPolicy().model_copy(update=flat) == policy
        assert AgentConfig(name="a", manager="react_mem", flows={"f": policy}).policy("f") == policy
    moved = (FLAT.keys() & flat.keys()) - BY_THE_AUTHORS
    assert bool(heard) == bool(moved)
    assert all(f"{key} as {FLAT[key][0]}" in str(heard[0].message) for key in moved)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MemoryPolicy.model_validate(nested(flat)) == policy
        assert MemoryPolicy.model_validate_json(policy.model_dump_json()) == policy
        assert pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301 - made here


def test_the_dump_of_an_earlier_version_loads() -> None:
    dumped = {
        **{key: None if key == "context_window" else _default(place) for key, (place, _) in FLAT.items()},
        "profile": {"tea": {"description": "", "type": "string", "options": []}},
        "summaries": {"n_sum": 4, "sum_window": 2, "summary_model": ""},
    }
    with pytest.warns(FutureWarning, match="use_episodic as recall.episodic"):
        policy = MemoryPolicy.model_validate(dumped)
    assert policy == MemoryPolicy(profile={"tea": ""}, summaries={"n_sum": 4, "sum_window": 2})


def _default(place: str) -> Any:
    value: Any = MemoryPolicy().model_dump(mode="json")
    for part in place.split("."):
        value = value[part]
    return value


def test_a_keyword_of_the_flat_form_is_taken_with_a_warning_at_the_call() -> None:
    with pytest.warns(FutureWarning, match="write extraction as extraction.mode") as heard:
        policy = MemoryPolicy(extraction="inline")
    assert policy == MemoryPolicy(extraction={"mode": "inline"})
    assert heard[0].filename == __file__


@pytest.mark.parametrize(
    "twice",
    [
        {"use_dialog": False, "recall": {"dialog": True}},
        {"external_search": {"enabled": True}, "web": {"enabled": False}},
        {"use_summaries": False, "summaries": {"enabled": True}},
    ],
)
def test_a_setting_given_in_both_forms_is_refused(twice: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"both say (dialog|enabled); keep"):
        MemoryPolicy.model_validate(twice)


@pytest.mark.filterwarnings("ignore:Memory settings are nested")
@pytest.mark.parametrize(
    "wrong",
    [
        {"recall": 3, "use_dialog": True},
        {"external_search": 3},
        {"recall": [], "arms": []},
        {"web": 3, "slm_model": ""},
    ],
)
def test_a_topic_that_is_no_mapping_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"recall|web"):
        MemoryPolicy.model_validate(wrong)


def test_every_flat_key_is_covered_here() -> None:
    assert FORMER.keys() <= FLAT.keys()
    assert {AUTHORS.get(key) or FORMER[key] for key in FLAT} == {place for place, _ in FLAT.values()}


def test_a_copy_merges_topics_and_checks() -> None:
    policy = MemoryPolicy(recall={"semantic": False, "max_docs": 2}, context={"window": 5_000})
    copied = policy.model_copy(update={"recall": {"max_docs": 4}})
    assert (copied.recall.semantic, copied.recall.max_docs, copied.context.window) == (False, 4, 5_000)
    assert policy.recall.max_docs == 2
    with pytest.raises(ValidationError, match=r"recall\.max_docs"):
        policy.model_copy(update={"recall": {"max_docs": 0}})
    with pytest.raises(ValidationError, match="recal"):
        policy.model_copy(update={"recal": {}})


@pytest.mark.filterwarnings("default:Memory settings are nested")
def test_an_agents_file_and_its_flows_may_be_in_either_form(tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_text(
        "manager: react_mem\n"
        "memory: {extraction: off, max_memories: 3, external_search: {enabled: true}, learning: {concepts: model}}\n"
        "flows:\n  plan: {use_semantic: false, use_episodic: false, recall: {max_docs: 1}}\n"
    )
    with pytest.warns(FutureWarning) as heard:
        config = load_agent_config_file(path)
    assert [str(one.message).partition("write ")[2] for one in heard] == [
        "extraction as extraction.mode, external_search as web",
        "use_episodic as recall.episodic",
    ]
    assert config.memory == MemoryPolicy(
        extraction={"mode": "off"}, recall={"max_memories": 3}, web={"enabled": True}, learning={"concepts": "model"}
    )
    plan = config.policy("plan").recall
    assert (plan.semantic, plan.episodic, plan.max_docs, plan.max_memories) == (False, False, 1, 3)


def test_a_topic_whose_keys_are_all_commented_out_has_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "bare.yaml"
    path.write_text("manager: react_mem\nmemory:\n  recall:\n    # dialog: false\n  profile:\n  summaries:\n  web:\n")
    assert load_agent_config_file(path).memory == MemoryPolicy()
