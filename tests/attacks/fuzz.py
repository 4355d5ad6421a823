"""Requests and records made at random, thrown at everything that takes what others have written.

`make fuzz` throws as many as one likes. Every case must end in an answer or in an error that is foreseen, soon, and
with nothing of another owner in it. What does not is named with its target and seed, which make the same case again:
`attempt(world, "html", 17)`.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from starlette.authentication import BaseUser
from starlette.types import Receive, Scope, Send

from react_mem.errors import ReactMemError
from react_mem.graphs.http import app
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryWriteEvent
from tests.attacks.fuzz_rest import KnownIds, rest_request, sent
from tests.attacks.random_values import ATTACKER, CANARY, SCOPES, VICTIM, changed, text, torn

MAX_SECONDS = 3.0
"""Of processor time, for one case: far more than any needs, and far less than one that grows faster than its input."""


@dataclass
class FuzzWorld:
    """Everything that the cases are thrown at: a store with somebody's memories in it, and our routes over it.

    Args:
        memory: The memory of the store.
        http: Our routes, as an authenticated user who is not the owner of those memories.
        exported: What an export of those memories has.
        known: Ids that requests may name.
        lasts: Whether what is written goes to the store, and not to one that is made for the case.
    """

    memory: MemoryFacade
    http: httpx.AsyncClient
    exported: list[str]
    known: KnownIds
    lasts: bool

    @classmethod
    async def create(cls, store: BaseStore | None = None) -> FuzzWorld:
        """Return one with the victim's memories, and some of the attacker's own.

        Args:
            store: A store that is empty; by default one in the process.
        """
        memory = MemoryFacade(InMemoryStore() if store is None else store)
        for owner, word in ((VICTIM, CANARY), (ATTACKER, "tea")):
            said = HumanMessage(f"I like {word}", id=f"said-{owner}", name=owner)
            await memory.dialog.append(owner, "monday", [said], agent_id="a")
            event = {"user_id": owner, "session_id": "monday", "agent_id": "a", "scope": "semantic"}
            await memory.write(MemoryWriteEvent.model_validate({**event, "data": {"text": f"Likes {word}"}}))
        said = HumanMessage(f"And {CANARY} again", id="said-again")
        await memory.dialog.append(VICTIM, "wednesday", [said], agent_id="a")
        app.state.store = memory.store
        transport = httpx.ASGITransport(_AsAttacker())
        exported = [line async for line in memory.export_user(VICTIM)]
        http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        known = KnownIds([json.loads(line)["record"]["id"] for line in exported[1:]], [])
        return cls(memory, http, exported, known, lasts=store is not None)

    async def reads(self, r: random.Random) -> None:
        """Read with any query: nothing of another owner comes back."""
        whole = {"user_id": ATTACKER, "session_id": "monday", "agent_id": "a", "scopes": SCOPES, "query": "tea"}
        asked = changed(r, {**whole, "extra": {"now": "2026-01-01", "turns": 3, "seen": [], "standing": True}})
        query = MemoryQuery.model_validate({**asked, "user_id": r.choice((ATTACKER, f"{VICTIM}.", f"{VICTIM}%2E"))})
        found = await self.memory.read(query)
        if CANARY in repr(found):
            raise AssertionError("another owner's memory is read")

    async def writes(self, r: random.Random) -> None:
        """Write any record."""
        data = {"text": "Likes tea", "role": "user", "content": "hello", "task_type": "t", "tool": "x", "meta": {}}
        whole = {"user_id": text(r), "session_id": "s", "agent_id": "a", "scope": r.choice(SCOPES), "data": data}
        memory = self.memory if self.lasts else MemoryFacade(InMemoryStore())
        await memory.write(MemoryWriteEvent.model_validate(changed(r, whole) | {"user_id": ATTACKER}))

    async def imports(self, r: random.Random) -> None:
        """Import a file for one user that was another one's: it writes to nobody else."""
        taken = [self._taken(line) for line in self.exported] if self.lasts else self.exported
        lines = [line if r.random() < 0.5 else self._damaged(r, line) for line in taken]
        store = self.memory.store if self.lasts else InMemoryStore()
        before = await store.alist_namespaces(limit=1_000) if self.lasts else []
        try:
            await MemoryFacade(store).import_user(ATTACKER, lines)
        finally:
            spaces = {*await store.alist_namespaces(limit=1_000)} - {*before}
            if any(ATTACKER not in space for space in spaces):
                raise AssertionError(f"an import writes to {spaces}")

    def _taken(self, line: str) -> str:
        """Return a line of the victim's export as the attacker's own: what they import is theirs to see."""
        for known in self.known.victims:
            line = line.replace(known, known[::-1])
        return line.replace(CANARY, "tea").replace("wednesday", "monday")

    def _damaged(self, r: random.Random, line: str) -> str:
        if r.random() < 0.4:
            return torn(r, line)
        return json.dumps(changed(r, json.loads(line)))

    async def rest(self, r: random.Random) -> None:
        """Send a request to the REST interface."""
        await sent(self.http, rest_request(r, self.known), self.known)

    async def left(self) -> str:
        """Return what has become of the victim's memories, where that is not what it should be: nothing."""
        now = [line async for line in self.memory.export_user(VICTIM)]
        return "" if sorted(now) == sorted(self.exported) else "the other owner's memory is not as it was"


class _Attacker(BaseUser):
    is_authenticated = True
    display_name = identity = ATTACKER


class _AsAttacker:
    """Our routes behind a server that has found out who calls."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "user": _Attacker()}, receive, send)


TARGETS: dict[str, int] = {
    "reads": 4, "writes": 4, "imports": 4, "rest": 10,
}  # fmt: skip
"""The methods of `FuzzWorld` that take a case, and how often each is taken."""

STORED = {"reads": 3, "writes": 3, "imports": 2, "rest": 10}
"""Those that are about the store, which takes longer in a database."""


async def attempt(world: FuzzWorld, name: str, seed: int) -> str:
    """Throw one case; return what is wrong, or nothing.

    Args:
        world: What it is thrown at.
        name: The target.
        seed: The case.
    """
    case: Callable[[random.Random], Awaitable[None]] = getattr(world, name)
    started = time.process_time()
    try:
        await case(random.Random(f"{name} {seed}"))  # noqa: S311 - cases, no secrets
    except (ReactMemError, ValueError) as error:
        if CANARY in str(error) and name != "imports":
            return "an error repeats another owner's memory"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    spent = time.process_time() - started
    return f"took {spent:.1f} s" if spent > MAX_SECONDS else ""


async def run(count: int, seed: int, store: BaseStore | None = None) -> tuple[Counter[str], list[str]]:
    """Throw many cases.

    Args:
        count: How many.
        seed: The first.
        store: What to throw them at: a store that is empty; by default one in the process.

    Returns:
        How many were thrown at each, and what was wrong.
    """
    world = await FuzzWorld.create(store)
    thrown, wrong = Counter[str](), list[str]()
    targets = TARGETS if store is None else STORED
    names = [name for name, often in targets.items() for _ in range(often)]
    for number in range(seed, seed + count):
        name = names[number % len(names)]
        thrown[name] += 1
        if found := await attempt(world, name, number):
            wrong.append(f"{name} {number}: {found}")
    if found := await world.left():
        wrong.append(found)
    return thrown, wrong
