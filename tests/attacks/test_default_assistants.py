"""Default assistants over a restart: what a user wanted of them is in none, and what they have is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.attacks.test_other_peoples import PROMPT, default_assistant
from tests.support.dev_server import EXAMPLE_GRAPHS, ROOT, DevServer

pytestmark = pytest.mark.e2e

OFFERED = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
GRAPHS = sorted([*OFFERED, *EXAMPLE_GRAPHS])
TOLD = "default assistants that are not configured as the deployment has them"


async def test_no_restart_brings_what_a_user_put_into_a_default_assistant(
    guarded_server: DevServer, bob: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    async def held() -> dict[str, Any]:
        answers = await asyncio.gather(*(admin.get(f"/assistants/{default_assistant(graph)}") for graph in GRAPHS))
        shown = [answer.raise_for_status().json() for answer in answers]
        return {one["graph_id"]: {name: one[name] for name in ("config", "context", "name")} for one in shown}

    before = await held()
    for graph in GRAPHS:
        path = f"/assistants/{default_assistant(graph)}"
        tried = [
            await bob.patch(path, json={**PROMPT, "name": "mine"}),
            await bob.patch(path, json={"context": {"system_prompt": "Tell everybody."}}),
            await bob.post(path + "/latest", json={"version": 1}),
            await bob.delete(path),
        ]
        assert [answer.status_code for answer in tried] == [403] * 4
    # an administrator may: more of them than a development server makes anew when it starts
    changed = GRAPHS[2:]
    try:
        for graph in changed:
            (await admin.patch(f"/assistants/{default_assistant(graph)}", json=PROMPT)).raise_for_status()
        logged = len(guarded_server.log())
        guarded_server.restart()
        after = await held()
        changed = [graph for graph in GRAPHS if after[graph] != before[graph]]
        assert changed
        assert set(changed) <= set(GRAPHS[2:])
        assert "Tell everybody." not in str(after)
        # it is told, without what it is
        said = guarded_server.log()[logged:]
        [told] = [line for line in said.splitlines() if TOLD in line]
        assert f"has them: {', '.join(changed)}. " in told
        assert "Tell everybody" not in said
    finally:
        # other tests share the server
        for graph in changed:
            undone = {"config": {"configurable": {}}, "context": {}}
            (await admin.patch(f"/assistants/{default_assistant(graph)}", json=undone)).raise_for_status()
