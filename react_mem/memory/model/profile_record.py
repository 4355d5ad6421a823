"""The record of what is known about a user as a person: one profile, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Record, imported, now

PROFILE_KEY = "profile"
"""The key of a user's one profile document."""


class ProfileValue(BaseModel, extra="forbid", frozen=True):
    """Former value of a profile's field, when it was last said, and its provenance."""

    value: str
    source_ids: tuple[str, ...] = ()
    origin: Origin = Origin.USER
    updated_at: datetime = Field(default_factory=now)


class ProfileField(ProfileValue):
    """One field of a profile, with where and when it was learnt, and what it held before, the oldest first."""

    previous: tuple[ProfileValue, ...] = ()


class Profile(Record):
    """Profile of a user: one document, merged by field."""

    kind: Literal["profile"] = "profile"
    fields: dict[str, ProfileField] = Field(default_factory=dict)

    def known_values(self) -> dict[str, str]:
        """Return what the fields hold and have held, by what they are called."""
        values = {name: field.value for name, field in self.fields.items()}
        for name, field in self.fields.items():
            values |= {f"{name} former {place}": former.value for place, former in enumerate(field.previous)}
        # what was cleared is not a value
        return {name: value for name, value in values.items() if value}

    @classmethod
    def as_imported(cls, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a profile as taken in from a file, with all that its fields hold and held."""
        fields = {
            name: imported(entry) | {"previous": [*map(imported, entry.get("previous", ()))]}
            for name, entry in value.get("fields", {}).items()
        }
        return super().as_imported({**value, "fields": fields})
