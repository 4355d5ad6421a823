"""The built-in tools."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

import pytest
from langchain_core.tools import ToolException

from react_mem.tools.plain_tools import calculator, current_time


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("0.1 + 0.2", "0.3"),
        ("-2 ** 2", "-4"),
        ("2 ** 0.5", "1.4142135623731"),
        ("12 × 3 ÷ 4 =", "9"),
        ("2 ** -1", "0.5"),
    ],
)
def test_arithmetic(expression: str, value: str) -> None:
    result = calculator.invoke({"expression": expression})
    assert result == value or result.startswith(value)


@pytest.mark.parametrize(
    ("expression", "cause"),
    [
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "too large"),
        ("10 ** 1000 * 10 ** 1000", "too large"),
        ("(-8) ** 0.5", "not a real number"),
        ("1,000 + 1", "without thousands separators"),
        ("__import__('os').system('true')", "only numbers"),
        ("", "not arithmetic"),
        ("(" * 400, "not arithmetic"),
        ("1+" * 300 + "1", "at most 500"),
    ],
)
def test_what_is_not_arithmetic_is_refused_at_once(expression: str, cause: str) -> None:
    started = time.perf_counter()
    with pytest.raises(ToolException) as caught:
        calculator.invoke({"expression": expression})
    assert cause in str(caught.value)
    assert time.perf_counter() - started < 1


def test_deep_nesting_deep_in_a_stack_is_refused() -> None:
    def descend(levels: int) -> str:
        return descend(levels - 1) if levels else str(calculator.invoke({"expression": "-" * 499 + "1"}))

    with pytest.raises(ToolException, match=r"nested too deeply|not arithmetic"):
        descend(sys.getrecursionlimit() // 2)


def test_the_time_is_that_of_the_zone() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    shown = current_time.invoke({})
    moment = datetime.strptime(shown, "%Y-%m-%d %H:%M:%S UTC (%A)").replace(tzinfo=UTC)
    assert before <= moment <= datetime.now(UTC)
    # Vietnam has no summer time: always seven hours ahead.
    local = current_time.invoke({"timezone": "Asia/Ho_Chi_Minh"})
    there = datetime.strptime(local, "%Y-%m-%d %H:%M:%S Asia/Ho_Chi_Minh (%A)").replace(tzinfo=UTC)
    assert round((there - moment).total_seconds() / 3600) == 7


@pytest.mark.parametrize("zone", ["Asia/Hanoy", "../../etc/passwd", "a\x00b"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(ToolException, match="unknown time zone"):
        current_time.invoke({"timezone": zone})


def test_the_nearest_zone_is_named() -> None:
    with pytest.raises(ToolException, match="did you mean 'Europe/Paris'"):
        current_time.invoke({"timezone": "Europe/Pariss"})
