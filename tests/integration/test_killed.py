"""A process that is killed again and again at random moments remembers what one that is left alone does."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.opening import open_storage
from react_mem.memory.retrieval.graph_reading import MemoryGraph
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.owned import everything
from tests.support.databases import fresh_database
from tests.support.labels import Says, clauses_in, labelled
from tests.support.many_turns import USER
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

TURNS = int(os.environ.get("KILLED_TURNS", "24"))
KILLS = int(os.environ.get("KILLED_KILLS", "4"))
"""What fits into every run of the tests; `KILLED_TURNS=200 KILLED_KILLS=20` is the long one."""

_LONGEST_LIFE = 4.0
"""Seconds after which a process is killed at the latest: it starts in two, and takes a few turns in the others."""


def says(number: int) -> str:
    return f"I keep thing number {number}. What do I keep?"


def propose(request: Request) -> Reply:
    """Label each clause that states a fact, as said again where a memory says it already."""
    stated = [text for text in clauses_in(request.text).values() if text.startswith("I keep thing number")]
    says = [Says(text, "same", text) for text in stated]
    return Reply(json=labelled(request.text, *says, Says("What do I keep?", "question")))


@pytest.fixture
def model(openai_server: OpenAIServer) -> OpenAIServer:
    sums_up = "You sum up a stretch of a conversation"
    openai_server.add(lambda asked: Reply(text=_summed(asked)), when=Match(contains=sums_up), repeat=True)
    openai_server.add(propose, when=Match(schema=True), repeat=True)
    openai_server.add(lambda asked: Reply(text=f"You said: {asked.last[:40]}"), when=Match(schema=False), repeat=True)
    return openai_server


def _summed(asked: Request) -> str:
    things = sorted(set(re.findall(r"thing number (\d+)", asked.last)), key=int)
    return f"The user told of the things {', '.join(things)}."


@dataclass(frozen=True)
class Talk:
    """A conversation, and where it is remembered."""

    folder: Path
    database_url: str
    model: OpenAIServer

    async def start(self) -> asyncio.subprocess.Process:
        agent = self.folder / "assistant.yaml"
        config = {"manager": "react_mem", "memory": {"extraction": {"mode": "inline"}}}
        agent.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        order = {"agent": str(agent), "thread": "1", "turns": [says(number) for number in range(TURNS)]}
        environment = {
            **os.environ,
            "DATABASE_URL": self.database_url,
            "OPENAI_BASE_URL": self.model.base_url,
            "OPENAI_API_KEY": "none",
            "EMBEDDING_MODEL": "local",
        }
        command = [sys.executable, "-m", "tests.support.many_turns", json.dumps(order)]
        return await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1, env=environment)

    async def killed(self, chance: random.Random, times: int) -> None:
        """Hold it in processes that are killed, so many times, and then to its end."""
        for _ in range(times):
            process = await self.start()
            try:
                await asyncio.wait_for(process.communicate(), chance.uniform(1.0, _LONGEST_LIFE))
            except TimeoutError:
                process.kill()
                await process.communicate()
        process = await self.start()
        _, err = await process.communicate()
        assert process.returncode == 0, err.decode()


async def remembered(database_url: str) -> dict[str, Any]:
    """Return what is remembered, by what it says: the ids of answers are others in every run."""
    settings = StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})
    async with open_storage(settings) as storage:
        items = [item.value for item in await everything(storage.store, USER)]
        graph = await MemoryGraph(storage.store).whole(USER)
        by_place: dict[str, str] = {}
        for value in items:
            if value.get("kind") in ("message", "fact", "summary"):
                by_place[str(value["id"])] = _place(value)
        unindexed = await _unindexed(storage, USER)
    return {
        "messages": sorted((v["turn"], v["role"], v["content"]) for v in items if v.get("kind") == "message"),
        "facts": sorted((v["text"], v["current"], v["support"]) for v in items if v.get("kind") == "fact"),
        "summaries": sorted(
            (v["level"], v["text"], v["covers"]) for v in items if v.get("kind") == "summary" and v["chain"]
        ),
        "links": sorted(
            (str(link.kind), by_place.get(link.source, ""), by_place.get(link.target, "")) for link in graph.links
        ),
        "waiting": [value for value in items if value.get("kind") == "pending"],
        "unindexed": unindexed,
    }


async def _unindexed(storage: Any, user_id: str) -> int:
    async with storage.pool.connection() as conn:
        cursor = await conn.execute(
            "SELECT count(*) AS missing FROM store s WHERE s.prefix = %s AND s.value ->> 'kind' = 'message' "
            "AND NOT EXISTS (SELECT 1 FROM store_vectors v WHERE v.prefix = s.prefix AND v.key = s.key)",
            [".".join(scope_namespace(user_id, MemoryScope.DIALOG))],
        )
        row = await cursor.fetchone()
    assert row is not None
    return int(row["missing"])


def _place(value: dict[str, Any]) -> str:
    return f"{value['kind']} {value.get('turn', '')} {value.get('level', '')} {value['text']}"


@pytest.mark.timeout(max(180, 15 * TURNS))
async def test_what_is_killed_again_and_again_remembers_the_same(
    database_server: str, model: OpenAIServer, tmp_path: Path
) -> None:
    async def held(seed: int, times: int) -> dict[str, Any]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        async with fresh_database(database_server) as url:
            await Talk(folder, url, model).killed(random.Random(seed), times)  # noqa: S311 - no secret
            return await remembered(url)

    expected = await held(0, 0)
    assert len(expected["messages"]) == 2 * TURNS
    assert len(expected["facts"]) == TURNS
    assert (expected["waiting"], expected["unindexed"]) == ([], 0)
    for seed in (1, 2):
        assert await held(seed, KILLS) == expected
