"""Namespaces: one owner never reaches another, whatever the names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.model.namespaces import decode, encode, owner_namespace

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(names)
def test_a_name_comes_back_as_it_was_and_is_a_label(name: str) -> None:
    assert decode(encode(name)) == name
    assert "." not in encode(name)


@given(names, names)
def test_two_owners_share_no_namespace(one: str, other: str) -> None:
    if one != other:
        mine, theirs = ".".join(owner_namespace(one)), ".".join(owner_namespace(other))
        assert mine != theirs
        assert not theirs.startswith(f"{mine}.")


def test_an_empty_owner_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        owner_namespace("")


def test_broken_unicode_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="valid Unicode"):
        owner_namespace("\ud800")
