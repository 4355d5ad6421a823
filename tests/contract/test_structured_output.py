"""`response_format`: strategies, unions, and what happens to answers that do not fit, as in `create_agent`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from langchain.agents.structured_output import (
    AutoStrategy,
    MultipleStructuredOutputsError,
    ProviderStrategy,
    StructuredOutputValidationError,
    ToolStrategy,
)
from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tests.contract.conftest import Build
from tests.contract.test_loop import City, ask, shape, weather
from tests.support.scripted_model import ScriptedModel, calls

GOOD = {"name": "Huế", "people": 1}
HUE = City(name="Huế", people=1)
BAD = calls(("City", {"name": "Huế", "people": "many"}))


class River(BaseModel):
    """A river."""

    name: str
    length: int


@dataclass
class CityData:
    """A city."""

    name: str
    people: int


class CityDict(TypedDict):
    """A city."""

    name: str
    people: int


CITY_SCHEMA = {"title": "City", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.mark.parametrize(
    ("schema", "name", "expected"),
    [
        (City, "City", HUE),
        (CityData, "CityData", CityData("Huế", 1)),
        (CityDict, "CityDict", GOOD),
        (CITY_SCHEMA, "City", GOOD),
        (AutoStrategy(City), "City", HUE),
    ],
    ids=["pydantic", "dataclass", "typed dict", "json schema", "auto"],
)
async def test_every_form_of_a_schema_is_filled(build_any: Build, schema: Any, name: str, expected: Any) -> None:
    result = await ask(build_any([calls((name, GOOD))], response_format=schema))
    assert result["structured_response"] == expected


async def test_the_model_chooses_one_of_a_union(build_any: Build) -> None:
    model = ScriptedModel(script=[calls(("River", {"name": "Hương", "length": 80}))])
    result = await ask(build_any(model, [weather], response_format=ToolStrategy(City | River)))
    assert result["structured_response"] == River(name="Hương", length=80)
    assert model.bound == [["weather", "City", "River"]]


@pytest.mark.parametrize(
    ("handle", "told"),
    [
        (True, "Please fix your mistakes"),
        ("Try again.", "Try again."),
        (lambda error: f"wrong: {type(error).__name__}", "wrong: StructuredOutputValidationError"),
        ((StructuredOutputValidationError, KeyError), "Please fix your mistakes"),
    ],
    ids=["default", "text", "function", "types"],
)
async def test_an_answer_that_does_not_fit_is_sent_back(
    build_any: Build, handle: bool | str | Callable[[Exception], str], told: str
) -> None:
    model = ScriptedModel(script=[BAD, calls(("City", GOOD))])
    result = await ask(build_any(model, response_format=ToolStrategy(City, handle_errors=handle)))
    assert told in model.prompts[1][-1].text
    assert result["structured_response"] == HUE


@pytest.mark.parametrize("handle", [False, MultipleStructuredOutputsError], ids=["no", "another error"])
async def test_or_it_is_raised(build_any: Build, handle: Any) -> None:
    with pytest.raises(StructuredOutputValidationError, match="City"):
        await ask(build_any([BAD], response_format=ToolStrategy(City, handle_errors=handle)))


async def test_a_tool_and_the_schema_at_once_run_the_tool_first(build_any: Build) -> None:
    both = calls(("weather", {"city": "Huế"}), ("City", GOOD))
    result = await ask(build_any([both, "never said"], [weather], response_format=City))
    assert result["structured_response"] == HUE
    assert "sunny in Huế" in [m.text for m in result["messages"]]
    assert ("ai", "never said") not in shape(result)


class Native(ScriptedModel):
    """A model whose provider fills schemas."""

    asked: list[dict[str, Any]] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.asked.append(kwargs)
        return super().bind_tools(tools)


FILLED = AIMessage('{"name": "Huế", "people": 1}')


@pytest.mark.parametrize("how", ["strategy", "profile"])
async def test_the_provider_fills_a_schema(build_any: Build, how: Literal["strategy", "profile"]) -> None:
    profile: Any = {"structured_output": how == "profile"}
    model = Native(script=[calls(("weather", {"city": "Huế"})), FILLED], profile=profile)
    format_: Any = City if how == "profile" else ProviderStrategy(City)
    result = await ask(build_any(model, [weather], response_format=format_))
    assert result["structured_response"] == HUE
    assert model.bound == [["weather"]] * 2
    assert all("response_format" in kwargs for kwargs in model.asked)


async def test_what_an_earlier_turn_filled_is_no_answer_to_this_one(build: Build) -> None:
    graph = build([calls(("City", GOOD)), "I do not know any"], response_format=City)
    assert (await ask(graph))["structured_response"] == HUE
    assert (await ask(graph, "another one?"))["structured_response"] is None
