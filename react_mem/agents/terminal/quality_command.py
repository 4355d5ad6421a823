"""`react-mem audit quality`: duplicates, contradictions, what is stale, secret or never recalled, and growth."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore
from rich.console import Console

from react_mem.agents.terminal.output import Output
from react_mem.agents.terminal.progress import Progress
from react_mem.errors import MemoryCommandError
from react_mem.integrations import audit_quality
from react_mem.integrations.quality import QualityCheck, QualityFinding, QualityReport
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import memory_namespace, open_storage
from react_mem.memory.turns import scrub

_WORDS: dict[QualityCheck, str] = {
    "duplicates": "say what another item says",
    "contradictions": "differ from another one by a number or a denial, or are in doubt",
    "stale": "were not written again for {days} days, or are still believed although their end date has passed",
    "secrets": "hold what looks like a key, a token or a password",
    "never_recalled": "were used in no answer",
    "growth": "came in the last 30 days, after {before} in the 30 days before",
}


async def run_quality(arguments: argparse.Namespace, settings: StorageSettings, console: Console) -> int:
    """Print the report.

    Args:
        arguments: The command's.
        settings: The database, where no store is named.
        console: Where to draw.

    Returns:
        The exit code: 1 if a check of `--fail-on` found more than it allows.

    Raises:
        MemoryCommandError: If the store that is named cannot be opened.
        StorageError: If the database cannot be opened.
    """
    prefix = memory_namespace(arguments.user)
    quiet = arguments.quiet or arguments.json
    with Progress("Reading", "items", quiet=quiet, go_on="Nothing was changed; the same command begins again.") as done:
        async with _opened(arguments.store, settings) as store:
            found = await audit_quality(
                store,
                () if arguments.store and not arguments.user else prefix,
                stale_after=timedelta(days=arguments.stale_after),
                report=done,
            )
    failing = found.failing(dict(arguments.fail_on))
    data = {**found.to_json(), "failing": failing}
    Output(console, as_json=arguments.json).report(data, _told(found, failing, arguments.stale_after))
    return 1 if failing else 0


@asynccontextmanager
async def _opened(path: str | None, settings: StorageSettings) -> AsyncIterator[BaseStore]:
    if path is None:
        async with open_storage(settings) as storage:
            yield storage.store
        return
    async with AsyncExitStack() as stack:
        # what somebody else's code raises is theirs to mend, and what it says is what they need
        try:
            found = await _entered(path, stack)
        except MemoryCommandError:
            raise
        except Exception as error:
            raise MemoryCommandError(f"{path} opens no store: {type(error).__name__}: {scrub(error)}") from error
        yield found


async def _entered(path: str, stack: AsyncExitStack) -> BaseStore:
    found = _loaded(path)
    if callable(found) and not isinstance(found, BaseStore):
        found = found()
    if inspect.isawaitable(found):
        found = await found
    if isinstance(found, AbstractAsyncContextManager) and not isinstance(found, BaseStore):
        found = await stack.enter_async_context(found)
    elif isinstance(found, AbstractContextManager) and not isinstance(found, BaseStore):
        found = stack.enter_context(found)
    return _checked(path, found)


def _loaded(path: str) -> Any:
    module, _, attribute = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise MemoryCommandError(f"there is no store {path}: name it as module:attribute, seen from here") from error


def _checked(path: str, found: Any) -> BaseStore:
    if not isinstance(found, BaseStore):
        raise MemoryCommandError(f"{path} gives a {type(found).__name__}, and no LangGraph store")
    return found


def _told(found: QualityReport, failing: list[QualityCheck], days: int) -> str:
    lines = [f"{found.items:,} items in {found.namespaces:,} namespaces, {found.bytes:,} bytes"]
    for check, finding in found.findings.items():
        words = _WORDS[check].format(days=days, before=f"{found.before:,}")
        mark = "FAILS" if check in failing else ""
        counted = f"unknown: {finding.why}" if finding.count is None else f"{finding.count:,} {words}"
        lines.append(f"{check.replace('_', ' '):15} {counted} {mark}".rstrip())
        lines += _examples(finding)
    months = ", ".join(f"{month} {count:,}" for month, count in list(found.by_month.items())[-12:])
    return "\n".join([*lines, *([f"{'by month':15} {months}"] if months else [])])


def _examples(finding: QualityFinding) -> list[str]:
    lines = []
    for place in finding.examples:
        where = f"{'.'.join(place.namespace)}  {place.key}"
        where += f"  {place.field}" if place.field else ""
        lines.append(f"{'':15}   {where}" + (f"  beside {place.beside}" if place.beside else ""))
    return lines
