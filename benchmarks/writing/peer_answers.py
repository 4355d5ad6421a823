"""The script's answers in the protocols of the peers: LangMem's store manager, and Mem0."""

from __future__ import annotations

import ast
import json
import re

from langchain_core.messages.tool import ToolCall, tool_call

from benchmarks.writing.answers import statements, turn_of
from benchmarks.writing.case import Case, Manner

_INSTANCE = re.compile(r'<instance id=(\S+) schema_type="\w+">\n(\{.*?\})\n</instance>')
_HUMAN = re.compile(r"=+ Human Message =+\n\n(.*?)(?=\n\n=+ (?:Ai|Tool) Message =+|\n</session_)", re.DOTALL)
_SECTION = re.compile(r"^## (Existing Memories|New Messages)\n(.*?)(?=\n\n## |\Z)", re.DOTALL | re.MULTILINE)
_USER = re.compile(r"^user: (.*?)(?=^assistant: |\Z)", re.DOTALL | re.MULTILINE)


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


def mem0_memories(case: Case, manner: Manner, shown: str) -> str:
    """Return the JSON for Mem0, with a model that can only add: a changed fact stands beside the old one."""
    sections = dict(_SECTION.findall(shown))
    memories = {memory["id"]: memory["text"] for memory in json.loads(sections["Existing Memories"])}
    texts: list[str] = []
    for said in _USER.findall(sections["New Messages"]):
        turn = turn_of(case, said.rstrip("\n"))
        texts += [
            statement.text
            for statement in (statements(case, turn, manner, memories) if turn else ())
            if statement.drop is None and statement.rel not in ("same", "forget")
        ]
    return json.dumps({"memory": [{"id": str(place), "text": text} for place, text in enumerate(texts)]})
