"""Background graphs: `extractor` draws from one conversation, `maintenance` concludes the quiet ones and what was left.

Both run off the critical path: a server starts `extractor` after a turn, and `maintenance` by a cron or by hand.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import cache
from typing import Any, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from agents.config import available_agents, load_agent_config
from agents.extractive import ExtractiveChatModel
from agents.resolve import ResolvedAgent, resolve_agent
from graphs.memory_nodes import MemoryNodes
from memory.causes import cause_of, trace_of
from memory.concepts import settle_concepts
from memory.consolidation import Asker, consolidate
from memory.conversations import agents_with_work, end_conversation, quiet_conversations
from memory.facade import MemoryFacade
from memory.graph.rebuilding import link_rest
from memory.identity import Identity, identify
from memory.learning import Proposer, learn
from memory.learning.traces import MAX_STEPS_READ
from memory.namespaces import PENDING, ROOT, decode, owner_namespace
from memory.storage.vectors import MakesUpVectors
from memory.turns import TurnReport, Turns
from memory.unindexed import index_lost_messages

DEFAULT_AGENT = "assistant"

log = logging.getLogger(__name__)

_PAGE = 500


class BackgroundContext(BaseModel):
    """Whose memory to work on, as which agent.

    Args:
        user_id: The owner; ignored where the server authenticates users. Empty: everybody with work to do.
        agent: For `extractor`: the agent whose model and policy to use. `maintenance` uses each one's own.
        session_id: For `extractor`: the conversation.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    user_id: str | None = Field(None, description="Whose memory to work on. Empty: everybody with work to do.")
    agent: str = Field(DEFAULT_AGENT, description="For extractor: the agent whose model and policy to use.")
    session_id: str | None = Field(None, description="For extractor: the conversation.")


class WorkDone(TypedDict):
    """What a background run did."""

    stored: NotRequired[int]
    retired: NotRequired[int]
    waiting: NotRequired[int]
    problems: NotRequired[list[str]]


@cache
def _agent(name: str) -> ResolvedAgent:
    return resolve_agent(load_agent_config(name))


@cache
def _nodes(agent: str) -> MemoryNodes:
    return MemoryNodes(_agent(agent))


async def extract(state: WorkDone, *, runtime: Runtime[BackgroundContext]) -> WorkDone:
    """Draw from the turns of one conversation that wait."""
    context = _context(runtime)
    identity = _identity(runtime, context)
    store = _store(runtime)
    if identity is None:
        raise ValueError("extractor needs to know whose memory it works on: pass context={'user_id': ...}")
    nodes = await asyncio.to_thread(_nodes, context.agent)
    return _summed(await nodes.turns(store, identity).extract())


async def maintain(state: WorkDone, *, runtime: Runtime[BackgroundContext]) -> WorkDone:
    """Pick up what crashes left, and conclude the conversations that have become quiet."""
    store = _store(runtime)
    identity = _identity(runtime, _context(runtime))
    total = TurnReport()
    down: set[str] = set()
    for user_id in [identity.user_id] if identity else await _users(store):
        try:
            await index_lost_messages(MemoryFacade(store), user_id)
            if isinstance(store, MakesUpVectors):
                await store.amake_up_vectors(owner_namespace(user_id))
            for agent in await _agents(MemoryFacade(store), user_id):
                if agent in down:
                    continue
                nodes = await asyncio.to_thread(_nodes, agent)
                done = await _maintain(nodes.turns(store, Identity(user_id, "maintenance")), _agent(agent))
                if done.waiting:
                    # its model is down: asking it for everybody would only take long
                    down.add(agent)
                total += done
            await link_rest(store, user_id)
        except Exception as error:
            # the next user's memory is not to wait for this one's
            cause = cause_of(error)
            log.error(
                "maintenance of one user's memory failed; the next run tries again: %s\n%s", cause, trace_of(error)
            )
            total += TurnReport(problem=f"one user's memory could not be worked on: {type(error).__name__}")
    return _summed(total)


async def _agents(memory: MemoryFacade, user_id: str) -> list[str]:
    """Return the agents with work to do for a user, and those with experience to learn from."""
    configured = set(await asyncio.to_thread(available_agents))
    # a flow logs experience and has no conversation; what is no agent, such as a node with hooks, learns nothing
    experienced = [name for name in await memory.experience.agents(user_id, MAX_STEPS_READ) if name in configured]
    return list(dict.fromkeys([*await agents_with_work(memory, user_id), *experienced]))


async def _maintain(anywhere: Turns, agent: ResolvedAgent) -> TurnReport:
    """Maintain what one agent remembers of one user."""
    total = await anywhere.extract()
    for session_id in await quiet_conversations(anywhere):
        if total.waiting:
            return total
        total += await end_conversation(replace(anywhere, session_id=session_id))
    return total if total.waiting else total + await _reflect(anywhere, agent)


async def _reflect(anywhere: Turns, agent: ResolvedAgent) -> TurnReport:
    """Draw what many turns come to: who is meant, what holds in general, what has worked; each as the policy says."""
    memory, user_id, agent_id = anywhere.memory, anywhere.user_id, anywhere.agent_id
    policy, model = memory.policy, agent.small_model
    # one that only quotes has no words of its own
    asks = not isinstance(model, ExtractiveChatModel)
    seconds, stand_ins = policy.extraction_timeout, agent.stand_ins_for(model)
    who = Asker(model, seconds, stand_ins) if asks and policy.resolve_concepts == "model" else None
    settled = await settle_concepts(memory.store, user_id, asker=who)
    total = TurnReport(calls=settled.calls, problem=settled.problem)
    if policy.consolidate != "off":
        asker = Asker(model, seconds, stand_ins) if asks and policy.consolidate == "model" else None
        drawn = await consolidate(memory.store, user_id, agent_id, asker=asker)
        total += TurnReport(stored=drawn.drawn, calls=drawn.calls, problem=drawn.problem)
    if policy.learn != "off":
        proposer = Proposer(model, seconds, stand_ins) if asks and policy.learn == "model" else None
        tools = [tool.name for tool in agent.tools]
        learnt = await learn(memory, user_id, agent_id, tools=tools, proposer=proposer)
        total += TurnReport(stored=learnt.learnt, retired=learnt.archived, calls=learnt.calls, problem=learnt.problem)
    return total


def build_extractor() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph that draws from one conversation."""
    graph = StateGraph(WorkDone, BackgroundContext)
    graph.add_node("extract", extract)
    graph.add_edge(START, "extract")
    graph.add_edge("extract", END)
    return graph.compile(name="extractor")


def build_maintenance() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph that concludes quiet conversations and picks up what was left."""
    graph = StateGraph(WorkDone, BackgroundContext)
    graph.add_node("maintain", maintain)
    graph.add_edge(START, "maintain")
    graph.add_edge("maintain", END)
    return graph.compile(name="maintenance")


def _context(runtime: Runtime[BackgroundContext]) -> BackgroundContext:
    # a server hands the context over under `configurable` too, a caller from Python perhaps only there
    given: Any = runtime.context
    return given if given is not None else BackgroundContext.model_validate(get_config().get("configurable") or {})


def _identity(runtime: Runtime[BackgroundContext], context: BackgroundContext) -> Identity | None:
    config: RunnableConfig = get_config()
    identity = identify(runtime, config)
    if identity is None or identity.development:
        # nobody is named: that means everybody with work to do
        return None
    return Identity(identity.user_id, context.session_id or identity.session_id)


def _store(runtime: Runtime[BackgroundContext]) -> BaseStore:
    if runtime.store is None:
        raise ValueError("there is no memory to work on: the graph has no store")
    return runtime.store


async def _users(store: BaseStore) -> list[str]:
    """Return the users with conversations, with turns that wait, or with experience of flows."""
    users: dict[str, None] = {}
    for last in (PENDING, "state", "experience"):
        offset = 0
        while True:
            page = await store.alist_namespaces(prefix=(ROOT,), suffix=(last,), limit=_PAGE, offset=offset)
            users.update(dict.fromkeys(decode(user) for _, user, *_ in page))
            if len(page) < _PAGE:
                break
            offset += _PAGE
    return list(users)


def _summed(report: TurnReport) -> WorkDone:
    return WorkDone(
        stored=len(report.stored),
        retired=len(report.retired),
        waiting=report.waiting,
        problems=[report.problem] if report.problem else [],
    )
