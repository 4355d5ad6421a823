"""`react-mem serve`: the memory alone on a port, for users with API keys or signed tokens (JWT).

No LangGraph server, Redis or licence key: one process with REST, page, MCP, the stream of changes and the worker.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping
from typing import Any

from langgraph_sdk import Auth
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route

from react_mem.agents.agent_opening import ConfiguredRunners
from react_mem.agents.config import AgentConfig
from react_mem.errors import ServerAuthError
from react_mem.graphs.auth.by_api_key import FILE_ENV, ApiKeys
from react_mem.graphs.auth.permissions import bearer_token, caller, unauthorized
from react_mem.graphs.callers import OneCredential
from react_mem.graphs.memory_router import CurrentUser, memory_router
from react_mem.installation import of_extra
from react_mem.memory import MemoryFacade, StorageSettings
from react_mem.memory.runtime import Worker, open_storage

# MCP is served too, whose package brings the server
with of_extra("mcp"):
    import uvicorn


SHUTDOWN_SECONDS = 5


def callers(environ: Mapping[str, str] = os.environ) -> CurrentUser:
    """Return who calls: by the API keys of `AUTH_API_KEYS_FILE`, else by the tokens of `AUTH_JWT_ISSUER` and others.

    Raises:
        ServerAuthError: If neither is set, or not so that it can be used.
    """
    if environ.get(FILE_ENV, "").strip():
        keys = ApiKeys.from_env(environ)

        async def identified(headers: Headers) -> Any:
            sent = headers.get("x-api-key") or bearer_token(headers.get("authorization"))
            if (identity := keys.identity(sent)) is None:
                raise unauthorized("the API key is not known")
            return identity

    elif any(value.strip() for name, value in environ.items() if name.startswith("AUTH_JWT_")):
        with of_extra("auth"):
            from react_mem.graphs.auth.by_jwt import JwtSettings, Tokens
        settings = JwtSettings.from_env(environ)
        tokens = Tokens(settings)

        async def identified(headers: Headers) -> Any:
            return (await tokens.claims(bearer_token(headers.get("authorization"))))[settings.identity_claim]

    else:
        raise ServerAuthError(
            f"`react-mem serve` has to know its users: set {FILE_ENV} (API keys), or AUTH_JWT_ISSUER and "
            "AUTH_JWT_AUDIENCE with AUTH_JWT_JWKS_URL or AUTH_JWT_SECRET (tokens); see docs/security.md"
        )

    async def current_user(request: Request) -> str:
        try:
            return caller(await identified(request.headers), administrator=False)["identity"]
        except Auth.exceptions.HTTPException as error:
            raise HTTPException(error.status_code, error.detail) from None

    return current_user


async def run_serve(arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Any) -> int:
    """Serve until interrupted; return the exit code."""
    current_user = await asyncio.to_thread(callers)
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.memory, config.memory, checkpointer=storage.checkpointer)
        page = Route("/", lambda _: RedirectResponse("/memory/ui"))
        routes = [page, Mount("/memory", memory_router(memory, current_user))]
        app = Starlette(routes=routes, middleware=[Middleware(OneCredential)])
        host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
        console.say(f"what is remembered is at http://{host}:{arguments.port}/memory/ui, REST below /memory/v1")
        runners = await asyncio.to_thread(ConfiguredRunners)
        worker = Worker(storage.memory, runners, checkpointer=storage.checkpointer)
        try:
            # an open page would follow the changes for ever
            ends: dict[str, Any] = {"lifespan": "off", "timeout_graceful_shutdown": SHUTDOWN_SECONDS}
            served = uvicorn.Config(app, arguments.host, arguments.port, log_level="warning", **ends)
            await uvicorn.Server(served).serve()
        finally:
            await worker.close()
    return 0
