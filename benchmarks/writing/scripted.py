"""A chat model that reads what it is shown and proposes what the case's script says, in the protocol it is asked in.

It sees what any model would see: it cites the messages of the transcript and changes only memories that are shown to
it. Where the memory that a line of the script changes is not shown, it can only add; it has then nothing to retract.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda

from benchmarks.writing.case import Case, Line, Pattern, Turn

_FENCED = re.compile(r"^<(transcript|memories)>\n(.*?)^</\1>", re.DOTALL | re.MULTILINE)
_INSTANCE = re.compile(r'<instance id=(\S+) schema_type="\w+">\n(\{.*?\})\n</instance>')
_HUMAN = re.compile(r"=+ Human Message =+\n\n(.*?)(?=\n\n=+ Ai Message =+|\n</session_)", re.DOTALL)


class ScriptedChat(BaseChatModel):
    """Answers with the case's replies, and draws from a transcript what the case's script says.

    Args:
        case: The case.
    """

    case: Case

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=list(tools), **kwargs)

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **kwargs: Any) -> Runnable[Any, Any]:
        def read(raw: AIMessage) -> dict[str, Any]:
            return {"raw": raw, "parsed": json.loads(str(raw.text)), "parsing_error": None}

        return self.bind(response_format=schema) | RunnableLambda(read)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        shown = "\n".join(str(message.content) for message in messages)
        tools = [_name(tool) for tool in kwargs.get("tools", ())]
        if "response_format" in kwargs:
            answer = AIMessage(json.dumps(self._proposal(shown), ensure_ascii=False))
        elif "Proposal" in tools:
            answer = _calling([tool_call(name="Proposal", args=self._proposal(shown), id="call-1")])
        elif "Memory" in tools:
            answer = _calling(self._memories(shown))
        else:
            answer = AIMessage(self._reply(messages))
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _reply(self, messages: Sequence[BaseMessage]) -> str:
        said = next(str(m.text) for m in reversed(messages) if isinstance(m, HumanMessage))
        turn = self.case.turn_of(said)
        return turn.reply if turn else "OK."

    def _proposal(self, shown: str) -> dict[str, Any]:
        """Fill in the form of `memory.extraction.proposal`."""
        blocks = {tag: [json.loads(row) for row in rows.splitlines()] for tag, rows in _FENCED.findall(shown)}
        memories = {row["id"]: row["text"] for row in blocks.get("memories", []) if "id" in row}
        transcript: list[dict[str, str]] = blocks.get("transcript", [])
        ops: list[dict[str, Any]] = []
        for place, row in enumerate(transcript):
            turn = self.case.turn_of(row["text"]) if row["role"] == "user" else None
            answers = (later["id"] for later in transcript[place:] if later["role"] == "assistant")
            ids = {"user": row["id"], "assistant": next(answers, row["id"])}
            for line in turn.model if turn else ():
                target = _target(line, memories)
                if line.retract is not None and target is None:
                    continue
                subject, predicate, object_ = line.triple
                ops.append(
                    {
                        "source_ids": [ids[speaker] for speaker in line.cites],
                        "op": "add" if target is None else "update" if line.update is not None else "retract",
                        "target_id": target,
                        "subject": subject,
                        "predicate": predicate,
                        "object": object_,
                        "text": line.text,
                    }
                )
        return {"ops": ops, "profile_changes": [], "episode": None, "summary": ""}

    def _memories(self, shown: str) -> list[ToolCall]:
        """Say the same in the protocol of LangMem's store manager.

        An addition is a call of `Memory`; an update patches the content of the document; a retraction removes it.
        """
        memories = {id_: str(ast.literal_eval(content)["content"]) for id_, content in _INSTANCE.findall(shown)}
        calls: list[ToolCall] = []
        for said in _HUMAN.findall(shown):
            turn: Turn | None = self.case.turn_of(said)
            for line in turn.model if turn else ():
                target = _target(line, memories)
                id_ = f"call-{len(calls)}"
                if line.retract is not None:
                    if target is not None:
                        calls.append(tool_call(name="RemoveDoc", args={"json_doc_id": target}, id=id_))
                elif target is None:
                    calls.append(tool_call(name="Memory", args={"content": line.text}, id=id_))
                else:
                    patch = {"op": "replace", "path": "/content", "value": line.text}
                    args = {"json_doc_id": target, "planned_edits": "- replace the content", "patches": [patch]}
                    calls.append(tool_call(name="PatchDoc", args=args, id=id_))
        return calls


def _target(line: Line, memories: Mapping[str, str]) -> str | None:
    if line.target is None:
        return None
    wanted = Pattern(says=(line.target,))
    return next((id_ for id_, text in memories.items() if wanted.matches(text)), None)


def _calling(calls: list[ToolCall]) -> AIMessage:
    return AIMessage("" if calls else "Nothing to remember.", tool_calls=calls)


def _name(tool: Any) -> str:
    if isinstance(tool, dict):
        return str(tool.get("function", tool).get("name", ""))
    return str(getattr(tool, "name", None) or tool.__name__)
