"""Skill files that others have written, read within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from react_mem.agents.config import load_agent_config_file
from react_mem.errors import AgentConfigError
from react_mem.integrations.skill_files import read_skills

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


def front(text: str) -> str:
    return f"---\n{text}\n---\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{LAUGHS}\ndescription: *h", "aliases"),
        ("a: &a [*a]", "a part of"),
        ("a: " + "[" * 50_000, "too deeply"),
        ("a: 2026-02-32", "cannot be read"),
        ("a: !!python/object/apply:os.getcwd []", "not YAML"),
    ],
    ids=["laughs", "circle", "depth", "date", "code"],
)
def test_a_skill_file_costs_no_more_than_it_says(text: str, cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        read_skills(front(text))


def test_an_agents_file_is_read_within_the_same_bounds(tmp_path: Path) -> None:
    file = tmp_path / "laughs.yaml"
    file.write_text(f"manager: react\n{LAUGHS}\n")
    with pytest.raises(AgentConfigError, match="aliases") as refused:
        load_agent_config_file(file)
    assert len(str(refused.value)) < 1_000
