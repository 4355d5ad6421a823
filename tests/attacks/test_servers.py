"""Attackers without a token, and the servers that the other attacks are made on."""

from __future__ import annotations

import httpx
import pytest

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("path", ["/threads/search", "/assistants/search", "/runs/crons/search", "/chat/summary"])
async def test_without_a_token_nothing_is_answered(anybody: httpx.AsyncClient, path: str) -> None:
    assert (await anybody.post(path, json={})).status_code == 401


async def test_a_user_makes_threads_and_development_needs_no_token(
    ann: httpx.AsyncClient, passer_by: httpx.AsyncClient
) -> None:
    assert (await ann.post("/threads", json={})).status_code == 200
    assert (await passer_by.post("/threads", json={})).status_code == 200
