"""The built-in chat model for when there is none: it generates nothing and quotes what is remembered."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, NoReturn

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.quoting import SAID, Quote, Remembered, best_quote, read_lines, read_memories
from agents.wording import OWN_ANSWER, wording_for
from memory.records import record_id
from memory.statements import is_question, sentences, statements
from prompts import load_prompt

_EDGE_CHARS = 4_000
"""Of a long message its beginning and its end are read: what is said and what is asked stands there."""

_CONVERSATION_CHARS = 30_000
"""How much of the conversation is searched: a few tens of milliseconds, whatever its length."""

_MEMORY_OFF = load_prompt("memory_off")
"""In a prompt, it says that nothing is kept."""

_QUOTED = 3
_QUOTE_CHARS = 300

_SMALL_TALK = re.compile(
    r"""\b(?:how\ are\ you|how(?:'s|’s|\ is)\ it\ going|what(?:'s|’s|\ is)\ up|who\ are\ you|what\ are\ you
        |what\ can\ you\ do|your\ name|are\ you\ (?:an?|ok|there)
        |(?:bạn|em|mày)\ (?:là\ ai|tên\ (?:là\ )?gì|khỏe|khoẻ|làm\ được\ gì))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKS_TIME = re.compile(
    r"""\bwhat(?:'s|’s|\ is)\ the\ (?:current\ )?(?:time|date)\b(?!\ (?:of|for)\b)|\bwhat\ time\ is\ it\b
        |\b(?:current|today's|today’s)\ (?:time|date)\b|\bwhat\ (?:day|date)\ is\ (?:it|today)\b
        |\bmấy\ giờ\ rồi\b|\b(?:bây\ giờ|giờ)\ là\ mấy\ giờ\b
        |\bhôm\ nay\ (?:là\ )?(?:ngày|thứ)\ (?:mấy|bao\ nhiêu|gì|nào)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_TIME_ZONE = re.compile(r"\b[A-Z][A-Za-z_]+/[A-Z][A-Za-z_]+\b")
_ARITHMETIC = re.compile(
    r"^\s*(?:what(?:'s|’s| is)|calculate|compute|tính)?\s*([\d(.+−-][\d\s.()+*/%^×÷−-]*[\d)])\s*(?:=\s*)?(?:là|bằng)?"
    r"(?:\s*mấy|\s*bao nhiêu)?\s*[?？=.]*\s*$",
    re.IGNORECASE,
)
# "2026-11-22" and "0905-123-456" are no sums: a bare minus counts only between spaces.
_OPERATOR = re.compile(r"[\d)]\s*(?:\*\*|//|[+*/%^×÷]|\s[−-]\s)\s*[\d(.−-]")
_DATE = re.compile(r"\d{1,4}/\d{1,2}/\d{1,4}")


class ExtractiveChatModel(BaseChatModel):
    """A chat model that generates nothing: it quotes the remembered sentence that answers best.

    A question is answered with a quote from the memories in the prompt or from this conversation, a statement is
    acknowledged. It calls `retrieve_facts` when the prompt does not answer a question, `current_time` and `calculator`
    when just that is asked, each only if it is bound. The same messages always give the same reply.

    Args:
        stands_in: Whether it answers while a language model cannot: every answer says so.
    """

    name: str | None = "extractive"
    stands_in: bool = False

    @property
    def _llm_type(self) -> str:
        return "extractive"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools that it may call.

        Raises:
            NotImplementedError: If a call is demanded: it has no way to fill arguments in.
        """
        if tool_choice not in (None, False, "auto", "none"):
            _cannot_fill()
        usable = [] if tool_choice == "none" else tools
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in usable], **kwargs)

    def with_structured_output(self, *args: Any, **kwargs: Any) -> Runnable[LanguageModelInput, Any]:
        """Refuse.

        Raises:
            NotImplementedError: Always: it quotes and cannot fill a schema.
        """
        _cannot_fill()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_answer(messages, kwargs, self.stands_in))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, None, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from _chunks(_answer(messages, kwargs, self.stands_in))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(_answer(messages, kwargs, self.stands_in)):
            yield chunk


def _cannot_fill() -> NoReturn:
    raise NotImplementedError("extractive cannot fill a schema: it only quotes; configure a language model for that")


def _answer(messages: Sequence[BaseMessage], options: dict[str, Any], stands_in: bool) -> AIMessage:
    if options.get("response_format"):
        _cannot_fill()
    tools = {spec["function"]["name"] for spec in options.get("tools", ())}
    text, calls = _Turn(messages, tools, stands_in=stands_in).reply()
    # No tokens were read or written: nothing was sent anywhere.
    usage = UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0)
    return AIMessage(text, tool_calls=calls, usage_metadata=usage, response_metadata={"model_name": "extractive"})


class _Turn:
    """What a list of messages says about the turn to be answered."""

    def __init__(self, messages: Sequence[BaseMessage], tools: set[str], *, stands_in: bool) -> None:
        self.tools = tools
        self.stands_in = stands_in
        last = max((i for i, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
        self.earlier, self.since = messages[: max(last, 0)], messages[last + 1 :]
        self.system = [message for message in messages if isinstance(message, SystemMessage)]
        human = messages[last] if last >= 0 else HumanMessage("")
        self.text = _edges(human.text.strip())
        self.unseen = isinstance(human.content, list) and any(
            isinstance(block, dict) and block.get("type", "text") != "text" for block in human.content
        )
        self.phrases = wording_for(self.text)
        self.is_off = any(_MEMORY_OFF in message.text for message in self.system)
        self.said = statements(self.text)
        asked = [sentence for sentence in sentences(self.text) if is_question(sentence)]
        self.question = asked[-1] if asked else ""
        for statement in self.said:
            # "I love Hue, where do I live?" does not ask about Hue.
            self.question = self.question.removeprefix(statement).lstrip(" ,;:–—-")

    def reply(self) -> tuple[str, list[ToolCall]]:
        """Return the text and the tool calls that answer the turn."""
        observation = next((message for message in reversed(self.since) if isinstance(message, ToolMessage)), None)
        call = self._call() if observation is None else None
        if call is not None:
            return (self.phrases["looking"] if call["name"] == "retrieve_facts" else ""), [call]
        answer = self._from_tool(observation) if observation is not None else ""
        parts = [self.phrases["unseen"]] if self.unseen else []
        parts += [answer or self._from_memory(observation)] if self.text or not self.unseen else []
        return "\n".join((*self._banner(), *parts)), []

    def _banner(self) -> list[str]:
        if self.stands_in:
            return [self.phrases["stands_in"]]
        first = not any(isinstance(message, AIMessage) for message in self.earlier)
        return [self.phrases["banner"]] if first else []

    def _call(self) -> ToolCall | None:
        name, args = "", {}
        if "current_time" in self.tools and _ASKS_TIME.search(self.text):
            zone = _TIME_ZONE.search(self.text)
            name, args = "current_time", {"timezone": zone[0]} if zone else {}
        elif "calculator" in self.tools and (expression := _arithmetic(self.text)):
            name, args = "calculator", {"expression": expression}
        elif "retrieve_facts" in self.tools and self.question and not self._small_talk() and not self._quote():
            name, args = "retrieve_facts", {"query": self.question}
        if not name:
            return None
        # The place in the conversation makes the id unique in its thread, and the same on a retry.
        call_id = f"call_{record_id(name, json.dumps(args), str(len(self.earlier)))}"
        return ToolCall(name=name, args=args, id=call_id, type="tool_call")

    def _from_tool(self, observation: ToolMessage) -> str:
        """Return the answer that a tool's result is; empty where memory has to be asked."""
        calls = [call for message in self.since if isinstance(message, AIMessage) for call in message.tool_calls]
        call = next((call for call in calls if call["id"] == observation.tool_call_id), None)
        name = call["name"] if call else observation.name or ""
        result = observation.text.strip()[:_EDGE_CHARS]
        if observation.status == "error":
            return self.phrases["failed"].format(tool=name, result=result)
        if name == "current_time":
            return self.phrases["time"].format(result=result)
        if name == "calculator":
            return self.phrases["sum"].format(asked=call["args"].get("expression", "") if call else "", result=result)
        return ""

    def _from_memory(self, observation: ToolMessage | None) -> str:
        if not self.text:
            return self.phrases["empty"]
        noted = self._noted()
        if not self.question:
            return noted or self.phrases["small_talk"]
        found = read_lines(_edges(observation.text)) if observation is not None else []
        quote = self._quote(found)
        if quote is None:
            unknown = self.phrases["small_talk" if self._small_talk() else "off" if self.is_off else "unknown"]
            if noted == unknown:
                return unknown
            return f"{noted}\n{unknown}" if noted else unknown
        if noted and quote.text not in self.said:
            return f"{noted}\n{self._quoted(quote)}"
        return self._quoted(quote)

    def _noted(self) -> str:
        if not self.said:
            return ""
        if self.is_off:
            return self.phrases["off"]
        quotes = " ".join(map(_in_quotes, self.said[:_QUOTED])) + (
            self.phrases["more"] if len(self.said) > _QUOTED else ""
        )
        return self.phrases["noted"].format(quotes=quotes)

    def _small_talk(self) -> bool:
        return bool(_SMALL_TALK.search(self.question))

    def _quote(self, found: Sequence[Remembered] = ()) -> Quote | None:
        if self._small_talk():
            return None
        memories = [memory for message in self.system for memory in read_memories(message.text)]
        known = [memory for memory in (*memories, *found) if not OWN_ANSWER.match(memory.text)]
        return best_quote(self.question, [*known, *self._conversation()])

    def _conversation(self) -> list[Remembered]:
        """Return what the user has said in this conversation, this message included."""
        said: list[Remembered] = [Remembered(statement, SAID) for statement in self.said]
        room = _CONVERSATION_CHARS
        for message in reversed(self.earlier):
            if isinstance(message, HumanMessage) and room > 0:
                text = _edges(message.text)
                room -= len(text)
                said[:0] = [Remembered(statement, SAID) for statement in statements(text)]
        return said

    def _quoted(self, quote: Quote) -> str:
        kind = "said" if quote.source.kind in ("message", SAID) and quote.source.by_user else "fact"
        date = f" ({quote.source.date})" if quote.source.date else ""
        return self.phrases[kind if quote.sure else "closest"].format(date=date, quote=_in_quotes(quote.text))


def _arithmetic(text: str) -> str:
    """Return the expression that is all a message asks for; empty where it is something else.

    >>> _arithmetic("What is 2 + 3 * 4?"), _arithmetic("2026-11-22"), _arithmetic("I have 2 + 3 cats")
    ('2 + 3 * 4', '', '')
    """
    match = _ARITHMETIC.match(text) if len(text) < _QUOTE_CHARS else None
    if match is None or not _OPERATOR.search(match[1]) or _DATE.fullmatch(text.strip()):
        return ""
    return match[1].strip()


def _edges(text: str) -> str:
    return text if len(text) <= 2 * _EDGE_CHARS else f"{text[:_EDGE_CHARS]}\n{text[-_EDGE_CHARS:]}"


def _in_quotes(text: str) -> str:
    return f"“{text if len(text) <= _QUOTE_CHARS else text[: _QUOTE_CHARS - 1] + '…'}”"


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """Cut a message into words, the way a generating model streams; the last chunk carries the rest of it."""
    for word in re.findall(r"\s*\S+\s*", str(message.content)):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word, response_metadata={}))
    calls = [
        {
            "name": call["name"],
            "args": json.dumps(call["args"]),
            "id": call["id"],
            "index": i,
            "type": "tool_call_chunk",
        }
        for i, call in enumerate(message.tool_calls)
    ]
    yield ChatGenerationChunk(
        message=AIMessageChunk(
            content="",
            tool_call_chunks=calls,
            usage_metadata=message.usage_metadata,
            response_metadata=message.response_metadata,
            chunk_position="last",
        )
    )
