"""The scripted server, spoken to by the real client libraries."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from tests.support.openai_server import EMBEDDINGS, Match, OpenAIServer, Reply, Request, ToolCall, openai_server

__all__ = ["openai_server"]


class Colour(BaseModel):
    """A colour."""

    name: str
    warm: bool


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return city


def chat(server: OpenAIServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.base_url, api_key="none", model="scripted", **options)


async def test_replies_come_in_order_and_requests_are_recorded(openai_server: OpenAIServer) -> None:
    openai_server.add(Reply(text="one"), Reply(text="two"))
    model = chat(openai_server)
    first = await model.ainvoke("first question")
    second = await model.ainvoke("second question")
    assert (first.content, second.content) == ("one", "two")
    assert [request.last for request in openai_server.chats()] == ["first question", "second question"]
    assert first.usage_metadata is not None
    assert first.usage_metadata["total_tokens"] > 0


async def test_streaming_text_arrives_in_pieces_with_usage(openai_server: OpenAIServer) -> None:
    openai_server.add(Reply(text="Xin chào, tôi là một mô hình có kịch bản."))
    pieces = [chunk async for chunk in chat(openai_server, stream_usage=True).astream("hi")]
    assert len([piece for piece in pieces if piece.content]) > 2
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    assert whole.content == "Xin chào, tôi là một mô hình có kịch bản."
    assert whole.usage_metadata is not None
    assert whole.response_metadata["finish_reason"] == "stop"


@pytest.mark.parametrize("streaming", [False, True])
async def test_parallel_tool_calls(openai_server: OpenAIServer, streaming: bool) -> None:
    calls = [ToolCall("weather", {"city": "Huế"}), ToolCall("weather", {"city": "Paris"})]
    openai_server.add(Reply(tool_calls=calls), when=Match(tool="weather"))
    reply = await chat(openai_server, streaming=streaming).bind_tools([weather]).ainvoke("weather?")
    assert [call["args"] for call in reply.tool_calls] == [{"city": "Huế"}, {"city": "Paris"}]
    assert reply.response_metadata["finish_reason"] == "tool_calls"


async def test_a_tool_message_that_answers_no_call_is_refused(openai_server: OpenAIServer) -> None:
    with pytest.raises(openai.BadRequestError, match="preceding message"):
        await chat(openai_server).ainvoke([("user", "hi"), ToolMessage("x", tool_call_id="call_9")])


async def test_an_unanswered_tool_call_is_refused(openai_server: OpenAIServer) -> None:
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "call_1"}])
    with pytest.raises(openai.BadRequestError, match="must be followed"):
        await chat(openai_server).ainvoke([("user", "hi"), call, ("user", "well?")])


async def test_structured_output_is_matched_by_schema_name(openai_server: OpenAIServer) -> None:
    openai_server.add(Reply(text="chat"), when=Match(schema=False))
    openai_server.add(Reply(json={"name": "red", "warm": True}), when=Match(schema="Colour"))
    structured = chat(openai_server).with_structured_output(Colour, method="json_schema")
    assert await structured.ainvoke("which?") == Colour(name="red", warm=True)


async def test_a_strict_schema_that_is_not_strict_is_refused(openai_server: OpenAIServer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    wrapped = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    with pytest.raises(openai.BadRequestError, match="additionalProperties"):
        await chat(openai_server).bind(response_format=wrapped).ainvoke("hi")


async def test_matchers_on_roles_and_functions_of_the_request(openai_server: OpenAIServer) -> None:
    def echo(request: Request) -> Reply:
        return Reply(text=request.last.upper())

    openai_server.add(Reply(text="done"), when=Match(last_role="tool"), repeat=True)
    openai_server.add(echo, when=lambda request: "shout" in request.last, repeat=True)
    model = chat(openai_server)
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "call_1"}])
    answers = await asyncio.gather(
        *(model.ainvoke(f"shout {i}") for i in range(8)),
        model.ainvoke([("user", "hi"), call, ToolMessage("sun", tool_call_id="call_1")]),
    )
    assert [answer.content for answer in answers] == [*(f"SHOUT {i}" for i in range(8)), "done"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (500, openai.InternalServerError),
    ],
)
async def test_errors_are_those_of_the_client(openai_server: OpenAIServer, status: int, error: type[Exception]) -> None:
    openai_server.add(Reply(status=status, error="scripted trouble"))
    with pytest.raises(error, match="scripted trouble"):
        await chat(openai_server, max_retries=0).ainvoke("hi")


async def test_the_client_honours_retry_after(openai_server: OpenAIServer) -> None:
    openai_server.add(Reply(status=429, error="slow down", headers={"retry-after": "0.01"}), Reply(text="now"))
    assert (await chat(openai_server, max_retries=1).ainvoke("hi")).content == "now"
    openai_server.add(Reply(status=429, error="slow down", headers={"retry-after": "7"}))
    with pytest.raises(openai.RateLimitError) as caught:
        await chat(openai_server, max_retries=0).ainvoke("hi")
    assert caught.value.response.headers["retry-after"] == "7"


async def test_broken_answers(openai_server: OpenAIServer) -> None:
    openai_server.add(Reply(raw=b"{not json"), Reply(disconnect_after=0), Reply(text="a long answer", truncate=6))
    model = chat(openai_server, max_retries=0)
    with pytest.raises(json.JSONDecodeError):
        await model.ainvoke("malformed")
    with pytest.raises(openai.APIConnectionError):
        await model.ainvoke("dropped")
    cut = await model.ainvoke("cut")
    assert (cut.content, cut.response_metadata["finish_reason"]) == ("a long", "length")


async def test_a_stream_that_breaks_off(openai_server: OpenAIServer) -> None:
    openai_server.add(Reply(text="a long answer that never ends", disconnect_after=3))
    got = ""
    with pytest.raises(openai.APIConnectionError):  # noqa: PT012 - the pieces before it count
        async for chunk in chat(openai_server, max_retries=0).astream("hi"):
            got += str(chunk.content)
    assert got == "a long answer "


async def test_the_test_decides_when_the_answer_comes(openai_server: OpenAIServer) -> None:
    release = threading.Event()
    openai_server.add(Reply(text="finally", hold=release))
    running = asyncio.create_task(chat(openai_server).ainvoke("hi"))
    await asyncio.to_thread(openai_server.wait_for, 1)
    assert not running.done()
    release.set()
    assert (await running).content == "finally"


async def test_a_slow_answer_times_out(openai_server: OpenAIServer) -> None:
    openai_server.add(Reply(text="late", delay=30))
    with pytest.raises(openai.APITimeoutError):
        await chat(openai_server, max_retries=0, timeout=0.05).ainvoke("hi")


async def test_a_request_without_a_rule_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="something else"), OpenAIServer() as server:  # noqa: PT012
        server.add(Reply(text="tea"), when=Match(contains="tea"))
        with pytest.raises(openai.InternalServerError, match="no reply for this request"):
            await chat(server, max_retries=0).ainvoke("something else")


async def test_embeddings_are_deterministic_and_near_for_shared_words(openai_server: OpenAIServer) -> None:
    create: Any = OpenAIEmbeddings  # its fields are known to the type checker by other names
    model = create(base_url=openai_server.base_url, api_key="none", model="scripted", check_embedding_ctx_length=False)
    green, tea, car = await model.aembed_documents(["I like green tea", "green tea is nice", "a fast car"])
    assert len(green) == 256
    assert await model.aembed_query("I like green tea") == pytest.approx(green, abs=1e-6)

    def dot(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert dot(green, tea) > dot(green, car)
    assert dot(green, green) == pytest.approx(1, abs=1e-5)


def test_embeddings_as_floats_and_as_base64_agree(openai_server: OpenAIServer) -> None:
    client = openai.OpenAI(base_url=openai_server.base_url, api_key="none")
    packed = client.embeddings.create(input="xin chào", model="m", dimensions=8)
    plain = client.embeddings.create(input="xin chào", model="m", dimensions=8, encoding_format="float")
    assert packed.data[0].embedding == pytest.approx(plain.data[0].embedding)
    assert [model.id for model in client.models.list()] == ["scripted"]


def test_scripted_embedding_errors(openai_server: OpenAIServer) -> None:
    openai_server.add(Reply(status=401, error="no key"), when=Match(path=EMBEDDINGS))
    client = openai.OpenAI(base_url=openai_server.base_url, api_key="none", max_retries=0)
    with pytest.raises(openai.AuthenticationError, match="no key"):
        client.embeddings.create(input="hi", model="m")


def test_it_serves_a_script_file_beside_another_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    rules = [
        {"when": {"tool": "weather"}, "replies": [{"tool_calls": [{"name": "weather", "args": {"city": "Huế"}}]}]},
        {"replies": [{"text": "trà xanh"}], "repeat": True},
    ]
    script.write_text(json.dumps({"rules": rules}), encoding="utf-8")
    command = [sys.executable, "-m", "tests.support.openai_server", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            base_url = process.stdout.readline().strip()
            model = ChatOpenAI(base_url=base_url, api_key="none", model="scripted")
            assert model.bind_tools([weather]).invoke("weather?").tool_calls[0]["args"] == {"city": "Huế"}
            assert model.invoke("tea?").content == "trà xanh"
            with urllib.request.urlopen(base_url.removesuffix("/v1") + "/requests") as answer:  # noqa: S310
                seen = json.load(answer)
        finally:
            process.terminate()
    assert [r["body"]["messages"][-1]["content"] for r in seen["requests"]] == ["weather?", "tea?"]
    assert seen["unmatched"] == []
