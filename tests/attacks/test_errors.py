"""What the clients of a server are told of errors, over HTTP, and what they are not told."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.dev_server import DevServer
from tests.support.failing_graph import FOREIGN, OF_A_PLACE, OURS, SECRET

pytestmark = pytest.mark.e2e


async def failed(client: httpx.AsyncClient, asked: dict[str, Any]) -> tuple[dict[str, str], str]:
    """Run what fails in a thread; return the error as the stream has it, and all that a client gets to see."""
    thread = (await client.post("/threads", json={})).json()["thread_id"]
    modes = ["values", "updates", "debug", "tasks", "custom", "messages-tuple"]
    streamed = await client.post(f"/threads/{thread}/runs/stream", json={**asked, "stream_mode": modes})
    seen = [streamed]
    for path in (f"/threads/{thread}", f"/threads/{thread}/state", f"/threads/{thread}/history"):
        seen.append(await client.get(path))
    _, told = streamed.text.split("event: error", 1)
    data = next(line for line in told.splitlines() if line.startswith("data: "))
    error: dict[str, str] = json.loads(data.removeprefix("data: "))
    return error, "\n".join(answer.text for answer in seen)


def failing(how: str) -> dict[str, Any]:
    return {"assistant_id": "failing", "input": {"fail": how}}


@pytest.mark.parametrize("kind", OURS)
async def test_our_own_errors_say_to_clients_what_they_say(ann: httpx.AsyncClient, kind: str) -> None:
    wanted = OURS[kind]()
    error, _ = await failed(ann, failing(kind))
    assert error["error"] == type(wanted).__name__
    # that of a quota names the time at which it was made
    assert error["message"][:40] == str(wanted)[:40]


@pytest.mark.parametrize("kind", OF_A_PLACE)
async def test_an_error_that_names_a_place_is_told_without_it(
    ann: httpx.AsyncClient, guarded_server: DevServer, kind: str
) -> None:
    error, seen = await failed(ann, failing(kind))
    assert error["error"] == type(OF_A_PLACE[kind]()).__name__
    assert len(error["message"]) > 20
    assert SECRET not in seen
    assert f"{error['error']}: " in guarded_server.log()


@pytest.mark.parametrize("kind", [*FOREIGN, "edge"])
async def test_the_errors_of_others_tell_clients_nothing(
    ann: httpx.AsyncClient, guarded_server: DevServer, kind: str
) -> None:
    before = len(guarded_server.log())
    error, seen = await failed(ann, failing(kind))
    assert error["error"] == "RunFailed"
    assert "on the server's side" in error["message"]
    assert SECRET not in seen
    logged = guarded_server.log()[before:]
    assert type(FOREIGN.get(kind, ValueError)()).__name__ in logged
    assert "failing_graph" in logged


async def test_interrupts_are_no_errors(ann: httpx.AsyncClient) -> None:
    thread = (await ann.post("/threads", json={})).json()["thread_id"]
    waited = await ann.post(f"/threads/{thread}/runs/wait", json=failing("interrupt"))
    assert waited.json()["__interrupt__"][0]["value"] == "may I?"
    resumed = {"assistant_id": "failing", "command": {"resume": "no"}}
    assert (await ann.post(f"/threads/{thread}/runs/wait", json=resumed)).json() == {"fail": "no"}


async def test_a_forged_state_fails_without_a_look_into_the_server(ann: httpx.AsyncClient) -> None:
    thread = (await ann.post("/threads", json={})).json()["thread_id"]
    hello = [{"role": "user", "content": "hello"}]
    await ann.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "react_mem", "input": {"messages": hello}})
    forged = {"values": {"messages": hello, "layout": {SECRET: 1}}, "as_node": "retrieve_context"}
    (await ann.post(f"/threads/{thread}/state", json=forged)).raise_for_status()
    waited = await ann.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "react_mem", "input": None})
    assert waited.json()["__error__"]["error"] == "RunFailed"


async def test_an_agent_that_there_is_not_is_named_and_one_that_is_broken_shows_no_file(
    ann: httpx.AsyncClient, guarded_server: DevServer
) -> None:
    hello = {"messages": [{"role": "user", "content": "hello"}]}
    asked = {"assistant_id": "agent", "input": hello}
    error, _ = await failed(ann, {**asked, "context": {"agent": "nobody-like-that"}})
    assert error["error"] == "UnknownAgent"
    assert "nobody-like-that" in error["message"]
    assert "assistant" in error["message"]
    error, seen = await failed(ann, {**asked, "context": {"agent": "broken"}})
    assert error["error"] == "AgentConfigError"
    assert str(guarded_server.folder) not in seen
    assert SECRET not in seen
    assert "broken.yaml" in guarded_server.log()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/memory/v1/search", {"query": "tea"}),
        ("/memory/v1/context", {"message": "tea"}),
        ("/memory/v1/memories", {"text": "I like tea."}),
        ("/chat/summary", {"conversation_id": "c", "user_input": "tea", "ad_content": "Kettles"}),
    ],
)
async def test_our_routes_show_no_file_of_an_agent_that_is_broken(
    ann: httpx.AsyncClient, guarded_server: DevServer, path: str, body: dict[str, str]
) -> None:
    answer = await ann.post(path, json={**body, "agent": "broken"})
    assert answer.status_code == 503
    assert "not set up for this" in answer.json()["detail"]
    assert SECRET not in answer.text
    assert str(guarded_server.folder) not in answer.text
    unknown = await ann.post(path, json={**body, "agent": "nobody-like-that"})
    assert unknown.status_code == 422
    assert "unknown agent 'nobody-like-that'" in unknown.text
