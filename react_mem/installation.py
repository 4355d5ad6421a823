"""Installation of this package: how to install an extra of it, from where it was installed itself.

A folder, a wheel or a repository notes where it is from (PEP 610); what comes from a registry is installed by its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from react_mem.errors import ExtraMissing

_NAME = "react-mem"


def with_extra(extra: str) -> str:
    """Return the requirement of an extra for pip, pipx and uvx."""
    origin = _origin()
    if "dir_info" in origin:
        return f"{url2pathname(urlsplit(origin['url']).path)}[{extra}]"
    named = f"{_NAME}[{extra}]"
    match origin:
        case {"vcs_info": {"vcs": vcs, "commit_id": commit}}:
            return f"{named} @ {vcs}+{origin['url']}@{commit}"
        case {"archive_info": _}:
            return f"{named} @ {origin['url']}"
    return named


def pip_install(extra: str) -> str:
    """Return the command that adds an extra to the installation."""
    editable = "-e " if _origin().get("dir_info", {}).get("editable") else ""
    return f"pip install {editable}'{with_extra(extra)}'"


@contextmanager
def of_extra(extra: str) -> Iterator[None]:
    """Import the packages of an extra.

    Raises:
        ExtraMissing: If it is not installed.

    >>> with of_extra("server"):
    ...     import no_such_package
    Traceback (most recent call last):
    react_mem.errors.ExtraMissing: no_such_package is not installed, which the extra 'server' brings: pip install ...
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ExtraMissing(
            f"{error.name} is not installed, which the extra {extra!r} brings: {pip_install(extra)}"
        ) from error


def _origin() -> dict[str, Any]:
    """Return the source of the installation, as PEP 610 has it; empty where that is not noted."""
    try:
        noted = distribution(_NAME).read_text("direct_url.json")
        origin = json.loads(noted) if noted else {}
    except (PackageNotFoundError, ValueError):
        return {}
    return origin if isinstance(origin, dict) and isinstance(origin.get("url"), str) else {}
