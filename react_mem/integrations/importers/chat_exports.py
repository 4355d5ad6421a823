"""Data exports of ChatGPT and Claude: the archives that both send by mail, read as entries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, BinaryIO

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
_LEFT = "is in a branch that was left: it was written anew"


def chatgpt_entries(file: ImportFile) -> Iterator[Entry]:
    """Yield the messages of ChatGPT, conversation by conversation, and the notes about its user."""
    found = False
    for name, stream in file.parts(CONVERSATIONS):
        for value, place in _objects(stream, name):
            if not isinstance(value, dict) or not isinstance(value.get("mapping"), dict):
                yield UnusableEntry(place, "is no conversation of ChatGPT: it has no `mapping`")
                continue
            found = True
            if value.get("is_do_not_remember"):
                yield UnusableEntry(place, "is a conversation that its user wanted not to be remembered")
            else:
                yield from _conversation(value, place)
    if not found:
        raise NothingToImportError(f"{file.name}: has no conversations of ChatGPT; {_CURE}")


def _objects(stream: BinaryIO, name: str) -> Iterator[tuple[Any, str]]:
    """Yield the objects of a file with their places: of an array, of lines, or the file itself."""
    whole: dict[str, Any] = {}
    for element in json_elements(stream, name):
        if element.section in ("", "conversations"):
            yield element.value, element.place
        elif element.number > 1:
            whole[element.section].append(element.value)
        else:
            whole[element.section] = [element.value] if element.number else element.value
    if whole:
        yield whole, f"{name}, line 1"


def _branch(parents: dict[str, str], last: str, dates: Mapping[str, datetime | None]) -> dict[str, int]:
    """Return the places of the messages in the branch that was open last, or else in the latest leaf's branch."""
    if last not in parents:
        inner = {parent for id_, parent in parents.items() if parent != id_}
        # of messages in a ring none is a leaf, and the last one is its end
        leaves = [id_ for id_ in reversed(parents) if id_ not in inner] or [*reversed(parents)]
        last = max(leaves, key=lambda id_: dates.get(id_) or _EVER, default="")
    branch: dict[str, None] = {}
    while last in parents and last not in branch:
        branch[last] = None
        last = parents[last]
    return {id_: place for place, id_ in enumerate(reversed(branch))}


def _conversation(value: dict[str, Any], place: str) -> Iterator[Entry]:
    id_ = text_of(value.get("conversation_id") or value.get("id"))
    if not id_:
        yield UnusableEntry(place, "is a conversation without an id")
        return
    title = text_of(value.get("title"))
    at, is_odd = written_at(value.get("create_time"))
    nodes = {name: node for name, node in value["mapping"].items() if isinstance(node, dict)}
    said = {name: node["message"] for name, node in nodes.items() if isinstance(node.get("message"), dict)}
    dates = {name: written_at(message.get("create_time"))[0] for name, message in said.items()}
    parents = {name: parent if isinstance(parent := node.get("parent"), str) else "" for name, node in nodes.items()}
    branch = _branch(parents, text_of(value.get("current_node")), dates)
    for name, message in said.items():
        if name not in branch and isinstance(_message(message, "", None), ForeignEntry):
            yield UnusableEntry(f"{place}, message {name:.40}", _LEFT)
    for name, turn in branch.items():
        message = said.get(name)
        if not message:
            continue
        entry = _message(message, f"{place}, message {turn + 1}", at)
        if isinstance(entry, UnusableEntry):
            yield entry
            continue
        at = entry.at or at
        misdated, notes = entry.misdated or (is_odd and at is None), {"title": title} if title else {}
        yield replace(entry, misdated=misdated, conversation=id_, turn=turn, notes=notes)


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

_FILES = re.compile(
    r"(^|/)(conversations(-\d+)?|memories|projects)\.json$|(^|/)(conversations|memories|projects)/[^/]+\.json$"
)
_USERS = re.compile(r"(^|/)users\.json$")
_ROOT = "00000000-0000-4000-8000-000000000000"  # parent of a conversation's first message
_SPOKEN = ("text", "voice_note")
_ROLES: Mapping[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}


def claude_entries(file: ImportFile) -> Iterator[Entry]:
    """Yield the messages of Claude, conversation by conversation, the memories and the documents."""
    accounts = _accounts(file)
    found = False
    for name, stream in file.parts(_FILES):
        for value, place in _objects(stream, name):
            yield from _read(value, place, accounts)
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
    before, _ = written_at(value.get("created_at"))
    turns = count()
    for number, message, is_left in _in_branch(value):
        where = f"{place}, message {number}"
        if not isinstance(message, dict):
            yield UnusableEntry(where, NO_OBJECT)
            continue
        uuid = text_of(message.get("uuid"))
        role = _ROLES.get(text_of(message.get("sender")))
        if not uuid or role is None or is_left:
            yield UnusableEntry(where, _LEFT if is_left else "has no id, or nobody who says it")
            continue
        at, misdated = written_at(message.get("created_at"))
        before = at or before
        common: dict[str, Any] = {**owner, "at": before, "misdated": misdated, "conversation": id_}
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


def _in_branch(value: Mapping[str, Any]) -> list[tuple[int, Any, bool]]:
    """Return the messages with their numbers, in the order of their branch, and true for one of another branch."""
    numbered = [*enumerate(value["chat_messages"], start=1)]
    said = [one if isinstance(one, dict) else {} for _, one in numbered]
    ids = [_ROOT, *(text_of(one.get("uuid")) or f"message {number}" for number, one in enumerate(said, start=1))]
    known, parents, dates = {*ids}, dict[str, str](), dict[str, datetime | None]()
    for before, id_, one in zip(ids, ids[1:], said, strict=False):
        # older exports name none, and a message may be missing: it follows the one before it
        parent = text_of(one.get("parent_message_uuid"))
        parents[id_] = parent if parent in known else before
        dates[id_] = written_at(one.get("created_at"))[0]
    branch = _branch(parents, text_of(value.get("current_leaf_message_uuid")), dates)
    placed = [(number, one, ids[number] not in branch) for number, one in numbered]
    return sorted(placed, key=lambda one: branch.get(ids[one[0]], -1))


def _words_of_claude_export(message: Mapping[str, Any]) -> str:
    """Return the text blocks and voice notes of a message, without thoughts, tool calls and results."""
    blocks = message.get("content")
    texts = [b for b in blocks if isinstance(b, dict) and b.get("type") in _SPOKEN] if isinstance(blocks, list) else []
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
