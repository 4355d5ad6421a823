"""Calls and thoughts that led to an answer: a model's thinking, in the forms of the providers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage

from react_mem.memory.model.records import CalledTool

THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""Types of content blocks in which a model thinks; nobody says what they say."""

CALLS = frozenset({"tool_call", "tool_use", "function_call", "server_tool_call", "server_tool_use"})
"""Types of content blocks in which a model calls a tool."""

_MAX_ARGUMENTS = 2_000
_MAX_THINKING = 4_000
_MAX_CALLS = 20
"""Characters of the arguments of a call and of the thinking of a turn, and calls: the latest, the whole is in the
thread."""

_BESIDE = ("reasoning_content", "thought")
"""Fields beside the content with what was thought: of servers of open models, and of the text form of tool
calls."""

_BEFORE = re.compile(r"\s*<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def called(messages: Sequence[AIMessage]) -> tuple[CalledTool, ...]:
    """Return the tools that the messages before an answer called, the latest last.

    >>> call = {"name": "look_up", "args": {"what": "Huế"}, "id": "c1"}
    >>> called([AIMessage("", tool_calls=[call])])
    (CalledTool(name='look_up', arguments='{"what": "Huế"}', id='c1'),)
    """
    calls = [call for message in messages for call in calls_of(message)]
    return tuple(map(_kept, calls[-_MAX_CALLS:]))


def calls_of(message: AIMessage) -> list[Mapping[str, Any]]:
    """Return the calls of a message, each as {"name", "args", "id"}: its own, and those only its content has.

    >>> calls_of(AIMessage([{"type": "tool_use", "name": "look_up", "input": {"what": "Huế"}, "id": "c1"}]))
    [{'name': 'look_up', 'args': {'what': 'Huế'}, 'id': 'c1'}]
    """
    if isinstance(message.content, str):
        return list(message.tool_calls)
    known = {call["id"] for call in message.tool_calls}
    return [*message.tool_calls, *(call for call in map(_call, message.content) if call and call["id"] not in known)]


def led_apart(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message that is to be written with the calls and thoughts among its blocks in fields of their own.

    Args:
        data: The message; `tool_calls` and `thinking` that it has stay, before what its blocks add.

    >>> led_apart({"content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Hi"}]})
    {'content': [{'type': 'text', 'text': 'Hi'}], 'thinking': 'Hm.'}
    """
    content, known = data.get("content"), data.get("tool_calls") or ()
    if not isinstance(content, list) or not isinstance(known, list | tuple):
        return dict(data)
    ids = {call.get("id") if isinstance(call, Mapping) else getattr(call, "id", None) for call in known}
    found = [call for call in map(_call, content) if call]
    calls = [_kept(call) for call in found if not call["id"] or call["id"] not in ids]
    thought = "\n\n".join(dict.fromkeys(text for block in content if _is_thought(block) for text in _texts(block)))
    said = [block for block in content if not (_is_thought(block) or _call(block))]
    apart = {**data, "content": said}
    if calls:
        apart["tool_calls"] = [*known, *calls][-_MAX_CALLS:]
    if thought:
        apart["thinking"] = _latest("\n\n".join(filter(None, [data.get("thinking"), thought])))
    return apart


def thoughts_in(messages: Sequence[AIMessage]) -> str:
    """Return what a model thought before its answer and for it, the latest where that is much.

    >>> thoughts_in([AIMessage([{"type": "thinking", "thinking": "Hm.", "signature": "x"}])])
    'Hm.'
    """
    # some servers send it twice, beside the content and in it
    thought = "\n\n".join(dict.fromkeys(text for message in messages for text in _thoughts(message)))
    return _latest(thought)


def thought_before(text: str) -> str:
    """Return the part in tags with which a text begins where a model thinks aloud; empty where it does not.

    >>> thought_before("<think>Hm.</think> Hello"), thought_before("I think so")
    ('<think>Hm.</think>', '')
    """
    found = _BEFORE.match(text) if "<" in text[:80] else None
    return found[0] if found else ""


def _thoughts(message: AIMessage) -> Iterable[str]:
    told = [message.additional_kwargs.get(name) for name in _BESIDE] if message.additional_kwargs else []
    content = message.content
    if isinstance(content, str):
        found = _BEFORE.match(content) if "<" in content[:80] else None
        told += [found[1]] if found else []
    else:
        told += filter(_is_thought, content)
    return [text for part in told for text in _texts(part)]


def _is_thought(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") in THOUGHTS


def _call(block: Any) -> Mapping[str, Any] | None:
    """Return what a block calls, as {"name", "args", "id"}; None where it calls nothing."""
    if not isinstance(block, Mapping) or block.get("type") not in CALLS or not isinstance(block.get("name"), str):
        return None
    args: Any = next((block[name] for name in ("args", "input", "arguments") if name in block), {})
    return {"name": block["name"], "args": args, "id": str(block.get("call_id") or block.get("id") or "")}


def _kept(call: Mapping[str, Any]) -> CalledTool:
    arguments = call["args"] if isinstance(call["args"], str) else _as_json(call["args"])
    return CalledTool(name=call["name"], arguments=_cut(arguments, _MAX_ARGUMENTS), id=call["id"] or "")


def _latest(thought: str) -> str:
    return thought if len(thought) <= _MAX_THINKING else f"…{thought[1 - _MAX_THINKING :]}"


def _texts(part: Any) -> Iterable[str]:
    """Yield what was thought in a block: its text, or parts that have one."""
    if isinstance(part, str):
        if part.strip():
            yield part.strip()
    elif isinstance(part, Mapping):
        # never the signature beside it, nor what is encrypted
        for name in ("thinking", "reasoning", "reasoning_content", "summary", "content", "text"):
            yield from _texts(part.get(name))
    elif isinstance(part, list):
        for one in part:
            yield from _texts(one)


def _as_json(arguments: Any) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=str)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
