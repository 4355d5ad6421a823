"""Request and response of a chat summary, over HTTP and as a graph alike."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from react_mem.memory import language
from react_mem.memory.language import DEFAULT, LANGUAGES
from react_mem.memory.model.interface import OwnerId
from react_mem.memory.model.records import Role
from react_mem.memory.write.customers import Customer

MAX_INPUT_CHARS = 8_000
"""Of one message: some 2,500 tokens, several pages."""

MAX_SUMMARY_CHARS = 12_000
"""Of a previous summary: the longest that an agent can be set to, with the customer's line, several times over."""

MAX_QUESTION_CHARS = 2_000
"""Of the completed question: a message that needs more says enough by itself."""

MAX_MESSAGES = 50

UNDETERMINED = "und"
"""The language code (BCP 47) of what could not be told."""

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_INPUT_CHARS)]

_LABELS = {one.code: one.customer for one in LANGUAGES if one.customer}
_CUSTOMER_LINE = re.compile(
    rf"^\s*\[(?:{'|'.join(labels['customer'] for labels in _LABELS.values())})\][^\n]*(?:\n+|\Z)", re.MULTILINE
)

_CODE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*")
# What small models write in place of a code.
_CODE_OF = {name: one.code for one in LANGUAGES for name in one.called}
_CUSTOMER_WRITES = {
    one.code: re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)
    for one in LANGUAGES
    if (words := one.cues.get("customer_writes"))
}


class RecentMessage(BaseModel, extra="forbid", frozen=True, hide_input_in_errors=True):
    """One message of the conversation.

    Args:
        role: Who says it: `user` is the customer.
        content: What it says.
    """

    role: Role = Field(description="Who says it: `user` is the customer, `assistant` the business's assistant.")
    content: _Text = Field(description="What it says.")


class ChatSummaryRequest(BaseModel):
    """A conversation to sum up.

    Args:
        user_input: The customer's newest message.
        conversation_id: The conversation: the thread's id, where it is one of this server's.
        recent_messages: The messages before the newest one, the oldest first.
        previous_summary: The `sum_history` of the last answer.
        ad_content: The advertisement or post that the customer answers.
    """

    # what is wrong is said without what was sent: errors end up in logs
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    user_input: _Text = Field(description="The customer's newest message.")
    conversation_id: OwnerId = Field(
        description="The conversation. Where it is a thread of this server, its id: so the customer is found."
    )
    recent_messages: list[RecentMessage] | None = Field(
        None,
        max_length=MAX_MESSAGES,
        description="The messages before the newest one, the oldest first; of a summed-up conversation, those since.",
    )
    previous_summary: str | None = Field(
        None, max_length=MAX_SUMMARY_CHARS, description="The `sum_history` of the last answer, if there is one."
    )
    ad_content: str | None = Field(
        None, max_length=MAX_INPUT_CHARS, description="The advertisement or post that the customer answers."
    )


class Usage(BaseModel, extra="ignore", frozen=True):
    """The tokens of the model call, as the provider counted them."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class Degradation(BaseModel, frozen=True):
    """Something that a result had to do without.

    Args:
        part: What was missing.
        message: Why, and what stands in its place.
    """

    part: Literal["model", "customer", "prompt", "messages"]
    message: str


class ChatSummary(BaseModel, frozen=True):
    """The state of a conversation after its newest message.

    Args:
        sum_history: The new summary, with what is known of the customer in its first line.
        full_question: The newest message, understandable by itself.
        language: The language of the newest message.
        usage: The tokens of the model call.
        degraded: What the result had to do without.
    """

    sum_history: str = Field(description="The new summary, with what is known of the customer in its first line.")
    full_question: str = Field(description="The newest message, so that it can be understood by itself.")
    language: str = Field(description="Its language, as an ISO 639 code; `und` where it cannot be told.")
    usage: Usage | None = Field(
        description="The tokens of the model call, as the provider counted them; null where it told none."
    )
    degraded: list[Degradation] = Field(
        default_factory=list, description="What the result had to do without; left out where it is whole."
    )


def with_customer(customer: Customer | str | None, summary: str, language: str) -> str:
    """Return a summary with what is known of the customer in its first line.

    Args:
        customer: The customer, or their line as it was.
        summary: The summary.
        language: What it is written in.

    >>> print(with_customer(Customer(name="Lan", form_of_address="chị"), "Hỏi giá ấm.", "vi"))
    [Khách hàng] tên: Lan; xưng hô: chị
    Hỏi giá ấm.
    """
    line = customer if isinstance(customer, str) else ""
    if isinstance(customer, Customer) and customer.known:
        labels = _LABELS.get(language, _LABELS[DEFAULT])
        known = "; ".join(f"{labels[field]}: {value}" for field, value in customer.known.items())
        line = f"[{labels['customer']}] {known}"
    return "\n".join(filter(None, [line, summary]))


def without_customer(summary: str) -> tuple[str, str]:
    """Return the customer's line of a summary, empty if it has none, and the rest, without any further such line.

    >>> without_customer("[Customer] name: Lan\\nAsked for the price.")
    ('[Customer] name: Lan', 'Asked for the price.')
    """
    text = summary.strip()
    first = _CUSTOMER_LINE.match(text)
    return first[0].strip() if first else "", _CUSTOMER_LINE.sub("", text).strip()


def language_of(said: Any, text: str) -> str:
    """Return the code of a language, as a model says it, or else as the text shows.

    >>> language_of("vi-VN", ""), language_of("English", ""), language_of(None, "Còn hàng không ạ?")
    ('vi', 'en', 'vi')
    >>> language_of("the customer's", "c'est là, déjà à côté")
    'und'
    """
    named = said.strip().casefold() if isinstance(said, str) else ""
    if code := _CODE_OF.get(named):
        return code
    if found := _CODE.fullmatch(named):
        return found[1]
    composed = unicodedata.normalize("NFC", text)
    shown = language.language_of(composed)
    if shown.unspaced:
        return shown.code
    # letters that it shares with others do not tell: `à`, `ô` and the like are French as well
    told = (one.code for one in LANGUAGES if not one.unspaced and one.letters and one.letters.search(composed))
    words = (code for code, pattern in _CUSTOMER_WRITES.items() if pattern.search(composed))
    return next(told, None) or next(words, UNDETERMINED)
