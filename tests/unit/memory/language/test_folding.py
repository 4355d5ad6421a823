"""One spelling for all comparisons: every place that leaves diacritics out does so in the same way."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import react_mem.memory.language.folding as folding
from react_mem.memory.language.comparison import Vocabulary
from react_mem.memory.language.folding import fold, spelling, unmarked
from react_mem.memory.language.terms import content_terms as telling
from react_mem.memory.language.times.vocabulary import for_times

ROOT = Path(folding.__file__).parents[2]

WAYS = ["Đà Nẵng", "ĐÀ NẴNG", "đà nẵng", "Da Nang", "Ｄa Nang", unicodedata.normalize("NFD", "Đà Nẵng")]


@pytest.mark.parametrize("way", WAYS)
def test_a_name_folds_one_way_wherever_it_is_compared(way: str) -> None:
    assert fold(way) == for_times(way) == "da nang"
    assert spelling(way.casefold()) == "danang"
    assert "nang" in telling(way)
    assert way.split()[0] in Vocabulary(["đà"])


def test_nothing_else_leaves_diacritics_out() -> None:
    own = re.compile(r"[\"']NFK?D[\"']")
    packages = ("agents", "graphs", "memory", "tools", "integrations")
    found = {
        str(file.relative_to(ROOT))
        for package in packages
        for file in (ROOT / package).rglob("*.py")
        if own.search(file.read_text(encoding="utf-8"))
    }
    assert found == {"memory/language/folding.py"}


@pytest.mark.parametrize(("kana", "other"), [("が", "か"), ("ポ", "ホ"), ("ｶﾞ", "カ")])
def test_a_kana_with_its_mark_is_another_letter(kana: str, other: str) -> None:
    assert fold(kana) == unicodedata.normalize("NFKC", kana) != fold(other)


@given(st.text())
@example("か\u0300\u3099")
@example("İㄱ㎅ẹ́\ud800")
def test_folding_is_idempotent_and_does_not_depend_on_composition(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert unmarked(unmarked(text)) == unmarked(text)
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == fold(text)
