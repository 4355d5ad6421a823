"""Requests of the present version that are slightly wrong: refused with what is right, and nothing is done."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from langgraph.store.memory import InMemoryStore
from starlette.authentication import SimpleUser, UnauthenticatedUser
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from react_mem.graphs.http import app
from tests.support.rest import MEMORIES, client_as

V1 = "/memory/v1"

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

PATHS = sorted({route.path for route in app.routes if isinstance(route, APIRoute)})

OPERATIONS = sorted(
    (route.path, method)
    for route in app.routes
    if isinstance(route, APIRoute) and route.path.startswith(V1)
    for method in route.methods
)

WITH_BODY = sorted(
    (route.path, "".join(route.methods))
    for route in app.routes
    if getattr(route, "body_field", None) and route.path.startswith(V1)
)


@pytest.fixture
async def anyone() -> AsyncIterator[httpx.AsyncClient]:
    """HTTP of a user of whom nothing is remembered."""
    async with client_as(InMemoryStore(), "ann") as client:
        yield client


def problems_of(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    return {".".join(map(str, one["loc"])): one["msg"] for one in answer.json()["detail"]}


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
async def test_no_route_takes_a_parameter_that_it_does_not_know(
    path: str, method: str, anyone: httpx.AsyncClient
) -> None:
    told = problems_of(await anyone.request(method, path, params={"us_id": "bob"}, json={}))
    assert "us_id" in told["query.us_id"]


@pytest.mark.parametrize(("path", "method"), WITH_BODY)
async def test_no_route_takes_a_field_that_it_does_not_know(path: str, method: str, anyone: httpx.AsyncClient) -> None:
    told = problems_of(await anyone.request(method, path, json={"user": "bob"}))
    own = {"undo": "none is taken", "pause": "did you mean 'paused'?"}
    hint = own.get(path.rpartition("/")[2], "did you mean 'user_id'?")
    assert told["body.user"] == f"'user' is not known here; {hint}"


async def test_whom_the_query_names_is_the_user_and_a_body_that_names_another_is_refused() -> None:
    said, ann = {"text": "I like tea."}, {"user_id": "ann"}
    async with client_as(InMemoryStore(), UnauthenticatedUser()) as anybody:
        assert (await anybody.post(MEMORIES, params=ann, json=said)).status_code == 201
        assert (await anybody.post(MEMORIES, json={**said, **ann})).status_code == 200
        assert (await anybody.post(MEMORIES, params=ann, json={**said, **ann})).status_code == 200
        assert (await anybody.post(MEMORIES, params=ann, json={**said, "user_id": "bob"})).status_code == 422
        assert [
            (await anybody.get(MEMORIES, params={"user_id": name})).json()["total"] > 0 for name in ("ann", "bob")
        ] == [True, False]


async def test_what_was_meant_is_named_and_nothing_is_done(anyone: httpx.AsyncClient) -> None:
    told = problems_of(await anyone.post(MEMORIES, json={"text": "She lives in Hue.", "abuot": "Lan"}))
    assert told == {"body.abuot": "'abuot' is not known here; did you mean 'about'?"}
    assert (await anyone.get(MEMORIES, params={"state": "all"})).json()["total"] == 0
    told = problems_of(await anyone.get(MEMORIES, params={"kinds": "fact", "limt": "1"}))
    assert told == {
        "query.kinds": "'kinds' is not known here; did you mean 'kind'?",
        "query.limt": "'limt' is not known here; did you mean 'limit'?",
    }
    beside = problems_of(await anyone.post(MEMORIES, params={"about": "Lan"}, json={"text": "I like tea."}))
    assert beside == {"query.about": "'about' is not known here; it belongs into the body"}
    nothing_alike = problems_of(await anyone.get(f"{V1}/usage", params={"zzz": "1"}))
    assert nothing_alike["query.zzz"].endswith("known are user_id")


async def test_what_clients_of_langsmith_send_beside_is_taken(anyone: httpx.AsyncClient) -> None:
    langsmith = {"run_id": "run", "key": "user", "score": 1, "feedback_source": {"type": "api"}, "extra": None}
    assert (await anyone.post(f"{V1}/feedback", json={**langsmith, "session_id": "project"})).status_code == 404
    assert "body.scor" in problems_of(await anyone.post(f"{V1}/feedback", json={**langsmith, "scor": 1}))


@pytest.fixture
async def among_others() -> AsyncIterator[httpx.AsyncClient]:
    """HTTP of our routes, behind which stands one that takes whatever comes, as on LangGraph's server."""

    async def whatever(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("nothing here", 404)(scope, receive, send)

    server = FastAPI(routes=[*app.router.routes, Mount("", whatever)])

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        await server({**scope, "user": SimpleUser("ann")}, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize("path", [*PATHS, "/memory/ui"])
async def test_a_method_that_a_path_does_not_take_finds_nothing(path: str, among_others: httpx.AsyncClient) -> None:
    ours = [one for one in app.routes if isinstance(one, Route) and one.path == path and one.include_in_schema]
    taken = {method for route in ours for method in route.methods or ()} or {"GET", "HEAD"}
    for method in sorted(METHODS - taken):
        answer = await among_others.request(method, path)
        assert (method, answer.status_code) == (method, 404)
