"""What a process keeps of an opened store hangs on the store: no module has a table of stores, loops or owners."""

from __future__ import annotations

import ast
import asyncio
import gc
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore, Op
from langgraph.store.memory import InMemoryStore

import react_mem
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.authors import Known
from react_mem.memory.retrieval.last_known import LastReads
from react_mem.memory.retrieval.stock_recall import StockScale
from react_mem.memory.store.process_state import kept_with
from react_mem.memory.store.prompt_versions import ReadPrompts

ROOT = Path(react_mem.__file__).parent.parent
MODULES = sorted(path for top in ("memory", "agents", "graphs", "tools") for path in (ROOT / top).rglob("*.py"))
THE_ONE = ROOT / "memory/store/process_state.py"

KEYS = {"BaseStore", "AbstractEventLoop", "MemoryFacade", "user_id", "owner", "store", "loop"}
TABLES = {"WeakKeyDictionary", "WeakValueDictionary", "OrderedDict", "defaultdict", "dict", "TTLCache", "LRUCache"}
CACHES = {"cache", "lru_cache"}


def names(node: ast.AST | None) -> set[str]:
    """Return the names in a piece of code."""
    walked = ast.walk(node) if node is not None else ()
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in walked
        if isinstance(part, ast.Name | ast.Attribute)
    }


def keyed(source: str) -> Iterator[str]:
    """Yield what of a module is a table that fills while it runs, keyed by a store, an event loop or an owner."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            value = node.value
            empty = (isinstance(value, ast.Dict) and not value.keys) or (isinstance(value, ast.Call) and not value.args)
            annotated = names(node.annotation) if isinstance(node, ast.AnnAssign) else set()
            made = names(value.func) if isinstance(value, ast.Call) else set()
            if any("Weak" in name and "Dictionary" in name for name in annotated | made) or (
                empty and annotated & KEYS and (annotated | made) & TABLES
            ):
                yield ast.unparse(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            cached = any(names(decorator) & CACHES for decorator in node.decorator_list)
            arguments = [*node.args.args, *node.args.kwonlyargs]
            if cached and any({a.arg, *names(a.annotation)} & KEYS for a in arguments):
                yield node.name


@pytest.mark.parametrize("module", [path for path in MODULES if path != THE_ONE], ids=str)
def test_no_module_has_a_table_of_stores_loops_or_owners(module: Path) -> None:
    assert list(keyed(module.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "_known: WeakKeyDictionary[BaseStore, str] = WeakKeyDictionary()",
        "_loops = weakref.WeakKeyDictionary()",
        "_locks: dict[AbstractEventLoop, Lock] = {}",
        "_read: OrderedDict[BaseStore, str] = OrderedDict()",
        "@lru_cache(maxsize=8)\ndef speakers(user_id: str) -> str: ...",
        "@cache\ndef opened(of: BaseStore) -> str: ...",
    ],
)
def test_such_a_table_is_seen(source: str) -> None:
    assert list(keyed(source))


class OwnStore(InMemoryStore):
    """A store with room for attributes, as one of an application has."""


@pytest.mark.parametrize("kind", [InMemoryStore, OwnStore])
@pytest.mark.parametrize("make", [Known, LastReads, ReadPrompts, StockScale])
def test_what_is_kept_of_a_store_is_its_own_and_goes_with_it(kind: type[BaseStore], make: type) -> None:
    one, other = kind(), kind()
    kept = kept_with(one, make)
    assert kept_with(one, make) is kept
    assert kept_with(other, make) is not kept
    gone = weakref.ref(kept)
    del kept, one
    gc.collect()
    assert gone() is None


class Connection(BaseStore):
    """One of several stores on one database: somebody else has a turn after each of its answers."""

    def __init__(self, database: InMemoryStore) -> None:
        self._database = database

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        return self._database.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Any]:
        found = await self._database.abatch(ops)
        await asyncio.sleep(0)
        return found


async def test_nothing_is_lost_between_two_stores_on_one_database() -> None:
    database = InMemoryStore()
    one, other = (MemoryFacade(Connection(database)) for _ in range(2))
    await asyncio.gather(
        one.profile.update_profile("ann", {"name": "Ann"}), other.profile.update_profile("ann", {"home": "Hue"})
    )
    profile = await one.profile.get_profile("ann")
    assert profile is not None
    assert profile.fields.keys() == {"name", "home"}
