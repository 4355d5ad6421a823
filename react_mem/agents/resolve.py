"""Resolution of a config: its model loaded, its tools imported, its graph built by the named manager."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer
from typing_extensions import TypedDict, Unpack

from react_mem.agents.config import MANAGERS, AgentConfig
from react_mem.agents.context import AgentContext, refuse_choices
from react_mem.agents.extractive import ExtractiveChatModel
from react_mem.agents.models import (
    EXTRACTIVE,
    ModelFailure,
    load_chat_model,
    load_chosen_model,
    name_of,
    resolve_chat_spec,
)
from react_mem.agents.standing_files import StandingFiles, StandingInstructions
from react_mem.errors import AgentConfigError
from react_mem.memory import MemoryPolicy, telemetry
from react_mem.memory.context import followed_by
from react_mem.memory.runtime import AgentWork, capabilities_of
from react_mem.memory.turns import AgentMemory
from react_mem.tools.memory_tools import forget_said, list_known
from react_mem.tools.registry import load_tools, under_policy

# Circuit breakers of models, so that one that is down does not cost every turn its time limit.

FAILURES = 2
"""Failures in a row before a model rests: the first was retried by the client, but may have met a restart."""

SLOW_SECONDS = 5.0
"""A failure this slow is enough: each further one would cost a user as much."""

FIRST_REST = 30.0
LONGEST_REST = 600.0
"""The rest doubles with each failed trial, so in a long outage one turn in ten minutes notices."""


@dataclass
class _Failures:
    failure: ModelFailure
    in_a_row: int = 0
    rest: float = 0.0
    until: float = 0.0


class ModelHealth:
    """Circuit breakers, one a model, of one agent in this process.

    A failing model rests; then one call tries it, while the others avoid it until that call succeeds or another rest is
    over.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._records: dict[str, _Failures] = {}

    def admits(self, name: str) -> bool:
        """Return true if a model may be asked now. After a rest it is true once: that caller makes the trial."""
        record = self._records.get(name)
        if record is None or not record.rest:
            return True
        if (now := self._clock()) < record.until:
            return False
        # a trial that is never heard of again, such as one of a turn that was stopped, leaves room for the next
        record.until = now + record.rest
        return True

    def failed(self, name: str, failure: ModelFailure, seconds: float) -> None:
        """Record a failure of a model after some seconds; a refused request says nothing of its health."""
        if failure.of_the_request:
            return
        record = self._records.setdefault(name, _Failures(failure))
        record.failure = failure
        record.in_a_row += 1
        if record.rest or record.in_a_row >= FAILURES or seconds >= SLOW_SECONDS:
            record.rest = min(2 * record.rest or FIRST_REST, LONGEST_REST)
            telemetry.record("breaker.open", 1, guards="model", name=name)
            record.until = self._clock() + max(record.rest, min(failure.wait or 0.0, LONGEST_REST))

    def answered(self, name: str) -> bool:
        """Record an answer of a model; return true if it had been failing."""
        record = self._records.pop(name, None)
        if record is not None and record.rest:
            telemetry.record("breaker.open", 0, guards="model", name=name)
        return record is not None

    def last_failure(self, name: str) -> ModelFailure | None:
        """Return the latest failure of a model since its last answer, if any."""
        record = self._records.get(name)
        return record.failure if record else None

    def seconds_left(self, name: str) -> float:
        """Return the rest of a model's rest."""
        record = self._records.get(name)
        return max(0.0, record.until - self._clock()) if record else 0.0


AgentTool = BaseTool | Callable[..., Any] | dict[str, Any]
"""Tool as a caller gives it: a tool, a function, or the description of one run by the provider."""


@dataclass(frozen=True)
class NamedModel:
    """A chat model and its name in messages, logs and events."""

    name: str
    model: BaseChatModel


@dataclass(frozen=True)
class RunChoices:
    """Model, instructions (with the operator's files), limit of model calls and memory policy of one run."""

    model: NamedModel
    instructions: str | SystemMessage
    max_iterations: int
    policy: MemoryPolicy


@dataclass(frozen=True)
class ResolvedAgent:
    """Resolved agent, from which a manager builds a graph.

    Where the chat model fails, `fallback` are asked in order and then `quotes`; None: the failure is raised. `standing`
    are the operator's files, which follow any instructions; `name` is None for the manager's.
    """

    config: AgentConfig
    model: BaseChatModel
    small_model: BaseChatModel
    summary_model: BaseChatModel
    search_model: BaseChatModel
    tools: tuple[BaseTool, ...]
    provider_tools: tuple[dict[str, Any], ...] = ()
    system_prompt: str | SystemMessage = ""
    standing: StandingFiles = field(default_factory=lambda: StandingFiles(StandingInstructions()), repr=False)
    response_format: Any = None
    state_schema: type | None = None
    context_schema: type = AgentContext
    name: str | None = None
    model_name: str = ""
    fallback: tuple[NamedModel, ...] = ()
    quotes: NamedModel | None = None
    health: ModelHealth = field(default_factory=ModelHealth, repr=False)
    work: AgentWork = field(default_factory=AgentWork, repr=False)
    _chosen: dict[str, BaseChatModel] = field(default_factory=dict, repr=False)

    def with_stand_ins(self, model: BaseChatModel) -> tuple[BaseChatModel, ...]:
        """Return the models for a background job: the given one, then the fallbacks.

        In place of a model that follows no instructions none is asked: whoever names it wants no other.
        """
        if not capabilities_of(model).follows_instructions:
            return ()
        return (model, *(one.model for one in self.fallback if name_of(one.model) != name_of(model)))

    def remembering(self) -> AgentMemory:
        """Return the agent's memory, with its models for extraction and summaries. Blocking."""
        models, sum_up = self.with_stand_ins(self.small_model), self.with_stand_ins(self.summary_model)
        return AgentMemory.of(self.config.name, self.config.memory, models, sum_up)

    async def for_run(self, context: AgentContext) -> RunChoices:
        """Return the model, instructions, limit and policy of a run: the agent's own, changed by its caller's choices.

        Raises `ChoiceRefused`, and `ModelConfigError` if the chosen model cannot be loaded.
        """
        refuse_choices(self.config, context, self.model_name)
        policy, most = self.config.memory, context.max_memories
        if most is not None and most != policy.recall.max_memories:
            recall = policy.recall.model_copy(update={"max_memories": most})
            policy = policy.model_copy(update={"recall": recall})
        return RunChoices(
            model=await self._chosen_model(context.model),
            instructions=followed_by(context.system_prompt or self.system_prompt, await self.standing.text()),
            max_iterations=context.max_iterations or self.config.max_iterations,
            policy=policy,
        )

    async def _chosen_model(self, spec: str | None) -> NamedModel:
        """Return the agent's model, or another one of its config, loaded once."""
        name = resolve_chat_spec(spec) if spec else self.model_name
        if name in (self.model_name, resolve_chat_spec(self.config.models.chat)):
            return NamedModel(self.model_name, self.model)
        if name not in self._chosen:
            self._chosen[name] = await asyncio.to_thread(load_chat_model, name)
        return NamedModel(name, self._chosen[name])


def resolve_agent(
    config: AgentConfig,
    *,
    model: BaseChatModel | None = None,
    small_model: BaseChatModel | None = None,
    tools: Sequence[AgentTool] = (),
    system_prompt: str | SystemMessage | None = None,
    response_format: Any = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    name: str | None = None,
) -> ResolvedAgent:
    """Load the models, tools and files of a config. Blocking.

    Fallback models are loaded now too: a broken one shows at the start, not in an outage. What is given replaces the
    config's, as in `langchain.agents.create_agent`; `tools` come in addition. A `SystemMessage` reaches the model with
    its content blocks unchanged; the memories come behind them. Memory reads `user_id` from a `context_schema`; a
    subclass of `AgentContext` keeps the other settings too.

    Raises `AgentConfigError` for unusable standing instructions, and `ModelConfigError` or `ToolConfigError` for a
    model or a tool that cannot be loaded.
    """
    standing = StandingFiles(config.standing_instructions)
    standing.load()
    chat = model or load_chat_model(config.models.chat)
    if small_model is None:
        small_model = chat if config.models.small == "auto" else load_chosen_model(config.models.small)
    provider_tools = tuple(tool for tool in tools if isinstance(tool, dict))
    given = [tool if isinstance(tool, BaseTool) else as_tool(tool) for tool in tools if not isinstance(tool, dict)]
    sums_up, decides = config.memory.summaries.summary_model, config.memory.web.slm_model
    fallback, quotes = _fallback(config, chat)
    # what follows no instructions has no other way to do what it is told about its memory
    quoting = not capabilities_of(chat).follows_instructions
    own = (forget_said, list_known) if quoting and config.manager == "react_mem" else ()
    return ResolvedAgent(
        config=config,
        model=chat,
        small_model=small_model,
        summary_model=load_chosen_model(sums_up) if sums_up else small_model,
        search_model=load_chosen_model(decides) if decides else small_model,
        tools=(
            *load_tools(config.tools, config.memory),
            *(under_policy(one, config.memory) for one in (*given, *own)),
        ),
        provider_tools=provider_tools,
        system_prompt=config.system_prompt if system_prompt is None else system_prompt,
        standing=standing,
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema or AgentContext,
        name=name,
        model_name=name_of(chat) if model is not None else resolve_chat_spec(config.models.chat),
        fallback=fallback,
        quotes=quotes,
    )


def _fallback(config: AgentConfig, chat: BaseChatModel) -> tuple[tuple[NamedModel, ...], NamedModel | None]:
    """Return the fallback models of the chat model; nothing where it cannot fail."""
    if not capabilities_of(chat).follows_instructions:
        return (), None
    named = dict.fromkeys(map(resolve_chat_spec, config.models.fallback))
    specs = [spec for spec in named if spec != name_of(chat)]
    models = tuple(NamedModel(spec, load_chat_model(spec)) for spec in specs if spec != EXTRACTIVE)
    return models, NamedModel(EXTRACTIVE, ExtractiveChatModel(stands_in=True)) if EXTRACTIVE in specs else None


class CompileOptions(TypedDict, total=False):
    """Options of the compiled graph, as in `langchain.agents.create_agent`; `transformers` project streams further."""

    checkpointer: Checkpointer
    store: BaseStore | None
    interrupt_before: Literal["*"] | list[str] | None
    interrupt_after: Literal["*"] | list[str] | None
    transformers: Sequence[Callable[[tuple[str, ...]], Any]]


class GraphBuilder(Protocol):
    """Manager: a function from a resolved agent to a compiled graph."""

    def __call__(
        self, agent: ResolvedAgent, **options: Unpack[CompileOptions]
    ) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Build the graph."""


MOST_SUPERSTEPS = 9_999
"""LangGraph's own limit, which tools see: high enough that `max_iterations` ends a turn first."""


def build_agent(agent: ResolvedAgent, **options: Unpack[CompileOptions]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph of an agent with the manager of its config.

    Raises `AgentConfigError` for a manager of the user's own that cannot be imported, or builds no graph.
    """
    manager = agent.config.manager
    module, _, attribute = MANAGERS.get(manager, manager).replace(":", ".").rpartition(".")
    try:
        builder = cast("GraphBuilder", getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError) as error:
        raise AgentConfigError(f"manager: {manager!r} cannot be imported: {error}") from error
    graph = builder(agent, **options)
    if not isinstance(graph, CompiledStateGraph):
        raise AgentConfigError(f"manager: {manager!r} built a {type(graph).__name__}; return a compiled graph")
    # for traces, and for tools, which know their run only
    metadata = {"agent": agent.config.name}
    if agent.name:
        # by it LangChain tells an agent that another one calls from that one
        metadata["lc_agent_name"] = agent.name
    return graph.with_config(metadata=metadata, recursion_limit=MOST_SUPERSTEPS)
