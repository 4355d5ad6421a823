"""Pages of other machines that the server of a developer welcomes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse

from react_mem.graphs.this_machine import OnlyThisMachine

STUDIO, CHAT = "https://smith.langchain.com", "https://chat.example"


@pytest.mark.parametrize(
    ("cors", "welcome"),
    [
        (None, {STUDIO}),
        (
            {"allow_origins": [], "allow_origin_regex": r"https://chat\.example|https://smith\.langchain\.com"},
            {CHAT, STUDIO},
        ),
    ],
)
@pytest.mark.parametrize("by_itself", [True, False])
async def test_those_are_welcome_that_cors_lists(
    cors: dict[str, Any] | None, welcome: set[str], by_itself: bool
) -> None:
    http = {"LANGGRAPH_HTTP": json.dumps({"cors": cors})}
    served = OnlyThisMachine(PlainTextResponse("ok"), {"CORS_CONFIG": json.dumps(cors)} if by_itself else http)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=served), base_url="http://localhost") as client:
        for origin in (STUDIO, CHAT, f"{STUDIO}.evil.example", "https://chatxexample", "http://localhost:3000", "null"):
            answer = await client.post("/", headers={"origin": origin})
            assert (answer.status_code == 200) is (origin in welcome or origin == "http://localhost:3000"), origin
