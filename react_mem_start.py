"""Where the terminal and the server come in: check that our packages are ours, then go on.

`agents`, `graphs`, `memory`, `tools` and `prompts` are names that other distributions and folders use too, and
whichever comes first on `sys.path` wins. The check cannot live in one of the five, since that one may be the shadowed
one; this module's own name is nobody else's. It stands outside the floors and imports nothing of them before the check.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from langgraph.store.base import BaseStore

PACKAGES = ("graphs", "agents", "tools", "memory", "prompts")
"""Every top-level package of the project, and thereby everything that can be shadowed."""

_DISTRIBUTION = "react-mem"


class ShadowedPackageError(ImportError):
    """Another package or folder stands where one of ours should be imported from."""


def check_packages() -> None:
    """Check that each package would be imported from where this module is.

    Imports none of them. Holds for a checkout, an editable install and a wheel alike: in each, the packages and this
    module lie side by side. A name that leads nowhere is left to fail at its import, which says it all.

    Raises:
        ShadowedPackageError: If a name leads elsewhere; names the package, where it leads, and the fix.
    """
    root = Path(__file__).resolve().parent
    for package in PACKAGES:
        ours = root / package / "__init__.py"
        found = _location(package)
        if found is not None and found != ours:
            raise ShadowedPackageError(
                f"'{package}' would be imported from {found}, which shadows {_DISTRIBUTION}'s own {ours}: "
                f"{_remedy(package, found)}",
                name=package,
                path=str(found),
            )


def _location(package: str) -> Path | None:
    """Return the file that importing this name leads to, None if nowhere."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return None
    # A folder without an __init__.py has no origin, and it shadows an editable install all the same.
    found = spec.origin or next(iter(spec.submodule_search_locations or ()), None)
    return Path(found).resolve() if found else None


def _remedy(package: str, found: Path) -> str:
    folder = found.parent if found.name == "__init__.py" else found
    for name in packages_distributions().get(package, []):
        if Path(str(distribution(name).locate_file(package))).resolve() == folder:
            return f"uninstall '{name}', or give {_DISTRIBUTION} an environment of its own"
    return f"rename it, take {folder.parent} off PYTHONPATH, or start from another folder"


@asynccontextmanager
async def open_store() -> AsyncIterator[BaseStore]:
    """Open the store of a LangGraph server, which loads its store before any graph: what langgraph.json names.

    Yields:
        The store of `memory.storage`.

    Raises:
        ShadowedPackageError: If one of our packages is not ours.
        StorageError: If the store cannot be opened.
    """

    def load() -> Callable[[], AbstractAsyncContextManager[BaseStore]]:
        check_packages()
        from memory.storage import open_store as ours  # only now: `memory` itself may be the shadowed one

        return ours

    open_ours = await asyncio.to_thread(load)  # imports read files: not on the event loop
    async with open_ours() as store:
        yield store


def main() -> int:
    """Run the `react-mem` command.

    Returns:
        The exit code.
    """
    try:
        check_packages()
    except ImportError as error:
        raise SystemExit(f"react-mem: {error}") from error
    from agents.cli import main as run  # only now: `agents` itself may be the shadowed one

    return run()
