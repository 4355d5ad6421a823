"""The benchmark of routing: its data is what it says, and its metrics tell a right choice from a wrong one."""

from __future__ import annotations

import re

import pytest

from benchmarks.routing.__main__ import Chosen, Request, System, load_requests, load_tools, measure

TOOLS = load_tools()
REQUESTS = [*load_requests("tune"), *load_requests("test")]


async def always(request: str) -> Chosen:
    return Chosen(("set_timer", "add_task"))


def test_no_example_is_a_request() -> None:
    def plain(text: str) -> str:
        return re.sub(r"\W+", " ", text.casefold()).strip()

    assert not {plain(example) for tool in TOOLS for example in tool.examples} & {plain(r.text) for r in REQUESTS}


async def test_accuracy_counts_the_first_and_all_that_are_needed() -> None:
    asked = [
        Request(lang="en", text="one", tools=("set_timer",)),
        Request(lang="en", text="two", tools=("set_timer", "set_alarm")),
        Request(lang="en", text="other", tools=("run_python",)),
        Request(lang="en", text="thanks", tools=()),
    ]
    found = await measure(System(always), asked, [tool.as_tool() for tool in TOOLS])
    assert found["accuracy_at_1"] == pytest.approx(2 / 3, abs=0.001)
    assert found["accuracy_at_5"] == pytest.approx(1 / 3, abs=0.001)
    assert found["tools_sent"] == 2
    assert found["tool_tokens"] > 50
