"""A new project around an agent: the files of `project_template/`, under the project's name."""

from __future__ import annotations

import keyword
import re
import secrets
import shutil
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path

from react_mem.errors import ProjectError

_TEMPLATE = Path(__file__).parent / "project_template"
_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")
"""A name fit for a distribution, an agent and, with underscores, a package."""

_FILES = {
    ".env.example": "env.example",
    ".gitignore": "gitignore",
    "Makefile": "Makefile",
    "README.md": "README.md",
    "agents/{{name}}.yaml": "agent.yaml",
    "langgraph.json": "langgraph.json",
    "pyproject.toml": "pyproject.toml",
    "tests/test_{{package}}.py": "test_agent.py",
    "{{package}}/__init__.py": "init.py",
    "{{package}}/graph.py": "graph.py",
    "{{package}}/tools.py": "tools.py",
}
"""Files of a project, each with its template."""

_FOLDERS = {"build", "dist", *(name.partition("/")[0] for name in _FILES if "/" in name)}
"""Folders of a project, and those that Git and the tools that build it take for their own and leave out."""


def write_project(name: str, folder: Path) -> list[str]:
    """Write a new project into a folder of its name, all of it or nothing; return its files. Blocking.

    Raises `ProjectError` if the name is unusable, the place is taken, or the files cannot be written.
    """
    package = package_name(name)
    place = folder / name
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise ProjectError(f"{place} is there already and no folder; nothing was written: choose another name")
    values = {"name": name, "package": package, "versions": _versions()}
    written = {_rendered(file, values): _rendered(_source(made_of), values) for file, made_of in _FILES.items()}
    # beside its place, so that what fails on the way leaves nothing behind
    unfinished = folder / f".{name}.{secrets.token_hex(4)}"
    try:
        if place.is_dir() and any(place.iterdir()):
            raise ProjectError(f"{place} is there already and not empty; nothing was written: choose another name")
        for file, text in written.items():
            (unfinished / file).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / file).write_text(text, encoding="utf-8", newline="\n")
        if place.exists():
            place.rmdir()  # which a folder that has been filled since refuses
        unfinished.rename(place)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise ProjectError(f"{place} cannot be written: {error.strerror or error}; nothing was written") from error
    return list(written)


def package_name(name: str) -> str:
    """Return the package name of a project; `ProjectError` for a name that makes none, or hides another package."""
    if not _NAME.fullmatch(name):
        raise ProjectError(
            f"{name[:100]!r} cannot be a project's name: it begins with a letter, ends with a letter or a digit, and "
            "has at most 64 letters, digits, hyphens and underscores, such as my-agent"
        )
    package = re.sub("[-_]+", "_", name).lower()
    if keyword.iskeyword(package) or package in _FOLDERS:
        raise ProjectError(f"{name!r} cannot be a project's name: its package could not be called {package!r}")
    if find_spec(package) is not None or _is_installed(name):
        raise ProjectError(
            f"{name!r} cannot be a project's name: a package of that name is installed, which it would hide"
        )
    return package


def _is_installed(name: str) -> bool:
    """Return true for a distribution of this name: the project would be installed in its place."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _versions() -> str:
    """Return the version range of this package for a project: until 1.0 a minor version may change things."""
    own = version("react-mem")
    major, minor, *_ = own.split(".")
    return f">={own},<{major}.{int(minor) + 1}"


def _source(name: str) -> str:
    return (_TEMPLATE / f"{name}.tmpl").read_text(encoding="utf-8")


def _rendered(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return text
