"""The Python client on our whole app: what a program does with a user's memory."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from langgraph.store.base import BaseStore

from react_mem_client import MemoryApiError, MemoryClient
from tests.support.documents import blocks, blocks_of
from tests.support.installing import ROOT


def of(http: httpx.AsyncClient, user_id: str | None = None) -> MemoryClient:
    return MemoryClient("http://127.0.0.1", http=http, user_id=user_id)


async def refused(status: int, request: object) -> MemoryApiError:
    with pytest.raises(MemoryApiError) as caught:
        await request  # type: ignore[misc]
    assert caught.value.status == status
    return caught.value


async def test_a_memory_is_told_found_corrected_and_forgotten(ann: httpx.AsyncClient) -> None:
    memory = of(ann)
    told = await memory.remember("Tôi sống ở Huế 🏯.")
    assert (told.outcome, told.memory.origin, told.etag) == ("new", "user", f'"{told.memory.revision}"')
    found = await memory.search_memories("Huế", scopes=["semantic"])
    assert [one.memory.id for one in found.items] == [told.memory.id]
    shown = await memory.show_memory(told.memory.id)
    assert shown.provenance[0].quote == "Tôi sống ở Huế 🏯."
    corrected = await memory.correct_memory(told.memory.id, "我住在北京。", if_match=shown.etag)
    assert (corrected.text, corrected.current) == ("我住在北京。", True)
    receipt = (await memory.forget_memory_by_id(corrected.id, if_match=corrected.revision)).receipt
    assert corrected.id in receipt.removed["fact"]
    await refused(404, memory.show_memory(corrected.id))


async def test_what_has_changed_is_not_changed_again(ann: httpx.AsyncClient) -> None:
    memory = of(ann)
    tea = (await memory.remember("I like tea.")).memory
    page = await memory.list_memories()
    assert await memory.list_memories(if_none_match=page.etag) is None
    milk = await memory.correct_memory(tea.id, "I like milk.", if_match=tea.revision)
    changed = await memory.list_memories(kind=["fact"], if_none_match=page.etag)
    assert changed is not None
    assert [one.text for one in changed.items] == ["I like milk."]
    error = await refused(412, memory.forget_memory_by_id(milk.id, if_match=tea.revision))
    assert error.title == "Precondition Failed"
    await refused(412, memory.correct_memory(milk.id, "I like juice.", if_match='"stale"'))
    assert (await memory.show_memory(milk.id)).memory.revision == milk.revision


async def test_everything_else_is_read(ann: httpx.AsyncClient, store: BaseStore) -> None:
    client = of(ann)
    tea = (await client.remember("I like tea.")).memory
    exported = "".join([part async for part in client.export_memory()])
    assert tea.id in exported
    assert "I like tea." in "".join([part async for part in client.export_memory(format="markdown")])
    assert (await client.show_usage()).kinds["fact"] == 1
    assert tea.id in {node.id for node in (await client.show_graph(kind=["fact"])).nodes}
    assert (await client.show_profile()).fields == []
    assert (await client.list_skills()).items == []
    assert all(link.from_ for link in (await client.show_graph()).links)
    assert [one.attempts for one in (await client.list_pending()).items] in ([], [0])
    context = await client.explain_context("What do I like?")
    assert context.prompt[-1].content == "What do I like?"
    await refused(404, client.explain_answer("no-thread", "no-message"))
    await refused(422, client.forget_memory())
    await refused(404, client.give_feedback(thread_id="no-thread", score="up"))
    gone = await client.forget_memory(ids=[tea.id])
    assert gone.problems == []
    await refused(404, client.forget_conversation("no-thread"))
    asked = await refused(422, client.remember("Where do I live?"))
    assert ": body.text: states nothing" in str(asked)
    wrong = await refused(422, client.erase_user("erase a little"))  # type: ignore[arg-type]
    assert "body.confirm" in str(wrong)


async def test_the_example_of_the_readme_runs(
    ann: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [example] = [one.text for one in blocks_of(ROOT / "clients/python/README.md") if one.language == "python"]
    assert [one.text for one in blocks("python", "docs/clients.md")] == [example]
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    before = example.replace("asyncio.run(main())", "")
    assert before != example
    names: dict[str, object] = {}
    monkeypatch.setattr("react_mem_client.transport.httpx.AsyncClient", lambda: ann)
    exec(compile(before, "README.md", "exec"), names)  # noqa: S102
    running = names["main"]
    assert callable(running)
    await asyncio.wait_for(running(), 60)
    assert capsys.readouterr().out == "I live in Hanoi.\n"
