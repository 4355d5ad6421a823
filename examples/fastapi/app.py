"""Memory in a FastAPI application, for its own users: `uvicorn app:app`, then see docs/operations.md."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request

from react_mem import memory_router, open_memory

USERS = {"key-of-ann": "ann", "key-of-bob": "bob"}  # your own accounts stand here


def current_user(request: Request) -> str | None:
    return USERS.get(request.headers.get("x-api-key", ""))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with open_memory() as memory:
        app.mount("/memory", memory_router(memory, current_user))
        yield


app = FastAPI(lifespan=lifespan)
