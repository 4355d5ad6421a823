"""A package's public names, each imported from its module when it is first used: a door costs no start-up time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def door(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package.

    Args:
        package: Its name.
        modules: Each public name with the module that defines it.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - Python's name for it
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(sorted(modules))}")
        return getattr(import_module(modules[name]), name)

    return __getattr__, lambda: sorted(modules)
