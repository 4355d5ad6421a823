"""`POST /chat/summary` and the graph `chat_summary` on a real server that authenticates its users."""

from __future__ import annotations

import asyncio
import json
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


@pytest.fixture(scope="module")
def running(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that authenticates its users, and whose model sums up."""
    config = {"auth": {"path": f"{ROOT}/tests/support/auth.py:auth"}}
    with OpenAIServer() as model, database_for_a_server(database_server) as url:
        model.add(summaries, when=Match(schema=True), repeat=True)
        model.add(Reply(text="hello"), when=Match(schema=False), repeat=True)
        environment = {"DATABASE_URL": url, "OPENAI_BASE_URL": model.base_url, "EMBEDDING_MODEL": "local"}
        with dev_server(tmp_path_factory.mktemp("server"), environment, config) as server:
            asyncio.run(know(url))
            yield Running(server, model, url)


@pytest.mark.parametrize("user", ["ann", "bob"])
async def test_each_customer_is_known_to_themselves(user: str, running: Running) -> None:
    other = "bob" if user == "ann" else "ann"
    # with authentication, whom the request names does not count
    answer = await running.post(user, user_input=ASKED[user], user_id=other)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["sum_history"] == f"{LINES[user]}\n{SAID[user]['summary']}"
    assert (told["full_question"], told["language"]) == (SAID[user]["full_question"], SAID[user]["language"])
    assert set(told) == {"sum_history", "full_question", "language", "usage"}
    assert told["usage"]["total_tokens"] == told["usage"]["input_tokens"] + told["usage"]["output_tokens"] > 0
    assert CUSTOMERS[other]["name"] not in running.model.chats()[-1].text


async def test_who_is_not_named_is_nobody(running: Running) -> None:
    answer = await running.post(user_input=ASKED["ann"])
    assert (answer.status_code, answer.json()) == (401, {"detail": "a bearer token is needed"})


async def test_the_graph_answers_the_same(running: Running) -> None:
    client = running.server.client("ann")
    given = {"user_input": ASKED["ann"], "conversation_id": "c1"}
    context = {"user_id": "bob"}
    told: Any = await client.runs.wait(None, "chat_summary", input=given, context=context)
    assert told["sum_history"] == f"{LINES['ann']}\n{SAID['ann']['summary']}"
    failed: Any = await client.runs.wait(None, "chat_summary", input={"user_input": "x"}, raise_error=False)
    assert "conversation_id: Field required" in failed["__error__"]["message"]


async def test_a_bad_request_names_the_field_and_the_route_is_documented(running: Running) -> None:
    answer = await running.post("ann", user_input="x" * 9000)
    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", "user_input"]]
    async with httpx.AsyncClient(base_url=running.server.url) as http:
        spec = (await http.get("/openapi.json")).json()
        assert (await http.get("/docs")).status_code == 200
    assert {"/chat/summary", "/threads"} <= set(spec["paths"])
    assert "413" in spec["paths"]["/chat/summary"]["post"]["responses"]
    assert (await running.post("ann", user_input="x" * 2_100_000)).status_code == 413


async def test_the_metrics_are_for_those_whom_the_server_knows(running: Running) -> None:
    await running.post("ann", user_input=ASKED["ann"])
    async with httpx.AsyncClient(base_url=running.server.url) as http:
        anonymous = await http.get("/memory/metrics")
        assert anonymous.status_code == 401
        known = await http.get("/memory/metrics", headers={"authorization": "Bearer ann"})
    assert "react_mem_chat_summary_duration_seconds_count" in known.text


async def test_a_prompt_that_is_replaced_is_used_and_nothing_that_was_said_is_logged(running: Running) -> None:
    settings = StorageSettings.model_validate({"database_url": running.database, "embedding": "local"})
    async with open_storage(settings) as storage:
        prompts = PromptVersions(storage.store)
        await prompts.put("chat_summary_next", "In {summary_length}, in {question_length}.")
    # the first time that this process uses this prompt: it has nothing kept of it
    given = {"user_input": ASKED["ann"], "previous_summary": "Chị hỏi ấm."}
    assert (await running.post("ann", **given)).status_code == 200
    assert running.model.chats()[-1].messages[0]["content"] == "In 600, in 2000."
    lines = [json.loads(line) for line in running.server.log().splitlines() if line.startswith("{")]
    assert len(lines) > 10
    for said in (*ASKED.values(), *(one["summary"] for one in SAID.values()), "Trần Thị Lan", "0905 123"):
        assert said not in running.server.log()
