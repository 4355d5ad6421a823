"""A memory policy: nested by topic, and read by the flat names of its authors too."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from react_mem.agents.config import AgentConfig, load_agent_config_file
from react_mem.memory.model.policy import MemoryPolicy

COUNTS = st.integers(1, 100)
SECONDS = st.integers(1, 60).map(float)

FLAT: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "use_dialog": ("recall.dialog", st.booleans()),
    "use_semantic": ("recall.semantic", st.booleans()),
    "use_procedural": ("recall.procedural", st.booleans()),
    "use_profile": ("recall.profile", st.booleans()),
    "max_memories": ("recall.max_memories", COUNTS),
    "max_docs": ("recall.max_docs", COUNTS),
    "max_skills": ("recall.max_skills", COUNTS),
    "similarity_threshold": ("recall.similarity", st.floats(0, 1)),
    "max_dialog_turns": ("context.dialog_turns", COUNTS),
    "write_experience": ("learning.experience", st.booleans()),
    "max_results": ("web.max_results", st.integers(1, 20)),
}
"""Flat names, each with its place and what it may be."""

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


@given(flat=flat_policies)
def test_a_flat_policy_is_the_same_as_its_nested_form(flat: dict[str, Any]) -> None:
    policy = MemoryPolicy.model_validate(flat)
    assert MemoryPolicy().model_copy(update=flat) == policy
    assert AgentConfig(name="a", manager="react_mem", flows={"f": policy}).policy("f") == policy
    assert MemoryPolicy.model_validate(nested(flat)) == policy
    assert MemoryPolicy.model_validate_json(policy.model_dump_json()) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301 - made here


@pytest.mark.parametrize(
    "twice",
    [
        {"use_dialog": False, "recall": {"dialog": True}},
        {"max_results": 2, "web": {"max_results": 3}},
    ],
)
def test_a_setting_given_in_both_forms_is_refused(twice: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"both say (dialog|max_results); keep"):
        MemoryPolicy.model_validate(twice)


def test_a_copy_merges_topics_and_checks() -> None:
    policy = MemoryPolicy(recall={"semantic": False, "max_docs": 2}, context={"window": 5_000})
    copied = policy.model_copy(update={"recall": {"max_docs": 4}})
    assert (copied.recall.semantic, copied.recall.max_docs, copied.context.window) == (False, 4, 5_000)
    assert policy.recall.max_docs == 2
    with pytest.raises(ValidationError, match=r"recall\.max_docs"):
        policy.model_copy(update={"recall": {"max_docs": 0}})
    with pytest.raises(ValidationError, match="recal"):
        policy.model_copy(update={"recal": {}})


def test_a_topic_whose_keys_are_all_commented_out_has_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "bare.yaml"
    path.write_text("manager: react_mem\nmemory:\n  recall:\n    # dialog: false\n  profile:\n  summaries:\n  web:\n")
    assert load_agent_config_file(path).memory == MemoryPolicy()
