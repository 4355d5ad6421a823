"""Check of an agent's embedding model against the store's: one store has one embedding model."""

from __future__ import annotations

import asyncio
import logging

from langgraph.store.base import BaseStore

from react_mem.agents.config import AgentConfig, available_agents, load_agent_config
from react_mem.errors import AgentConfigError
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import embedding_of

log = logging.getLogger(__name__)


def check_embedding(config: AgentConfig, store: BaseStore) -> None:
    """Refuse a store with another embedding model than the agent's config names. Raises `AgentConfigError`.

    `auto` takes any; a store of unknown model is taken with a warning.
    """
    wanted, served = config.models.embedding, embedding_of(store, config.models.embedding)
    if wanted in ("auto", served):
        return
    if served is None:
        log.warning(
            "the agent %r has models.embedding: %s, which is not looked at: its store embeds by itself and does not "
            "tell with what; write auto",
            config.name,
            wanted,
        )
        return
    raise AgentConfigError(
        f"the agent {config.name!r} has models.embedding: {wanted}, but its memories are embedded with {served}, and a "
        f"store has one embedding model for all agents. Write auto, or set EMBEDDING_MODEL={wanted} and re-embed what "
        f"is there: react-mem database reembed --to {wanted}"
    )


def with_embedding_of(config: AgentConfig, settings: StorageSettings) -> StorageSettings:
    """Return settings with the embedding model of an agent's config; `auto` leaves them unchanged."""
    if config.models.embedding == "auto":
        return settings
    return settings.model_copy(update={"embedding": config.models.embedding})


async def check_served_embeddings(store: BaseStore) -> None:
    """Log at the start of a server the agents with another embedding model than the store has.

    They run nonetheless: an agent without memories to search loses nothing by it.
    """
    for name in await asyncio.to_thread(available_agents):
        try:
            config = await asyncio.to_thread(load_agent_config, name)
        except AgentConfigError:
            # said where agents are built
            continue
        try:
            check_embedding(config, store)
        except AgentConfigError as error:
            log.error("%s", error)
