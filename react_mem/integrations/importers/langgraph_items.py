"""Items of any LangGraph store, such as LangMem's memories, read with LangGraph's own PostgreSQL store.

LangMem's tools keep {"content": text}, its managers {"kind": name of the schema, "content": fields}; the schemas of its
documentation (Memory, Triple, Episode) become facts and episodes, any other a document with its fields.

The owner of an item is a label of its namespace, and only the prefix tells which one. An unfitting prefix refuses the
whole import, since a wrong label would give one person the memories of others.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from typing import Any

import psycopg
from langgraph.store.base import BaseStore, Item
from langgraph.store.postgres.aio import AsyncPostgresStore

from react_mem.integrations.importers.as_records import BATCH, Entries, ForeignEntry, UnusableEntry
from react_mem.integrations.importers.import_files import text_of, written_at
from react_mem.memory.records import place_of, read_all

_TEXTS = ("content", "text", "memory", "fact")
_MAX_CONTENT = 1_000_000
_OWNERS_PLACE = re.compile(r"\{\w*\}")
_LOOKED_AT = 1_000  # Namespaces that are listed to suggest a prefix
_SHOWN = 8


class LangGraphItems:
    """Items of the store, or of the database at an address, below a prefix of namespaces.

    The label behind the prefix is the owner, and the last one. A label of the prefix in braces stands for the
    owner, and more labels may follow then.
    """

    name = "langmem"
    personal = False

    def __init__(self, where: BaseStore | str, prefix: tuple[str, ...] = ()) -> None:
        places = [place for place, label in enumerate(prefix) if _OWNERS_PLACE.fullmatch(label)]
        self._where = where
        self._prefix = prefix
        self._above = prefix[: places[0]] if places else prefix
        self._below = prefix[places[0] + 1 :] if places else ()
        self._is_placed = bool(places)

    async def batches(self) -> AsyncIterator[Entries]:
        """Yield the items, a page at a time.

        Raises ValueError if there is no such store, or the prefix does not identify the owners.
        """
        found, depth = False, len(self._above) + 1
        try:
            if isinstance(self._where, str):
                # refused before it connects
                place_of(self._where, "the address")
                opening: Any = AsyncPostgresStore.from_conn_string(self._where)
            else:
                opening = nullcontext(self._where)
            async with opening as store:
                if not self._prefix:
                    raise ValueError(f"say which label of the namespaces is the owner's: {await _choices(store)}")
                async for page in read_all(store, self._above, page=BATCH):
                    meant = [item for item in page if item.namespace[depth:][: len(self._below)] == self._below]
                    deep = (one.namespace for one in meant if not self._is_placed and len(one.namespace) > depth)
                    if deeper := next(deep, None):
                        raise ValueError(
                            f"whose its memories are cannot be told: {'.'.join(deeper)!r:.200} goes on behind the "
                            f"label {deeper[len(self._above)]!r:.60}, which would be the owner; {await _choices(store)}"
                        )
                    found = found or bool(meant)
                    yield [self._entry(item) for item in meant]
                if not found:
                    raise ValueError(f"has nothing below {'.'.join(self._prefix)!r:.200}; {await _choices(store)}")
        except psycopg.errors.UndefinedTable:
            raise ValueError(
                "the database has no LangGraph store (no table `store` where it is looked for); name the schema in the "
                "address, as ?options=-csearch_path%3Dname"
            ) from None
        except psycopg.Error as error:
            # its text may name the address, with the password
            raise ValueError(f"the database cannot be read ({type(error).__name__}); check its address") from None

    def _entry(self, item: Item) -> ForeignEntry | UnusableEntry:
        rest = item.namespace[len(self._above) :]
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


async def _choices(store: BaseStore) -> str:
    namespaces = await store.alist_namespaces(limit=_LOOKED_AT)
    if not namespaces:
        return "the store is empty"
    below = Counter(namespace[:-1] or namespace for namespace in namespaces)
    shown = [f"{'.'.join(labels)!r:.100} ({count})" for labels, count in below.most_common(_SHOWN)]
    more = f" and {len(below) - _SHOWN} more" if len(below) > _SHOWN else ""
    return f"{_HOW_TO_SAY}. There are namespaces below {', '.join(shown)}{more}"


_HOW_TO_SAY = (
    "--prefix names the labels before the owner's, as in --prefix memories; where more follow behind it, {user} stands "
    "in its place, as in --prefix 'memories.{user}'"
)


def text_in(value: Mapping[str, Any]) -> str:
    """Return the text of an item in any known form; of another one its fields as JSON.

    >>> text_in({"content": "I live in Hue"}), text_in({"kind": "Triple", "content": {"subject": "Ann",
    ...     "predicate": "lives in", "object": "Hue"}})
    ('I live in Hue', 'Ann lives in Hue')
    """
    return str(_told(value)["text"])


def _told(value: Mapping[str, Any]) -> dict[str, Any]:
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
