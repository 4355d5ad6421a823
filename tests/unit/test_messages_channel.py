"""The channel that keeps a thread as what was written: however it is replayed, the messages are the same."""

from __future__ import annotations

import copy
from functools import reduce
from typing import Any

from hypothesis import given, reject
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from react_mem.graphs.schemas import append_messages

IDS = ["a", "b", "c"]
MESSAGES: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.sampled_from("xy"), st.none() | st.sampled_from(IDS)).map(
        lambda given: HumanMessage(given[0], id=given[1])
    ),
    st.sampled_from([*IDS, REMOVE_ALL_MESSAGES]).map(lambda id_: RemoveMessage(id=id_)),
    st.sampled_from(["x", ("ai", "y"), ["ai", "y"], {"role": "user", "content": "x"}]),
)
INPUT = st.lists(MESSAGES, max_size=3).map(lambda given: [given])
WRITES = st.lists(MESSAGES | st.lists(MESSAGES, max_size=3) | INPUT, max_size=8)


@given(writes=WRITES)
def test_one_write_at_a_time_or_all_at_once(writes: list[Any]) -> None:
    def fold(state: list[Any], batch: list[Any]) -> list[Any]:
        # messages get their ids in place, and a replay reads them anew
        return append_messages(state, copy.deepcopy(batch))

    try:
        one_by_one: list[Any] = reduce(lambda state, write: fold(state, [write]), writes, [])
    except ValueError:  # it removes what is not there
        reject()
    assert fold([], writes) == one_by_one
    # LangGraph keeps removals that follow the removal of everything: they are no messages
    ids = [message.id for message in one_by_one if message.type != "remove"]
    assert len(set(ids)) == len(ids)


def test_messages_that_a_server_dumped_come_back_as_they_were() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    call = {"name": "look_up", "args": {"topic": "tea"}, "id": "call", "type": "tool_call"}
    messages: list[Any] = [
        HumanMessage("hi", id="1"),
        AIMessage("", id="2", tool_calls=[call], usage_metadata=usage, response_metadata={"finish_reason": "stop"}),
        ToolMessage("no tea", id="3", tool_call_id="call", name="look_up", status="error", artifact={"at": 1}),
    ]
    dumps = [message.model_dump() for message in messages]
    assert append_messages([], [dumps]) == messages
    assert append_messages(dumps, ["more"])[:3] == messages
