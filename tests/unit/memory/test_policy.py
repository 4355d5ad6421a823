"""A memory policy: nested by topic, and read by the flat names of its authors too."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from react_mem.agents.config import AgentConfig, load_agent_config_file
from react_mem.memory.model.policy import MemoryPolicy

FLAT: dict[str, Any] = {
    **dict.fromkeys(("use_dialog", "use_semantic", "use_procedural", "use_profile", "write_experience"), False),
    "max_memories": 7,
    "max_docs": 6,
    "max_skills": 2,
    "similarity_threshold": 0.5,
    "max_dialog_turns": 9,
    "max_results": 4,
    "profile": {"tea": "The tea they like"},
    "summaries": {"n_sum": 8, "window": "oldest"},
}

NESTED: dict[str, Any] = {
    "recall": {
        **dict.fromkeys(("dialog", "semantic", "procedural", "profile"), False),
        "max_memories": 7,
        "max_docs": 6,
        "max_skills": 2,
        "similarity": 0.5,
    },
    "context": {"dialog_turns": 9},
    "learning": {"experience": False},
    "web": {"max_results": 4},
    "profile": {"tea": "The tea they like"},
    "summaries": {"n_sum": 8, "window": "oldest"},
}


def test_a_flat_policy_is_the_same_as_its_nested_form() -> None:
    policy = MemoryPolicy.model_validate(FLAT)
    assert MemoryPolicy.model_validate(NESTED) == MemoryPolicy().model_copy(update=FLAT) == policy
    assert AgentConfig(name="a", manager="react_mem", flows={"f": policy}).policy("f") == policy
    assert MemoryPolicy.model_validate_json(policy.model_dump_json()) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301 - made here


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
