"""Token budgets: shares of a model's window, and an estimate of tokens."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

ASSUMED_WINDOW = 16_000  # tokens: nearly every model in use reads so many, local ones as commonly started included


class Section(StrEnum):
    """A part of the prompt; the parts that always fit first, then by priority, then those added in a turn."""

    SYSTEM = "system"
    TOOLS = "tools"
    PROFILE = "profile"
    QUESTION = "question"
    WEB_PAGES = "web_pages"
    MEMORIES = "memories"
    SUMMARIES = "summaries"
    CONVERSATION = "conversation"
    WORKING_MEMORY = "working_memory"


SHARES: dict[Section, int] = {
    Section.WEB_PAGES: 25,
    Section.MEMORIES: 25,
    Section.SUMMARIES: 15,
    Section.CONVERSATION: 35,
}
"""Per cent of the room guaranteed to each section, in the order of priority for the unused rest."""


@dataclass(frozen=True)
class Window:
    """Context window of a model in tokens; `known` if the model or the policy states it.

    An assumed window is no reason to cut the user's last words.
    """

    tokens: int
    known: bool

    @classmethod
    def of(cls, policy_says: int | None, model: BaseChatModel | None) -> Window:
        """Return the window of a model: by the policy, else by the model itself, else a common one."""
        tokens = policy_says or (None if model is None else (model.profile or {}).get("max_input_tokens"))
        known = tokens if isinstance(tokens, int) and tokens > 0 else None
        return cls(known or ASSUMED_WINDOW, known is not None)


def allocate(room: int, wanted: Mapping[Section, int]) -> dict[Section, int]:
    """Return the budget of each section in `SHARES`: its share or less, then its wish from the unused tokens.

    The budgets never exceed the room together.

    >>> allocate(1000, {Section.MEMORIES: 100, Section.CONVERSATION: 5000})[Section.CONVERSATION]
    900
    >>> {str(section): tokens for section, tokens in allocate(100, dict.fromkeys(SHARES, 90)).items()}
    {'web_pages': 25, 'memories': 25, 'summaries': 15, 'conversation': 35}
    """
    room = max(room, 0)
    budget = {section: min(wanted.get(section, 0), sure(room, section)) for section in SHARES}
    left = room - sum(budget.values())
    for section in SHARES:
        more = min(wanted.get(section, 0) - budget[section], left)
        budget[section] += more
        left -= more
    return budget


def sure(room: int, section: Section) -> int:
    """Return the guaranteed tokens of a section, one of `SHARES`."""
    return max(room, 0) * SHARES[section] // 100


# Token estimate without a tokenizer and without a network; it errs on the high side.

MESSAGE_TOKENS = 5  # overhead of a message in a chat template: the role, the marks of its beginning and its end
_CALL_TOKENS = 15  # overhead of a tool call: its id, and the marks of the name and the arguments
_MEDIA_TOKENS = 1_000
"""An image or a file: providers count some hundred to some thousand by its size, which only they know."""

_DIGITS, _SPACES = string.digits.encode(), b" \t\n\r\v\f"
_ASCII: tuple[tuple[int, bytes], ...] = (
    # four to five letters of a common word are a token, with the space before it
    (21, string.ascii_lowercase.encode()),
    (35, _SPACES),
    # two tokenizers make each digit a token of its own, and the point or the comma beside it
    (130, _DIGITS),
    (50, string.punctuation.encode()),
    # names and sentences begin with one; in SHOUTING and in keys a token is one to three of them
    (90, string.ascii_uppercase.encode()),
)
"""Hundredths of a token per character of each kind, the frequent kinds first."""

_CONTINUATION = bytes(range(0x80, 0xC0))
_LEADS: tuple[tuple[int, bytes], ...] = (
    # Latin with diacritics: most of them break a word in two
    (190, bytes(range(0xC2, 0xCC))),
    # combining diacritics: a letter in two parts is two or three tokens
    (240, b"\xcc\xcd"),
    # Vietnamese, Ethiopic, Georgian and others; Vietnamese is put right below
    (150, b"\xe1"),
    (70, b"\xd0\xd1\xd2\xd3"),  # Cyrillic
    (110, bytes([0xCE, 0xCF, *range(0xD4, 0xE0)])),  # Greek, Hebrew, Arabic
    (120, b"\xe0"),  # Indic, Thai
    (70, b"\xe2"),  # dashes, quotation marks, arrows, lines
    (100, b"\xe3"),  # kana
    (120, bytes(range(0xE4, 0xEA))),  # Chinese characters
    (120, bytes(range(0xEA, 0xEE))),  # Hangul
    (150, b"\xee\xef"),
    (450, bytes(range(0xF0, 0xF8))),  # emoji
)
"""The same by the first byte of a character in UTF-8, which tells its script."""

_BLOCK = 4_096  # characters counted at a time, where of a megabyte only a fitting part is counted
_VIETNAMESE = (b"\xe1\xba", b"\xe1\xbb")
_VIETNAMESE_LESS = 150 - 85


def count_tokens(text: str) -> int:
    """Return about how many tokens a text takes: some 3 nanoseconds a character of English, 8 of Vietnamese.

    The parts of a text never take less than the whole, so a sum of lines stays within a budget.

    >>> count_tokens("")
    0
    >>> count_tokens("The quick brown fox jumps over the lazy dog.")
    12
    >>> count_tokens("Tôi bị dị ứng với đậu phộng.")
    15
    """
    return -(-_hundredths(text) // 100)


def _hundredths(text: str) -> int:
    data = text.encode("utf-8", "replace")
    hundredths, rest = _take(data, _ASCII)
    if rest:
        hundredths -= _VIETNAMESE_LESS * sum(map(data.count, _VIETNAMESE))
        more, _ = _take(rest.translate(None, _CONTINUATION), _LEADS)
        hundredths += more
    return hundredths


def count_lines(text: str) -> int:
    """Return the tokens of lines and of the final line end; 0 for no lines."""
    return count_tokens(text) + 1 if text else 0


class LineTokens(dict[str, int]):
    """Cache of tokens by line, for one turn: a forgotten text must not stay in a process."""

    def __missing__(self, line: str) -> int:
        self[line] = tokens = count_lines(line)
        return tokens

    def of(self, text: str) -> int:
        return sum(map(self.__getitem__, text.split("\n")))


def _take(data: bytes, kinds: Sequence[tuple[int, bytes]]) -> tuple[int, bytes]:
    hundredths = 0
    for weight, chars in kinds:
        rest = data.translate(None, chars)
        hundredths += weight * (len(data) - len(rest))
        data = rest
        if not data:
            break
    return hundredths, data


def message_tokens(message: BaseMessage) -> int:
    """Return the tokens of a message, with its tool calls and the chat template around it."""
    tokens = MESSAGE_TOKENS
    if isinstance(message.content, str):
        tokens += count_tokens(message.content)
    else:
        tokens += sum(map(_block_tokens, message.content))
    if isinstance(message, AIMessage):
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            given = call["args"] if isinstance(call["args"], str) else json.dumps(call["args"], ensure_ascii=False)
            tokens += _CALL_TOKENS + count_tokens(f"{call['name']}{given}")
    elif isinstance(message, ToolMessage):
        tokens += _CALL_TOKENS
    return tokens


def _block_tokens(block: str | dict[Any, Any]) -> int:
    if isinstance(block, str):
        return count_tokens(block)
    kind = str(block.get("type"))
    if isinstance(words := block.get("text") or block.get(kind), str) and "url" not in kind:
        return count_tokens(words)
    # a call stands among the message's tool calls as well
    return 0 if kind == "tool_use" else _MEDIA_TOKENS


def tool_tokens(tools: Sequence[BaseTool]) -> int:
    """Return the tokens of tool descriptions in every prompt."""
    return sum(count_tokens(json.dumps(convert_to_openai_tool(tool), ensure_ascii=False)) for tool in tools)


def cut_to(text: str, tokens: int) -> str:
    """Return the beginning of a text, of at most so many tokens.

    >>> cut_to("one two three four", 3)
    'one two thre'
    """
    end, left = 0, tokens
    while end < len(text) and (taken := count_tokens(text[end : end + _BLOCK])) <= left:
        left -= taken
        end += _BLOCK
    if end >= len(text):
        return text
    low, high = end, min(end + _BLOCK, len(text))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[end:middle]) <= left else (low, middle - 1)
    return text[:low]


# Capabilities of chat models, as each declares them.


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a chat model.

    Args:
        follows_instructions: True if it plans, decides, summarises and fills in a schema; false for a model that only
            quotes its prompt.
        calls_tools: True if it has an interface for tool calls; without it, it gets no tools.
    """

    follows_instructions: bool = True
    calls_tools: bool = True


def capabilities_of(model: BaseChatModel) -> Capabilities:
    """Return the capabilities of a chat model: as its class declares, else as a language model has."""
    declared = getattr(model, "capabilities", None)
    if isinstance(declared, Capabilities):
        return declared
    return Capabilities(calls_tools=type(model).bind_tools is not BaseChatModel.bind_tools)
