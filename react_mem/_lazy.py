"""A package's public names, each imported from its module when it is first used: a door costs no start-up time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package.

    Its names stand in its own source, for type checkers and for this function alike, a line each under
    `if TYPE_CHECKING:`, in the form `from module import Name as Name`.
    """
    room = sys.modules[package]
    spec: Any = room.__spec__
    lines = map(str.split, spec.loader.get_data(spec.origin).decode().splitlines())
    modules = {
        words[3]: words[1] for words in lines if words[0::2] == ["from", "import", "as"] and words[3] == words[5]
    }

    def __getattr__(name: str) -> Any:  # noqa: N807 - Python's name for it
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(sorted(modules))}")
        found = getattr(import_module(modules[name]), name)
        setattr(room, name, found)
        return found

    return __getattr__, lambda: sorted({*vars(room), *modules}), sorted(modules)
