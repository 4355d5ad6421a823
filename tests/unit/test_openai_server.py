"""The scripted server is as strict as the real service, as the real client libraries see it."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_openai import ChatOpenAI

from tests.support.openai_server import Match, OpenAIServer, Reply, openai_server

__all__ = ["openai_server"]


def chat(server: OpenAIServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.base_url, api_key="none", model="scripted", **options)


async def test_calls_without_answers_and_answers_without_calls_are_refused(openai_server: OpenAIServer) -> None:
    with pytest.raises(openai.BadRequestError, match="preceding message"):
        await chat(openai_server).ainvoke([("user", "hi"), ToolMessage("x", tool_call_id="call_9")])
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "call_1"}])
    with pytest.raises(openai.BadRequestError, match="must be followed"):
        await chat(openai_server).ainvoke([("user", "hi"), call, ("user", "well?")])


async def test_a_strict_schema_that_is_not_strict_is_refused(openai_server: OpenAIServer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    wrapped = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    with pytest.raises(openai.BadRequestError, match="additionalProperties"):
        await chat(openai_server).bind(response_format=wrapped).ainvoke("hi")


async def test_a_request_without_a_rule_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="something else"), OpenAIServer() as server:  # noqa: PT012
        server.add(Reply(text="tea"), when=Match(contains="tea"))
        with pytest.raises(openai.InternalServerError, match="no reply for this request"):
            await chat(server, max_retries=0).ainvoke("something else")
