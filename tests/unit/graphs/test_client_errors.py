"""What leaves the nodes of a graph that a server runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError

from react_mem.errors import ConfigError, ReactMemError, RunFailed, StorageError, UnknownAgent
from react_mem.graphs.client_errors import errors_for_clients
from react_mem.memory.llm.causes import cause_for_clients, for_clients
from tests.support.failing_graph import FOREIGN, OF_A_PLACE, OURS, SECRET, failing, unguarded


@pytest.mark.parametrize("kind", FOREIGN)
async def test_an_error_of_somebody_else_becomes_one_of_ours_and_is_logged_without_its_content(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(type(FOREIGN[kind]())):
        await unguarded.ainvoke({"fail": kind})
    with caplog.at_level(logging.ERROR), pytest.raises(RunFailed) as raised:
        await failing.ainvoke({"fail": kind})
    assert SECRET not in repr(raised.value)
    assert raised.value.__suppress_context__
    assert type(FOREIGN[kind]()).__name__ in caplog.text
    if kind not in ("runtime", "timeout", "http"):
        assert SECRET not in caplog.text


@pytest.mark.parametrize("kind", OURS)
async def test_an_error_of_ours_is_what_it_was(kind: str) -> None:
    with pytest.raises(type(OURS[kind]())) as raised:
        await failing.ainvoke({"fail": kind})
    assert isinstance(raised.value, RuntimeError)  # the server tells clients what these say
    assert str(raised.value)[:40] == str(OURS[kind]())[:40]


@pytest.mark.parametrize("kind", OF_A_PLACE)
async def test_an_error_with_a_place_is_told_without_it(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(type(OF_A_PLACE[kind]())) as raised:
        await failing.ainvoke({"fail": kind})
    assert SECRET not in repr(raised.value)
    assert SECRET in caplog.text


async def test_interrupts_and_the_limit_of_steps_go_through() -> None:
    failing.checkpointer = InMemorySaver()
    try:
        interrupted = await failing.ainvoke({"fail": "interrupt"}, {"configurable": {"thread_id": "1"}})
    finally:
        failing.checkpointer = None
    assert [one.value for one in interrupted["__interrupt__"]] == ["may I?"]
    with pytest.raises(GraphRecursionError), errors_for_clients():
        raise GraphRecursionError("25 steps")


async def test_a_node_that_is_streamed_is_guarded_as_well() -> None:
    node = failing.nodes["fail"].node
    with pytest.raises(RunFailed):
        _ = [part async for part in node.astream({"fail": "value"})]


def _all(kind: type[ReactMemError]) -> Iterator[type[ReactMemError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all(below)


@pytest.mark.parametrize("base", [StorageError, ConfigError])
def test_no_error_for_the_operator_is_told_to_clients_as_it_is(base: type[ReactMemError]) -> None:
    for kind in set(_all(base)) - {UnknownAgent}:
        told = for_clients(kind(f"no answer from {SECRET}"))
        assert type(told) is kind
        assert SECRET not in repr(told)


def test_what_holds_no_place_is_the_same_error() -> None:
    error = UnknownAgent("unknown agent 'x'; valid: agent, plain (2026-11-24 10:30)")
    assert for_clients(error) is error


def test_a_stream_tells_of_a_database_without_its_place() -> None:
    assert SECRET not in cause_for_clients(OF_A_PLACE["database"]())
    assert cause_for_clients(ConnectionError("no route to host")) == "ConnectionError: no route to host"
