"""Notes on forgotten messages of a conversation, by id and without their words; and the redaction of a turn.

The thread keeps its messages. Code that stores them again, as after a fork or an outage, or shows them to a model,
skips the noted ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import Message, record_id
from react_mem.memory.rights.saying import Sayings, led_without, shown_without, texts_in

FORGETTING = frozenset({"forget", "forget_said"})
"""Tools that forget. Their artifact is the forgotten text; no model sees it and memory never stores it."""

_KIND = "forgotten"


def forgotten_key(session_id: str) -> str:
    """Return the bookkeeping key of a conversation's forgotten messages."""
    return record_id(_KIND, session_id)


def forgotten_in(item: Item | None) -> frozenset[str]:
    """Return the record ids of the forgotten messages in a note."""
    return frozenset(item.value["messages"]) if item is not None else frozenset()


async def read_forgotten(store: BaseStore, user_id: str, session_id: str) -> frozenset[str]:
    """Return the record ids of a conversation's messages that are forgotten, wholly or in part."""
    return forgotten_in(await store.aget(meta_namespace(user_id), forgotten_key(session_id), refresh_ttl=False))


async def forgotten_changes(store: BaseStore, user_id: str, messages: Mapping[str, Iterable[str]]) -> list[Change]:
    """Return the writes that note messages, by conversation, as forgotten: for the batch that forgets them."""
    namespace = meta_namespace(user_id)
    sessions = sorted(messages)
    found = await store.abatch([GetOp(namespace, forgotten_key(session)) for session in sessions]) if sessions else []
    changes: list[Change] = []
    for session, item in zip(sessions, found, strict=True):
        known = forgotten_in(item if isinstance(item, Item) else None)
        after = known.union(messages[session])
        if after != known:
            value = {"kind": _KIND, "messages": sorted(after)}
            changes.append(PutOp(namespace, forgotten_key(session), value, index=False))
    return changes


def without_forgotten(user_id: str, session_id: str) -> Change:
    """Return the removal of a conversation's note."""
    return PutOp(meta_namespace(user_id), forgotten_key(session_id), None)


class TurnUnsaid:
    """Redaction of a turn in which the agent forgot something: the user's wish and the answer name it too."""

    def __init__(self, thread: Sequence[BaseMessage]) -> None:
        results = (m for m in thread if isinstance(m, ToolMessage) and m.name in FORGETTING)
        texts = [str(text) for m in results if isinstance(m.artifact, list) for text in m.artifact]
        self._sayings = Sayings(tuple(texts)) if texts else None

    def messages(self, records: Sequence[Message]) -> list[Message]:
        """Return the redacted messages, without those of the assistant that say nothing else.

        The user's stay, even empty: the note of the turn names them.
        """
        if self._sayings is None:
            return list(records)
        kept = []
        for record in records:
            said = record.content if isinstance(record.content, str) else record.text
            left = self._sayings.without(said, by_user=record.role == "user")
            if left == said:
                shown = shown_without(record.content, self._sayings.hint)
                kept.append(self._led(record.model_copy(update={"content": shown})))
            elif left or record.role == "user":
                kept.append(self._led(record.model_copy(update={"content": left, "text": left[:MAX_INDEXED_CHARS]})))
        return kept

    def _led(self, record: Message) -> Message:
        """Return a message without the tool calls and thinking that name the forgotten text, or forgot it."""
        if self._sayings is None or not (record.tool_calls or record.thinking):
            return record
        calls = [call for call in record.tool_calls if call.name not in FORGETTING]
        told = record.model_copy(update={"tool_calls": tuple(calls)})
        return told.model_validate({**told.to_value(), **led_without(told.to_value(), self._sayings.hint)})

    def steps(self, steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the steps of the turn that do not name the forgotten text."""
        if self._sayings is None:
            return list(steps)
        hint = self._sayings.hint
        return [step for step in steps if step["action"] not in FORGETTING and not any(map(hint, texts_in(dict(step))))]
