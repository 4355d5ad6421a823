"""Tool calling for a model that has none: the ReAct text form behind the interface of a tool-calling model.

    Thought: ...
    Action: tool name
    Args: {json}

    Thought: ...
    Final Answer: ...

The wrapper is itself a chat model: it writes tool calls as text for the inner model and reads its text back as tool
calls, so that every graph, stream and event is the same for both dialects. A reply it cannot read becomes an invalid
tool call, which the reasoning loop answers with an observation that the model can repair.

Source: ReAct (Yao et al., 2023).
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from prompts import load_prompt

FINAL = "Final Answer:"
STOP = ["\nObservation:"]
_LABEL = re.compile(r"^[ \t>*_#]*(Thought|Action|Args|Action Input|Final Answer)[ \t*_]*:[ \t*_]*", re.I | re.M)
_NO_ACTION = {"none", "n/a", "no action", "null"}
# A hidden call: the inner model's raw text must not reach the user's stream, only what is read from it.
_HIDDEN: RunnableConfig = {"tags": ["nostream"]}


@dataclass(frozen=True)
class Reply:
    """What a model's text says.

    Args:
        thought: Its reasoning.
        answer: The final answer, or None.
        action: The tool it names, or None.
        args: The tool's arguments, when they were a JSON object.
        error: Why the text is not one of the two forms; empty when it is.
        raw_args: The arguments as written.
    """

    thought: str = ""
    answer: str | None = None
    action: str | None = None
    args: dict[str, Any] | None = None
    error: str = ""
    raw_args: str = ""


def parse_reply(text: str) -> Reply:
    """Read a model's text.

    Text without any label is an answer: a model that ignores the form has still answered. An answer stays a string,
    even when it is JSON.

    Args:
        text: What the model wrote.

    Returns:
        What it says.

    >>> parse_reply('Thought: add\\nAction: calculator\\nArgs: {"expression": "1+1"}').args
    {'expression': '1+1'}
    >>> parse_reply('Final Answer: {"a": 1}').answer
    '{"a": 1}'
    """
    text = text.split(STOP[0])[0]
    final = _final_label(text)
    head = text[: final.start()] if final else text
    sections = _sections(head)
    action = sections.get("action", "").strip().strip("`\"'[]()").strip()
    if action and action.lower() not in _NO_ACTION:
        # Even before a final answer: the action was never carried out, what is concluded from it would be made up.
        return _read_action(sections.get("thought", ""), action, sections.get("args", ""))
    if final:
        return Reply(thought=sections.get("thought", ""), answer=text[final.end() :].strip())
    if "args" in sections:
        return Reply(thought=sections.get("thought", ""), error="Args without an Action", raw_args=sections["args"])
    if "thought" in sections and not sections.get("", "").strip():
        return Reply(thought=sections["thought"], error="a Thought without an Action or a Final Answer")
    return Reply(answer=text.strip())


def _final_label(text: str) -> re.Match[str] | None:
    return next((match for match in _LABEL.finditer(text) if match[1].lower() == "final answer"), None)


def _sections(text: str) -> dict[str, str]:
    """Split text at its labels; the first of each label counts, text before any label has the label ''."""
    found: dict[str, str] = {}
    matches = list(_LABEL.finditer(text))
    found[""] = text[: matches[0].start()] if matches else text
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        label = match[1].lower().replace("action input", "args")
        found.setdefault(label, text[match.end() : following.start() if following else len(text)].strip())
    return found


def _read_action(thought: str, action: str, raw: str) -> Reply:
    fenced = re.sub(r"^```\w*\s*|\s*```$", "", raw.strip())
    if not fenced:
        return Reply(thought=thought, action=action, args={})
    try:
        # A model may go on after its JSON; the first value counts.
        args, _ = json.JSONDecoder(strict=False).raw_decode(fenced)
    except ValueError as error:
        return Reply(thought=thought, action=action, raw_args=raw, error=f"Args is not JSON: {error}")
    if not isinstance(args, dict):
        return Reply(thought=thought, action=action, raw_args=raw, error="Args is not a JSON object")
    return Reply(thought=thought, action=action, args=args)


class TextDialect(BaseChatModel):
    """A tool-calling chat model made of one that only writes text.

    Args:
        inner: The model that writes.
        tool_specs: The tools in OpenAI form; set by `bind_tools`.
    """

    inner: BaseChatModel
    tool_specs: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "text-dialect"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with these tools described in its instructions; `tool_choice` cannot be forced in text."""
        return TextDialect(inner=self.inner, tool_specs=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        response = self.inner.invoke(self._as_text(messages), config=_HIDDEN, stop=[*STOP, *(stop or [])])
        return ChatResult(generations=[ChatGeneration(message=self._as_message(response))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        response = await self.inner.ainvoke(self._as_text(messages), config=_HIDDEN, stop=[*STOP, *(stop or [])])
        return ChatResult(generations=[ChatGeneration(message=self._as_message(response))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._generate(messages, stop, run_manager).generations[0].message
        yield _as_chunk(message)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Stream the final answer as it is written; a thought or an action comes when it is complete."""
        whole: AIMessageChunk | None = None
        sent = 0
        async for part in self.inner.astream(self._as_text(messages), config=_HIDDEN, stop=[*STOP, *(stop or [])]):
            whole = part if whole is None else whole + part
            text = whole.text if whole is not None else ""
            answer = _answer_so_far(text)
            if answer is not None and len(answer) > sent:
                chunk = ChatGenerationChunk(message=AIMessageChunk(content=answer[sent:]))
                sent = len(answer)
                if run_manager:
                    await run_manager.on_llm_new_token(str(chunk.text), chunk=chunk)
                yield chunk
        message = self._as_message(whole if whole is not None else AIMessage(""))
        rest = _as_chunk(message, skip=sent)
        if run_manager:
            await run_manager.on_llm_new_token(str(rest.text), chunk=rest)
        yield rest

    def _as_text(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Write tool calls and their results as text, and the tools into the instructions."""
        texts: list[BaseMessage] = []
        for message in messages:
            if isinstance(message, ToolMessage):
                texts.append(HumanMessage(f"Observation: {message.text}"))
            elif isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
                texts.append(AIMessage(_action_text(message)))
            elif isinstance(message, AIMessage):
                texts.append(AIMessage(f"{FINAL} {message.text}"))
            else:
                texts.append(message)
        if self.tool_specs:
            form = load_prompt("text_dialect").format(tools="\n".join(map(_describe, self.tool_specs)))
            if texts and isinstance(texts[0], SystemMessage):
                texts[0] = SystemMessage(f"{texts[0].text}\n\n{form}")
            else:
                texts.insert(0, SystemMessage(form))
        return _merge_neighbours(texts)

    def _as_message(self, response: BaseMessage) -> AIMessage:
        # without tools there is nothing to call: the text is the answer, unless the model labels it all the same
        reply = parse_reply(response.text)
        usage = getattr(response, "usage_metadata", None)
        metadata = response.response_metadata
        if reply.error or (reply.action and not self.tool_specs):
            error = reply.error or "there are no tools"
            # Streamed chunks carry no error, and empty arguments would pass for a call without any.
            call = invalid_tool_call(
                name=reply.action or "none", args=reply.raw_args or "(none)", id=f"call_{uuid.uuid4().hex}", error=error
            )
            return AIMessage(
                reply.thought,
                invalid_tool_calls=[call],
                additional_kwargs={"error": error},
                usage_metadata=usage,
                response_metadata=metadata,
            )
        if reply.action:
            made = tool_call(name=reply.action, args=reply.args or {}, id=f"call_{uuid.uuid4().hex}")
            return AIMessage(reply.thought, tool_calls=[made], usage_metadata=usage, response_metadata=metadata)
        return AIMessage(
            reply.answer or "",
            additional_kwargs={"thought": reply.thought} if reply.thought else {},
            usage_metadata=usage,
            response_metadata=metadata,
        )


def _answer_so_far(text: str) -> str | None:
    """Return the part of an unfinished text that is surely final answer; None while an action may still come."""
    final = _final_label(text)
    if final is None or "action" in _sections(text[: final.start()]):
        return None
    answer = text[final.end() :].split(STOP[0])[0]
    for length in range(min(len(STOP[0]), len(answer)), 0, -1):
        if STOP[0].startswith(answer[-length:]):
            # this may become the stop mark, or white space that the complete answer is stripped of
            answer = answer[:-length]
            break
    return answer.strip()


def _as_chunk(message: BaseMessage, skip: int = 0) -> ChatGenerationChunk:
    """Return a message as the last chunk of a stream that has already sent `skip` characters of its text."""
    assert isinstance(message, AIMessage)  # noqa: S101 - narrows for the type checker
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return ChatGenerationChunk(
        message=AIMessageChunk(
            content=str(message.content)[skip:],
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
            usage_metadata=message.usage_metadata,
            tool_call_chunks=[
                {
                    "name": call["name"],
                    "args": json.dumps(call["args"]) if isinstance(call["args"], dict) else call["args"],
                    "id": call["id"],
                    "index": index,
                    "type": "tool_call_chunk",
                }
                for index, call in enumerate(calls)
            ],
            chunk_position="last",
        )
    )


def _action_text(message: AIMessage) -> str:
    """Write a message's tool calls the way the model would have."""
    lines = [f"Thought: {message.text}"] if message.text else []
    for call in message.tool_calls:
        lines += [f"Action: {call['name']}", f"Args: {json.dumps(call['args'], ensure_ascii=False)}"]
    for bad in message.invalid_tool_calls:
        lines += [f"Action: {bad['name']}", f"Args: {bad['args']}"]
    return "\n".join(lines)


def _describe(spec: dict[str, Any]) -> str:
    function = spec["function"]
    parameters = json.dumps(function.get("parameters", {}).get("properties", {}), ensure_ascii=False)
    return f"- {function['name']}: {function.get('description', '')} Args: {parameters}"


def _merge_neighbours(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Join neighbouring texts of one role: models without tool calling often insist on alternating roles."""
    merged: list[BaseMessage] = []
    for message in messages:
        if merged and merged[-1].type == message.type:
            last = merged[-1]
            if isinstance(last.content, str) and isinstance(message.content, str):
                merged[-1] = type(last)(content=f"{last.content}\n{message.content}")
                continue
        merged.append(message)
    return merged
