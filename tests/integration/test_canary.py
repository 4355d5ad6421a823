"""A word that a user said is nowhere in a copy of an encrypted database, and nowhere once the user is forgotten."""

from __future__ import annotations

import random
import string
from base64 import b64encode
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from psycopg import AsyncConnection
from pydantic import SecretStr

from react_mem.agents import open_agent
from react_mem.agents.agent_opening import ConfiguredRunners
from react_mem.memory.maintenance.runner import maintain_all
from react_mem.memory.merging.concept_store import refresh_concepts
from react_mem.memory.opening import OpenedMemory, open_memory
from react_mem.memory.store.resealing import reseal
from react_mem.memory.store.storage_settings import StorageSettings
from tests.integration.memory.test_scopes import fill
from tests.support.absence import places_with
from tests.support.residue import residue

pytestmark = pytest.mark.usefixtures("without_models")

KEY = SecretStr("5a" * 32)


@pytest.fixture
def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def canary() -> str:
    """A word that no text and no code holds."""
    return "".join(random.SystemRandom().choices(string.ascii_lowercase.replace("s", ""), k=14))


def settings_of(url: str, key: SecretStr | None) -> StorageSettings:
    return StorageSettings(database_url=SecretStr(url), embedding="local", encryption_key=key)


async def live(settings: StorageSettings, word: str) -> None:
    """Say a word in conversations, have it worked on behind them, and put it into every scope."""
    image = {"type": "image", "base64": b64encode(word.encode() * 400).decode(), "mime_type": "image/png"}
    said: list[Any] = [
        f"My cat is called {word.title()}. I always feed {word.title()} fish.",
        [{"type": "text", "text": f"This is {word.title()}, remember that."}, image],
        f"I moved to {word.title()} Street in March. What is my cat called?",
    ]
    async with open_agent("assistant", settings=settings) as agent:
        for number, content in enumerate(said):
            where = {"configurable": {"thread_id": f"thread-{number}"}}
            await agent.ainvoke({"messages": [HumanMessage(content)]}, where, context={"user_id": "ann"})
    async with open_memory(settings=settings) as memory:
        await fill(memory, "ann", word)
        await fill(memory, "bob", "coffee")
        await maintain_all(memory.store, ConfiguredRunners(), "ann")
        await refresh_concepts(memory.store, "ann")
        await memory.dialog.update_summary("ann", "thread-0", f"about {word}", agent_id="assistant")


async def remembered(memory: OpenedMemory, word: str) -> list[str]:
    return await places_with(memory.store, "ann", word, f"What about {word}?")


async def vacuumed(url: str) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("VACUUM FULL")


async def test_nothing_of_an_encrypted_database_holds_it(database_url: str, canary: str) -> None:
    settings = settings_of(database_url, KEY)
    await live(settings, canary)
    found_now = await residue(database_url, canary)
    assert found_now == [], found_now
    async with open_memory(settings=settings) as memory:
        found = await remembered(memory, canary)
        assert {"scope dialog", "scope semantic", "scope episodic", "scope procedural", "scope profile"} <= {*found}
        assert {"arm vector", "export"} <= {*found}
        threads = [each async for each in memory.checkpointer.alist(None)] if memory.checkpointer else []
        assert canary in str(threads).lower()
        await memory.forget_user("ann")
        assert await remembered(memory, canary) == []
    found_now = await residue(database_url, canary)
    assert found_now == [], found_now


async def test_what_was_in_plain_is_found_until_it_is_sealed_and_written_anew(database_url: str, canary: str) -> None:
    await live(settings_of(database_url, None), canary)
    found = await residue(database_url, canary)
    assert {"table store", "table checkpoint_blobs", "dump", "file of store"} <= {*found}, found
    async with open_memory(settings=settings_of(database_url, None)) as memory:
        before = await remembered(memory, canary)
        assert before != []
    async with open_memory(settings=settings_of(database_url, KEY)) as memory:
        store: Any = memory.store
        done = await reseal(store.pool, store.keys, lambda done, total: None)
        assert done.from_plain > 0
        assert await remembered(memory, canary) == before
        await vacuumed(database_url)
        left = [place for place in await residue(database_url, canary) if "checkpoint" not in place and place != "dump"]
        assert left == []
        await memory.forget_user("ann")
        assert await remembered(memory, canary) == []
    await vacuumed(database_url)
    found = await residue(database_url, canary)
    assert found == [], found
