"""The server's own HTTP routes: what `http.app` of langgraph.json names. The server merges them into its own.

A server loads this file by its path, under a name that nothing can import: what has to be found by its name, such as
the models of a request, is in the modules of the routes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from langgraph.config import get_store

from react_mem.agents.embedding import check_served_embeddings
from react_mem.agents.runners import ConfiguredRunners
from react_mem.errors import AgentConfigError, ModelConfigError, ToolConfigError
from react_mem.graphs.chat_summary import DEFAULT_AGENT, summarizer_for
from react_mem.graphs.chat_summary_route import router as chat_summary
from react_mem.graphs.conversations_route import router as conversations
from react_mem.graphs.memory_route import router as memory
from react_mem.graphs.metrics_route import router as metrics
from react_mem.memory.runtime import CLOSING_SECONDS, Worker

log = logging.getLogger(__name__)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Take the store that the server has opened, build what the first request waits for, and do the work behind turns.

    The server ends this before it closes the store. Every process of a deployment runs it, those of the run queue too.
    """
    # Here and not in a request: the server shows requests the store of its default configuration, not langgraph.json's.
    try:
        app.state.store = get_store()
    except (KeyError, RuntimeError):
        app.state.store = None
    if app.state.store is None:
        log.warning(
            "the server shows its routes no store: nothing is done behind the turns here (`react-mem worker` does it), "
            "and chat summaries go without profiles and stored prompts"
        )
    else:
        await check_served_embeddings(app.state.store)
    try:
        await asyncio.to_thread(summarizer_for, DEFAULT_AGENT)
    except (AgentConfigError, ModelConfigError, ToolConfigError) as error:
        log.warning("the agent %r cannot sum up chats: %s", DEFAULT_AGENT, error)
    if app.state.store is None:
        yield
        return
    worker = Worker(app.state.store, await asyncio.to_thread(ConfiguredRunners))
    try:
        yield
    finally:
        await worker.close(CLOSING_SECONDS)


# The server serves the documentation of all routes itself, at /docs and /openapi.json.
app = FastAPI(title="react-mem", lifespan=_lifespan, openapi_url=None, docs_url=None, redoc_url=None)

# Not `include_router`: its route has no `app`, to which the server adds the authentication.
for router in (chat_summary, conversations, memory, metrics):
    app.router.routes.extend(router.routes)


@app.exception_handler(RequestValidationError)
async def say_what_is_wrong(request: Request, error: RequestValidationError) -> JSONResponse:
    """Answer 422 with the fields that are wrong, without what they hold: it may be long, and answers are logged."""
    detail = [{"type": part["type"], "loc": part["loc"], "msg": part["msg"]} for part in error.errors()]
    return JSONResponse({"detail": detail}, status_code=422)
