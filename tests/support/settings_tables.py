"""The tables of settings in docs/configuration.md: made from the settings' own descriptions, so that none is left out.

`python -m tests.support.settings_tables` writes them again; a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from react_mem.agents.config import AgentConfig, ModelsConfig
from react_mem.agents.standing_files import StandingInstructions
from react_mem.memory.model.external import ModelEndpoint, WebSettings
from react_mem.memory.model.policy import (
    ContextSettings,
    ExtractionSettings,
    LearningSettings,
    MemoryPolicy,
    QuotaSettings,
    RecallSettings,
    RetentionSettings,
    SummarySettings,
    TaskSettings,
)
from react_mem.memory.model.profile_schema import ProfileFieldSpec
from react_mem.tools.routing.routes import RouteSettings, SwitchSettings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"

MODELS: tuple[type[BaseModel], ...] = (
    AgentConfig,
    ModelsConfig,
    ModelEndpoint,
    StandingInstructions,
    MemoryPolicy,
    RecallSettings,
    ContextSettings,
    ProfileFieldSpec,
    ExtractionSettings,
    SummarySettings,
    LearningSettings,
    TaskSettings,
    RetentionSettings,
    QuotaSettings,
    WebSettings,
    SwitchSettings,
    RouteSettings,
)
"""Every model that an agent's YAML has keys of."""

_NO_KEY = {(AgentConfig, "name")}
"""A file's name says it."""

_TABLE = re.compile(r"(<!-- settings: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def written(page: str) -> str:
    """Return a page with its tables as they are to be."""
    models = {model.__name__: model for model in MODELS}
    return _TABLE.sub(lambda found: f"{found[1]}{table(models[found[2]])}{found[3]}", page)


def models_of(page: str) -> list[str]:
    """Return the names of the models that a page has tables of."""
    return [name for _, name, _ in _TABLE.findall(page)]


def nested(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield a model and every model that its fields hold."""
    yield model
    for field in model.model_fields.values():
        for inner in _models_in(field.annotation):
            yield from nested(inner)


def table(model: type[BaseModel]) -> str:
    """Return the fields of a model as a Markdown table."""
    said = _said_of(model)
    lines = ["| Key | Default | What it is |", "| --- | --- | --- |"]
    for name, field in model.model_fields.items():
        if (model, name) in _NO_KEY:
            continue
        options = "".join(f" One of {', '.join(f'`{one}`' for one in options)}." for options in _options_in(field))
        text = f"{field.description or said.get(name, '')}{options}".replace("|", "\\|")
        lines.append(f"| `{name}` | {_default(field)} | {text} |")
    return "\n".join(lines) + "\n"


def _said_of(model: type[BaseModel]) -> dict[str, str]:
    """Return what the `Args` of a model's docstring say of its fields."""
    part = (model.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4,8}(\w+): (.*?)(?=^ {4,8}\w+: |\Z)", part, re.MULTILINE | re.DOTALL)
    return {name: " ".join(text.split()) for name, text in entries}


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None or isinstance(field.default, BaseModel):
        return ""
    value = field.default
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, frozenset | tuple | list):
        shown = [str(one) for one in value]
        value = f"[{', '.join(sorted(shown) if isinstance(value, frozenset) else shown)}]"
    return "" if value is None or value == "" or value == {} else f"`{value}`"


def _options_in(field: FieldInfo) -> Iterator[tuple[str, ...]]:
    annotations = [field.annotation, *get_args(field.annotation)]
    for annotation in annotations:
        if get_origin(annotation) is Literal:
            yield tuple(map(str, get_args(annotation)))
        elif isinstance(annotation, type) and issubclass(annotation, StrEnum):
            yield tuple(annotation)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not None or isinstance(annotation, UnionType):
        for inner in get_args(annotation):
            yield from _models_in(inner)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
