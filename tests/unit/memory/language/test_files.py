"""The files of the languages: what each has, and that the words of a language stand nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import react_mem.memory.language as room
from react_mem.memory.language import FILES, LANGUAGES, Language

ROOT = Path(room.__file__).parents[2]
_TOLD_BY_LETTERS = re.compile(
    r"[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹĩũ]|[\u3040-\u30ff\u3400-\u9fff]", re.IGNORECASE
)

EXAMPLES = {
    # shown to people: the demo's dialogue, and the examples of the API's description
    "agents/terminal/demo.py",
    "graphs/chat_summary_route.py",
}


OF_GRAMMAR = {"no_past", "past_of_a_thing", "weak_in_questions", "about_oneself"}
"""Phrases that a language may do without: exceptions of English, and words for rules that only some have."""


def _texts(file: Path) -> Iterator[str]:
    """Yield the strings of a module that are no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            # a range is of a script, not of a language
            yield re.sub(".-.", "", node.value)


def test_the_words_of_a_language_stand_in_its_file() -> None:
    found = {
        str(file.relative_to(ROOT))
        for package in ("agents", "graphs", "memory", "tools")
        for file in (ROOT / package).rglob("*.py")
        if file.parent != ROOT / "memory" / "language"
        if any(_TOLD_BY_LETTERS.search(text) for text in _texts(file))
    }
    assert found - EXAMPLES == set()


def test_a_language_has_one_list_of_stop_words_marked_by_use() -> None:
    english = LANGUAGES[0]
    assert {"remind", "the"} <= english.stop
    assert {"about", "the"} <= english.unsearched
    assert "about" not in english.stop
    assert "remind" not in english.unsearched
    assert not any(name.startswith("stop_") for data in FILES.values() for name in data)
    marked = "".join(word for one in LANGUAGES for word in one.stop | one.unsearched)
    assert not {"?", "*"} & set(marked)


@pytest.mark.parametrize("code", FILES)
def test_a_file_is_read_without_the_loader_in_c(code: str) -> None:
    text = (ROOT / "memory" / "language" / f"{code}.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == FILES[code]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.code)
def test_a_language_has_all_that_the_others_have(language: Language) -> None:
    english = LANGUAGES[0]
    assert language.wording.keys() == english.wording.keys()
    assert english.cues.keys() - language.cues.keys() <= OF_GRAMMAR
    assert all((language.stop, language.same, language.single, language.number_words))
    # how words of times are put together in a language with spaces is code
    assert language.times or not language.unspaced
    assert language.customer.keys() == english.customer.keys()
