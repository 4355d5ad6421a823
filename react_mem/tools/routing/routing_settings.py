"""Settings of the switching engine, which chooses a turn's tools and layers of memory: an agent's `switching`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class RouteSettings(BaseModel, extra="forbid", frozen=True):
    """Description of a tool in a config, beside its own `metadata` of the same names."""

    examples: tuple[str, ...] = Field((), description="What people say who need it, in any language.")
    after: tuple[str, ...] = Field((), description="Tools after which it is often the next.")
    requires: tuple[str, ...] = Field((), description="Tools that it cannot be used without: they come with it.")
    prefetch: bool | None = Field(
        None,
        description="Whether it may run ahead while the model thinks: it only reads, and needs nothing or a `query`.",
    )


class SwitchSettings(BaseModel, extra="forbid", frozen=True):
    """Selection of a turn's tools and layers of memory."""

    mode: Literal["off", "semantic", "model"] = Field(
        "off",
        description="Choose nothing; or what is nearest to the request; or what the small model picks from the "
        "nearest, tools and layers in one more model call before each answer.",
    )
    above: int = Field(12, ge=1, description="So many tools are all offered: there is nothing to choose.")
    layers: Literal["off", "first", "limit"] = Field(
        "first",
        description="Choose the layers of memory of a turn too, whatever its tools: what is found in them gets room "
        "first, and with `limit` the others show their two best alone.",
    )
    max_tools: int = Field(10, ge=1, le=64, description="Tools that are offered, at most, beside `always`.")
    always: tuple[str, ...] = Field((), description="Tools that are offered in every turn.")
    routes: dict[str, RouteSettings] = Field(default_factory=dict, description="What is known of tools, by their name.")
    max_suggestions: int = Field(3, ge=0, le=10, description="Next steps that are suggested; 0 suggests none.")
    show_suggestions: bool = Field(
        False,
        description="Whether they stand at the end of the answer too, as a line that memory does not take for said.",
    )
    learn: bool = Field(True, description="Whether what the user's earlier turns called one after the other counts.")
    timeout: float = Field(
        3.0, gt=0, le=60, description="Seconds for the choice, the small model's call included; then the nearest do."
    )
    prefetch_seconds: float = Field(
        5.0, ge=0, le=60, description="Seconds that a tool may run ahead, beside the model's call; 0 runs none."
    )


def as_switch_settings(value: Any) -> Any:
    """Take a mode for settings: `switching: semantic` is `switching: {mode: semantic}`.

    >>> as_switch_settings("model")
    {'mode': 'model'}
    """
    if value is False:  # YAML reads a bare `off` as false
        value = "off"
    return {"mode": value} if isinstance(value, str) else value
