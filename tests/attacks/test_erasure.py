"""The right to be forgotten over HTTP: all of the caller's goes with a receipt, and nothing of anybody else's."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import httpx
import pytest

from react_mem.memory import MemoryFacade
from react_mem.memory.rights.receipts import public_key
from react_mem.memory.runtime import SignedReceipt, note_thread, open_storage
from react_mem.memory.store import StorageSettings
from tests.support.dev_server import DevServer
from tests.support.people import BOB, token_of

pytestmark = pytest.mark.e2e

ERASE = {"confirm": "erase everything"}


@pytest.fixture
def leaver() -> str:
    """Somebody with nothing to do with other tests, who goes."""
    return f"leaver-{uuid.uuid4().hex}"


def client_of(server: DevServer, identity: str) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {token_of(identity)}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60)


async def said(client: httpx.AsyncClient, text: str, graph: str = "react_mem", **more: Any) -> str:
    """Say something in a new thread; return the thread."""
    thread: str = (await client.post("/threads", json={})).raise_for_status().json()["thread_id"]
    asked = {"assistant_id": graph, "input": {"messages": [{"role": "user", "content": text}]}, **more}
    (await client.post(f"/threads/{thread}/runs/wait", json=asked)).raise_for_status()
    return thread


async def exported(memory: MemoryFacade, user_id: str) -> list[str]:
    return [line async for line in memory.export_user(user_id)]


async def settled(memory: MemoryFacade, user_id: str) -> None:
    """Wait until the server has drawn from what a user said."""
    async with asyncio.timeout(60):
        while await memory.pending(user_id):  # noqa: ASYNC110 - the server's worker, which changes records, tells nobody
            await asyncio.sleep(0.1)  # the interval of a poll


async def found(client: httpx.AsyncClient, **metadata: str) -> set[str]:
    threads = await client.post("/threads/search", json={"metadata": metadata, "limit": 100})
    return {thread["thread_id"] for thread in threads.raise_for_status().json()}


async def test_a_user_is_erased_with_all_threads_and_others_stay(guarded_server: DevServer, leaver: str) -> None:
    settings = StorageSettings.model_validate({"database_url": guarded_server.database_url, "embedding": "local"})
    async with (
        client_of(guarded_server, leaver) as theirs,
        client_of(guarded_server, BOB) as bob,
        open_storage(settings) as storage,
    ):
        memory = MemoryFacade(storage.store)
        held = await said(bob, "I keep a marigold in the red pot on the balcony.")
        left = [
            await said(theirs, "I keep a zebrafish in the blue tank."),
            # with an agent without memory, and with none at all
            await said(theirs, "The zebrafish is asleep.", "react"),
            (await theirs.post("/threads", json={})).json()["thread_id"],
        ]
        # somebody else's thread is not theirs, though it is noted
        await note_thread(storage.store, leaver, held)
        await settled(memory, BOB)
        bobs = await exported(memory, BOB)
        assert "zebrafish" in str(await exported(memory, leaver))

        # somebody else who names them erases nothing of theirs, and has nothing to lose
        async with client_of(guarded_server, f"{leaver}-eve") as eve:
            answer = await eve.post("/memory/v1/erase", json={**ERASE, "user_id": leaver})
            assert (answer.status_code, answer.json()["threads"]) == (200, [])
        assert await found(theirs) == {*left}
        assert "zebrafish" in str(await exported(memory, leaver))

        answer = await theirs.post("/memory/v1/erase", json=ERASE)

        assert answer.status_code == 200, answer.text
        told = answer.json()
        assert told["problems"] == []
        assert {*left} <= {*told["threads"]}
        receipt = SignedReceipt.model_validate(told["receipt"])
        assert receipt.is_signed_by(await public_key(storage.store))
        assert receipt.is_of(leaver)
        assert not receipt.is_of(BOB)
        checks = {check.name for check in receipt.receipt.checks}
        assert {"threads", "export", "table public.store", "table public.store_vectors"} <= checks
        assert "zebrafish" not in answer.text

        assert len(await exported(memory, leaver)) == 1
        assert await found(theirs) == set()
        assert [(await theirs.get(f"/threads/{thread}")).status_code for thread in left] == [404] * 3
        assert await memory.semantic.search("zebrafish", user_id=leaver) == []
        assert await exported(memory, BOB) == bobs
        assert "marigold" in (await bob.get(f"/threads/{held}/state")).raise_for_status().text
        # again is nothing new
        again = (await theirs.post("/memory/v1/erase", json=ERASE)).raise_for_status().json()
        assert (again["threads"], again["problems"]) == ([], [])


async def test_a_legal_hold_is_named_and_nothing_goes(guarded_server: DevServer, leaver: str) -> None:
    settings = StorageSettings.model_validate({"database_url": guarded_server.database_url, "embedding": "local"})
    async with client_of(guarded_server, leaver) as theirs, open_storage(settings) as storage:
        memory = MemoryFacade(storage.store)
        threads = {await said(theirs, text) for text in ("I have a red boat.", "I have a blue boat.")}
        await settled(memory, leaver)
        before = await exported(memory, leaver)
        await memory.hold(leaver, "case-7", sorted(threads)[0])
        answer = await theirs.post("/memory/v1/erase", json=ERASE)
        assert answer.status_code == 423
        assert "case-7" in answer.json()["detail"]
        assert (await theirs.delete(f"/threads/{sorted(threads)[0]}")).status_code == 423
        assert await found(theirs) == threads
        assert await exported(memory, leaver) == before
        await memory.lift_hold(leaver, "case-7", sorted(threads)[0])
        assert (await theirs.post("/memory/v1/erase", json=ERASE)).json()["problems"] == []
        assert await found(theirs) == set()


@pytest.mark.parametrize("body", [{}, {"confirm": ""}, {"confirm": True}, {"confirm": "yes"}, {"confirm": None}])
async def test_nobody_is_erased_without_saying_so(body: dict[str, Any], bob: httpx.AsyncClient) -> None:
    assert (await bob.post("/memory/v1/erase", json=body)).status_code == 422


async def test_nobody_is_erased_by_nobody(anybody: httpx.AsyncClient) -> None:
    assert (await anybody.post("/memory/v1/erase", json={**ERASE, "user_id": BOB})).status_code == 401


async def test_without_authentication_only_the_threads_of_whom_is_named_go(
    passer_by: httpx.AsyncClient, leaver: str
) -> None:
    gone = await said(passer_by, "I keep a zebrafish.", context={"user_id": leaver})
    stays = await said(passer_by, "I keep a marigold.", context={"user_id": f"{leaver}-other"})
    told = (await passer_by.post("/memory/v1/erase", json={**ERASE, "user_id": leaver})).raise_for_status().json()
    assert (told["threads"], told["problems"]) == ([gone], [])
    assert (await passer_by.get(f"/threads/{gone}")).status_code == 404
    assert "marigold" in (await passer_by.get(f"/threads/{stays}/state")).raise_for_status().text
