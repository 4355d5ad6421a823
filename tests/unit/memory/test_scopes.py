"""A profile is merged the same in any order; its schema is written in three ways."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.profile_schema import Profile, ProfileFieldSpec, ProfileValue
from react_mem.memory.scopes.profile import merge_profile, merged_field, split_fields, values_of

START = datetime(2026, 1, 1, tzinfo=UTC)

CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["city", "name"]),
        st.sampled_from(["Huế", "huế", "Hà Nội", "Đà Nẵng", ""]),
        st.integers(0, 4),
        st.sampled_from(["m1", "m2", "m3"]),
    ),
    min_size=1,
    max_size=8,
)


def merged(changes: list[tuple[str, str, int, str]]) -> Profile:
    profile: Profile | None = None
    for name, value, day, source in changes:
        change = ProfileValue(value=value, source_ids=(source,), updated_at=START + timedelta(days=day))
        profile = merge_profile(profile, {name: change}, {}, session_id="s", agent_id="a").profile
    assert profile is not None
    return profile


def said(profile: Profile) -> dict[str, list[tuple[str, datetime, frozenset[str]]]]:
    return {
        name: [(value.value, value.updated_at, frozenset(value.source_ids)) for value in values_of(entry)]
        for name, entry in profile.fields.items()
    }


@given(CHANGES, st.randoms(use_true_random=False))
def test_any_order_and_any_repetition_give_the_same_profile(
    changes: list[tuple[str, str, int, str]], random: object
) -> None:
    shuffled = [*changes, *changes]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    once, again = merged(changes), merged(shuffled)
    assert said(once) == said(again)
    assert once.text == again.text
    for name, _, day, _ in changes:
        assert once.fields[name].updated_at >= START + timedelta(days=day)


@given(st.lists(st.sampled_from([Origin.USER, Origin.TOOL, Origin.IMPORT]), min_size=1, max_size=5), st.data())
def test_a_value_is_the_strongest_that_says_it_and_without_them_the_next(origins: list[Origin], data: Any) -> None:
    values = [
        ProfileValue(value="Huế", origin=origin, source_ids=(f"m{place}",), updated_at=START + timedelta(days=place))
        for place, origin in enumerate(origins)
    ]
    field = merged_field(data.draw(st.permutations(values)))
    if Origin.USER not in origins:
        assert field.origin is origins[-1]
        return
    own = {f"m{place}" for place, origin in enumerate(origins) if origin is Origin.USER}
    assert (field.origin, set(field.source_ids)) == (Origin.USER, own)
    left, _ = split_fields({"city": field}, lambda _name, _value, source: source in own)
    assert [entry.origin for entry in left.values()] == [one for one in origins if one is not Origin.USER][-1:]


class Person(BaseModel):
    """What an author might write."""

    age: int | None = Field(None, description="In years.")
    name: str = Field(description="What to call the user.")


WAYS = {
    "descriptions": {"age": {"type": "integer", "description": "In years."}, "name": "What to call the user."},
    "JSON schema": {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "description": "In years."},
            "name": {"type": "string", "description": "What to call the user."},
        },
    },
    "pydantic": f"{__name__}:Person",
    "pydantic by dots": f"{__name__}.Person",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_schema_is_written_in_any_way(way: str) -> None:
    policy = MemoryPolicy.model_validate({"profile": WAYS[way]})
    assert policy.profile == {
        "age": ProfileFieldSpec(description="In years.", type="integer"),
        "name": ProfileFieldSpec(description="What to call the user."),
    }
    assert list(policy.profile) == ["age", "name"]
    assert MemoryPolicy.model_validate(policy.model_dump()) == policy


@pytest.mark.parametrize(
    ("schema", "cause"),
    [
        (["name"], "must be {field: description}"),
        ("nowhere.at_all:Model", "cannot be imported"),
        (f"{__name__}:WAYS", "is not a pydantic model"),
        ({"type": "object", "properties": {"age": 3}}, "age: must be a JSON schema"),
    ],
)
def test_a_schema_that_is_none_says_so(schema: object, cause: str) -> None:
    with pytest.raises(ValidationError, match=cause):
        MemoryPolicy.model_validate({"profile": schema})


@pytest.mark.parametrize(
    ("spec", "value", "problem"),
    [
        (ProfileFieldSpec(type="integer"), "41", ""),
        (ProfileFieldSpec(type="number"), "x", "'x' is not a number"),
        (ProfileFieldSpec(type="boolean"), "yes", "'yes' is not a boolean"),
        (ProfileFieldSpec(options=("vi", "en")), "fr", "'fr' is not one of: vi, en"),
        (ProfileFieldSpec(type="array"), "tea, coffee", ""),
    ],
)
def test_a_field_takes_what_its_type_allows(spec: ProfileFieldSpec, value: str, problem: str) -> None:
    assert spec.problem(value) == problem
