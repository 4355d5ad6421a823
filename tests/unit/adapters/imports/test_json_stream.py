"""Large JSON is read an element at a time, and of what is broken line and cause are told."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_mem.integrations.importers import import_files
from react_mem.integrations.importers.import_files import json_elements

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def elements(text: str | bytes) -> list[tuple[str, int, Any]]:
    data = text if isinstance(text, bytes) else text.encode()
    return [element[:3] for element in json_elements(io.BytesIO(data), "export.json")]


@settings(max_examples=40)
@given(values=st.lists(VALUES, max_size=8), indent=st.sampled_from([None, 1]), piece=st.integers(1, 40))
def test_an_array_is_read_as_it_is_in_pieces_of_any_size(values: list[Any], indent: int | None, piece: int) -> None:
    text = json.dumps(values, ensure_ascii=False, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_files, "_PIECE", piece)
        assert [value for _, _, value in elements(text)] == values


def test_an_object_gives_the_elements_of_its_arrays_by_their_names() -> None:
    text = '{"count": 2, "results": [\n{"id": 1},\n{"id": 2}\n], "next": null, "none": []}'
    assert elements(text) == [("count", 1, 2), ("results", 2, {"id": 1}), ("results", 3, {"id": 2}), ("next", 4, None)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"a": 1},\n {"a" 2}]', "line 2: is not JSON that can be read (expecting ':' delimiter)"),
        ('[{"a": 1},\n\n {"a": "b', "line 3: is not JSON that can be read (it ends in the middle of a value"),
        ('[{"a": 1} {"a": 2}]', "line 1: is not JSON that can be read (a comma is missing)"),
        ('{"a": [1]', "(it ends in the middle of an object"),
        ("[1]\n[2]", "line 2: is not JSON that can be read (something follows behind its end)"),
        ("[" * 100_000, "(it is nested too deeply)"),
        (b'["caf\xe9"]', "behind line 1: is not UTF-8"),
        ("hello", "line 1: is not JSON that can be read"),
    ],
)
def test_of_what_is_broken_line_and_cause_are_told(text: str | bytes, told: str) -> None:
    with pytest.raises(ValueError, match="export") as refused:
        elements(text)
    assert told in str(refused.value)


def test_a_value_without_an_end_is_not_read_to_the_end_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_files, "MAX_ELEMENT", 10_000)
    monkeypatch.setattr(import_files, "_PIECE", 1_000)

    class Endless(io.RawIOBase):
        given = 1

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return b'["' + b"a" * (size - 2) if self.given == size + 1 else b"a" * size

    endless = Endless()
    with pytest.raises(ValueError, match="more than 10,000 characters"):
        list(json_elements(endless, "export.json"))  # type: ignore[arg-type]
    assert endless.given < 200_000
