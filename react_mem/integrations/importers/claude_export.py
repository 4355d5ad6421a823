"""Claude's data export: `conversations.json`, `memories.json` and `projects.json` in the archive that is mailed.

What is said becomes messages; pasted and attached texts, the documents of projects and what Claude remembers of its
user become documents. Of a team's export each account is an owner, by the mail address that `users.json` has for it or
by its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from react_mem.integrations.importers.file_source import NO_OBJECT, FileSource, text_of
from react_mem.integrations.importers.foreign_entry import (
    ForeignEntry,
    NothingToImportError,
    Role,
    UnusableEntry,
    digest_of,
)
from react_mem.integrations.importers.import_times import written_at
from react_mem.integrations.importers.json_stream import json_elements

_FILES = re.compile(r"(^|/)(conversations(-\d+)?|memories|projects)\.json$|(^|/)(memories|projects)/[^/]+\.json$")
_USERS = re.compile(r"(^|/)users\.json$")
_ROLES: Mapping[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}


class ClaudeExport(FileSource):
    """Conversations, memories and documents of Claude."""

    name = "claude"
    personal = True

    def entries(self) -> Iterator[ForeignEntry | UnusableEntry]:
        """Yield what was said, conversation by conversation, what is remembered, and the documents."""
        accounts = self._accounts()
        found = False
        for name, stream in self.file.parts(_FILES):
            whole: dict[str, Any] = {}
            first = 1
            for element in json_elements(stream, name):
                section, line, value, _ = element
                if section == "conversations" or not section:
                    yield from _read(value, element.place(name), accounts)
                else:
                    # a project, or what is remembered, that has a file to itself
                    whole[section] = [*whole.get(section, ()), value] if section == "docs" else value
                    first = min(first, line)
            if whole:
                yield from _read(whole, f"{name}, line {first}", accounts)
            found = True
        if not found:
            raise NothingToImportError(
                f"{self.file.name}: has nothing of Claude's export; give the archive that was mailed, or the "
                "conversations.json in it"
            )

    def _accounts(self) -> dict[str, str]:
        """Return the mail addresses of accounts, where the export has them."""
        accounts: dict[str, str] = {}
        for name, stream in self.file.parts(_USERS):
            if not _USERS.search(name):
                # a file by itself
                return {}
            for element in json_elements(stream, name):
                if isinstance(value := element.value, dict):
                    accounts[text_of(value.get("uuid"))] = text_of(value.get("email_address"))
        return accounts


def _read(value: Any, place: str, accounts: Mapping[str, str]) -> Iterator[ForeignEntry | UnusableEntry]:
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
        yield from _conversation(value, place, owner)
    elif "conversations_memory" in value or "project_memories" in value:
        yield from _memories(value, place, owner)
    elif isinstance(value.get("docs"), list):
        yield from _project(value, place, owner)
    else:
        yield UnusableEntry(place, "is neither a conversation of Claude, nor a memory, nor a project")


def _conversation(value: dict[str, Any], place: str, owner: dict[str, str]) -> Iterator[ForeignEntry | UnusableEntry]:
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
        text = _words(message)
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


def _words(message: Mapping[str, Any]) -> str:
    """Return what is said: of the blocks the texts, and not what was thought, called and answered between."""
    blocks = message.get("content")
    texts = [b for b in blocks if isinstance(b, dict) and b.get("type") == "text"] if isinstance(blocks, list) else []
    said = "\n\n".join(text for block in texts if (text := text_of(block.get("text")).strip()))
    return said or text_of(message.get("text"))


def _memories(value: dict[str, Any], place: str, owner: dict[str, str]) -> Iterator[ForeignEntry]:
    told = value.get("project_memories")
    said: dict[str, Any] = {**owner, "place": place}
    texts = [("What Claude remembers", text_of(value.get("conversations_memory")))]
    texts += [
        (f"What Claude remembers of project {project}"[:200], text_of(text))
        for project, text in (told.items() if isinstance(told, dict) else ())
    ]
    for title, text in texts:
        if text.strip():
            # it is written anew from time to time, and then another memory
            yield ForeignEntry(
                id=digest_of(title, text), text=text, kind="document", title=title, conversation="memories", **said
            )


def _project(value: dict[str, Any], place: str, owner: dict[str, str]) -> Iterator[ForeignEntry | UnusableEntry]:
    said: dict[str, Any] = {**owner}
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
            **said,
        )
