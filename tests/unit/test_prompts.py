"""The prompts and their loader."""

from __future__ import annotations

import pytest

from react_mem.prompts import load_prompt


def test_an_unknown_prompt_is_named_with_the_nearest_and_all() -> None:
    with pytest.raises(ValueError, match=r"'extract_memory'.*Did you mean 'extract_memories'\?.*system"):
        load_prompt("extract_memory")
    with pytest.raises(ValueError, match="The prompts are"):
        load_prompt("../pyproject")
