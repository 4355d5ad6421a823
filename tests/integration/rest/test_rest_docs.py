"""Requests of docs/rest.md, sent to our routes as they stand there."""

from __future__ import annotations

import json
import shlex
from urllib.parse import urlsplit

import httpx
import pytest

from react_mem.graphs.http import app
from react_mem.graphs.memory_api.callers_memory import PREFIX
from tests.support.documents import blocks

COMMANDS = [line for block in blocks("bash", "docs/rest.md") for line in block.text.splitlines() if line.strip()]


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_request_of_the_docs_is_answered(command: str, ann: httpx.AsyncClient) -> None:
    words = shlex.split(command)
    [url] = [word for word in words if word.startswith("http://")]
    sent = json.loads(words[words.index("--json") + 1]) if "--json" in words else None
    where = urlsplit(url)
    assert (where.scheme, where.netloc) == ("http", "127.0.0.1:2024")
    answer = await ann.request("POST" if sent is not None else "GET", f"{where.path}?{where.query}", json=sent)
    assert answer.status_code in (200, 201, 202), answer.text


def test_every_route_is_described_with_its_errors() -> None:
    described = app.openapi()["paths"]
    ours = [one for path, methods in described.items() if path.startswith(PREFIX) for one in methods.values()]
    assert len({one["operationId"] for one in ours}) == len(ours) >= 22
    assert all({"401", "404", "503"} <= set(one["responses"]) for one in ours)
    assert not any(one.get("deprecated") for one in ours)
