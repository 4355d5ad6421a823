"""Tool calling for a model that has none: the ReAct text form behind the interface of a tool-calling model.

The wrapper is itself a chat model: it writes tool calls as text for the inner model and reads its text back as tool
calls, so that every graph, stream and event is the same for both dialects. A reply it cannot read becomes an invalid
tool call, which the reasoning loop answers with an observation that the model can repair. One call a reply: a text
model asked for several makes up the results of the first ones.

Source: ReAct (Yao et al., 2023).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
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
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_core.utils.json_schema import dereference_refs
from pydantic import Field

from react_mem.agents.answering_model import AnsweringModel, last_chunk
from react_mem.agents.models import name_of
from react_mem.agents.text_form import FINAL, STOP, AnswerStream, parse_reply
from react_mem.memory.runtime import Capabilities
from react_mem.prompts import load_prompt

# A hidden call: the inner model's raw text must not reach the user's stream, only what is read from it.
_HIDDEN: RunnableConfig = {"tags": ["nostream"]}
# read here, since files are not read on an event loop
_FORM, _CALL_FORM = load_prompt("text_dialect"), load_prompt("text_dialect_call")
_NO_TOOL = "none"
"""The name of an invalid call whose text named no tool."""


class TextDialect(AnsweringModel):
    """A tool-calling chat model made of one that only writes text. Without tools it is that model, unchanged.

    Args:
        inner: The model that writes.
        tool_specs: The tools in OpenAI form; set by `bind_tools`.
        must_call: Whether every reply has to be a tool call; set by `bind_tools`.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(calls_tools=False)
    inner: BaseChatModel
    tool_specs: list[dict[str, Any]] = Field(default_factory=list)
    must_call: bool = False

    @property
    def model_name(self) -> str:
        """Return the name of the inner model: the text form is no other model."""
        return name_of(self.inner)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with these tools described in its instructions.

        Args:
            tools: The tools.
            tool_choice: With "any", "required", True or a tool's name, a final answer is not a valid reply.
            kwargs: None: text has no further options.

        Raises:
            ValueError: If a schema is to be filled by the provider: the text form and that exclude each other.
        """
        if kwargs.get("response_format") is not None:
            raise ValueError("the text dialect fills a schema through a tool: use ToolStrategy, or dialect: native")
        specs = [convert_to_openai_tool(tool) for tool in tools]
        if isinstance(tool_choice, dict):
            tool_choice = str(tool_choice.get("function", tool_choice).get("name", "any"))
        if tool_choice == "none":
            specs = []
        named = [spec for spec in specs if spec["function"]["name"] == tool_choice]
        must_call = tool_choice not in (None, False, "auto", "none")
        return TextDialect(inner=self.inner, tool_specs=named or specs, must_call=must_call and bool(specs))

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        return self._as_message(self.inner.invoke(self._as_text(messages), config=_HIDDEN, stop=self._stop(stop)))

    async def _aanswer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        response = await self.inner.ainvoke(self._as_text(messages), config=_HIDDEN, stop=self._stop(stop))
        return self._as_message(response)

    def _pieces(self, text: str) -> Sequence[str]:
        return [text]

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Stream the final answer as it is written; a thought or an action comes when it is complete."""
        whole: AIMessageChunk | None = None
        answer = AnswerStream()
        sent = 0
        async for part in self.inner.astream(self._as_text(messages), config=_HIDDEN, stop=self._stop(stop)):
            whole = part if whole is None else whole + part
            piece = part.text if not self.tool_specs else "" if self.must_call else answer.feed(part.text)
            if piece:
                sent += len(piece)
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        message = self._as_message(whole if whole is not None else AIMessage(""))
        yield last_chunk(message, skip=sent)

    def _stop(self, stop: list[str] | None) -> list[str] | None:
        return [STOP, *(stop or [])] if self.tool_specs else stop

    def _as_text(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Write tool calls and their results as text, and the tools into the instructions."""
        texts: list[BaseMessage] = []
        for message in messages:
            if isinstance(message, ToolMessage):
                texts.append(HumanMessage(f"Observation: {message.text}"))
            elif isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
                texts.append(AIMessage(_action_text(message)))
            elif isinstance(message, AIMessage) and self.tool_specs:
                texts.append(AIMessage(f"{FINAL} {message.text}"))
            else:
                texts.append(message)
        if self.tool_specs:
            form = (_CALL_FORM if self.must_call else _FORM).format(tools="\n".join(map(_describe, self.tool_specs)))
            if texts and isinstance(texts[0], SystemMessage):
                texts[0] = SystemMessage(f"{texts[0].text}\n\n{form}")
            else:
                texts.insert(0, SystemMessage(form))
        return _merge_neighbours(texts)

    def _as_message(self, response: BaseMessage) -> AIMessage:
        message = self._read(response.text)
        message.usage_metadata = getattr(response, "usage_metadata", None)
        message.response_metadata = response.response_metadata
        return message

    def _read(self, text: str) -> AIMessage:
        if not self.tool_specs:
            return AIMessage(text)
        tools = [spec["function"]["name"] for spec in self.tool_specs]
        reply = parse_reply(text, tools)
        error = reply.error
        if self.must_call and reply.answer is not None:
            error = f"answer with an Action, one of: {', '.join(tools)}"
        call_id = f"call_{uuid.uuid4().hex}"
        if error:
            # With its label the text is not JSON, not even the beginning of some: streamed chunks are completed to JSON
            # where they can be, and what the model did not finish must not run. They carry no error either.
            raw = f"Args: {reply.raw_args}".strip()
            call = invalid_tool_call(name=reply.action or _NO_TOOL, args=raw, id=call_id, error=error)
            return AIMessage(
                reply.thought or reply.answer or "", invalid_tool_calls=[call], additional_kwargs={"error": error}
            )
        if reply.action:
            return AIMessage(
                reply.thought, tool_calls=[tool_call(name=reply.action, args=reply.args or {}, id=call_id)]
            )
        return AIMessage(reply.answer or "", additional_kwargs={"thought": reply.thought} if reply.thought else {})


def _action_text(message: AIMessage) -> str:
    """Write a message's tool calls the way the model would have."""
    lines = [f"Thought: {message.text}"] if message.text else []
    for call in message.tool_calls:
        lines += [f"Action: {call['name']}", f"Args: {json.dumps(call['args'], ensure_ascii=False)}"]
    for bad in message.invalid_tool_calls:
        lines += [f"Action: {bad['name']}"] if bad["name"] != _NO_TOOL else []
        # ours carry the label already, those of a native model do not
        raw = (bad["args"] or "").removeprefix("Args:").strip()
        lines += [f"Args: {raw}"] if raw else []
    return "\n".join(lines)


def _describe(spec: dict[str, Any]) -> str:
    """Describe a tool, a line an argument: small models copy a JSON schema where its values should be."""
    function = spec["function"]
    parameters = dereference_refs(function.get("parameters", {}))
    required = parameters.get("required", [])
    lines = [f"- {function['name']}: {function.get('description', '')}"]
    for name, schema in parameters.get("properties", {}).items():
        plain = schema.keys() <= {"type", "description", "default", "title"}
        kind = schema.get("type", "any") if plain else json.dumps(schema, ensure_ascii=False)
        about = f": {schema['description']}" if plain and schema.get("description") else ""
        lines.append(f'  - "{name}" ({kind}{"" if name in required else ", optional"}){about}')
    return "\n".join(lines)


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
