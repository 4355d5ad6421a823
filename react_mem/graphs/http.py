"""The server's own HTTP routes, as `http.app` of langgraph.json. The server merges them into its own.

A server loads this file by its path, under a name that cannot be imported: anything that has to be found by its name,
such as the models of a request, is in the modules of the routes.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid5

from langgraph.config import get_store
from langgraph_sdk import get_client
from langgraph_sdk.errors import LangGraphError

from react_mem.agents.agent_opening import ConfiguredRunners
from react_mem.agents.config import check_served_embeddings
from react_mem.errors import AgentConfigError, ModelConfigError, ToolConfigError
from react_mem.installation import of_extra
from react_mem.server_exposure import authenticates, is_development, refuse_exposed_server

with of_extra("server"):
    from fastapi import APIRouter, FastAPI, HTTPException, Request, Response

from react_mem.graphs.auth.permissions import METRICS_PATH, METRICS_TOKEN_ENV, scraper
from react_mem.graphs.callers import OneCredential
from react_mem.graphs.chat_summary_route import DEFAULT_AGENT, summarizer_for
from react_mem.graphs.chat_summary_route import router as chat_summary
from react_mem.graphs.memory_api.conversations_api import ending
from react_mem.graphs.memory_router import memory_application
from react_mem.graphs.this_machine import OnlyThisMachine
from react_mem.integrations.memory_page.document import PATH
from react_mem.memory.runtime import Worker, refuse_unfit_store
from react_mem.memory.telemetry import CONTENT_TYPE, exposition, start_counting

# A look at the default assistants: what one has that the deployment did not give it is in everybody's runs.

log = logging.getLogger(__name__)


async def warn_of_changed_assistants(environ: Mapping[str, str] = os.environ) -> None:
    """Log the default assistants that differ from the deployment's, where a server authenticates its users."""
    if not authenticates(environ):
        return
    try:
        graphs = json.loads(environ.get("LANGSERVE_GRAPHS") or "{}")
        given = json.loads(environ.get("LANGGRAPH_CONFIG") or "{}")
        # within the process, where nobody needs to be let in
        client = get_client(url=None, api_key=None)
        namespace: UUID = importlib.import_module("langgraph_api.graph").NAMESPACE_GRAPH
        held = {graph: await client.assistants.get(str(uuid5(namespace, graph))) for graph in graphs}
    except (AttributeError, ImportError, OSError, RuntimeError, TypeError, ValueError, LangGraphError) as error:
        log.warning("whether a default assistant was changed cannot be told: %s", type(error).__name__)
        return
    changed = sorted(graph for graph, assistant in held.items() if _differs(assistant, given.get(graph) or {}))
    if changed:
        log.warning(
            "default assistants that are not configured as the deployment has them: %s. What they have is in the runs "
            "of everybody who uses them. If no administrator meant it, PATCH /assistants/{id} with "
            '{"config": {"configurable": {}}, "context": {}}.',
            ", ".join(changed),
        )


def _differs(assistant: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Return true if an assistant has more than it was given; the server writes a context into the configuration."""
    own, told = dict(assistant.get("config") or {}), dict(given)
    chosen = own.pop("configurable", None), assistant.get("context")
    meant = told.pop("configurable", None) or {}
    return own != told or any(dict(one) != dict(meant) for one in chosen if one)


router = APIRouter(tags=["Monitoring"])

# At import, where a server expects slow work, and before the first turn.
start_counting()


@router.get(
    METRICS_PATH,
    summary="Metrics of the memory layer",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, 401: {"description": "The token is missing or wrong."}},
)
def metrics(request: Request) -> Response:
    """Return the metrics of this process in Prometheus' text format: times, counts, tokens, cost and health."""
    # unset, anybody who can reach the metrics may read them
    if os.environ.get(METRICS_TOKEN_ENV) and scraper(METRICS_PATH, request.headers.get("authorization")) is None:
        raise HTTPException(
            401, f"Send `Authorization: Bearer` with the value of {METRICS_TOKEN_ENV}.", {"WWW-Authenticate": "Bearer"}
        )
    return Response(exposition(), media_type=CONTENT_TYPE)


def warn_of_lenient_threads() -> None:
    """Warn if a write to the database of the server's threads could run code here.

    What decides it is set before the server loads this project.
    """
    try:
        serialiser: Any = importlib.import_module("langgraph_api.serde").Serializer()
    except (ImportError, AttributeError, TypeError):  # not within a server, or within one of another version
        return
    if getattr(serialiser, "_allowed_msgpack_modules", True) is True:
        log.warning(
            "this server builds whatever a row of its threads names: who can write to their database runs code here. "
            "Start it with LANGGRAPH_STRICT_MSGPACK=true in its environment."
        )
    if serialiser.pickle_fallback:
        log.warning(
            "this server loads pickles from its threads: who can write to their database runs code here. Set "
            '"checkpointer": {"serde": {"pickle_fallback": false}} in its langgraph.json.'
        )


# At import: before the server listens.
refuse_exposed_server()


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Take the server's store, build the parts that the first request would wait for, and run the worker.

    The server ends this before it closes the store. Every process of a deployment runs it, those of the run queue too.
    """
    if is_development():
        log.info("what is remembered is shown at %s%s", os.environ.get("LANGGRAPH_API_URL", ""), PATH)
    warn_of_lenient_threads()
    await warn_of_changed_assistants()
    # Here and not in a request: the server shows requests the store of its default configuration, not langgraph.json's.
    try:
        app.state.store = get_store()
    except (KeyError, RuntimeError):
        app.state.store = None
    if app.state.store is None:
        log.warning(
            "the server gives its HTTP routes no access to the store: no work behind the turns is done here "
            "(run `react-mem worker`), and chat summaries go without profiles and stored prompts"
        )
    else:
        await refuse_unfit_store(app.state.store)
        await check_served_embeddings(app.state.store)
    try:
        await asyncio.to_thread(summarizer_for, DEFAULT_AGENT)
    except (AgentConfigError, ModelConfigError, ToolConfigError) as error:
        log.warning("the agent %r cannot sum up chats: %s", DEFAULT_AGENT, error)
    if app.state.store is None:
        yield
        return
    app.state.worker = worker = Worker(app.state.store, await asyncio.to_thread(ConfiguredRunners))
    try:
        yield
    finally:
        app.state.worker = None
        await worker.close()


app = memory_application(_lifespan)

# The server puts these before all of its routes, not only before ours.
app.add_middleware(OneCredential)
if is_development() and not authenticates():
    app.add_middleware(OnlyThisMachine)

for mounted in (ending, chat_summary, router):
    app.router.routes.extend(mounted.routes)
