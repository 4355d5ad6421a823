"""The keyless chat model: it generates nothing and quotes remembered sentences."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolCallChunk,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from react_mem.agents.quoting import (
    OWN_ANSWER,
    SAID,
    Quote,
    Remembered,
    all_told,
    best_quote,
    read_lines,
    read_memories,
)
from react_mem.memory import Message
from react_mem.memory.context import NOTICE, PREAMBLE, is_users
from react_mem.memory.language import (
    asks_for_overview,
    content_terms,
    edges,
    forget_all,
    forget_last,
    is_question,
    is_request,
    language_of,
    languages_of,
    named_in,
    own_words_in,
    sentences,
    statements_in,
    to_forget,
)
from react_mem.memory.records import record_id
from react_mem.memory.runtime import Capabilities, says
from react_mem.prompts import load_prompt
from react_mem.tools.memory_tools import FORGOTTEN, MORE, forget_said, list_known

# Base of the chat models that this project has itself: one function from messages to an answer, streamed in pieces.


class AnsweringModel(BaseChatModel):
    """Base of the project's own chat models, which know their whole answer at once and stream it in pieces."""

    @property
    def _llm_type(self) -> str:
        return self.name or type(self).__name__

    @abstractmethod
    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        """Return the answer to messages, with the bound tools and other options."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, stop, **kwargs))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from self._chunks(self._answer(messages, stop, **kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(self._answer(messages, stop, **kwargs)):
            yield chunk

    def _chunks(self, message: AIMessage) -> Iterator[ChatGenerationChunk]:
        text = str(message.content)
        for piece in re.findall(r"\s*\S+|\s+", text):  # words, the way a generating model streams
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece, response_metadata={}))
        calls: list[ToolCallChunk] = [
            {
                "name": call["name"],
                "args": json.dumps(call["args"]) if isinstance(call["args"], dict) else call["args"],
                "id": call["id"],
                "index": index,
                "type": "tool_call_chunk",
            }
            for index, call in enumerate([*message.tool_calls, *message.invalid_tool_calls])
        ]
        # all of the message but its text, which has been streamed
        last = AIMessageChunk(
            content="",
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
            usage_metadata=message.usage_metadata,
            tool_call_chunks=calls,
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=last)


_EDGE_CHARS = 4_000  # characters read at either end of a long message, where statements and questions stand
_CONVERSATION_CHARS = 30_000  # characters searched of the conversation: a few tens of milliseconds, whatever its length
_MEMORY_OFF = load_prompt("memory_off")  # the part of a prompt that turns memory off
_QUOTED = 3
_TOLD = 12  # most entries of an overview
_QUOTE_CHARS = 300

_SUM = re.compile(r"[\d(.+−-][\d\s.()+*/%^×÷−-]*[\d)]")
# "2026-11-22" and "0905-123-456" are no sums: a bare minus counts only between spaces.
_OPERATOR = re.compile(r"[\d)]\s*(?:\*\*|//|[+*%^×÷]|\s[−/-]\s)\s*[\d(.−-]")
_TIME_ZONE = re.compile(r"\b[A-Z][A-Za-z_]+/[A-Z][A-Za-z_]+\b")


class ExtractiveChatModel(AnsweringModel):
    """A chat model that generates nothing: it quotes the best matching remembered sentence.

    It answers a question with a quote from the memories in the prompt or from this conversation, and acknowledges a
    statement. It calls `retrieve_facts` when the prompt does not answer a question, `current_time` and `calculator`
    when the user asks for just that, and `forget_said` for a request to forget, each only if it is bound. The same
    messages always give the same reply.

    Args:
        stands_in: True while it replaces an unreachable language model: every answer says so.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(follows_instructions=False)
    name: str | None = "extractive"
    stands_in: bool = False

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools to call. A forced call, which needs arguments, raises `NotImplementedError`."""
        if tool_choice not in (None, False, "auto", "none"):
            _cannot_fill()
        usable = [] if tool_choice == "none" else tools
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in usable], **kwargs)

    def with_structured_output(self, *args: Any, **kwargs: Any) -> Runnable[LanguageModelInput, Any]:
        """Raise `NotImplementedError`: it quotes and cannot fill in a schema."""
        _cannot_fill()

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        if options.get("response_format"):
            _cannot_fill()
        tools = {spec["function"]["name"] for spec in options.get("tools", ())}
        turn = _Turn(messages, tools, stands_in=self.stands_in)
        text, calls = turn.reply()
        preamble = "" if calls else _lines(turn.banner(), turn.forgotten())
        marks: dict[str, Any] = {PREAMBLE: preamble} if preamble else {}
        if turn.is_off and turn.phrases["off"] in text:
            # the conversation may go on with memory on, which then has nothing to remember of this
            marks[NOTICE] = True
        return AIMessage(
            _lines(preamble, text),
            tool_calls=calls,
            # no tokens were read or written: nothing was sent anywhere
            usage_metadata=UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0),
            response_metadata={"model_name": "extractive"},
            additional_kwargs=marks,
        )


def _cannot_fill() -> NoReturn:
    raise NotImplementedError("extractive cannot fill a schema: it only quotes; configure a language model for that")


def _speaker(message: BaseMessage) -> str:
    head = named_in(message.text)
    return message.name or (head.name if head.is_person else "")


class _Turn:
    """The turn to answer, read from a list of messages."""

    def __init__(self, messages: Sequence[BaseMessage], tools: set[str], *, stands_in: bool) -> None:
        self.tools = tools
        self.stands_in = stands_in
        last = max((i for i, message in enumerate(messages) if is_users(message)), default=-1)
        self.earlier, self.since = messages[: max(last, 0)], messages[last + 1 :]
        self.system = [message for message in messages if isinstance(message, SystemMessage)]
        human = messages[last] if last >= 0 else HumanMessage("")
        self.text = edges(human.text.strip(), _EDGE_CHARS)
        self.speaker = _speaker(human)
        self.unseen = isinstance(human.content, list) and any(
            isinstance(block, dict) and block.get("type", "text") != "text" for block in human.content
        )
        self.phrases = language_of(self.text).wording
        self.is_off = any(_MEMORY_OFF in message.text for message in self.system)
        self.said = statements_in(self.text)
        said = sentences(self.text)
        # what is quoted asks for nothing
        own = sentences(own_words_in(self.text))
        self.forgets = any(to_forget(one) or forget_last(one) for one in own)
        self.forgets_all = any(map(forget_all, own))
        self.overview = any(map(asks_for_overview, said))
        self.requests = any(map(is_request, said))
        asked = [sentence for sentence in said if is_question(sentence) and not to_forget(sentence)]
        self.question = asked[-1] if asked else ""
        for statement in self.said:
            # "I love Hue, where do I live?" does not ask about Hue.
            self.question = self.question.removeprefix(statement).lstrip(" ,;:–—-")

    def reply(self) -> tuple[str, list[ToolCall]]:
        """Return the text and the tool calls of the answer."""
        observation = next((message for message in reversed(self.since) if isinstance(message, ToolMessage)), None)
        call = self._call() if observation is None else None
        if call is not None:
            return (self.phrases["looking"] if call["name"] == "retrieve_facts" else ""), [call]
        unseen = self.phrases["unseen"] if self.unseen else ""
        if unseen and not self.text:
            return unseen, []
        answer = self._from_tool(observation) if observation is not None else ""
        return _lines(unseen, answer or self._from_memory(observation)), []

    def banner(self) -> str:
        """Return the model's introduction before its first answer, or before each while it stands in."""
        if self.stands_in:
            return self.phrases["stands_in"]
        return "" if any(isinstance(message, AIMessage) for message in self.earlier) else self.phrases["banner"]

    def forgotten(self) -> str:
        """Return the forgotten texts for display; they are not to be remembered again."""
        gone = next((m.artifact for m in reversed(self.since) if isinstance(m, ToolMessage) and m.artifact), None)
        texts = list(dict.fromkeys(map(str, gone))) if isinstance(gone, list) else []
        return self.phrases["forgotten_what"].format(quotes=self._quotes(texts, _TOLD)) if texts else ""

    def _call(self) -> ToolCall | None:
        name, args = "", {}
        if self.forgets:
            if forget_said.name not in self.tools or self.is_off:
                return None
            name = forget_said.name
        elif self.overview and list_known.name in self.tools and not self.is_off:
            name = list_known.name
        elif "current_time" in self.tools and any(one.asks_time.search(self.text) for one in languages_of(self.text)):
            zone = _TIME_ZONE.search(self.text)
            name, args = "current_time", {"timezone": zone[0]} if zone else {}
        elif "calculator" in self.tools and (expression := _arithmetic(self.text)):
            name, args = "calculator", {"expression": expression}
        elif "retrieve_facts" in self.tools and self._searches():
            name, args = "retrieve_facts", {"query": self.question}
        if not name:
            return None
        # The place in the conversation makes the id unique in its thread, and the same on a retry.
        call_id = f"call_{record_id(name, json.dumps(args), str(len(self.earlier)))}"
        return ToolCall(name=name, args=args, id=call_id, type="tool_call")

    def _searches(self) -> bool:
        plain = self.question and not self.overview and not self.forgets_all and not self._small_talk()
        return bool(plain) and self._quote() is None

    def _from_tool(self, observation: ToolMessage) -> str:
        """Return the answer made of a tool's result; empty where memory has to be asked."""
        calls = [call for message in self.since if isinstance(message, AIMessage) for call in message.tool_calls]
        call = next((call for call in calls if call["id"] == observation.tool_call_id), None)
        name = call["name"] if call else observation.name or ""
        result = observation.text.strip()[:_EDGE_CHARS]
        if observation.status == "error":
            return self.phrases["failed"].format(tool=name, result=result)
        if name == forget_said.name:
            meant = [memory.text for memory in read_lines(result) if f"- {memory.text}" in result]
            left = self.phrases["not_forgotten"].format(quotes=" ".join(map(_in_quotes, meant[:_QUOTED])))
            told = left if meant else self.phrases["nothing_to_forget"]
            return _lines(self.phrases["forgotten"] if result == FORGOTTEN else told, self._noted())
        if name == list_known.name:
            known = observation.text
            last = known.rpartition("\n")[2]
            more = self.phrases["overview_more"].format(count=last.removeprefix(MORE)) if last.startswith(MORE) else ""
            listed = [memory.text for memory in read_lines(known, other=None)]
            return _lines(self._noted(), self._overview(listed, more))
        if name == "current_time":
            return self.phrases["time"].format(result=result)
        if name == "calculator":
            return f"{call['args'].get('expression', '') if call else ''} = {result}"
        return ""

    def _from_memory(self, observation: ToolMessage | None) -> str:
        if not self.text:
            return self.phrases["empty"]
        noted = self._noted()
        if (self.forgets or self.forgets_all) and self.is_off:
            return self.phrases["off"]
        if self.forgets or self.forgets_all:
            return self.phrases["forget_all" if self.forgets_all else "cannot_forget"]
        if self.overview:
            told = all_told([*self._memories(), *self._conversation()])
            return _lines(noted, self._overview(told[:_TOLD]))
        if not self.question:
            return noted or self.phrases["request" if self.requests else "small_talk"]
        quote = self._quote(read_lines(edges(observation.text, _EDGE_CHARS)) if observation is not None else [])
        if quote is None:
            unknown = self.phrases["small_talk" if self._small_talk() else "off" if self.is_off else "unknown"]
            return _lines(noted if noted != unknown else "", unknown)
        return _lines(noted if quote.text not in self.said else "", self._quoted(quote))

    def _overview(self, texts: Sequence[str], more: str = "") -> str:
        if not texts:
            return self.phrases["overview_empty"]
        return _lines(self.phrases["overview"], *(f"- {_shortened(text)}" for text in texts), more)

    def _noted(self) -> str:
        if not self.said:
            return ""
        if self.is_off:
            return self.phrases["off"]
        return self.phrases["noted"].format(quotes=self._quotes(self.said, _QUOTED))

    def _quotes(self, texts: Sequence[str], most: int) -> str:
        more = self.phrases["more"] if len(texts) > most else ""
        return " ".join(map(_in_quotes, texts[:most])) + more

    def _small_talk(self) -> bool:
        return any(language.small_talk.search(self.question) for language in languages_of(self.question))

    def _quote(self, searched: Sequence[Remembered] = ()) -> Quote | None:
        if self._small_talk():
            return None
        extra = [memory for memory in searched if not OWN_ANSWER.match(memory.text)]
        return best_quote(self.question, [*self._memories(), *extra, *self._conversation()])

    def _memories(self) -> list[Remembered]:
        """Return the memories in the prompt, without this model's own answers."""
        memories = (memory for message in self.system for memory in read_memories(message.text))
        return [memory for memory in memories if not OWN_ANSWER.match(memory.text)]

    def _conversation(self) -> list[Remembered]:
        """Return the statements by the author of the question in this conversation, this message included."""
        said: list[Remembered] = [Remembered(statement, SAID) for statement in self.said]
        room = _CONVERSATION_CHARS
        forgotten: list[str] = []
        takes_back = 0
        for message in reversed(self.earlier):
            if is_users(message) and room > 0 and _speaker(message) == self.speaker:
                text = edges(message.text, _EDGE_CHARS)
                room -= len(text)
                stated = [one for one in statements_in(text) if not any(says(one, what) for what in forgotten)]
                while takes_back and stated:
                    stated.pop()
                    takes_back -= 1
                said[:0] = [Remembered(statement, SAID) for statement in stated]
                # what was forgotten later on in the conversation is still in the thread
                forgotten += filter(None, map(to_forget, sentences(text)))
                takes_back += sum(map(forget_last, sentences(text)))
        return said

    def _quoted(self, quote: Quote) -> str:
        kind = "said" if quote.source.kind in (Message.kind_name(), SAID) and quote.source.by_user else "fact"
        # what was said in this very conversation needs no date: that of a fact of the same words is there to order by
        date = f" ({quote.source.date})" if quote.source.date and quote.source.kind != SAID else ""
        return self.phrases[kind if quote.sure else "closest"].format(date=date, quote=_in_quotes(quote.text))


def _arithmetic(text: str) -> str:
    """Return the expression that a message asks for with no words of content; empty for another message.

    >>> _arithmetic("What is 2 + 3 * 4?"), _arithmetic("2026-11-22"), _arithmetic("I have 2 + 3 cats")
    ('2 + 3 * 4', '', '')
    """
    match = _SUM.search(text) if len(text) < _QUOTE_CHARS else None
    if match is None or not _OPERATOR.search(match[0]) or content_terms(text.replace(match[0], " ")):
        return ""
    return match[0].strip()


def _lines(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _in_quotes(text: str) -> str:
    return f"“{_shortened(text)}”"


def _shortened(text: str) -> str:
    return text if len(text) <= _QUOTE_CHARS else text[: _QUOTE_CHARS - 1] + "…"
