"""Schema of a user's profile, as an agent's author declares it, and the profile record."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, Field

from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Record, imported, now


class ProfileFieldSpec(BaseModel, extra="forbid", frozen=True):
    """Declaration of a profile's field.

    Args:
        description: What it holds, for whoever fills it in.
        type: Its JSON type; `integer`, `number` and `boolean` are checked, anything else is text.
        options: The values it may have; empty for any.
    """

    description: str = ""
    type: str = "string"
    options: tuple[str, ...] = ()

    def problem(self, value: str) -> str:
        """Return the reason why a value does not fit the field; empty if it does.

        >>> ProfileFieldSpec(type="integer").problem("forty")
        "'forty' is not an integer"
        """
        if self.options and value not in self.options:
            return f"{value[:80]!r} is not one of: {', '.join(self.options)}"
        try:
            match self.type:
                case "integer":
                    int(value)
                case "number":
                    float(value)
                case "boolean" if value.casefold() not in ("true", "false"):
                    raise ValueError
        except ValueError:
            return f"{value[:80]!r} is not {'an' if self.type == 'integer' else 'a'} {self.type}"
        return ""


def read_profile_schema(value: Any) -> Any:
    """Return {field: spec} of {field: description}, a JSON schema of an object, or the dotted path of a pydantic model.

    Raises:
        ValueError: If it has none of these forms; the message says what to do.

    >>> read_profile_schema({"name": "What to call the user."})
    {'name': {'description': 'What to call the user.'}}
    >>> read_profile_schema({"type": "object", "properties": {"age": {"type": "integer"}}})
    {'age': {'description': '', 'type': 'integer', 'options': ()}}
    """
    if isinstance(value, str):
        value = _model_schema(value)
    if not isinstance(value, Mapping):
        raise ValueError(
            "must be {field: description}, a JSON schema with 'properties', or the path 'package.module:Model' of a "
            f"pydantic model, got {value!r:.80}"
        )
    if value.get("type") == "object" and isinstance(value.get("properties"), Mapping):
        definitions = value.get("$defs") or {}
        return {name: _from_json_schema(name, part, definitions) for name, part in value["properties"].items()}
    return {name: {"description": part} if isinstance(part, str) else part for name, part in value.items()}


ProfileSchema = Annotated[dict[str, ProfileFieldSpec], BeforeValidator(read_profile_schema)]


def _model_schema(path: str) -> dict[str, Any]:
    try:
        model = pkgutil.resolve_name(path)
    except Exception as error:  # it is the author's module: anything may go wrong in it
        raise ValueError(
            f"{path!r} cannot be imported ({type(error).__name__}: {error}); write 'package.module:Model', with the "
            "package on PYTHONPATH"
        ) from None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise ValueError(f"{path!r} is not a pydantic model; name a subclass of pydantic.BaseModel")
    return model.model_json_schema()


def _from_json_schema(name: str, part: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(part, Mapping):
        raise ValueError(f"{name}: must be a JSON schema such as {{type: string, description: ...}}, got {part!r:.80}")
    resolved = {**definitions.get(str(part.get("$ref", "")).rpartition("/")[2], {}), **part}
    # an optional field of a pydantic model is "this or null"
    for option in resolved.get("anyOf", ()):
        if option.get("type") != "null":
            resolved = {**_from_json_schema(name, option, definitions), **resolved}
            break
    return {
        "description": str(resolved.get("description", "")),
        "type": str(resolved.get("type", "string")),
        "options": tuple(map(str, resolved.get("enum", resolved.get("options", ())))),
    }


# The record of what is known about a user as a person: one profile, field by field.

PROFILE_KEY = "profile"  # key of a user's one profile document


class ProfileValue(BaseModel, extra="forbid", frozen=True):
    """Value of a profile field, with its sources and the time when it was last said."""

    value: str
    source_ids: tuple[str, ...] = ()
    origin: Origin = Origin.USER
    updated_at: datetime = Field(default_factory=now)


class ProfileField(ProfileValue):
    """Profile field with its former values, the oldest first."""

    previous: tuple[ProfileValue, ...] = ()


class Profile(Record):
    """Profile of a user: one document, merged by field."""

    kind: Literal["profile"] = "profile"
    fields: dict[str, ProfileField] = Field(default_factory=dict)

    def known_values(self) -> dict[str, str]:
        """Return the present and former values of the fields, by name."""
        values = {name: field.value for name, field in self.fields.items()}
        for name, field in self.fields.items():
            values |= {f"{name} former {place}": former.value for place, former in enumerate(field.previous)}
        # what was cleared is not a value
        return {name: value for name, value in values.items() if value}

    @classmethod
    def as_imported(cls, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a profile as imported, with all present and former values."""
        fields = {
            name: imported(entry) | {"previous": [*map(imported, entry.get("previous", ()))]}
            for name, entry in value.get("fields", {}).items()
        }
        return super().as_imported({**value, "fields": fields})


# The time zone of a user, by which days are told when facts are drawn, questions are read and memories are shown.

_ZONE_NAMES = frozenset({"timezone", "tz", "utcoffset", "gmtoffset"})
"""Names of the profile's field for the user's time zone, without separators."""
_ZONE = re.compile(r"[A-Za-z][\w+-]*(?:/[\w+-]+){0,2}", re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT)? ?([+-]) ?(\d{1,2})(?::?([0-5]\d))?", re.ASCII | re.IGNORECASE)


def zone_of(profile: Profile | None) -> tzinfo:
    """Return the zone in a profile: an IANA name or offset, in other fields an IANA name of area and place; or UTC."""
    return zone_in({} if profile is None else profile.to_value())


def zone_in(profile: Mapping[str, Any]) -> tzinfo:
    """Return the zone in a profile, given as JSON; see `zone_of`."""
    values = {name: str(entry.get("value") or "") for name, entry in (profile.get("fields") or {}).items()}
    named = [value for name, value in values.items() if re.sub(r"[\W_]", "", name.casefold()) in _ZONE_NAMES]
    others = [value for value in values.values() if "/" in value]
    return next((zone for value in (*named, *others) if (zone := _zone(value))), UTC)


def _zone(value: str) -> tzinfo | None:
    said = value[:100].strip().replace("\N{MINUS SIGN}", "-")
    for part in [said, *re.split(r"[\s(),;]+", said)]:
        if offset := _OFFSET.fullmatch(part):
            minutes = 60 * int(offset[2]) + int(offset[3] or 0)
            if minutes < 24 * 60:
                return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
        elif _ZONE.fullmatch(part):
            for spelt in (part, part.title(), part.upper()):
                # a folder of zones is not a zone, and not every system says so in the same way
                with suppress(ValueError, OSError, LookupError):
                    return ZoneInfo(spelt)
    return None
