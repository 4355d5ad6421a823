"""What leaves the nodes of a graph that a server runs."""

from __future__ import annotations

import logging

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError

from react_mem.errors import RunFailed
from react_mem.graphs.server import errors_for_clients
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
