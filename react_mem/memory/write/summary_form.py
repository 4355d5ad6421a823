"""Request and response of a chat summary, over HTTP and as a graph."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from react_mem.memory import language
from react_mem.memory.language import DEFAULT, LANGUAGES
from react_mem.memory.language.own_words import heads_of_mail, is_mail_label
from react_mem.memory.model.interface import OwnerId
from react_mem.memory.model.records import Role
from react_mem.memory.write.customers import Customer

MAX_INPUT_CHARS = 8_000  # limit of one message: some 2,500 tokens, several pages
MAX_SUMMARY_CHARS = 12_000  # limit of a previous summary: several times the longest that an agent can be set to
MAX_QUESTION_CHARS = 2_000  # limit of the completed question: a longer message is complete by itself
MAX_MESSAGES = 50

_MAX_TOLD_CHARS = MAX_MESSAGES * (MAX_INPUT_CHARS + 100)
"""Limit of a text of messages: all at their longest, with speakers."""

UNDETERMINED = "und"  # language code (BCP 47) of an unidentified language
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


_ROLE_OF = {"human": "user", "ai": "assistant"} | {role: role for role in get_args(Role)}

_SPEAKER = re.compile(
    r"^[^\S\n]*+([^\W\d_][\w .'()-]{0,39}?)[^\S\n]{0,3}[:：](?!//)(?<!\d:(?=\d))[^\S\n]*(?=\S)", re.MULTILINE
)
"""Speaker at the beginning of a line: "khách: ", "Shop Lan: "; neither "lúc 10:30" nor an address."""


_MAX_LABELS = 20  # most lines in the head of a pasted mail
_MOST_LABELS = MAX_MESSAGES * _MAX_LABELS  # most lines checked for the head of a mail; no chat has as many


def _role(value: Any) -> Any:
    return _ROLE_OF.get(value.casefold(), value) if isinstance(value, str) else value


class RecentMessage(BaseModel, extra="forbid", frozen=True, hide_input_in_errors=True):
    """One message of the conversation."""

    role: Annotated[Role | None, BeforeValidator(_role)] = Field(
        None,
        description="Who says it: `user` (or `human`) is the customer, `assistant` (or `ai`) the business's assistant. "
        "Left out where it is not known.",
    )
    name: str = Field("", max_length=80, description="What whoever says it is called.")
    content: _Text = Field(description="What it says.")


def _messages_of(value: Any) -> Any:
    """Return messages from a text of lines with speakers, or a list; one beyond the limit stays, to be refused."""
    if isinstance(value, str):
        if len(value) > _MAX_TOLD_CHARS:
            raise ValueError(f"has more than {_MAX_TOLD_CHARS:,} characters")
        return list(islice(_spoken(value), MAX_MESSAGES + 1)) or None
    if isinstance(value, list | tuple):
        found = (_said(one) if isinstance(one, str) else one for one in value if not _is_blank(one))
        return list(islice(found, MAX_MESSAGES + 1))
    return value


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _spoken(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the messages of a text; a line without a speaker belongs to the message before."""
    begin = 0
    for speaker in _speakers(text):
        if not _is_blank(text[begin : speaker.start()]):
            yield _said(text[begin : speaker.start()])
        begin = speaker.start()
    if not _is_blank(text[begin:]):
        yield _said(text[begin:])


def _speakers(text: str) -> Iterator[re.Match[str]]:
    """Yield the beginnings of messages; the labels of a pasted mail are no speakers."""
    labels: list[re.Match[str]] = []
    looked = 0
    for speaker in _SPEAKER.finditer(text):
        is_next = labels and text.count("\n", labels[-1].start(1), speaker.start(1)) == 1
        if labels and not (is_next and is_mail_label(speaker[1]) and len(labels) < _MAX_LABELS):
            yield from _no_head_of_mail(text, labels)
            labels = []
        if looked < _MOST_LABELS and is_mail_label(speaker[1]):
            looked += 1
            labels.append(speaker)
        else:
            yield speaker
    yield from _no_head_of_mail(text, labels)


def _no_head_of_mail(text: str, labels: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return consecutive lines with labels of mail, unless they are the head of one."""
    if not labels:
        return []
    end = text.find("\n", labels[-1].end())
    is_head = any(heads_of_mail(text[labels[0].start(1) : end if end >= 0 else len(text)]))
    return [] if is_head else labels


def _said(text: str) -> Mapping[str, str]:
    told = text.strip()
    speaker = _SPEAKER.match(told)
    if speaker is None:
        return {"content": told}
    role = _ROLE_OF.get(speaker[1].casefold())
    return {**({"role": role} if role else {"name": speaker[1]}), "content": told[speaker.end() :]}


class ChatSummaryRequest(BaseModel):
    """A conversation to sum up."""

    # what is wrong is said without what was sent: errors end up in logs
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    user_input: _Text = Field(description="The customer's newest message.")
    conversation_id: OwnerId = Field(
        description="The conversation. Where it is a thread of this server, its id: so the customer is found."
    )
    recent_messages: Annotated[
        Annotated[list[RecentMessage], Field(max_length=MAX_MESSAGES)] | None,
        BeforeValidator(_messages_of, json_schema_input_type=list[RecentMessage | str] | str | None),
    ] = Field(
        None,
        description="The messages before the newest one, the oldest first; of a summed-up conversation, those since. "
        f"At most {MAX_MESSAGES}: a list of messages or of texts, or one text whose lines begin with who speaks "
        "(`khách: ...`).",
    )
    previous_summary: str | None = Field(
        None, max_length=MAX_SUMMARY_CHARS, description="The `sum_history` of the last answer, if there is one."
    )
    ad_content: str | None = Field(
        None, max_length=MAX_INPUT_CHARS, description="The advertisement or post that the customer answers."
    )


def _counted(value: Any) -> Any:
    # a provider tells of what it does not count, too: None, or texts
    if not isinstance(value, Mapping):
        return {}
    return {name: count for name, count in value.items() if isinstance(count, int) and not isinstance(count, bool)}


_Counts = Annotated[dict[str, int], BeforeValidator(_counted)]


class Usage(BaseModel, extra="ignore", frozen=True):
    """The tokens of the model call, as the provider counted them."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_token_details: _Counts = Field(
        default_factory=dict,
        exclude_if=lambda counts: not counts,
        description="Tokens of the prompt by kind, such as `cache_read`; left out where the provider told none.",
    )
    output_token_details: _Counts = Field(
        default_factory=dict,
        exclude_if=lambda counts: not counts,
        description="Tokens of the answer by kind, such as `reasoning`; left out where the provider told none.",
    )


class Degradation(BaseModel, frozen=True):
    """Something that a result had to do without.

    Args:
        part: What was missing.
        message: Why, and what stands in its place.
    """

    part: Literal["model", "customer", "prompt", "messages"]
    message: str


class ChatSummary(BaseModel, frozen=True):
    """The state of a conversation after its newest message."""

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
    """Return a summary with the line of the customer, or the customer's earlier line, before it.

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
    r"""Return the customer's line of a summary, empty without one, and the rest, without any further such line.

    >>> without_customer("[Customer] name: Lan\nAsked for the price.")
    ('[Customer] name: Lan', 'Asked for the price.')
    """
    text = summary.strip()
    first = _CUSTOMER_LINE.match(text)
    return first[0].strip() if first else "", _CUSTOMER_LINE.sub("", text).strip()


def language_of(said: Any, text: str) -> str:
    """Return a language code: the model's, or else one detected in the text.

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
