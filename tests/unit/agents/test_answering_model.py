"""The base of our own chat models: whole or in pieces, asked either way, an answer is the same."""

from __future__ import annotations

import ast
import asyncio
from functools import reduce
from operator import add
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk

from react_mem.agents.extractive import ExtractiveChatModel
from tests.support.scripted_model import ScriptedModel, calls

ROOT = Path(__file__).parents[3]


def told(message: AIMessage) -> tuple[object, ...]:
    made = [(call["name"], call["args"]) for call in message.tool_calls]
    return message.content, made, message.response_metadata.get("finish_reason"), message.usage_metadata


@given(st.text(alphabet="ab \n\t ", max_size=12), st.booleans())
def test_pieces_make_up_the_whole(text: str, called: bool) -> None:
    answer = calls(("find", {"what": text}), text=text) if called else AIMessage(text)
    answer.response_metadata = {"finish_reason": "stop"}

    async def ask() -> None:
        for model in (ScriptedModel(script=[answer]), ExtractiveChatModel()):
            whole = await model.ainvoke("hi")
            parts = [part async for part in model.astream("hi")]
            assert told(reduce(add, parts)) == told(whole)
            assert told(model.invoke("hi")) == told(whole)
            assert told(reduce(add, list(model.stream("hi")))) == told(whole)

    asyncio.run(ask())


async def test_an_answer_comes_in_words_and_ends() -> None:
    parts: list[AIMessageChunk] = [part async for part in ScriptedModel(script=["one two  three"]).astream("hi")]
    assert [str(part.content) for part in parts] == ["one", " two", "  three", ""]
    assert [part.chunk_position for part in parts] == [None, None, None, "last"]


def test_every_chat_model_of_ours_has_the_one_base() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}:{node.name}"
        for room in ("agents", "graphs", "memory", "tools", "integrations", "benchmarks", "tests")
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "BaseChatModel" for base in node.bases)
    }
    assert found == {"agents/extractive.py:AnsweringModel"}
