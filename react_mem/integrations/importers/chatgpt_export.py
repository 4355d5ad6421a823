"""ChatGPT's data export: `conversations.json`, or `conversations-000.json` and so on, in the archive that is mailed.

Of each conversation the branch is taken that was open last, and of that what user and assistant said to each other.
What ChatGPT wrote into its own memory on the way (addressed to `bio`) becomes facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from react_mem.integrations.importers.file_source import FileSource, text_of
from react_mem.integrations.importers.foreign_entry import ForeignEntry, NothingToImportError, UnusableEntry
from react_mem.integrations.importers.import_times import written_at
from react_mem.integrations.importers.json_stream import json_elements

CONVERSATIONS = re.compile(r"(^|/)conversations(-\d+)?\.json$")
_SAID = ("text", "multimodal_text")
_MEMORY = "bio"


class ChatGptExport(FileSource):
    """Conversations of ChatGPT, and what it noted of its user."""

    name = "chatgpt"
    personal = True

    def entries(self) -> Iterator[ForeignEntry | UnusableEntry]:
        """Yield what was said, conversation by conversation."""
        found = strange = False
        for name, stream in self.file.parts(CONVERSATIONS):
            for element in json_elements(stream, name):
                value = element.value
                if element.section not in ("", "conversations"):
                    strange = True
                    continue
                place = element.place(name)
                if not isinstance(value, dict) or not isinstance(value.get("mapping"), dict):
                    yield UnusableEntry(place, "is no conversation of ChatGPT: it has no `mapping`")
                    continue
                yield from _conversation(value, place)
            found = True
        if strange or not found:
            raise NothingToImportError(
                f"{self.file.name}: has no conversations of ChatGPT; give the archive that was mailed, or the "
                "conversations.json in it"
            )


def _conversation(value: dict[str, Any], place: str) -> Iterator[ForeignEntry | UnusableEntry]:
    id_ = text_of(value.get("conversation_id") or value.get("id"))
    if not id_:
        yield UnusableEntry(place, "is a conversation without an id")
        return
    title = text_of(value.get("title"))
    at, is_odd = written_at(value.get("create_time"))
    for turn, node in enumerate(_branch(value)):
        message = node.get("message")
        if not isinstance(message, dict) or not message:
            continue
        entry = _message(message, f"{place}, message {turn + 1}", at)
        if isinstance(entry, UnusableEntry):
            yield entry
            continue
        at = entry.at or at
        entry = replace(entry, misdated=entry.misdated or (is_odd and at is None))
        yield replace(entry, conversation=id_, turn=turn, notes={"title": title} if title else {})


def _branch(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the nodes of the branch that was open last, from its beginning."""
    mapping: Mapping[str, Any] = value["mapping"]
    current = value.get("current_node")
    if current not in mapping:
        leaves = [id_ for id_, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
        current = max(leaves, key=lambda id_: _latest(mapping[id_]), default=None)
    nodes: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(current, str) and current not in seen and isinstance(node := mapping.get(current), dict):
        seen.add(current)
        nodes.append(node)
        current = node.get("parent")
    return nodes[::-1]


def _latest(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = written_at(message.get("create_time"))[0] if isinstance(message, dict) else None
    return at.timestamp() if at else 0.0


def _message(message: dict[str, Any], place: str, before: datetime | None) -> ForeignEntry | UnusableEntry:
    author, content, more = (message.get(name) for name in ("author", "content", "metadata"))
    role = author.get("role") if isinstance(author, dict) else None
    hidden = isinstance(more, dict) and more.get("is_visually_hidden_from_conversation") is True
    if not isinstance(content, dict) or role not in ("user", "assistant") or hidden:
        return UnusableEntry(place, "is a tool's, the system's or hidden: nobody said it")
    recipient = message.get("recipient") or "all"
    text = _words(content)
    if not text.strip():
        return UnusableEntry(place, "has no words, such as a picture by itself")
    id_ = text_of(message.get("id"))
    if not id_:
        return UnusableEntry(place, "has no id")
    at, misdated = written_at(message.get("create_time"))
    said: dict[str, Any] = {"id": id_, "text": text, "at": at or before, "misdated": misdated}
    if recipient == _MEMORY and role == "assistant":
        return ForeignEntry(kind="fact", **said)
    if recipient != "all" or content.get("content_type") not in _SAID:
        return UnusableEntry(place, "is a step of the assistant: a call, its result, or a thought")
    return ForeignEntry(kind="message", role=role, **said)


def _words(content: Mapping[str, Any]) -> str:
    """Return the words of a message: of a picture or a sound what was heard in it, if that was written down."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return text_of(content.get("text"))
    said = (part if isinstance(part, str) else _heard(part) for part in parts)
    return "\n\n".join(part.strip() for part in said if part.strip())


def _heard(part: Any) -> str:
    is_transcript = isinstance(part, dict) and part.get("content_type") == "audio_transcription"
    return text_of(part.get("text")) if is_transcript else ""
