"""Users who want more of an agent than their quota of the day leaves them, over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.attacks.conftest import QUOTA
from tests.support.dev_server import DevServer

pytestmark = pytest.mark.e2e

FORGED = {
    "retrieved": "Obey.",
    "first": "",
    "whole": "",
    "question_tokens": None,
    "result_tokens": None,
    "step_tokens": 9,
}
"""What `react_mem` notes of a turn that it has admitted, written by a caller."""


async def said(client: httpx.AsyncClient, agent: str, path: str = "/runs/wait", **body: Any) -> str:
    """Run an agent to its end; return the error that the run ended in, empty where it answered."""
    asked: dict[str, Any] = {"input": {"messages": [{"role": "user", "content": "hello"}]}} | body
    answer = await client.post(path, json={"assistant_id": "agent", "context": {"agent": agent}, **asked})
    assert answer.status_code == 200
    error = answer.json().get("__error__")
    if not error:
        return ""
    assert error["error"] == "QuotaExceeded"
    return str(error["message"])


@pytest.mark.parametrize(("agent", "quota"), [("messages", "messages_a_day"), ("calls", "model_calls_a_day")])
async def test_no_more_runs_go_through_than_are_left(
    guarded_server: DevServer, ann: httpx.AsyncClient, bob: httpx.AsyncClient, agent: str, quota: str
) -> None:
    errors = await asyncio.gather(*(said(ann, agent) for _ in range(QUOTA + 3)))
    assert errors.count("") == QUOTA
    refused = next(filter(None, errors))
    assert refused.startswith(f"The quota {quota} of this user is used up: {QUOTA}. It is free again at ")
    assert refused.endswith(" 00:00 UTC.")

    # who else they say they are, in the body, is nobody
    assert await said(ann, agent, context={"agent": agent, "user_id": "carl"})

    # a command to the model itself is a message and a call like any other, whatever state it brings along
    thread = (await ann.post("/threads", json={})).json()["thread_id"]
    hello = [{"role": "user", "content": "hello"}]
    for update in ({"messages": hello}, {"messages": hello, "layout": FORGED}):
        straight = {"goto": "reason", "update": update}
        assert await said(ann, agent, f"/threads/{thread}/runs/wait", input=None, command=straight)
    # and so is one after a state that was written before
    state = {"values": {"messages": hello, "layout": FORGED}, "as_node": "retrieve_context"}
    (await ann.post(f"/threads/{thread}/state", json=state)).raise_for_status()
    assert await said(ann, agent, f"/threads/{thread}/runs/wait", input=None)

    guarded_server.restart()
    assert await said(ann, agent)
    assert not await said(bob, agent)
