"""Data exports of ChatGPT and Claude: the archives that both send by mail, read as entries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from react_mem.integrations.importers.as_records import (
    Entry,
    ForeignEntry,
    NothingToImportError,
    Role,
    UnusableEntry,
    digest_of,
)
from react_mem.integrations.importers.import_files import NO_OBJECT, ImportFile, json_elements, text_of, written_at

# ChatGPT's data export: `conversations.json`, or `conversations-000.json` and so on, in the archive that is mailed.

CONVERSATIONS = re.compile(r"(^|/)conversations(-\d+)?\.json$")
_CURE = "give the archive that was mailed, or the conversations.json in it"
_SAID = ("text", "multimodal_text")
_TRANSCRIPT = "audio_transcription"
_MEMORY = "bio"
_EVER = datetime.min.replace(tzinfo=UTC)


def chatgpt_entries(file: ImportFile) -> Iterator[Entry]:
    """Yield the messages of ChatGPT, conversation by conversation, and the notes about its user."""
    found = strange = False
    for name, stream in file.parts(CONVERSATIONS):
        for element in json_elements(stream, name):
            value = element.value
            if element.section not in ("", "conversations"):
                strange = True
            elif not isinstance(value, dict) or not isinstance(value.get("mapping"), dict):
                yield UnusableEntry(element.place, "is no conversation of ChatGPT: it has no `mapping`")
            else:
                yield from _conversation(value, element.place)
        found = True
    if strange or not found:
        raise NothingToImportError(f"{file.name}: has no conversations of ChatGPT; {_CURE}")


def _conversation(value: dict[str, Any], place: str) -> Iterator[Entry]:
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
        misdated, notes = entry.misdated or (is_odd and at is None), {"title": title} if title else {}
        yield replace(entry, misdated=misdated, conversation=id_, turn=turn, notes=notes)


def _branch(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the nodes of the conversation's current branch, from its beginning."""
    mapping: Mapping[str, Any] = value["mapping"]
    current = value.get("current_node")
    if current not in mapping:
        leaves = [id_ for id_, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
        messages = {id_: message for id_ in leaves if isinstance(message := mapping[id_].get("message"), dict)}
        dates = {id_: written_at(message.get("create_time"))[0] or _EVER for id_, message in messages.items()}
        current = max(leaves, key=lambda id_: dates.get(id_, _EVER), default=None)
    nodes: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(current, str) and current not in seen and isinstance(node := mapping.get(current), dict):
        seen.add(current)
        nodes.append(node)
        current = node.get("parent")
    return nodes[::-1]


def _message(message: dict[str, Any], place: str, before: datetime | None) -> Entry:
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
    """Return the text of a message; of a recording its transcript, if there is one."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return text_of(content.get("text"))
    heard = [p for p in parts if isinstance(p, str) or (isinstance(p, dict) and p.get("content_type") == _TRANSCRIPT)]
    said = (part if isinstance(part, str) else text_of(part.get("text")) for part in heard)
    return "\n\n".join(part.strip() for part in said if part.strip())


# Claude's data export: `conversations.json`, `memories.json` and `projects.json` in the archive that is mailed.

_FILES = re.compile(r"(^|/)(conversations(-\d+)?|memories|projects)\.json$|(^|/)(memories|projects)/[^/]+\.json$")
_USERS = re.compile(r"(^|/)users\.json$")
_ROLES: Mapping[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}


def claude_entries(file: ImportFile) -> Iterator[Entry]:
    """Yield the messages of Claude, conversation by conversation, the memories and the documents."""
    accounts = _accounts(file)
    found = False
    for name, stream in file.parts(_FILES):
        whole: dict[str, Any] = {}
        for element in json_elements(stream, name):
            section, value = element.section, element.value
            if section == "conversations" or not section:
                yield from _read(value, element.place, accounts)
            else:
                # a project or the memories, in a file of their own
                whole[section] = [*whole.get(section, ()), value] if section == "docs" else value
        if whole:
            yield from _read(whole, f"{name}, line 1", accounts)
        found = True
    if not found:
        raise NothingToImportError(f"{file.name}: has nothing of Claude's export; {_CURE}")


def _accounts(file: ImportFile) -> dict[str, str]:
    """Return the mail addresses of the accounts, by uuid; empty for a single file."""
    accounts: dict[str, str] = {}
    for element in file.elements(_USERS):
        if not _USERS.search(element.file):
            return {}
        if isinstance(value := element.value, dict):
            accounts[text_of(value.get("uuid"))] = text_of(value.get("email_address"))
    return accounts


def _read(value: Any, place: str, accounts: Mapping[str, str]) -> Iterator[Entry]:
    if not isinstance(value, dict):
        yield UnusableEntry(place, NO_OBJECT)
        return
    account = value.get("account")
    uuid = text_of(value.get("account_uuid") or (account.get("uuid") if isinstance(account, dict) else ""))
    creator = value.get("creator")
    if not uuid and isinstance(creator, dict):
        uuid = text_of(creator.get("uuid"))
    owner = {"owner": accounts.get(uuid) or uuid, "owner_also": uuid}
    if isinstance(value.get("chat_messages"), list):
        yield from _conversation_of_claude_export(value, place, owner)
    elif "conversations_memory" in value or "project_memories" in value:
        yield from _memories(value, place, owner)
    elif isinstance(value.get("docs"), list):
        yield from _project(value, place, owner)
    else:
        yield UnusableEntry(place, "is neither a conversation of Claude, nor a memory, nor a project")


def _conversation_of_claude_export(value: dict[str, Any], place: str, owner: dict[str, str]) -> Iterator[Entry]:
    id_, title = text_of(value.get("uuid")), text_of(value.get("name"))
    if not id_:
        yield UnusableEntry(place, "is a conversation without an id")
        return
    begun = value.get("created_at")
    turns = count()
    for number, message in enumerate(value["chat_messages"], start=1):
        where = f"{place}, message {number}"
        if not isinstance(message, dict):
            yield UnusableEntry(where, NO_OBJECT)
            continue
        uuid = text_of(message.get("uuid"))
        role = _ROLES.get(text_of(message.get("sender")))
        at, misdated = written_at(message.get("created_at"), begun)
        common: dict[str, Any] = {**owner, "at": at, "misdated": misdated, "conversation": id_}
        if not uuid or role is None:
            yield UnusableEntry(where, "has no id, or nobody who says it")
            continue
        text = _words_of_claude_export(message)
        if text.strip():
            notes = {"title": title} if title else {}
            yield ForeignEntry(id=uuid, text=text, kind="message", role=role, turn=next(turns), notes=notes, **common)
        attached = message.get("attachments")
        shown = attached if isinstance(attached, list) else []
        for place_, file in enumerate(shown):
            if isinstance(file, dict) and (content := text_of(file.get("extracted_content"))).strip():
                name = text_of(file.get("file_name"))
                yield ForeignEntry(id=f"{uuid}/{place_}", text=content, kind="document", title=name, **common)
        if not text.strip() and not shown:
            yield UnusableEntry(where, "has no words, such as a picture by itself")


def _words_of_claude_export(message: Mapping[str, Any]) -> str:
    """Return the text blocks of a message, without thoughts, tool calls and results."""
    blocks = message.get("content")
    texts = [b for b in blocks if isinstance(b, dict) and b.get("type") == "text"] if isinstance(blocks, list) else []
    said = "\n\n".join(text for block in texts if (text := text_of(block.get("text")).strip()))
    return said or text_of(message.get("text"))


def _memories(value: dict[str, Any], place: str, owner: dict[str, str]) -> Iterator[ForeignEntry]:
    told = value.get("project_memories")
    said: dict[str, Any] = {**owner, "place": place, "kind": "document", "conversation": "memories"}
    texts = {"What Claude remembers": value.get("conversations_memory")}
    for project, text in told.items() if isinstance(told, dict) else ():
        texts[f"What Claude remembers of project {project}"[:200]] = text
    for title, text in texts.items():
        if text_of(text).strip():
            # it is written anew from time to time, and then another memory
            yield ForeignEntry(id=digest_of(title, text_of(text)), text=text_of(text), title=title, **said)


def _project(value: dict[str, Any], place: str, owner: dict[str, str]) -> Iterator[Entry]:
    for number, doc in enumerate(value["docs"], start=1):
        if not isinstance(doc, dict) or not text_of(doc.get("content")).strip():
            yield UnusableEntry(f"{place}, document {number}", "is a document without a text")
            continue
        at, misdated = written_at(doc.get("created_at"), value.get("created_at"))
        yield ForeignEntry(
            id=text_of(doc.get("uuid")) or digest_of(text_of(value.get("uuid")), text_of(doc.get("filename"))),
            text=text_of(doc["content"]),
            kind="document",
            at=at,
            misdated=misdated,
            title=text_of(doc.get("filename")),
            conversation=f"project {text_of(value.get('uuid'))}",
            notes={"project": text_of(value.get("name"))},
            owner=owner["owner"],
            owner_also=owner["owner_also"],
        )
