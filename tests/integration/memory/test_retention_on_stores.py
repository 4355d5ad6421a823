"""After retention no scope, arm, link, cache or export of memory has a word of what was too old, on any store."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore, PutOp

from react_mem.memory import MemoryFacade, MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import kind_of
from react_mem.memory.model.operations import write
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.model.records import now
from react_mem.memory.rights.retention import retain
from react_mem.memory.store.attachments import sizes
from react_mem.memory.store.capabilities import everything
from tests.integration.memory.conftest import every_store
from tests.support.absence import assert_absent, places_with

store = every_store

WORD = "zanzibar"
OLD = f"I moved to {WORD} with my brother."
YOUNG = "I play chess on Sundays."
QUESTION = "Where did I move to with my brother?"
IMAGE = base64.b64encode(b"a picture").decode()


async def told(memory: MemoryFacade, session: str, text: str) -> None:
    content: list[Any] = [
        {"type": "text", "text": text},
        {"type": "image", "base64": IMAGE, "mime_type": "image/png"},
    ]
    said = HumanMessage(content if WORD in text else text, id=f"{session}-q")
    answer = AIMessage(f"I see: {text}", id=f"{session}-a")
    records = await memory.dialog.append("ann", session, [said, answer], agent_id="tester")
    sources = [records[0].id]

    async def derived(scope: MemoryScope, **data: Any) -> None:
        data["source_ids"] = sources
        await memory.write(
            MemoryWriteEvent(user_id="ann", session_id=session, agent_id="tester", scope=scope, data=data)
        )

    await derived(MemoryScope.SEMANTIC, text=text)
    await derived(MemoryScope.EPISODIC, goal=f"talk of this: {text}", text=text)
    await derived(MemoryScope.DIALOG, kind="summary", text=f"They said: {text}")


async def aged_by(store: BaseStore, session: str, days: int) -> None:
    """Make the records of a conversation older, as if they had been written then."""
    then = (now() - timedelta(days=days)).isoformat()
    changes = []
    for item in await everything(store, "ann"):
        if item.value.get("session_id") == session:
            times = {name: then for name in ("created_at", "said_at", "last_said_at") if name in item.value}
            value = {**item.value, **times}
            changes.append(_put(item, value))
    await write(store, changes)


def _put(item: Any, value: dict[str, Any]) -> Any:
    return PutOp(item.namespace, item.key, value, index=kind_of(value).index(value))


async def test_nothing_of_what_is_too_old_is_found_and_all_that_is_younger_is(memory: MemoryFacade) -> None:
    store = memory.store
    await told(memory, "long ago", OLD)
    await told(memory, "lately", YOUNG)
    await aged_by(store, "long ago", 31)
    query = MemoryQuery(user_id="ann", session_id="x", agent_id="tester", scopes=[MemoryScope.SEMANTIC], query=QUESTION)
    await memory.read(query)
    before = await places_with(store, "ann", WORD, QUESTION)
    assert {"scope dialog", "scope semantic", "scope episodic", "cache", "export"} <= set(before)
    assert await sizes(store, "ann")
    young = {i.key: i.value for i in await everything(store, "ann") if i.value.get("session_id") == "lately"}
    policies = {"tester": RetentionSettings(dialog="30d")}
    planned = await retain(store, None, "ann", policies, dry_run=True)
    assert await places_with(store, "ann", WORD, QUESTION) == before
    done = await retain(store, None, "ann", policies)
    assert done.removed == planned.removed
    assert done.removed == {"message": 2, "fact": 1, "episode": 1, "summary": 1} | {
        kind: count for kind, count in done.removed.items() if kind in ("conversation", "concept")
    }
    await assert_absent(store, "ann", WORD, QUESTION)
    assert not await sizes(store, "ann")
    left = {item.key: item.value for item in await everything(store, "ann")}
    assert young == {key: value for key, value in left.items() if value.get("session_id") == "lately"}
    found = await memory.read(query.model_copy(update={"query": "When do I play chess?"}))
    assert [item.payload["text"] for item in found] == [YOUNG]
