"""Docstrings as the API reference shows them: examples set as code, and the fields of a record as its attributes."""

from __future__ import annotations

import re
from typing import Any

from griffe import Class, Extension, Object

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?=\1\S).*)*", re.MULTILINE)


def fenced(text: str) -> str:
    """Return a docstring with each doctest in a fence: Markdown would take it for a quotation."""
    return _EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", text)


class ReadableDocstrings(Extension):
    """Prepares what has been read from the sources for the site."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change a docstring when its owner has been read."""
        if obj.docstring is None:
            return
        if "```" not in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
        if isinstance(obj, Class) and _is_declared(obj):
            # its fields are the arguments, which the reader of signatures cannot know
            obj.docstring.value = re.sub(r"^Args:$", "Attributes:", obj.docstring.value, flags=re.MULTILINE)


def _is_declared(room: Class) -> bool:
    """Say whether a class has fields instead of an `__init__`: a model of pydantic, a TypedDict."""
    return "__init__" not in room.members and not any("dataclass" in str(one.value) for one in room.decorators)
