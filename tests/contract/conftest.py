"""The managers under one roof: each case runs over both, and over `create_agent` with `MemoryMiddleware`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.databases import WordEmbeddings
from tests.support.scripted_model import ScriptedModel

INLINE = MemoryPolicy(extraction={"mode": "inline"})

THEIR_NODES = {"reason": "model", "act": "tools"}
"""What `create_agent` calls the nodes of the loop."""

_CREATE_AGENT_DIFFERS: dict[str, tuple[str, ...]] = {
    "its streamed values have the private fields of its middleware": (
        "test_values_end_in_the_answer",
        "test_values_of_a_stream_show_own_fields_and_nothing_of_the_managers",
    ),
    "it has no limit of steps of its own, and no setting for one": (
        "test_a_model_that_never_stops_ends_in_an_honest_answer",
        "test_the_context_may_lower_the_limit_and_change_the_instructions",
        "test_a_model_going_in_circles_is_stopped",
        "test_what_the_runtime_says_carries_the_name_too",
    ),
    "a run's context does not choose its model and instructions": (
        "test_a_context_that_extends_ours_keeps_its_settings",
        "test_the_context_chooses_model_and_prompt_turn_by_turn",
    ),
    "an empty system prompt is a message to it": ("test_without_instructions_there_is_no_system_message",),
    "a tool that fails ends its run": (
        "test_a_tool_that_fails_is_shown_with_its_error",
        "test_a_tool_error_is_an_observation",
        "test_a_command_without_a_result_is_an_error_that_the_model_sees",
        "test_one_failure_of_several_calls_leaves_the_others",
        "test_a_tool_that_breaks_the_model_call_behind_it_keeps_its_result",
    ),
    "it takes an empty question, an empty answer and a failing model's error as they are": (
        "test_an_empty_answer_is_named_as_one",
        "test_an_empty_message_is_refused_in_words",
        "test_no_message_is_refused_in_words",
        "test_a_question_that_is_answered_is_not_answered_again",
        "test_a_failing_model_is_named_with_its_cause",
    ),
    "it tells no steps as events, and has names of its own for its nodes": (
        "test_the_steps_are_told_as_events",
        "test_what_it_says_is_told_as_an_observation",
        "test_updates_name_the_shared_nodes",
    ),
    "it asks again, without end, until a schema is filled": (
        "test_what_an_earlier_turn_filled_is_no_answer_to_this_one",
    ),
    "calls that cannot be read, or have no id of their own, end its turn or stay as they are": (
        "test_arguments_that_are_no_json_can_be_repaired",
        "test_a_model_whose_calls_cannot_be_read_is_asked_three_times",
        "test_a_schema_whose_call_cannot_be_read_costs_as_little",
        "test_text_that_is_no_call_costs_as_little",
        "test_arguments_that_are_no_object_cannot_be_read",
        "test_a_message_that_is_wrong_elsewhere_is_a_failure_of_the_model",
        "test_a_call_that_can_be_read_starts_the_count_anew",
        "test_the_next_turn_may_try_again",
        "test_calls_without_an_id_get_one",
        "test_calls_of_one_id_are_told_apart",
    ),
}
"""Cases that do not hold for `create_agent`, with or without `MemoryMiddleware`, by the reason: each must fail there.

`test_fallback.py` and `test_switching.py` have settings of our managers for their subject, and build nothing else.
"""

_WITHOUT_END = frozenset(
    {
        "test_the_context_may_lower_the_limit_and_change_the_instructions",
        "test_what_an_earlier_turn_filled_is_no_answer_to_this_one",
    }
)
"""Of these, those that would go on for ever: they are not run."""

Graph = CompiledStateGraph[Any, Any, Any, Any]
Build = Callable[..., Graph]


def memory_store() -> InMemoryStore:
    """Return an in-memory store that finds texts by their words."""
    embeddings = WordEmbeddings()
    return InMemoryStore(index={"dims": embeddings.dims, "embed": embeddings, "fields": ["text"]})


def build_manager(
    manager: str,
    script: list[Any] | BaseChatModel,
    tools: list[Any] | None = None,
    *,
    system_prompt: Any = "You help.",
    response_format: Any = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    name: str | None = None,
    interrupt_before: list[str] | None = None,
    store: BaseStore | None = None,
    **config: Any,
) -> Graph:
    """Return a graph of one of the managers over a scripted model, with everything in memory."""
    model = script if isinstance(script, BaseChatModel) else ScriptedModel(script=script)
    # extraction has a script of its own: its calls must not use up the lines of the conversation
    quiet = ScriptedModel(script=["no facts here"])
    if manager in ("create_agent", "middleware"):
        if config:
            raise TypeError(f"create_agent has no {', '.join(config)}")
        memory = [MemoryMiddleware(policy=INLINE, small_model=quiet)] if manager == "middleware" else []
        return create_agent(
            model,
            tools or [],
            system_prompt=system_prompt,
            response_format=response_format,
            state_schema=state_schema,
            context_schema=context_schema or AgentContext,
            middleware=memory,
            name=name,
            checkpointer=InMemorySaver(),
            store=store or memory_store(),
            interrupt_before=[THEIR_NODES[node] for node in interrupt_before or ()],
        )
    agent = resolve_agent(
        AgentConfig(name="tester", manager=manager, **{"memory": INLINE, **config}),
        model=model,
        small_model=quiet,
        tools=tools or [],
        system_prompt=system_prompt,
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema,
        name=name,
    )
    return build_agent(
        agent, store=store or memory_store(), checkpointer=InMemorySaver(), interrupt_before=interrupt_before
    )


@pytest.fixture(params=["react", "react_mem", "middleware"])
def build(request: pytest.FixtureRequest) -> Build:
    """Build a graph with each of our managers in turn, and with `create_agent` and `MemoryMiddleware`."""
    return _subject(request)


@pytest.fixture(params=["create_agent", "middleware", "react", "react_mem"])
def build_any(request: pytest.FixtureRequest) -> Build:
    """Build a graph with each of our managers in turn, and with the reference, bare and with `MemoryMiddleware`."""
    return _subject(request)


def _subject(request: pytest.FixtureRequest) -> Build:
    case = request.node.originalname
    reason = next((why for why, cases in _CREATE_AGENT_DIFFERS.items() if case in cases), "")
    if request.param == "middleware" and reason:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True, run=case not in _WITHOUT_END))
    return lambda *args, **kwargs: build_manager(request.param, *args, **kwargs)
