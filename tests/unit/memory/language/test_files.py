"""The files of the languages: what each has, and that the words of a language stand nowhere else."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
import yaml

import react_mem.memory.language as room
from react_mem.memory.language import FILES, LANGUAGES, Language
from react_mem.memory.language.folding import fold

ROOT = Path(room.__file__).parents[2]
_LETTER = re.compile(r"[^\W\d_a-zA-Z]")
_WORD = re.compile(r"(?<![\\\w])[a-z]{3,}(?:'[a-z]+)?(?!\w)")

EXAMPLES = {
    "agents/terminal/demo.py": "the dialogue of the demo",
    "graphs/chat_summary_route.py": "examples in the description of the API",
    "graphs/memory_api/conversations_api.py": "an example in the description of the API",
    "memory/write/summary_form.py": "an example in the description of the API",
    "memory/language/shown_parts.py": "words of programming languages",
    "memory/language/folding.py": "the letter that has no decomposition",
    "memory/language/terms.py": "a sign among the ranges of scripts",
    "memory/llm/answers.py": "signs of other scripts that look like brackets, or like nothing",
    "memory/store/postgres_server.py": "the word for joining texts in SQL, and conditions",
    "memory/store/left_traces.py": "the word for naming a table in SQL, and keys of metadata",
    "memory/model/identity.py": "letters without a shape, which no name may have",
}

OF_GRAMMAR = {"no_past", "past_of_a_thing", "summary_preface", "weak_in_questions", "about_oneself"}
"""Phrases that a language may do without: exceptions of English, and words for rules that only some have."""


def _texts(file: Path) -> Iterator[str]:
    """Yield the strings of a module that are no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            # a range is of a script, not of a language
            yield re.sub(".-.", "", node.value)


def _of_a_language(text: str) -> bool:
    """Return whether a pattern lists words of a language: alternatives with a small word."""
    listed = {word for part in text.split("|") for word in _WORD.findall(part)} if text.count("|") > 1 else set()
    small = frozenset[str]().union(*(map(fold, one.small_words | one.stop) for one in LANGUAGES))
    # the name of a role in a transcript, too
    return not listed.isdisjoint(small - {"user"})


def _modules() -> Iterator[Path]:
    for package in ("agents", "graphs", "memory", "tools", "integrations"):
        yield from (ROOT / package).rglob("*.py")


def test_the_words_of_a_language_stand_in_its_file() -> None:
    found = {
        str(file.relative_to(ROOT))
        for file in _modules()
        if any(_LETTER.search(text) or _of_a_language(text) for text in _texts(file))
    }
    assert found - EXAMPLES.keys() == set()


def test_a_language_has_one_list_of_stop_words_marked_by_use() -> None:
    english = LANGUAGES[0]
    assert {"remind", "the"} <= english.stop
    assert {"about", "the"} <= english.unsearched
    assert "about" not in english.stop
    assert "remind" not in english.unsearched
    assert not any(name.startswith("stop_") for data in FILES.values() for name in data)
    marked = "".join(word for one in LANGUAGES for word in one.stop | one.unsearched)
    assert not {"?", "*"} & set(marked)


def test_a_file_is_read_without_the_loader_in_c() -> None:
    text = (ROOT / "memory" / "language" / "vi.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == FILES["vi"]


def test_every_pattern_can_be_compiled() -> None:
    """A mistake in a file shows when its pattern is first used, which may be far from here."""
    for module in walk_packages(room.__path__, f"{room.__name__}."):
        import_module(module.name)
    late: list[Any] = [one for one in gc.get_objects() if type(one) is room._LatePattern]
    assert len(late) > 300
    assert all(one.pattern for one in late)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.code)
def test_a_language_has_all_that_the_others_have(language: Language) -> None:
    english = LANGUAGES[0]
    assert language.wording.keys() == english.wording.keys()
    assert english.cues.keys() - language.cues.keys() <= OF_GRAMMAR
    assert all((language.stop, language.same, language.number_words))
    assert language.times
    assert language.customer.keys() == english.customer.keys()
