"""Every number of docs/comparison.md stands in benchmarks/results, which says what it was measured on."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.documents import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")


def result(name: str) -> dict[str, dict[str, Any]]:
    """Return the metrics of each side, ours as `react_mem`."""
    data = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    assert {"platform", "cpus", "langmem"} <= set(data["environment"])
    return {"react_mem": data["metrics"], **data["peers"]}


def row(beginning: str) -> list[str]:
    """Return the other cells of the one row that is called so, whatever stands in brackets behind its name."""
    [found] = re.findall(rf"^\| {re.escape(beginning)}(?:, [^|]*)? \|(.+)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in found.split("|")]


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


@pytest.mark.parametrize(("name", "beginning"), [("locomo", "LoCoMo"), ("stress", "our stress set")])
def test_evidence_found_is_as_measured(name: str, beginning: str) -> None:
    sides = result(name)
    found = [percent(sides[side]["recall@10"]) for side in ("react_mem", "langmem_tool", "mem0", "bm25")]
    assert row(beginning) == found
    assert f"{sides['react_mem']['questions']} questions (`{name}.json`)" in PAGE


def test_what_is_written_is_as_measured() -> None:
    sides = result("writing")
    ours, theirs = sides["react_mem"], sides["langmem_store_manager"]
    for beginning, key, form in (
        ("reads well: cases with a fault", "late.correct.fault_share", percent),
        ("careless: share of what is believed that is false", "late.careless.false_share", percent),
        ("careless: cases with a fault", "late.careless.fault_share", percent),
        ("hostile: cases with a fault", "late.hostile.fault_share", percent),
        ("hostile: false facts believed", "late.hostile.false", str),
        ("hostile: true facts ended", "late.hostile.retired", str),
        ("model calls a turn", "memory_calls_per_turn", "{:.2f}".format),
        ("prompt tokens of them", "memory_prompt_tokens_per_turn", "{:,.0f}".format),
        ("tokens that they answer with", "memory_completion_tokens_per_turn", "{:.0f}".format),
    ):
        assert row(beginning) == [form(ours[key]), form(theirs[key])], beginning


def test_the_cost_of_a_turn_is_as_measured() -> None:
    sides = result("overhead")
    for beginning, key in (
        ("milliseconds", "net_turn_p50_ms"),
        ("milliseconds to the first token", "net_first_token_p50_ms"),
        ("model calls before the answer ends", "model_calls"),
        ("prompt tokens", "prompt_tokens"),
    ):
        numbers = [sides["react_mem"][f"react_mem.local.1000.{key}"]]
        numbers += [sides[peer][f"local.1000.{key}"] for peer in ("langmem", "create_agent")]
        assert row(beginning) == [f"{number:,.0f}" for number in numbers], beginning
