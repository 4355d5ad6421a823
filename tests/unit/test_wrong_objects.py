"""Every public door answers a wrong object with an error of ours, which names the argument and the cure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import numpy
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem import MemoryFacade, MemoryMiddleware, MemoryScope, open_agent, open_memory
from react_mem.errors import ReactMemError, WrongType
from react_mem.integrations import export_skills, import_memories, import_skills
from react_mem.memory.scopes.scope import ScopeStore

WRONG: dict[str, Any] = {"text": "postgresql://ann:s3cret@host/db", "dict": {"a": 1}, "number": 7, "object": object()}
ADDRESS = "s3cret"


def _memory() -> MemoryFacade:
    return MemoryFacade(InMemoryStore())


def _methods() -> Iterator[tuple[str, str]]:
    memory = _memory()
    places = {"": memory, "graph": memory.graph}
    places |= {name: part for name, part in vars(memory).items() if isinstance(part, ScopeStore)}
    for place, owner in places.items():
        for name in dir(owner):
            method = getattr(owner, name)
            if not name.startswith("_") and inspect.iscoroutinefunction(method):
                yield place, name


FITTING: dict[str, Any] = {
    "str": "x", "int": 5, "bool": False, "datetime": datetime.now().astimezone(), "Sequence": [], "Mapping": {},
    "float": 1.0, "Collection": [], "Iterable": [], "Path": "x", "Literal": "x",
}  # fmt: skip


def _fitting(parameter: inspect.Parameter) -> Any:
    if parameter.default is not parameter.empty:
        return parameter.default
    hint = str(parameter.annotation)
    return "ann" if parameter.name == "user_id" else next((v for n, v in FITTING.items() if hint.startswith(n)), None)


@pytest.mark.parametrize(("place", "name"), [*_methods()])
async def test_a_method_refuses_what_it_does_not_take(place: str, name: str) -> None:
    owner: Any = getattr(_memory(), place) if place else _memory()
    method = getattr(owner, name)
    parameters = inspect.signature(method).parameters
    named = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for wrong_name in named:
        for wrong in WRONG.values():
            given = {one: _fitting(parameters[one]) for one in named} | {wrong_name: wrong}
            with suppress(ReactMemError):
                await method(**given)


DOORS: dict[str, Callable[..., Any]] = {
    "open_memory": open_memory,
    "open_agent": open_agent,
    "MemoryFacade": MemoryFacade,
    "MemoryMiddleware": MemoryMiddleware,
    "ScopeStore": lambda **given: ScopeStore(**{"store": InMemoryStore(), "scope": MemoryScope.FILES, **given}),
    "import_memories": import_memories,
    "export_skills": export_skills,
    "import_skills": import_skills,
}


@pytest.mark.parametrize(
    ("door", "argument"),
    [
        *(("open_memory", name) for name in ("policy", "store", "checkpointer", "settings")),
        *(("open_agent", name) for name in ("agent", "model", "tools", "system_prompt", "state_schema", "name")),
        *(("open_agent", name) for name in ("context_schema", "interrupt_before", "store", "checkpointer", "settings")),
        *(("MemoryFacade", name) for name in ("store", "policy", "checkpointer", "dialog_store", "semantic_store")),
        *(("MemoryMiddleware", name) for name in ("policy", "small_model", "agent_id")),
        *(("ScopeStore", name) for name in ("store", "policy", "scope")),
        *(("import_memories", name) for name in ("memory", "system", "where", "owners", "prefix")),
    ],
)
@pytest.mark.parametrize("kind", WRONG)
async def test_a_door_refuses_what_it_does_not_take(door: str, argument: str, kind: str) -> None:
    fits = {("agent", "text"), ("system_prompt", "text"), ("name", "text"), ("system", "text"), ("where", "text")}
    fits |= {("owners", "text"), ("small_model", "text"), ("agent_id", "text"), ("policy", "dict")}
    if (argument, kind) in fits and (door, argument) != ("MemoryFacade", "policy"):
        pytest.skip("it takes this")
    given: dict[str, Any] = {argument: WRONG[kind]}
    if door == "open_agent":
        given = {"agent": "assistant", **given}
    if door == "MemoryFacade" and argument != "store":
        given["store"] = InMemoryStore()
    if door == "import_memories":
        given = {"memory": _memory(), "system": "jsonl", "where": "x", "owners": "ann", **given}
    with pytest.raises(WrongType, match=f"^{argument} ") as caught:
        await _opened(DOORS[door](**given))
    assert "; give " in str(caught.value)
    assert ADDRESS not in str(caught.value)


async def _opened(door: Any) -> None:
    if inspect.isawaitable(door):
        await door


async def test_a_database_is_not_taken_for_a_policy() -> None:
    wrong: Any = "postgresql://ann:s3cret@host/db"
    with pytest.raises(WrongType, match=r"policy is a str.*settings=StorageSettings"):
        async with open_memory(wrong):
            pass


async def test_what_fits_is_taken() -> None:
    memory = _memory()
    async with open_memory(store=InMemoryStore(), checkpointer=InMemorySaver()) as opened:
        await opened.semantic.add(["User has a cat"], user_id="ann", session_id="s", agent_id="a")
    assert await memory.list_records("ann", [MemoryScope.SEMANTIC]) == []


class Text(str):
    """A text of somebody's own."""


async def test_what_is_used_alike_is_taken() -> None:
    if TYPE_CHECKING:
        from fractions import Fraction as Unknown

    class Own(ScopeStore):
        async def look(self, what: Unknown) -> Unknown:
            return what

    memory = _memory()
    taken: Any = {MemoryScope.SEMANTIC}
    assert await memory.list_records(Text("ann"), taken) == []
    page: Any = {"limit": numpy.int64(3), "kinds": {"fact": 1}.keys(), "state": Text("all")}
    assert (await memory.page("ann", **page)).items == []
    seeds: Any = {"1": numpy.float32(0.5)}
    assert await memory.graph.rank("ann", seeds) == []
    assert await Own(InMemoryStore(), scope=MemoryScope.FILES).look(cast(Any, 3)) == 3
