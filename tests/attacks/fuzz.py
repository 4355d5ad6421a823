"""Requests and records made at random, thrown at everything that takes what others have written.

    python -m tests.attacks.fuzz --count 300000      # make fuzz

Every case must end in an answer or in an error that is foreseen, soon, and with nothing of another owner in it. What
does not is printed with its seed, which makes the same case again: `--only html --seed 17 --count 1`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore
from starlette.authentication import BaseUser
from starlette.types import Receive, Scope, Send

from react_mem.errors import ReactMemError
from react_mem.graphs.http import app
from react_mem.memory.adapters.skill_files import read_skills
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.answers import first_value, read_answer
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.namespaces import decode, encode, owner_namespace
from react_mem.tools.web.clean import clean
from react_mem.tools.web.snippets import without_markup

MAX_SECONDS = 3.0
"""Of processor time, for one case: far more than any needs, and far less than one that grows faster than its input."""

CANARY = "xylophonquartz"
"""Word that only another owner's memory has."""

VICTIM, ATTACKER = "ann", "bob"

_BITS = (
    "", " ", "\x00", "\ud800", "\udfff", "\u202e", "\u200d", "\ufeff", "👩‍👩‍👧", "é", "e\u0301", "漢", "ß", "İ", "﷽",
    "../", "%00", "%2e%2e", "'", '"', "\\", "`", "--", ";", "DROP TABLE store", "$1", "{0}", "{", "}", "[", "]", "(",
    "<", ">", "</", "<!--", "<script>", "&amp;", "&#x110000;", "&", "*a", "&a ", "!!python/name:os.system", "---\n",
    "\n", "\r\n", "\t", ": ", "- ", "#", "|", "2026-02-32", "0000-00-00", "9999-12-31T23:59:60Z", "1e999", "NaN",
    "ann", "ann.dialog", "memory", ".", "*", "system", "user", "null", "true", "-0", "0x", "0" * 40, "9" * 5_000,
)  # fmt: skip
_SCOPES = [str(scope) for scope in MemoryScope]


def text(r: random.Random) -> str:
    """Return a text, mostly short and of odd pieces."""
    kind = r.random()
    if kind < 0.1:
        return r.choice(_BITS) * r.choice((1, 10, 500))
    if kind < 0.2:
        return "".join(chr(r.randrange(0x11_0000)) for _ in range(r.randrange(30)))
    return "".join(r.choice((*_BITS[:-2], "tea", "my name is", CANARY[:4])) for _ in range(r.randrange(8)))


def value(r: random.Random, depth: int = 0) -> Any:
    """Return a value of JSON, or one that JSON has no form for."""
    kind = r.randrange(10 if depth < 4 else 7)
    if kind < 4:
        return text(r)
    if kind == 7:
        return [value(r, depth + 1) for _ in range(r.randrange(4))]
    if kind > 7:
        return {text(r): value(r, depth + 1) for _ in range(r.randrange(4))}
    numbers = (None, True, False, 0, -1, 2**31, 2**63, -(2**64), 10**400, 0.5, 1e308, float("nan"), float("inf"))
    return r.choice(numbers)


def changed(r: random.Random, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with some of its fields changed, gone or added, at any depth."""
    made = dict(given)
    for _ in range(r.randrange(1, 4)):
        name = r.choice([*made, text(r)]) if made else text(r)
        held = made.get(name)
        if isinstance(held, dict) and r.random() < 0.7:
            made[name] = changed(r, held)
        elif r.random() < 0.15:
            made.pop(name, None)
        else:
            made[name] = value(r)
    return made


def torn(r: random.Random, whole: str) -> str:
    """Return a text with a piece cut out, doubled or put in."""
    at, end = sorted((r.randrange(len(whole) + 1), r.randrange(len(whole) + 1)))
    return r.choice((whole[:at] + whole[end:], whole[:end] + whole[at:], whole[:at] + text(r) + whole[at:]))


@dataclass
class FuzzWorld:
    """Everything that the cases are thrown at: a store with somebody's memories in it, and our routes over it.

    Args:
        memory: The memory of the store.
        http: Our routes, as an authenticated user who is not the owner of those memories.
        exported: What an export of those memories has.
    """

    memory: MemoryFacade
    http: httpx.AsyncClient
    exported: list[str]

    @classmethod
    async def create(cls) -> FuzzWorld:
        """Return one with the victim's memories, and some of the attacker's own."""
        memory = MemoryFacade(InMemoryStore())
        for owner, word in ((VICTIM, CANARY), (ATTACKER, "tea")):
            said = HumanMessage(f"I like {word}", id=f"said-{owner}", name=owner)
            await memory.dialog.append(owner, "monday", [said], agent_id="a")
            event = {"user_id": owner, "session_id": "monday", "agent_id": "a", "scope": "semantic"}
            await memory.write(MemoryWriteEvent.model_validate({**event, "data": {"text": f"Likes {word}"}}))
        app.state.store = memory.store
        transport = httpx.ASGITransport(_AsAttacker())
        exported = [line async for line in memory.export_user(VICTIM)]
        return cls(memory, httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1"), exported)

    async def ids(self, r: random.Random) -> None:
        """Encode an id: it comes back as it was, and stays one label."""
        part = text(r)
        try:
            label = encode(part)
        except ValueError:
            return
        if decode(label) != part or "." in label or owner_namespace(part) == owner_namespace(part + "."):
            raise AssertionError("an id is not kept apart")

    async def reads(self, r: random.Random) -> None:
        """Read with any query: nothing of another owner comes back."""
        whole = {"user_id": ATTACKER, "session_id": "monday", "agent_id": "a", "scopes": _SCOPES, "query": "tea"}
        asked = changed(r, {**whole, "extra": {"now": "2026-01-01", "turns": 3, "seen": [], "standing": True}})
        query = MemoryQuery.model_validate({**asked, "user_id": r.choice((ATTACKER, f"{VICTIM}.", f"{VICTIM}%2E"))})
        found = await self.memory.read(query)
        if CANARY in repr(found):
            raise AssertionError("another owner's memory is read")

    async def writes(self, r: random.Random) -> None:
        """Write any record."""
        data = {"text": "Likes tea", "role": "user", "content": "hello", "task_type": "t", "tool": "x", "meta": {}}
        whole = {"user_id": text(r), "session_id": "s", "agent_id": "a", "scope": r.choice(_SCOPES), "data": data}
        memory = MemoryFacade(InMemoryStore())
        await memory.write(MemoryWriteEvent.model_validate(changed(r, whole) | {"user_id": ATTACKER}))

    async def yaml(self, r: random.Random) -> None:
        """Read a skill's file."""
        front = json.dumps(changed(r, {"description": "d", "tool_sops": [{"tool": "t", "action": "a"}]}), default=str)
        read_skills(torn(r, f"---\n{front}\n---\n## T\n- When to Apply: x\n- Steps:\n  1. t: a\n"))

    async def answers(self, r: random.Random) -> None:
        """Read a model's answer."""
        said = torn(r, f"<think>{text(r)}</think> ```json\n{json.dumps({'facts': [value(r)]}, default=str)}\n```")
        first_value(said)
        read_answer(said, ("facts",), broken_off=r.random() < 0.5)

    async def html(self, r: random.Random) -> None:
        """Read a web page, and what a search engine shows of one."""
        tags = r.choices(("div", "p", "table", "a", "script", "b", "svg", "!DOCTYPE", "html", text(r)[:20]), k=8)
        page = torn(r, "".join(f"<{tag} class='{text(r)}'>{text(r)}" for tag in tags) + "</p></div>")
        without_markup(page)
        if r.random() < 0.05:
            # takes milliseconds
            clean(page)

    async def imports(self, r: random.Random) -> None:
        """Import a file for one user that was another one's: it writes to nobody else."""
        lines = [line if r.random() < 0.5 else self._damaged(r, line) for line in self.exported]
        store = InMemoryStore()
        try:
            await MemoryFacade(store).import_user(ATTACKER, lines)
        finally:
            spaces = await store.alist_namespaces()
            if any(ATTACKER not in space for space in spaces):
                raise AssertionError(f"an import writes to {spaces}")

    def _damaged(self, r: random.Random, line: str) -> str:
        if r.random() < 0.4:
            return torn(r, line)
        return json.dumps(changed(r, json.loads(line)))

    async def requests(self, r: random.Random) -> None:
        """Send a request to one of our routes."""
        path, body = r.choice(
            (
                ("/memory/forget", {"ids": ["x"], "text": "", "user_id": VICTIM}),
                ("/memory/forget", {"text": f"I like {CANARY}", "user_id": VICTIM}),
                ("/memory/feedback", {"thread_id": "monday", "message_id": "said-ann", "score": 1, "key": "user"}),
                ("/memory/feedback", {"run_id": "r", "value": "up", "comment": "c", "user_id": VICTIM}),
                ("/conversations/monday/end", {"user_id": VICTIM}),
                (f"/conversations/{quote(text(r)[:1_000], safe='', errors='replace')}/end", {}),
            )
        )
        content = json.dumps(changed(r, body))
        content = torn(r, content) if r.random() < 0.2 else content
        if r.random() < 0.01:
            content = r.choice(("[", '{"a":')) * 50_000
        answer = await self.http.post(
            path, content=content.encode("utf-8", "replace"), headers={"content-type": "application/json"}
        )
        if answer.status_code >= 500:
            raise AssertionError(f"{path} answers {answer.status_code}: {answer.text[:200]}")
        if CANARY in answer.text and CANARY not in content:
            raise AssertionError(f"{path} shows another owner's memory")


class _Attacker(BaseUser):
    is_authenticated = True
    display_name = identity = ATTACKER


class _AsAttacker:
    """Our routes behind a server that has found out who calls."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "user": _Attacker()}, receive, send)


TARGETS: dict[str, int] = {
    "ids": 6, "reads": 4, "writes": 4, "yaml": 6, "answers": 8, "html": 8, "imports": 4, "requests": 4,
}  # fmt: skip
"""The methods of `FuzzWorld` that take a case, and how often each is taken."""


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


async def run(count: int, seed: int, only: str = "") -> tuple[Counter[str], list[str]]:
    """Throw many cases.

    Args:
        count: How many.
        seed: The first.
        only: The one target, if not all.

    Returns:
        How many were thrown at each, and what was wrong.
    """
    world = await FuzzWorld.create()
    thrown, wrong = Counter[str](), list[str]()
    names = [only] if only else [name for name, often in TARGETS.items() for _ in range(often)]
    for number in range(seed, seed + count):
        name = names[number % len(names)]
        thrown[name] += 1
        if found := await attempt(world, name, number):
            wrong.append(f"{name} {number}: {found}")
    everything = repr([line async for line in world.memory.export_user(VICTIM)])
    if CANARY not in everything:
        wrong.append("the other owner's memory is gone")
    return thrown, wrong


def main() -> None:
    """Throw as many cases as the command line says, and end with 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=sorted(TARGETS), default="")
    given = parser.parse_args()
    started = time.monotonic()
    thrown, wrong = asyncio.run(run(given.count, given.seed, given.only))
    print(f"{sum(thrown.values())} cases in {time.monotonic() - started:.0f} s: {dict(thrown)}")  # noqa: T201
    print("\n".join(wrong[:40]) or "nothing wrong")  # noqa: T201
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
