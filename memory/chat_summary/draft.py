"""The one model call of a chat summary, and what can be believed of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import openai
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import ensure_config, merge_configs

from memory import telemetry
from memory.chat_summary.form import Usage
from memory.extraction.calls import HIDDEN, filling, said_in

_SCHEMA: dict[str, Any] = {
    "title": "chat_summary",
    "description": "The state of a customer's chat.",
    "type": "object",
    "properties": {
        "language": {"type": "string", "description": "ISO 639-1 code of the newest message's language."},
        "summary": {"type": "string", "description": "What a colleague who takes the chat over has to know."},
        "full_question": {"type": "string", "description": "The newest message, understandable by itself."},
    },
    "required": ["language", "summary", "full_question"],
    "additionalProperties": False,
}

_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_DECODER = json.JSONDecoder()

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<![\w.,])(?:\+|0)\d(?:[ .-]?\d){6,13}(?!\w)")
_DATE = re.compile(r"\d{1,2}[ .-]\d{1,2}[ .-]\d{4}")
# The end of a number is the same with a country's code and without.
_SAME_DIGITS = 8


@dataclass(frozen=True)
class Draft:
    """What the model made of a conversation.

    Args:
        fields: What it sent.
        usage: What the provider counted.
        problem: Why there is nothing; empty if there is something.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    problem: str = ""

    def text(self, name: str) -> str:
        """Return a field; empty where it is missing or no text."""
        value = self.fields.get(name)
        return value.strip() if isinstance(value, str) else ""


async def ask(model: BaseChatModel, messages: list[BaseMessage]) -> Draft:
    """Ask a model once. An answer that is of no use is no error: asking again would cost as much again.

    Args:
        model: The model; its client does not retry.
        messages: The prompt.

    Raises:
        Exception: Whatever the client raises.
    """
    filled = filling(model, _SCHEMA)
    config = merge_configs(ensure_config(), {"tags": [HIDDEN], "run_name": "chat_summary"})
    with telemetry.model_call("chat_summary", model) as call:
        try:
            result: Any = await filled.ainvoke(messages, config)
        except openai.LengthFinishReasonError as error:  # raised in place of the answer that was cut short
            spent = error.completion.usage
            usage = None
            if spent is not None:
                usage = Usage(
                    input_tokens=spent.prompt_tokens,
                    output_tokens=spent.completion_tokens,
                    total_tokens=spent.total_tokens,
                )
                call.spent(usage.model_dump())
            # small models fill up with white space what is whole
            sent = read_object(error.completion.choices[0].message.content or "")
            return Draft(sent or {}, usage, "" if sent else "the model's answer was cut short")
        call.answered(result["raw"])
    return _read(result["raw"], result.get("parsed"))


def _read(raw: Any, parsed: Any) -> Draft:
    if not isinstance(raw, AIMessage):
        return Draft(problem="the model's answer is no message")
    text = said_in(raw)
    usage = Usage.model_validate(raw.usage_metadata) if raw.usage_metadata else None
    # a provider that fills in schemas by a tool call sends no text
    fields = read_object(text) if text.strip() else parsed
    if not isinstance(fields, Mapping):
        return Draft(usage=usage, problem="the model's answer is not in the form that was asked for")
    return Draft(fields, usage)


def read_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a model's answer that has one of the fields asked for.

    >>> read_object('<think>{}</think>Here: {"summary": "ok"}')
    {'summary': 'ok'}
    """
    body = _THINKING.sub("", text)
    start = body.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(body, start)
        except (json.JSONDecodeError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, dict) and value.keys() & _SCHEMA["properties"].keys():
                return value
        start = body.find("{", end)
    return None


def without_invented(text: str, given: Iterable[str]) -> str:
    """Return a text without the e-mail addresses and telephone numbers that nothing given holds.

    >>> without_invented("Call 0905 123 456 or 0999 888 777.", ["my number is 0905123456"])
    'Call 0905 123 456 or […].'
    """
    known = "\n".join(given).casefold()
    digits = re.sub(r"\D", "", known)

    def judged(found: re.Match[str]) -> str:
        value: str = found[0]
        if "@" in value:
            return value if value.casefold() in known else "[…]"
        same = re.sub(r"\D", "", value)[-_SAME_DIGITS:] in digits
        return value if same or _DATE.fullmatch(value) else "[…]"

    return _PHONE.sub(judged, _EMAIL.sub(judged, text))
