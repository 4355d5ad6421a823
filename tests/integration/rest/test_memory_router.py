"""`memory_router` and `react-mem serve`: memory in an application of one's own, with its users."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from langgraph.store.memory import InMemoryStore
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Mount

from react_mem import MemoryFacade, memory_router
from react_mem.agents.cli import main
from react_mem.errors import InvalidArgument
from react_mem.graphs.memory_router import MemoryRouter
from tests.support.browser import opened_browser

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/fastapi/app.py"
ANN, BOB = {"x-api-key": "key-of-ann"}, {"x-api-key": "key-of-bob"}
MEMORIES = "/memory/v1/memories"
TEA = {"text": "I like jasmine tea."}


def header_user(request: Request) -> str | None:
    return request.headers.get("x-user")


@asynccontextmanager
async def mounted(router: MemoryRouter, at: str = "/memory", told: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """Open a client of a Starlette application that mounts a router, whose server may be told a proxy's prefix."""
    transport = httpx.ASGITransport(app=Starlette(routes=[Mount(at, router)]), root_path=told)
    async with httpx.AsyncClient(transport=transport, base_url="https://app.test") as client:
        yield client


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/memory/ui", timeout=2).is_success
    except httpx.TransportError:
        return False


@contextmanager
def running(command: list[str], url: str, **environ: str) -> Iterator[str]:
    """Run a server in a process of its own; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}"
    without = {name: value for name, value in os.environ.items() if not name.startswith("AUTH_")}
    environment = {**without, "DATABASE_URL": url, "EMBEDDING_MODEL": "local", **environ}
    process = subprocess.Popen([*command, "--port", port], env=environment, cwd=EXAMPLE.parent)
    try:
        deadline = time.monotonic() + 90
        while not _answers(address):
            assert process.poll() is None, "it did not start"
            assert time.monotonic() < deadline, "it does not answer"
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def test_the_example_serves_two_users_and_the_page_of_one(database_url: str) -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 25
    command = [sys.executable, "-m", "uvicorn", "app:app", "--log-level", "warning"]
    with running(command, database_url) as url, httpx.Client(base_url=url, timeout=60) as http:
        told = http.post(MEMORIES, json={"text": "My cat is called Mimi.", "user_id": "bob"}, headers=ANN)
        assert told.status_code == 201
        place = told.headers["location"]
        assert [http.get(place, headers=who).status_code for who in (ANN, BOB, {})] == [200, 404, 401]
        assert http.get(MEMORIES, params={"user_id": "ann"}, headers=BOB).json()["items"] == []
        assert "Mimi" in http.post("/memory/v1/search", json={"query": "my cat"}, headers=ANN).text
        call = {"name": "recall", "arguments": {"query": "my cat"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        over_mcp = [
            http.post("/memory/mcp", json=asked, headers=who | {"accept": "application/json, text/event-stream"})
            for who in (ANN, BOB)
        ]
        assert ["Mimi" in answer.text for answer in over_mcp] == [True, False]
        with http.stream("GET", "/memory/v1/events", headers=ANN) as events:
            assert "event: revision" in next(part for part in events.iter_text() if "event" in part)

        expect.set_options(timeout=20_000)
        link = http.post("/memory/v1/link", headers=ANN).json()["path"]
        with opened_browser() as browser:
            context = browser.new_context(locale="en-GB")
            page = context.new_page()
            page.goto(f"{url}{link}")
            expect(page).to_have_url(f"{url}/memory/ui")
            card = page.locator("article.card").first
            expect(card).to_contain_text("My cat is called Mimi.")
            card.get_by_role("button", name="Correct").click()
            card.get_by_role("textbox").fill("My cat is called Nemo.")
            card.get_by_role("button", name="Save").click()
            expect(page.locator("article.card", has_text="My cat is called Nemo.").first).to_be_visible()
            [cookie] = context.cookies()
            assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/memory")
        assert "Nemo" in http.get(MEMORIES, headers=ANN).text


async def test_a_link_begins_a_session_that_changes_memory_from_its_own_page_alone() -> None:
    router = memory_router(MemoryFacade(InMemoryStore()), header_user)
    async with mounted(router) as http:
        entered = await http.get(router.link("ann"))
        assert (entered.status_code, entered.headers["location"]) == (303, "ui")
        for part in ("HttpOnly", "SameSite=strict", "Secure"):
            assert part in entered.headers["set-cookie"]
        assert (await http.get(MEMORIES)).status_code == 200
        sent: dict[str, int] = {}
        for name, headers in {
            "own page": {"sec-fetch-site": "same-origin"},
            "own page, old browser": {"origin": "https://app.test"},
            "foreign page": {"sec-fetch-site": "cross-site", "origin": "https://app.test"},
            "page beside it": {"sec-fetch-site": "same-site"},
            "foreign page, old browser": {"origin": "https://evil.test"},
            "sandboxed frame": {"origin": "null"},
            "nobody says": {},
        }.items():
            sent[name] = (await http.post(MEMORIES, json=TEA, headers=headers)).status_code
        assert sent == {
            "own page": 201,
            "own page, old browser": 200,
            "foreign page": 403,
            "page beside it": 403,
            "foreign page, old browser": 403,
            "sandboxed frame": 403,
            "nobody says": 403,
        }
        # the application's own user goes before the session
        theirs = await http.get(MEMORIES, headers={"x-user": "bob"})
        assert theirs.json()["items"] == []
        # and whoever sends a credential that is none is not taken for the one before them at this browser
        for refused in ({"authorization": "Bearer of-bob"}, {"x-api-key": "of-bob"}):
            assert (await http.get(MEMORIES, headers=refused)).status_code == 401


@pytest.mark.parametrize("changed", ["", "x", "a.b", "é.ü", "W10.W10", "." * 5000], ids=range(6))
async def test_what_was_not_signed_here_begins_no_session(changed: str) -> None:
    router = memory_router(MemoryFacade(InMemoryStore()), header_user, secret="s" * 32)
    other = memory_router(MemoryFacade(InMemoryStore()), header_user, secret="t" * 32)
    link = router.link("ann").rpartition("=")[2]
    async with mounted(router) as http:
        tokens = [changed, link[:-4] + "AAAA", other.link("ann").rpartition("=")[2]]
        for token in tokens:
            answer = await http.get("/memory/enter", params={"token": token})
            assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
            cookie = {"cookie": f"react_mem_session={link if token == changed else 'x.y'}"}
            assert (await http.get(MEMORIES, headers=cookie)).status_code == 401


async def test_a_link_lives_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    router = memory_router(MemoryFacade(InMemoryStore()), header_user)
    link, now = router.link("ann"), time.time()
    async with mounted(router) as http:
        monkeypatch.setattr(time, "time", lambda: now + 59)
        assert (await http.get(link)).status_code == 303
        monkeypatch.setattr(time, "time", lambda: now + 62)
        assert (await http.get(link)).status_code == 401
        assert (await http.get(MEMORIES)).status_code == 200
        monkeypatch.setattr(time, "time", lambda: now + 3700)
        assert (await http.get(MEMORIES)).status_code == 401


async def test_whom_the_application_knows_is_whom_memory_knows() -> None:
    async def asked(request: Request) -> str | None:
        match request.headers.get("x-user"):
            case "blocked":
                raise HTTPException(403, "blocked")
            case "odd":
                return "a\x00b"
            case user:
                return user

    memory = MemoryFacade(InMemoryStore())
    async with mounted(memory_router(memory, asked), "/api/memory") as http:
        codes = {
            user: (await http.get(f"/api{MEMORIES}", params={"user_id": "ann"}, headers={"x-user": user})).status_code
            for user in ("ann", "blocked", "odd")
        }
        assert codes == {"ann": 200, "blocked": 403, "odd": 401}
        assert (await http.get(f"/api{MEMORIES}", params={"user_id": "ann"})).status_code == 401
        place = (await http.post(f"/api{MEMORIES}", json=TEA, headers={"x-user": "ann"})).headers["location"]
        assert (await http.get(place, headers={"x-user": "ann"})).status_code == 200
        erased = await http.post(
            "/api/memory/v1/erase", json={"confirm": "erase everything"}, headers={"x-user": "ann"}
        )
        assert erased.status_code == 200
        assert (await http.get(place, headers={"x-user": "ann"})).status_code == 404


class AsyncUser:
    async def __call__(self, request: Request) -> str | None:
        return header_user(request)


@pytest.mark.parametrize("known", [AsyncUser(), lambda request: AsyncUser()(request)], ids=["object", "lambda"])
@pytest.mark.parametrize(("at", "told"), [("/memory", ""), ("/memory", "/x"), ("/api/memory", "/x")])
async def test_it_is_mounted_behind_a_proxy_with_any_callable(known: Any, at: str, told: str) -> None:
    router = memory_router(MemoryFacade(InMemoryStore()), known)
    async with mounted(router, at, told) as http:
        ann = {"x-user": "ann"}
        assert (await http.get(f"{at}/ui")).status_code == 200
        path = (await http.post(f"{at}/v1/link", headers=ann)).json()["path"]
        assert path.startswith(f"{told}{at}/enter?")
        stored = await http.post(f"{at}/v1/memories", json=TEA, headers=ann)
        assert stored.headers["location"].startswith(f"{told}{at}/v1/memories/")
        # a proxy that takes its prefix off
        assert (await http.get(path.removeprefix(told))).status_code == 303
        assert (await http.get(f"{at}/v1/memories")).json()["total"] == 2


async def test_two_memories_in_one_application_know_nothing_of_each_other() -> None:
    first, second = (memory_router(MemoryFacade(InMemoryStore()), header_user) for _ in range(2))
    application = Starlette(routes=[Mount("/a/memory", first), Mount("/b/memory", second)])
    transport = httpx.ASGITransport(app=application)
    ask = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "tea"}},
    }
    async with httpx.AsyncClient(transport=transport, base_url="https://app.test") as http:
        await http.post(f"/a{MEMORIES}", json=TEA, headers={"x-user": "ann"})

        async def recalls(app: str, user: str) -> bool:
            accepted = {"accept": "application/json, text/event-stream", "x-user": user}
            return "jasmine" in (await http.post(f"/{app}/memory/mcp", json=ask, headers=accepted)).text

        asked = [(app, user) for app in "ab" for user in ("ann", "bob")] * 5
        assert await asyncio.gather(*(recalls(*one) for one in asked)) == [one == ("a", "ann") for one in asked]
        link = first.link("ann", "/b/memory")
        assert (await http.get(link)).status_code == 401


def test_what_cannot_be_mounted_says_why() -> None:
    memory = MemoryFacade(InMemoryStore())
    with pytest.raises(InvalidArgument, match="open_memory"):
        memory_router("postgresql://", header_user)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="request alone"):
        memory_router(memory, lambda request, token: "ann")  # type: ignore[arg-type,misc]
    with pytest.raises(InvalidArgument, match="32 bytes"):
        memory_router(memory, header_user, secret="short")


def test_it_is_served_alone_to_users_with_keys_and_tokens(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AUTH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert main(["serve"]) == 2
    assert "AUTH_API_KEYS_FILE" in capsys.readouterr().err
    command, key, secret = (
        [str(Path(sys.executable).with_name("react-mem")), "serve"],
        "k" * 40,
        "s" * 40,
    )
    keys = tmp_path / "keys"
    keys.write_text(f"ann {hashlib.sha256(key.encode()).hexdigest()}\n", encoding="utf-8")
    with running(command, database_url, AUTH_API_KEYS_FILE=str(keys)) as url, httpx.Client(timeout=60) as http:
        assert http.post(f"{url}{MEMORIES}", json=TEA, headers={"x-api-key": key}).status_code == 201
        assert http.get(f"{url}{MEMORIES}", headers={"x-api-key": "l" * 40}).status_code == 401
        assert http.get(f"{url}{MEMORIES}").status_code == 401
        assert http.get(f"{url}{MEMORIES}", headers=[("x-api-key", key), ("x-api-key", "l" * 40)]).status_code == 400
        # an open page keeps nobody from stopping it
        stream = http.stream("GET", f"{url}/memory/v1/events", headers={"x-api-key": key})
        next(stream.__enter__().iter_text())
    of_tokens = {"AUTH_JWT_ISSUER": "us", "AUTH_JWT_AUDIENCE": "memory", "AUTH_JWT_SECRET": secret}
    with running(command, database_url, **of_tokens) as url, httpx.Client(timeout=60) as http:
        claims = {"iss": "us", "aud": "memory", "exp": int(time.time()) + 600}
        for user, remembers in (("ann", True), ("bob", False)):
            token = jwt.encode({**claims, "sub": user}, secret, "HS256")
            answer = http.get(f"{url}{MEMORIES}", headers={"authorization": f"Bearer {token}"})
            assert (answer.status_code, TEA["text"] in answer.text) == (200, remembers)
        for wrong in ({"sub": "ann", "exp": 1}, {"sub": "a\x00b"}, {"sub": ""}):
            token = jwt.encode({**claims, **wrong}, secret, "HS256")
            assert http.get(f"{url}{MEMORIES}", headers={"authorization": f"Bearer {token}"}).status_code == 401
