"""What many turns come to: who is meant, what holds in general, what has worked; and all of it at once, when asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.asking import Asker
from react_mem.memory.maintenance.unindexed import index_lost_messages
from react_mem.memory.merging.concepts import settle_concepts
from react_mem.memory.model.namespaces import ROOT, decode, owner_namespace
from react_mem.memory.reflect.deduplication import deduplicate
from react_mem.memory.reflect.knowledge.consolidator import consolidate
from react_mem.memory.reflect.skills import Proposer, learn
from react_mem.memory.retrieval.graph_rebuilding import link_rest
from react_mem.memory.store.vectors import MakesUpVectors
from react_mem.memory.write.conversations import end_conversation, quiet_conversations
from react_mem.memory.write.turns import TurnReport, Turns

_PAGE = 500


@dataclass(frozen=True)
class Reflecting:
    """What an agent reflects with.

    Args:
        model: Words what is reflected on; None for an agent whose model only quotes.
        stand_ins: The models that are asked where it fails.
        tools: The names of the agent's tools, from whose use skills are learnt.
    """

    model: BaseChatModel | None = None
    stand_ins: Sequence[BaseChatModel] = ()
    tools: Sequence[str] = ()


async def maintain(anywhere: Turns, reflecting: Reflecting) -> TurnReport:
    """Draw from what waits, conclude every conversation that has gone quiet, and reflect: one agent and one owner.

    Args:
        anywhere: Any conversation of the two.
        reflecting: What the agent reflects with.
    """
    total = await anywhere.extract()
    for session_id in await quiet_conversations(anywhere):
        if total.waiting:
            return total
        total += await end_conversation(replace(anywhere, session_id=session_id))
    return total if total.waiting else total + await reflect(anywhere, reflecting)


async def reflect(anywhere: Turns, reflecting: Reflecting) -> TurnReport:
    """Draw what many turns come to, each as the policy says.

    Args:
        anywhere: Any conversation of an agent and an owner.
        reflecting: What the agent reflects with.
    """
    memory, user_id, agent_id = anywhere.memory, anywhere.user_id, anywhere.agent_id
    policy, seconds = memory.policy, memory.policy.extraction.timeout
    model, stand_ins = reflecting.model, reflecting.stand_ins
    who = Asker(model, seconds, stand_ins) if model is not None and policy.learning.concepts == "model" else None
    settled = await settle_concepts(memory.store, user_id, asker=who)
    total = TurnReport(calls=settled.calls, problem=settled.problem)
    if policy.learning.duplicates == "model" and model is not None:
        alike = await deduplicate(memory.store, user_id, asker=Asker(model, seconds, stand_ins))
        total += TurnReport(retired=list(alike.merged), calls=alike.calls, problem=alike.problem)
    if policy.learning.knowledge != "off":
        asker = Asker(model, seconds, stand_ins) if model is not None and policy.learning.knowledge == "model" else None
        drawn = await consolidate(memory.store, user_id, agent_id, asker=asker)
        total += TurnReport(stored=drawn.drawn, calls=drawn.calls, problem=drawn.problem)
    if policy.learning.skills != "off":
        proposer = (
            Proposer(model, seconds, stand_ins) if model is not None and policy.learning.skills == "model" else None
        )
        learnt = await learn(memory, user_id, agent_id, tools=list(reflecting.tools), proposer=proposer)
        total += TurnReport(stored=learnt.learnt, retired=learnt.archived, calls=learnt.calls, problem=learnt.problem)
    return total


async def repair(memory: MemoryFacade, user_id: str) -> None:
    """Put right what a failure left of an owner's memory: texts without an index or a vector, records without links.

    Args:
        memory: The facade.
        user_id: The owner.
    """
    store = memory.store
    await index_lost_messages(memory, user_id)
    if isinstance(store, MakesUpVectors):
        await store.amake_up_vectors(owner_namespace(user_id))
    await link_rest(store, user_id)


async def users_with(store: BaseStore, *scopes: str) -> list[str]:
    """Return the users who have anything in some scopes, such as turns that wait.

    Args:
        store: The store.
        scopes: The last part of a namespace each.
    """
    users: dict[str, None] = {}
    for last in scopes:
        offset = 0
        while True:
            page = await store.alist_namespaces(prefix=(ROOT,), suffix=(last,), limit=_PAGE, offset=offset)
            users.update(dict.fromkeys(decode(user) for _, user, *_ in page))
            if len(page) < _PAGE:
                break
            offset += _PAGE
    return list(users)
