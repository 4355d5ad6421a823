"""Assertions on the memory of an agent, over any LangGraph store or graph with one.

With pytest they are fixtures of the same names: see `react_mem.integrations.pytest_plugin`. A failure shows the texts
that were found and their places.
"""

from __future__ import annotations

import re
import unicodedata
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

from react_mem.memory.records import read_all
from react_mem.memory.turns import text_of

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.store.base import BaseStore

Said = str | re.Pattern[str]  # Words, compared in one spelling (`_plain`), or a pattern
Space = tuple[str, ...]

_SHOWN = 5
_SHOWN_CHARS = 200


class _FoundText(NamedTuple):
    where: str
    text: str
    namespace: Space | None = None


async def assert_remembers(
    where: Any, said: Said, *, namespace: Space = (), asked: str | None = None, config: RunnableConfig | None = None
) -> None:
    """Assert that the store holds something or, for a graph that is asked, that its answer does.

    Dated history counts too.

    Args:
        where: A store, or a compiled graph.
        said: The words to be remembered, or a pattern.
        namespace: Namespace in the store, with everything below; by default all.
        asked: A question for the graph, in a new thread.
        config: The graph's config, such as the user's identity.

    Raises:
        AssertionError: If it is not held, with the nearest texts.
        TypeError: If `where` is neither a store nor a graph with one, or another argument has the wrong type.
        ValueError: If `said` is blank.
    """
    _check(said, namespace=namespace)
    answer = await _answer(where, asked, config)
    if answer is not None and _holds(answer, said):
        return
    store = _store_of(where, needed=answer is None)
    found, looked_at, near = await _look(store, said, namespace) if store is not None else ([], 0, [])
    if answer is not None:
        held = (
            _listed("The store holds it, but it was not recalled:", found) if found else "The store does not hold it."
        )
        raise AssertionError(f"The answer to {asked!r} does not hold {_named(said)}: {_cut(answer)!r}\n{held}")
    if not found:
        nearest = _listed("The nearest:", near) if near else "Nothing is like it."
        place = f"below {namespace!r}" if namespace else "in the store"
        raise AssertionError(f"Nothing {place} holds {_named(said)}; {looked_at} items were looked at.\n{nearest}")


async def assert_forgets(
    where: Any,
    said: Said,
    *,
    namespace: Space = (),
    threads: Sequence[str] = (),
    deleted_threads: Sequence[str] = (),
    asked: str | None = None,
    config: RunnableConfig | None = None,
) -> None:
    """Assert that nothing of something is left: in the store, in threads, and in an answer.

    The other arguments and errors are as in `assert_remembers`.

    Args:
        said: The words to be forgotten, or a pattern.
        threads: Ids of the graph's threads to search too.
        deleted_threads: Ids of threads that must have no state at all.

    Raises:
        AssertionError: If something is left, with the places.
        ValueError: If `said` is blank, or one of `threads` is unknown, so that nothing was searched.
    """
    _check(said, namespace=namespace, threads=threads, deleted_threads=deleted_threads)
    if (threads or deleted_threads) and not hasattr(where, "aget_state"):
        raise TypeError(f"threads are a graph's: pass a compiled graph with a checkpointer, not a {_kind(where)}")
    found, _, _ = await _look(_store_of(where), said, namespace)
    for thread in deleted_threads:
        if await _state_of(where, thread, config) is not None:
            found.append(_FoundText(f"thread {thread!r}", "its state is not deleted"))
    found += [text async for text in _texts_of_threads(where, threads, config) if _holds(text.text, said)]
    answer = await _answer(where, asked, config)
    if answer is not None and _holds(answer, said):
        found.append(_FoundText(f"the answer to {asked!r}", answer))
    if found:
        raise AssertionError(_listed(f"{_named(said)} is still there:", found))


async def assert_not_leaked(
    where: Any,
    said: Said,
    *,
    owner: Space,
    namespace: Space = (),
    asked: str | None = None,
    config: RunnableConfig | None = None,
) -> None:
    """Assert that the store holds something below its owner's namespace alone.

    The other arguments and errors are as in `assert_remembers`.

    Args:
        said: The words of the owner alone, or a pattern.
        owner: The owner's namespace.
        asked: A question for the graph, in a new thread, as another user.
        config: The graph's config, such as that other user's identity.

    Raises:
        AssertionError: If others have it, with the places.
    """
    _check(said, namespace=namespace, owner=owner)
    if not owner:
        raise ValueError("an owner's namespace has labels: below () is everything")
    found, _, _ = await _look(_store_of(where), said, namespace)
    leaked = [one for one in found if one.namespace is None or one.namespace[: len(owner)] != tuple(owner)]
    answer = await _answer(where, asked, config)
    if answer is not None and _holds(answer, said):
        leaked.append(_FoundText(f"the answer to {asked!r}", answer))
    if leaked:
        raise AssertionError(_listed(f"{_named(said)} of {owner!r} is elsewhere, too:", leaked))


def _check(said: Any, **listed: Any) -> None:
    """Refuse arguments that match nothing, with which an assertion that something is gone would pass."""
    if not isinstance(said, str) and not (isinstance(said, re.Pattern) and isinstance(said.pattern, str)):
        raise TypeError(f"said is a {_kind(said)}: pass the words to look for, or a pattern of re over text")
    if isinstance(said, str) and not _plain(said):
        raise ValueError("said is blank, and a blank says nothing: pass the words to look for")
    for name, given in listed.items():
        if isinstance(given, str):
            raise TypeError(f"{name} is one text: pass a sequence of them, such as [{given!r}]")
        if others := [one for one in given if not isinstance(one, str)]:
            raise TypeError(f"{name} holds a {_kind(others[0])}: pass texts")


def _kind(value: object) -> str:
    return type(value).__name__


def _store_of(where: Any, *, needed: bool = True) -> BaseStore | None:
    from langgraph.store.base import BaseStore

    store = where if isinstance(where, BaseStore) else getattr(where, "store", None)
    if isinstance(store, BaseStore):
        return store
    if needed:
        raise TypeError(f"pass a LangGraph store, or a graph that was compiled with one, not a {_kind(where)}")
    return None


async def _answer(where: Any, asked: str | None, config: RunnableConfig | None) -> str | None:
    if asked is None:
        return None
    if not hasattr(where, "ainvoke"):
        raise TypeError(f"only a compiled graph can be asked, not a {_kind(where)}")
    state = await where.ainvoke({"messages": [("user", asked)]}, _in_thread(config, uuid.uuid4().hex))
    return text_of(state["messages"][-1])


def _in_thread(config: RunnableConfig | None, thread: str) -> dict[str, Any]:
    given: dict[str, Any] = {**(config or {})}
    return {**given, "configurable": {**given.get("configurable", {}), "thread_id": thread}}


async def _texts_of_threads(
    where: Any, threads: Sequence[str], config: RunnableConfig | None
) -> AsyncIterator[_FoundText]:
    for thread in threads:
        values = await _state_of(where, thread, config)
        if values is None:
            raise ValueError(
                f"there is no thread {thread!r}, so that nothing was looked at: check its id and the config, and name "
                "in deleted_threads what has been deleted"
            )
        for name, value in values.items():
            for path, text in _texts(value, name):
                yield _FoundText(f"thread {thread!r}, {path}", text)


async def _state_of(where: Any, thread: str, config: RunnableConfig | None) -> Mapping[str, Any] | None:
    state = await where.aget_state(_in_thread(config, thread))
    if not state.values and state.created_at is None:
        return None
    # the state of some graphs is no mapping
    return state.values if isinstance(state.values, Mapping) else {"state": state.values}


async def _look(
    store: BaseStore | None, said: Said, namespace: Space
) -> tuple[list[_FoundText], int, list[_FoundText]]:
    """Return the texts that hold something, the number of items searched, and the nearest other texts."""
    found: list[_FoundText] = []
    near: list[tuple[int, int, _FoundText]] = []
    looked_at = 0
    wanted = set(re.findall(r"\w+", _plain(said))) if isinstance(said, str) else set()
    async for page in read_all(store, namespace):  # type: ignore[arg-type]
        looked_at += len(page)
        for item in page:
            place = tuple(item.namespace)
            for path, text in _texts(item.value, "value"):
                one = _FoundText(f"{place!r}, key {item.key!r}, {path}", text, place)
                if _holds(text, said):
                    found.append(one)
                elif alike := len(wanted & set(re.findall(r"\w+", _plain(text)))):
                    near.append((alike, -len(near), one))
            if _holds(item.key, said):
                found.append(_FoundText(f"{place!r}, a key", item.key, place))
        near = nlargest(_SHOWN, near, key=lambda one: one[0])
    return found, looked_at, [one for _, _, one in near]


def _texts(value: Any, path: str) -> Iterable[tuple[str, str]]:
    """Yield the texts within a value, field names included, with their paths."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield f"a name in {path}", str(name)
            yield from _texts(inner, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{number}]")
    elif hasattr(value, "model_dump"):  # a message, or another model of a graph's state
        yield from _texts(value.model_dump(), path)
    elif value is not None and not isinstance(value, bool):
        yield path, str(value)


def _holds(text: str, said: Said) -> bool:
    if isinstance(said, re.Pattern):
        return said.search(text) is not None or said.search(_composed(text)) is not None
    return _plain(said) in _plain(text)


def _composed(text: str) -> str:
    if text.isascii():
        return text
    seen = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return unicodedata.normalize("NFKC", seen)


def _plain(text: str) -> str:
    """Return a text without differences of form, width, case, invisible characters and blanks; diacritics stay."""
    return " ".join(_composed(_composed(text).casefold()).split())


def _named(said: Said) -> str:
    return repr(said) if isinstance(said, str) else f"/{said.pattern}/"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def _listed(heading: str, found: Sequence[_FoundText]) -> str:
    more = len(found) - _SHOWN
    lines = [f"  {one.where}: {_cut(one.text)!r}" for one in found[:_SHOWN]]
    return "\n".join([heading, *lines, *([f"  and {more} more"] if more > 0 else [])])
