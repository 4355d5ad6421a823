"""Model call of a chat summary, and checks of its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from react_mem.memory.llm.answers import first_object, object_schema
from react_mem.memory.llm.calls import fill
from react_mem.memory.write.chat_summary.summary_form import Usage

_SCHEMA = object_schema(
    {
        "language": {"type": "string", "description": "ISO 639-1 code of the newest message's language."},
        "summary": {"type": "string", "description": "What a colleague who takes the chat over has to know."},
        "full_question": {"type": "string", "description": "The newest message, understandable by itself."},
    },
    "chat_summary",
    "The state of a customer's chat.",
)

# no letters but ASCII's belong to either: in a text without spaces they stand behind a letter of a word
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_PHONE = re.compile(
    r"(?<![\w.,])(?:(?:\+|0)\d(?:[ .-]?\d){6,13}"
    # mobile numbers of China, and those of North America, have neither a plus nor a zero
    r"|1[3-9]\d[ -]?\d{4}[ -]?\d{4}|\(?[2-9]\d\d\)?[ -]\d{3}-\d{4})(?!\w)",
    re.ASCII,
)
_DATE = re.compile(r"\d{1,2}[ .-]\d{1,2}[ .-]\d{4}")
# The end of a number is the same with a country's code and without.
_SAME_DIGITS = 8


@dataclass(frozen=True)
class SummaryDraft:
    """Fields of a model's answer, and the reason if it is unusable."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    problem: str = ""

    def text(self, name: str) -> str:
        """Return a field; empty if it is missing or no text."""
        value = self.fields.get(name)
        return value.strip() if isinstance(value, str) else ""


async def ask(model: BaseChatModel, messages: list[BaseMessage], *, seconds: float, max_tokens: int) -> SummaryDraft:
    """Ask a model once, or raise an `ExtractionError`; an unusable answer is none: another would cost as much."""
    said = await fill(
        model,
        _SCHEMA,
        messages,
        purpose="chat_summary",
        run_name="chat_summary",
        seconds=seconds,
        max_tokens=max_tokens,
    )
    usage = Usage.model_validate(said.usage) if said.usage else None
    # small models fill up with white space what is whole
    fields = first_object(said.text, _SCHEMA["properties"])
    if fields is None:
        cut = "was cut short" if said.broken_off else "is not in the form that was asked for"
        return SummaryDraft(usage=usage, problem=f"the model's answer {cut}")
    return SummaryDraft(fields, usage)


def without_invented(text: str, given: Iterable[str]) -> str:
    """Redact the e-mail addresses and telephone numbers that are in none of the given texts.

    >>> without_invented("Call 0905 123 456 or 0999 888 777.", ["my number is 0905123456"])
    'Call 0905 123 456 or […].'
    >>> without_invented("客户的电话是13800138000，邮箱是lan@example.com。", ["lan@example.com"])
    '客户的电话是[…]，邮箱是lan@example.com。'
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
