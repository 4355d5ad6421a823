"""Profile scope: the user as a person, one document, merged by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any

from langgraph.store.base import GetOp, Op

from react_mem.memory.graph.links import origins_of
from react_mem.memory.index.recall import Question, RecallOp
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.secrets import masked_in
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.namespaces import READING, off_loop
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.profile_schema import PROFILE_KEY, Profile, ProfileField, ProfileFieldSpec, ProfileValue
from react_mem.memory.model.records import now, with_zone, written_in
from react_mem.memory.scopes.scope import ScopeStore
from react_mem.memory.store.transactions import transact

_ORIGINS = list(Origin)


@dataclass(frozen=True)
class ProfileUpdate:
    """Result of changes to a profile: the profile, if there is one by now, and why fields were refused, by name."""

    profile: Profile | None
    refused: dict[str, str] = field(default_factory=dict)


class ProfileMemoryStore(ScopeStore):
    """The profile scope."""

    scope = MemoryScope.PROFILE

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Get the owner's profile."""
        return [GetOp(self.namespace(query.user_id), PROFILE_KEY)] if self._policy.recall.profile else []

    def as_of(self, value: Mapping[str, Any], at: datetime) -> dict[str, Any] | None:
        """Return the profile with the values of a time; None where no field had any yet."""
        profile = Profile.from_value(dict(value))
        held = {
            name: [one for one in values_of(entry) if with_zone(one.updated_at) <= at]
            for name, entry in profile.fields.items()
        }
        fields = {name: merged_field(values) for name, values in held.items() if values}
        return with_text(profile.model_copy(update={"fields": fields})).to_value() if fields else None

    async def get_profile(self, user_id: str) -> Profile | None:
        """Return the profile of a user; None where there is none."""
        found = await self.get(user_id, [PROFILE_KEY])
        return Profile.from_value(found[PROFILE_KEY]) if found else None

    async def update_profile(
        self,
        user_id: str,
        changes: Mapping[str, str | float | Sequence[Any] | Mapping[str, Any] | ProfileValue],
        *,
        session_id: str = "",
        agent_id: str = "",
        source_ids: Sequence[str] = (),
        at: datetime | None = None,
    ) -> ProfileUpdate:
        """Merge changes into a profile, field by field (see `merge_profile`), said at a time or now.

        Args:
            changes: The new values, each a text, a number, a truth value, or a list or mapping of these, which becomes
                text ("a; b", "name: value"), or with its own sources and date. Anything else is a ValueError.
        """
        when = at or now()
        values = {
            name: change
            if isinstance(change, ProfileValue)
            else ProfileValue(value=_as_text(name, change), source_ids=tuple(source_ids), updated_at=when)
            for name, change in changes.items()
        }
        return await self._update(user_id, values, session_id=session_id, agent_id=agent_id)

    async def _update(self, user_id: str, values: Mapping[str, ProfileValue], **written: Any) -> ProfileUpdate:
        await self._room(user_id, [values])
        return await transact(self.store, user_id, partial(self.changes, user_id, values, **written))

    async def changes(
        self,
        user_id: str,
        values: Mapping[str, ProfileValue],
        *,
        session_id: str,
        agent_id: str,
        told: Mapping[str, Any] = MappingProxyType({}),
    ) -> tuple[ProfileUpdate, list[Change]]:
        """Return the outcome of new values and the write of it, for the step of a transaction.

        No value is trusted more than its source messages. `told` is the flow of it: see `written_in`.
        """
        if self._policy.secrets != "keep":
            given = {name: value.value for name, value in values.items()}
            kept = await off_loop(READING * sum(map(len, given.values())), partial(masked_in, given))
            values = {name: value.model_copy(update={"value": kept[name]}) for name, value in values.items()}
        before = await self.get_profile(user_id)
        known = await origins_of(self.store, user_id, (one for value in values.values() for one in value.source_ids))
        vouched = {
            name: value.model_copy(
                update={"origin": lowest([value.origin, *filter(None, map(known.get, value.source_ids))])}
            )
            for name, value in values.items()
        }
        update = merge_profile(before, vouched, self._policy.profile, session_id=session_id, agent_id=agent_id)
        if update.profile is None or update.profile == before:
            return update, []
        profile = update.profile.model_copy(update=told)
        return replace(update, profile=profile), [put(user_id, profile)]

    async def write(self, event: MemoryWriteEvent) -> None:
        """Merge the fields of an event: {"fields": {name: value}}, {name: value}, or a whole profile.

        A ValueError says that it has no fields, or that the schema does not take one of them.
        """
        plain = {} if "fields" in event.data else {n: v for n, v in event.data.items() if n not in Profile.model_fields}
        data = {name: value for name, value in event.data.items() if name not in plain}
        given = data.get("fields", plain)
        if not isinstance(given, Mapping) or not given:
            raise ValueError('memory scope profile: fields: is missing; give {"fields": {"name": "Lan"}}')
        fields = {
            name: value
            if isinstance(value, ProfileValue) or (isinstance(value, Mapping) and "value" in value)
            else {"value": _as_text(name, value), "updated_at": data.get("created_at", now())}
            for name, value in given.items()
        }
        own = {"id": PROFILE_KEY, "text": "", "session_id": event.session_id, "agent_id": event.agent_id}
        profile = self.made(Profile, {**own, **written_in(event), **data, "fields": fields})
        for name, entry in profile.fields.items():
            if problem := _problem(name, entry, self._policy.profile) if entry.value.strip() else "is empty":
                raise ValueError(f"memory scope profile: fields.{name}: {problem}")
        here = {"session_id": profile.session_id, "agent_id": profile.agent_id}
        await self._update(event.user_id, profile.fields, **here, told=written_in(profile))


def merge_profile(
    before: Profile | None,
    changes: Mapping[str, ProfileValue],
    schema: Mapping[str, ProfileFieldSpec],
    *,
    session_id: str,
    agent_id: str,
) -> ProfileUpdate:
    """Return a profile with changes merged into it, field by field, within the schema (empty for any field).

    The value with the latest date wins, whatever its order of arrival; the others stay as former values. Only the
    user's own words replace the user's own words. An empty value clears the field and keeps its former values: only
    forgetting removes them. The merge is idempotent and independent of order.
    """
    refused = {name: problem for name, change in changes.items() if (problem := _problem(name, change, schema))}
    fields = dict(before.fields) if before else {}
    for name, change in changes.items():
        if name not in refused:
            known = fields.get(name)
            fields[name] = merged_field([*(values_of(known) if known else ()), *values_of(change)])
    if not fields or (before is not None and fields == before.fields):
        return ProfileUpdate(before, refused)
    latest = max(fields.values(), key=lambda entry: entry.updated_at)
    order = {name: place for place, name in enumerate(schema)}
    profile = Profile(
        id=PROFILE_KEY,
        text="",
        fields=dict(sorted(fields.items(), key=lambda entry: (order.get(entry[0], len(order)), entry[0]))),
        created_at=before.created_at if before else latest.updated_at,
        session_id=session_id,
        agent_id=agent_id,
        origin=lowest(entry.origin for entry in fields.values()),
    )
    return ProfileUpdate(with_text(profile), refused)


def values_of(entry: ProfileValue) -> list[ProfileValue]:
    """Return all present and former values of a field, the latest last."""
    plain = ProfileValue(**{name: getattr(entry, name) for name in ProfileValue.model_fields})
    return [*(entry.previous if isinstance(entry, ProfileField) else ()), plain]


def merged_field(values: Iterable[ProfileValue]) -> ProfileField:
    """Return a field with these values: the user's latest is the present one, else the latest of all.

    Equal values of the same origin are one. A less trusted repetition does not lower a value, and is kept as a former
    one, for when the other is forgotten.
    """
    merged: dict[tuple[str, Origin], ProfileValue] = {}
    for value in values:
        known = merged.setdefault((normalise(value.value), value.origin), value)
        latest = max(known, value, key=lambda one: (one.updated_at, one.value))
        sources = tuple(dict.fromkeys([*known.source_ids, *value.source_ids]))
        merged[normalise(value.value), value.origin] = latest.model_copy(update={"source_ids": sources})

    def held_last(one: ProfileValue) -> tuple[bool, datetime, str, int]:
        return one.origin is Origin.USER, one.updated_at, one.value, -_ORIGINS.index(one.origin)

    *previous, last = sorted(merged.values(), key=held_last)
    return ProfileField(**dict(last), previous=tuple(previous))


def split_fields(
    fields: Mapping[str, ProfileValue], is_gone: Callable[[str, ProfileValue, str], bool]
) -> tuple[dict[str, ProfileField], dict[str, ProfileField]]:
    """Return the fields of a profile without sources that are gone, and the values that only these state."""
    kept: dict[str, list[ProfileValue]] = {}
    dropped: dict[str, list[ProfileValue]] = {}
    for name, entry in fields.items():
        for value in values_of(entry):
            only = tuple(source for source in value.source_ids if is_gone(name, value, source))
            without = tuple(source for source in value.source_ids if source not in only)
            if without or not value.source_ids:
                kept.setdefault(name, []).append(value.model_copy(update={"source_ids": without}))
            if only:
                dropped.setdefault(name, []).append(value.model_copy(update={"source_ids": only}))
    left, out = ({name: merged_field(values) for name, values in part.items()} for part in (kept, dropped))
    # that something was cleared of which nothing is known says nothing
    return {name: entry for name, entry in left.items() if any(value.value for value in values_of(entry))}, out


def with_text(profile: Profile) -> Profile:
    """Return a profile with its text made from the present values."""
    text = "; ".join(f"{name}: {entry.value}" for name, entry in profile.fields.items() if entry.value)
    return profile.model_copy(update={"text": text})


def _as_text(name: str, value: object) -> str:
    """Return a text, number, truth value, list or mapping as text; anything else is a `ValueError`."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case Mapping():
            return "; ".join(f"{key}: {_as_text(f'{name}.{key}', one)}" for key, one in value.items())
        case list() | tuple():
            return "; ".join(_as_text(f"{name}[{place}]", one) for place, one in enumerate(value))
        case _:
            raise ValueError(
                f"memory scope profile: fields.{name}: must be a text, a number or a truth value, or a list or mapping "
                f"of these, got {value!r:.80}"
            )


def _problem(name: str, change: ProfileValue, schema: Mapping[str, ProfileFieldSpec]) -> str:
    if not schema:
        return ""
    if name not in schema:
        return f"is not a field of this profile; it has {', '.join(schema)}"
    # an empty value clears any field
    return schema[name].problem(change.value) if change.value.strip() else ""
