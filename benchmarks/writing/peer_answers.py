"""The script's answer in the protocol of LangMem's store manager."""

from __future__ import annotations

import ast
import re

from langchain_core.messages.tool import ToolCall, tool_call

from benchmarks.writing.answers import statements, turn_of
from benchmarks.writing.case import Case, Manner

_INSTANCE = re.compile(r'<instance id=(\S+) schema_type="\w+">\n(\{.*?\})\n</instance>')
_HUMAN = re.compile(r"=+ Human Message =+\n\n(.*?)(?=\n\n=+ (?:Ai|Tool) Message =+|\n</session_)", re.DOTALL)


def langmem_calls(case: Case, manner: Manner, shown: str) -> list[ToolCall]:
    """Return the tool calls for LangMem's store manager; repetitions make none.

    A new fact is a call of `Memory`, a change a `PatchDoc` with new content, an end a `RemoveDoc`.
    """
    memories = {id_: str(ast.literal_eval(content)["content"]) for id_, content in _INSTANCE.findall(shown)}
    calls: list[ToolCall] = []
    for said in _HUMAN.findall(shown):
        turn = turn_of(case, said)
        for statement in statements(case, turn, manner, memories) if turn else ():
            id_ = f"call-{len(calls)}"
            if statement.drop is not None or statement.rel == "same":
                continue
            if statement.rel in ("ends", "forget"):
                calls.append(tool_call(name="RemoveDoc", args={"json_doc_id": statement.target}, id=id_))
            elif statement.rel in ("changes", "corrects"):
                patch = {"op": "replace", "path": "/content", "value": statement.text}
                args = {"json_doc_id": statement.target, "planned_edits": "- replace the content", "patches": [patch]}
                calls.append(tool_call(name="PatchDoc", args=args, id=id_))
            else:
                calls.append(tool_call(name="Memory", args={"content": statement.text}, id=id_))
    return calls
