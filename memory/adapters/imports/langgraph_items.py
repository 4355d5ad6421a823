"""Items of any LangGraph store, such as LangMem's memories, read with LangGraph's own PostgreSQL store.

LangMem's tools keep {"content": text}, its managers {"kind": name of the schema, "content": fields}; the schemas of its
documentation (Memory, Triple, Episode) become facts and episodes, any other a document with its fields.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from langgraph.store.base import BaseStore, Item
from langgraph.store.postgres.aio import AsyncPostgresStore

from react_mem.memory.adapters.imports.file_source import text_of
from react_mem.memory.adapters.imports.import_times import written_at
from react_mem.memory.rights.importing.foreign_entry import BATCH, Entries, ForeignEntry, UnusableEntry
from react_mem.memory.store.whole_store import read_all

_TEXTS = ("content", "text", "memory", "fact")
_MAX_CONTENT = 1_000_000


class LangGraphItems:
    """Items of a store below a prefix of namespaces.

    Args:
        where: The store, or the address of the PostgreSQL database that it is in.
        prefix: The labels that the namespaces begin with; the one behind them is the owner.
    """

    name = "langmem"
    personal = False

    def __init__(self, where: BaseStore | str, prefix: tuple[str, ...] = ()) -> None:
        self._where = where
        self._prefix = prefix

    async def batches(self) -> AsyncIterator[Entries]:
        """Yield the items, a page at a time.

        Raises:
            ValueError: If there is no such store; the message says why.
        """
        try:
            async with self._store() as store:
                async for page in read_all(store, self._prefix, page=BATCH):
                    yield [self._entry(item) for item in page]
        except psycopg.errors.UndefinedTable:
            raise ValueError(
                "the database has no LangGraph store (no table `store` where it is looked for); name the schema in the "
                "address, as ?options=-csearch_path%3Dname"
            ) from None
        except psycopg.Error as error:
            # its text may name the address, with the password
            raise ValueError(f"the database cannot be read ({type(error).__name__}); check its address") from None

    @asynccontextmanager
    async def _store(self) -> AsyncIterator[BaseStore]:
        if isinstance(self._where, BaseStore):
            yield self._where
            return
        async with AsyncPostgresStore.from_conn_string(self._where) as store:
            yield store

    def _entry(self, item: Item) -> ForeignEntry | UnusableEntry:
        rest = item.namespace[len(self._prefix) :]
        at, misdated = written_at(item.created_at.isoformat())
        said: dict[str, Any] = {
            "id": "/".join([*item.namespace, item.key]),
            "owner": rest[0] if rest else "",
            "at": at,
            "misdated": misdated,
            "updated_at": item.updated_at,
            "notes": {"namespace": list(item.namespace)},
        }
        return ForeignEntry(**_told(item.value), **said)


def text_in(value: Mapping[str, Any]) -> str:
    """Return the text of an item, in whichever of the known forms it is; of any other its fields as JSON.

    >>> text_in({"content": "I live in Hue"}), text_in({"kind": "Triple", "content": {"subject": "Ann",
    ...     "predicate": "lives in", "object": "Hue"}})
    ('I live in Hue', 'Ann lives in Hue')
    """
    return str(_told(value)["text"])


def _told(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an item says, as the fields of an entry."""
    kind, content = text_of(value.get("kind")), value.get("content", value)
    if not isinstance(content, Mapping):
        return {"text": text_of(content)}
    if text_of(content.get("observation")):
        told = {name: text_of(content.get(name)) for name in ("observation", "thoughts", "action", "result")}
        steps = tuple(filter(None, [told["thoughts"], told["action"]]))
        return {"text": told["observation"], "kind": "episode", "steps": steps, "outcome": told["result"]}
    triple = [text_of(content.get(name)) for name in ("subject", "predicate", "object")]
    if all(triple):
        return {"text": " ".join(triple), "about": triple[0]}
    text = next((text for name in _TEXTS if (text := text_of(content.get(name))).strip()), "")
    if not text and content:
        fields = json.dumps(dict(content), ensure_ascii=False, indent=1, default=str)[:_MAX_CONTENT]
        return {"text": fields, "kind": "document", "title": kind}
    return {"text": text}
