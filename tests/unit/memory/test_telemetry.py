"""What telemetry takes, what it drops, and what it costs."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.errors import GraphInterrupt

from react_mem.memory import telemetry
from react_mem.memory.telemetry.catalogue import INSTRUMENTS, OPERATIONS, Choice, Label, Name
from tests.support.heard import Heard, hear

ROOT = Path(__file__).parents[3]
SECRET = "my card is 4111-1111-1111-1111"


@pytest.fixture
def heard() -> Iterator[Heard]:
    with hear() as heard:
        yield heard


class TestWhatIsRecorded:
    def test_counts_values_and_gauges_with_their_labels(self, heard: Heard) -> None:
        telemetry.count("degradations", part="vector")
        telemetry.count("degradations", 2, part="vector")
        telemetry.record("context.tokens", 120, section="memories")
        telemetry.record("breaker.open", 1, guards="model", name="gpt")
        telemetry.record("breaker.open", 0, guards="model", name="gpt")
        assert heard.points("degradations") == {frozenset({("part", "vector")}): 3}
        assert heard.points("context.tokens") == {frozenset({("section", "memories")}): (1, 120)}
        assert heard.total("breaker.open", name="gpt") == 0
        # a gauge is there whenever it is read, not only after it was set
        assert heard.points("breaker.open")

    def test_an_error_passes_through_and_only_its_kind_is_told(self, heard: Heard) -> None:
        with pytest.raises(ValueError, match="4111"), telemetry.span("web_page"):
            raise ValueError(SECRET)
        assert heard.total("errors", operation="web_page", error_type="ValueError") == 1
        assert heard.total("web_page.duration", error_type="ValueError") == 1
        assert not heard.spans[0].status.is_ok
        assert "4111-1111" not in heard.everything()

    def test_to_wait_for_a_human_is_no_error(self, heard: Heard) -> None:
        with pytest.raises(GraphInterrupt), telemetry.span("tool", tool="pay"):
            raise GraphInterrupt(())
        assert heard.points("errors") == {}
        assert heard.total("tool.duration", tool="pay") == 1


class TestWhatIsDropped:
    def test_content_in_a_label_becomes_other(self, heard: Heard) -> None:
        telemetry.count("degradations", part=SECRET)
        with telemetry.span("tool", tool=SECRET):
            pass
        with telemetry.span("embedding", model="x" * 65, input="query") as measured:
            measured.set(texts=SECRET, error_type="not a class name")
        assert heard.total("degradations", part="other") == 1
        assert heard.total("tool.duration", tool="other") == 1
        assert heard.total("errors", error_type="other") == 1
        assert "4111-1111" not in heard.everything()

    @pytest.mark.parametrize(
        "mistake",
        [
            lambda: telemetry.count("no such thing"),
            lambda: telemetry.record("context.tokens", float("nan"), section="total"),
        ],
    )
    def test_what_is_not_declared_is_logged_and_raises_nothing(
        self, mistake: Any, heard: Heard, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("react_mem.memory.telemetry.emit._refused", set())
        with caplog.at_level(logging.ERROR):
            mistake()
        assert "not recorded" in caplog.text
        assert '"data_points": [{' not in heard.everything()

    def test_a_label_that_is_not_declared_is_left_out(
        self, heard: Heard, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("react_mem.memory.telemetry.emit._refused", set())
        telemetry.count("degradations", part="vector", user_id="ann")
        assert heard.points("degradations") == {frozenset({("part", "vector")}): 1}
        assert "no label 'user_id'" in caplog.text
        assert "ann" not in heard.everything()

    def test_a_label_has_only_so_many_values(self) -> None:
        label = Name("model")
        told = {label.admit(f"model-{number}") for number in range(1000)}
        assert len(told) == 51
        assert label.admit("model-3") == "model-3"
        assert label.admit("model-999") == "other"


class TestModels:
    def test_a_message_of_a_known_model_has_a_price(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def answer(model: str) -> AIMessage:
            usage = {"input_tokens": 500_000, "output_tokens": 0, "total_tokens": 500_000}
            return AIMessage("x", usage_metadata=usage, response_metadata={"model_name": model})

        assert telemetry.cost_of(answer("gpt-4.1-mini-2025-04-14")) > 0
        assert telemetry.cost_of(answer("nobody-knows-me")) is None
        monkeypatch.setattr("react_mem.memory.telemetry.emit._PRICED", False)  # without the extra
        assert telemetry.cost_of(answer("gpt-4.1-mini-2025-04-14")) is None


class TestTheCatalogue:
    def test_every_call_in_the_sources_is_declared(self) -> None:
        calls = list(_calls())
        assert len(calls) > 20
        assert [problem for call in calls for problem in _problems(*call)] == []


_CHECKED = {"count", "record", "span", "observe", "model_call"}


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for package in ("agents", "graphs", "memory", "tools", "integrations"):
        for path in (ROOT / package).rglob("*.py"):
            # only where it is called: to parse a file takes its time
            for call in _calls_in(text) if "telemetry." in (text := path.read_text()) else ():
                yield f"{path.relative_to(ROOT)}:{call.lineno}", call


def _calls_in(source: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module, function = node.func.value, node.func.attr
            if isinstance(module, ast.Name) and module.id == "telemetry" and function in _CHECKED:
                yield node


def _problems(where: str, call: ast.Call) -> list[str]:
    assert isinstance(call.func, ast.Attribute)
    what, named = call.func.attr, call.args[0]
    name = named.value if isinstance(named, ast.Constant) else None
    if what == "model_call":
        [purpose] = (label for operation in OPERATIONS for label in operation.labels if label.name == "purpose")
        return [] if _fits(purpose, named) else [f"{where}: no purpose {name}"]
    known: dict[str, tuple[Label, ...]] = {instrument.name: instrument.labels for instrument in INSTRUMENTS}
    if what == "span":
        known = {operation.name: operation.labels for operation in OPERATIONS}
    if name not in known:
        return [f"{where}: no {what} {name}"]
    labels = {label.name: label for label in known[name]}
    return [
        f"{where}: {name} takes no {keyword.arg}={ast.unparse(keyword.value)}"
        for keyword in call.keywords
        if keyword.arg not in labels or not _fits(labels[keyword.arg], keyword.value)
    ]


def _fits(label: Label, value: ast.expr) -> bool:
    """Return whether a value, as far as the source tells it, is one of the label's; text that is made up is not."""
    if isinstance(value, ast.IfExp):
        return _fits(label, value.body) and _fits(label, value.orelse)
    if isinstance(value, ast.Constant):
        return label.admit(value.value) == value.value if isinstance(label, Choice) else isinstance(value.value, str)
    return not isinstance(value, ast.JoinedStr | ast.BinOp)
