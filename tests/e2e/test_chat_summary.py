"""`POST /chat/summary` and the graph `chat_summary` on the real server, without authentication and with it."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.prompt_versions import PromptVersions
from tests.support.dev_server import ROOT, DevServer, database_for_a_server, dev_server
from tests.support.openai_server import Match, OpenAIServer, Reply, Request
from tests.support.telling import tell

pytestmark = pytest.mark.e2e

CUSTOMERS = {
    "ann": {"name": "Trần Thị Lan", "phone": "0905 123 456", "address": "1 Lê Lợi, Huế", "form_of_address": "chị"},
    "bob": {"name": "Bob Miller", "email": "bob@example.com", "gender": "male"},
}
LINES = {
    "ann": "[Khách hàng] tên: Trần Thị Lan; điện thoại: 0905 123 456; địa chỉ: 1 Lê Lợi, Huế; xưng hô: chị",
    "bob": "[Customer] name: Bob Miller; e-mail: bob@example.com; gender: male",
}
SAID = {
    "ann": {"language": "vi", "summary": "Chị muốn mua 2 ấm đỏ.", "full_question": "Ấm đỏ còn 2 cái không em?"},
    "bob": {"language": "en", "summary": "He wants two red kettles.", "full_question": "Are two red kettles left?"},
}
ASKED = {"ann": "còn 2 cái không em?", "bob": "are two of them left?"}


@dataclass(frozen=True)
class Running:
    """A server, its model and its database."""

    server: DevServer
    model: OpenAIServer
    database: str

    async def post(self, token: str = "", **body: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        async with httpx.AsyncClient(base_url=self.server.url, headers=headers, timeout=30) as http:
            return await http.post("/chat/summary", json={"conversation_id": "of no thread", **body})


async def know(database: str) -> None:
    """Write down who the customers are, as extraction would."""
    settings = StorageSettings.model_validate({"database_url": database, "embedding": "local"})
    async with open_storage(settings) as storage:
        for user, fields in CUSTOMERS.items():
            await MemoryFacade(storage.store).profile.update_profile(user, fields)


def summaries(request: Request) -> Reply:
    """Sum up for the one whose words are asked about."""
    [user] = [user for user, words in ASKED.items() if words in request.text.partition("<newest_message>")[2]]
    return Reply(json=SAID[user])


@pytest.fixture(scope="module", params=["open", "authenticated"])
def running(
    request: pytest.FixtureRequest, database_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A server of each kind, whose model sums up."""
    config = {"auth": {"path": f"{ROOT}/tests/support/auth.py:auth"}} if request.param == "authenticated" else None
    with OpenAIServer() as model, database_for_a_server(database_server) as url:
        model.add(summaries, when=Match(schema=True), repeat=True)
        model.add(Reply(text="hello"), when=Match(schema=False), repeat=True)
        environment = {"DATABASE_URL": url, "OPENAI_BASE_URL": model.base_url, "EMBEDDING_MODEL": "local"}
        with dev_server(tmp_path_factory.mktemp("server"), environment, config) as server:
            asyncio.run(know(url))
            yield Running(server, model, url)


@pytest.fixture
def secured(request: pytest.FixtureRequest, running: Running) -> bool:
    """Whether the server authenticates its users."""
    return "authenticated" in request.node.name


@pytest.mark.parametrize("user", ["ann", "bob"])
async def test_each_customer_is_known_to_themselves(user: str, running: Running, secured: bool) -> None:
    other = "bob" if user == "ann" else "ann"
    # with authentication, whom the request names does not count
    who = {"token": user, "user_id": other} if secured else {"user_id": user}
    answer = await running.post(user_input=ASKED[user], **who)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["sum_history"] == f"{LINES[user]}\n{SAID[user]['summary']}"
    assert (told["full_question"], told["language"]) == (SAID[user]["full_question"], SAID[user]["language"])
    assert set(told) == {"sum_history", "full_question", "language", "usage"}
    assert told["usage"]["total_tokens"] == told["usage"]["input_tokens"] + told["usage"]["output_tokens"] > 0
    assert CUSTOMERS[other]["name"] not in running.model.chats()[-1].text


async def test_who_is_not_named_is_nobody(running: Running, secured: bool) -> None:
    answer = await running.post(user_input=ASKED["ann"])
    if secured:
        assert (answer.status_code, answer.json()) == (401, {"detail": "a bearer token is needed"})
    else:
        assert answer.json()["sum_history"] == SAID["ann"]["summary"]


async def test_the_id_of_a_conversation_names_nobody(running: Running, secured: bool) -> None:
    client = running.server.client("bob" if secured else None)
    thread = str((await client.threads.create())["thread_id"])
    message: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
    await client.runs.wait(thread, "react_mem", input=message, context={"user_id": "bob"})
    answer = await running.post("ann" if secured else "", user_input=ASKED["bob"], conversation_id=thread)
    # who knows the id of somebody's thread is not them
    assert CUSTOMERS["bob"]["name"] not in answer.json()["sum_history"]
    assert (CUSTOMERS["ann"]["name"] in answer.json()["sum_history"]) is secured
    unknown = await running.post("carl" if secured else "", user_input=ASKED["bob"], conversation_id=str(uuid.uuid4()))
    assert unknown.json()["sum_history"] == SAID["bob"]["summary"]


async def test_the_graph_answers_the_same(running: Running, secured: bool) -> None:
    client = running.server.client("ann" if secured else None)
    given = {"user_input": ASKED["ann"], "conversation_id": "c1"}
    context = {"user_id": "bob" if secured else "ann"}
    told: Any = await client.runs.wait(None, "chat_summary", input=given, context=context)
    assert told["sum_history"] == f"{LINES['ann']}\n{SAID['ann']['summary']}"
    failed: Any = await client.runs.wait(None, "chat_summary", input={"user_input": "x"}, raise_error=False)
    assert "conversation_id: Field required" in failed["__error__"]["message"]


async def test_a_bad_request_names_the_field_and_the_route_is_documented(running: Running, secured: bool) -> None:
    token = "ann" if secured else ""
    answer = await running.post(token, user_input="x" * 9000)
    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", "user_input"]]
    async with httpx.AsyncClient(base_url=running.server.url) as http:
        spec = (await http.get("/openapi.json")).json()
        assert (await http.get("/docs")).status_code == 200
    assert {"/chat/summary", "/threads"} <= set(spec["paths"])
    assert "413" in spec["paths"]["/chat/summary"]["post"]["responses"]
    assert (await running.post(token, user_input="x" * 2_100_000)).status_code == 413


async def test_the_metrics_are_for_those_whom_the_server_knows(running: Running, secured: bool) -> None:
    await running.post("ann" if secured else "", user_input=ASKED["ann"])
    async with httpx.AsyncClient(base_url=running.server.url) as http:
        anonymous = await http.get("/memory/metrics")
        assert anonymous.status_code == (401 if secured else 200)
        known = await http.get("/memory/metrics", headers={"authorization": "Bearer ann"})
    assert "react_mem_chat_summary_duration_seconds_count" in known.text


async def test_a_memory_is_forgotten_by_whose_it_is(running: Running, secured: bool) -> None:
    settings = StorageSettings.model_validate({"database_url": running.database, "embedding": "local"})
    async with open_storage(settings) as storage:
        [fact] = await tell(storage.store, "I keep bees on the roof", user_id="ann")
    tokens = {name: {"authorization": f"Bearer {name}"} if secured else {} for name in ("ann", "bob")}
    async with httpx.AsyncClient(base_url=running.server.url) as http:

        async def forget(name: str) -> httpx.Response:
            body = {"ids": [fact.id], "user_id": "ann" if secured else name}
            return await http.post("/memory/v1/forget", json=body, headers=tokens[name])

        judged = {"thread_id": "talk", "score": 1, "user_id": "ann"}
        if secured:
            assert (await http.post("/memory/v1/forget", json={"ids": [fact.id], "user_id": "ann"})).status_code == 401
            assert (await http.post("/memory/v1/feedback", json=judged)).status_code == 401
        assert (await http.post("/memory/v1/feedback", json=judged, headers=tokens["bob"])).status_code == 404
        assert (await forget("bob")).status_code == 404
        answer = await forget("ann")
        assert (answer.status_code, answer.json()["problems"]) == (200, [])
        assert answer.json()["receipt"]["removed"] == {"fact": [fact.id]}
        assert (await forget("ann")).status_code == 404


async def test_a_prompt_that_is_replaced_is_used_and_nothing_that_was_said_is_logged(
    running: Running, secured: bool
) -> None:
    settings = StorageSettings.model_validate({"database_url": running.database, "embedding": "local"})
    async with open_storage(settings) as storage:
        prompts = PromptVersions(storage.store)
        await prompts.put("chat_summary_next", "In {summary_length}, in {question_length}.")
    # the first time that this process uses this prompt: it has nothing kept of it
    given = {"user_input": ASKED["ann"], "previous_summary": "Chị hỏi ấm."}
    assert (await running.post("ann" if secured else "", **given)).status_code == 200
    assert running.model.chats()[-1].messages[0]["content"] == "In 600, in 2000."
    lines = [json.loads(line) for line in running.server.log().splitlines() if line.startswith("{")]
    assert len(lines) > 10
    for said in (*ASKED.values(), *(one["summary"] for one in SAID.values()), "Trần Thị Lan", "0905 123"):
        assert said not in running.server.log()
