"""The examples of `examples.yaml` return what they are said to."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml

EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("module", "source"), [(module, source) for module in EXAMPLES for source in EXAMPLES[module]])
def test_an_example_returns_what_it_is_said_to(module: str, source: str) -> None:
    value = eval(source, dict(vars(importlib.import_module(module))))  # noqa: S307 - of this project
    assert repr(value) == EXAMPLES[module][source]
