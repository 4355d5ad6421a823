"""Examples of document 002: the call of `chat/summary`, the customer's row, the answer, by their own names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.authentication import SimpleUser
from starlette.types import ASGIApp, Receive, Scope, Send

from react_mem.graphs.chat_summary_route import ChatSummaryContext, build_chat_summary, summarizer_for
from react_mem.graphs.http import app
from react_mem.memory.write.customers import LOOKUP_ENV, load_lookup
from tests.support.openai_server import OpenAIServer, Reply, Request

CRM = """
from types import SimpleNamespace

ROW = {
    "name": "Trần Thị Lan", "phone": "0905 123 456", "email": "lan@example.com",
    "address": "1 Lê Lợi, Huế", "gender": "nữ", "pronoun": "chị",
}

class Table:
    def select(self, *columns):
        self.columns = [one.strip() for part in columns for one in part.split(",")]
        return self

    def eq(self, column, value):
        self.found = [ROW] if (column, value) == ("customer_id", 7) else []
        return self

    def execute(self):
        return SimpleNamespace(data=[{name: row[name] for name in self.columns} for row in self.found])

async def customer(*, identity, conversation_id):
    customer_id = {"lan": 7}.get(identity)
    return (
        Table().select("name, phone, email, address", "gender", "pronoun").eq("customer_id", customer_id).execute()
    ).data
"""

CUSTOMER = {
    "vi": "[Khách hàng] tên: Trần Thị Lan; điện thoại: 0905 123 456; email: lan@example.com; địa chỉ: 1 Lê Lợi, Huế; "
    "giới tính: nữ; xưng hô: chị",
    "en": "[Customer] name: Trần Thị Lan; phone: 0905 123 456; e-mail: lan@example.com; address: 1 Lê Lợi, Huế; "
    "gender: nữ; form of address: chị",
}

COUNTED = {
    "prompt_tokens": 1200,
    "completion_tokens": 80,
    "total_tokens": 1280,
    "prompt_tokens_details": {"cached_tokens": 1024},
}
USAGE = {
    "input_tokens": 1200,
    "output_tokens": 80,
    "total_tokens": 1280,
    "input_token_details": {"cache_read": 1024},
}


@pytest.fixture(autouse=True)
def _a_shop(openai_server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "crm_of_document_002.py").write_text(CRM, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("OPENAI_MODEL", "CHAT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test")
    monkeypatch.setenv(LOOKUP_ENV, "crm_of_document_002:customer")
    summarizer_for.cache_clear()
    yield
    load_lookup.cache_clear()
    summarizer_for.cache_clear()


async def as_lan(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a request as a server does that has authenticated its caller."""
    await app({**scope, "user": SimpleUser("lan")}, receive, send)


async def chat_summary(payload: dict[str, Any], served: ASGIApp = as_lan) -> dict[str, Any]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=served), base_url="http://server") as client:
        answer = await client.post("/chat/summary", json=payload)
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def reply(said: dict[str, str]) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(said)}, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": COUNTED}
    return Reply(raw=json.dumps(body).encode())


def shown(request: Request, block: str) -> list[dict[str, str]]:
    """Return the rows of a block of a prompt."""
    text = request.messages[1]["content"].partition(f"<{block}>\n")[2].partition(f"\n</{block}>")[0]
    return [json.loads(line) for line in text.splitlines()]


ADVERTISED = {
    "en": (
        "Kettles: 1. blue, 30 euros. 2. red, 35 euros.",
        "is the second one still available?",
        {
            "language": "en",
            "summary": "Asks whether the red kettle (35 euros) is still available.",
            "full_question": "Is the red kettle for 35 euros still available?",
        },
    ),
    "vi": (
        "Ấm đun nước: 1. xanh, 300.000đ. 2. đỏ, 350.000đ.",
        "loại thứ hai còn không em?",
        {
            "language": "vi",
            "summary": "Chị hỏi ấm đỏ 350.000đ còn hàng không.",
            "full_question": "Ấm đỏ giá 350.000đ còn hàng không em?",
        },
    ),
}


@pytest.mark.parametrize("language", ADVERTISED)
async def test_the_first_call_answers_an_advertisement(language: str, openai_server: OpenAIServer) -> None:
    ad_content, user_input, said = ADVERTISED[language]
    openai_server.add(reply(said))
    answer = await chat_summary(
        {
            "user_input": user_input,
            "ad_content": ad_content,
            "recent_messages": "",
            "previous_summary": "",
            "conversation_id": "c-1",
        }
    )
    assert answer == {
        "sum_history": f"{CUSTOMER[language]}\n{said['summary']}",
        "full_question": said["full_question"],
        "language": language,
        "usage": USAGE,
    }
    [request] = openai_server.chats()
    assert request.schema == "chat_summary"
    assert shown(request, "advertisement") == [{"content": ad_content}]
    assert shown(request, "newest_message") == [{"role": "user", "content": user_input}]
    assert "the second" in request.messages[0]["content"]
    assert shown(request, "messages") == shown(request, "summary_so_far") == []


async def test_the_graph_takes_the_same_call(openai_server: OpenAIServer) -> None:
    said = ADVERTISED["vi"][2]
    openai_server.add(reply(said), repeat=True)
    payload = {"user_input": "còn không", "recent_messages": "", "previous_summary": "", "conversation_id": "c-1"}
    told = await build_chat_summary().ainvoke(payload, context=ChatSummaryContext(user_id="lan"))
    assert told == {**await chat_summary(payload), "degraded": []}
