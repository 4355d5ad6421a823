"""Notes on forgotten messages of a conversation, by id and without their words, and the receipts of whole erasures.

The thread keeps its messages. Code that stores them again, as after a fork or an outage, or shows them to a model,
skips the noted ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.model.kinds import KINDS, MESSAGE
from react_mem.memory.model.namespaces import ATTACHMENTS, encode, meta_namespace
from react_mem.memory.model.receipt import UNREAD, Change, Check, Receipt
from react_mem.memory.model.records import Message, record_id
from react_mem.memory.rights.receipts import check, read_again, receipt_of
from react_mem.memory.rights.saying import Sayings, led_without, shown_without, texts_in
from react_mem.memory.store.attachments import sizes
from react_mem.memory.store.capabilities import capabilities
from react_mem.memory.store.left_traces import Traces
from react_mem.memory.store.owned import WHOLE
from react_mem.memory.store.thread_owners import thread_marks, threads_of
from react_mem.memory.work.items import forgotten_work

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


# The receipts of what is erased as a whole, a conversation or a user: threads and bookkeeping are checked too.

Checkpointer = BaseCheckpointSaver[Any] | None

_Result = TypeVar("_Result")

_AT_ONCE = 4
"""Threads that are deleted or looked for at once."""


class ErasedSessions(list[str]):
    """Conversations of an erased user, with the receipt."""

    def __init__(self, sessions: Iterable[str], receipt: Receipt) -> None:
        super().__init__(sessions)
        self.receipt = receipt


async def checked(
    store: BaseStore,
    checkpointer: Checkpointer,
    user_id: str,
    items: Sequence[Item],
    changes: Sequence[Change],
    *,
    session_id: str | None = None,
    threads: Sequence[str] = (),
    proof: bool = False,
) -> Receipt:
    """Return the receipt of an erasure with its checks.

    Args:
        checkpointer: None where the caller keeps the threads.
        items: All records of the owner, as they were.
        session_id: The conversation; None for the whole user.
        threads: The deleted threads.
        proof: Whether to search every table of the database, which may take a while.
    """

    def removed() -> tuple[Receipt, frozenset[str], list[str]]:
        """Return the receipt of the writes, the ids of the removed records, and their texts."""
        gone = {(change.namespace, change.key) for change in changes if change.value is None}
        erased = [item for item in items if (item.namespace, item.key) in gone]
        messages = sum(MESSAGE.matches(item.value) and item.value.get("role") == "user" for item in erased)
        indexed = [kind for kind in KINDS.values() if kind.indexed]
        # what is known before what was said
        asked = [str(item.value.get("text") or "") for kind in indexed for item in erased if kind.matches(item.value)]
        return receipt_of(items, changes, messages), frozenset(item.key for item in erased), asked

    receipt, erased, asked = await asyncio.to_thread(removed)

    def says(item: Item) -> bool:
        return session_id is None or item.value.get("session_id") == session_id

    more = {
        "threads": _threads(checkpointer, user_id, session_id, threads),
        "bookkeeping": _bookkeeping(store, user_id, session_id),
        "attachments": _attachments(store, user_id, changes, session_id),
    }
    checks = await read_again(store, user_id, erased, says, asked, more, in_turn=False)
    if proof:
        said = [str(item.value.get("text") or "") for item in items if item.key in erased]
        traces = Traces(encode(user_id), user_id, tuple(erased), tuple(threads), tuple(said), whole=session_id is None)
        found = await capabilities(store).atraces(traces)
        if found is not None:
            checks += tuple(Check(name=one.name, hits=one.rows, problem=one.problem) for one in found)
        else:
            every = await store.asearch((), limit=WHOLE, refresh_ttl=False)
            theirs = [item.key for item in every if traces.owner in item.namespace[1:2]]
            checks += (check("items", [key for key in theirs if traces.whole or key in traces.keys]),)
    return receipt.model_copy(update={"checks": checks})


async def _attachments(
    store: BaseStore, user_id: str, changes: Sequence[Change], session_id: str | None
) -> AsyncIterator[Check]:
    """Check the attachments: the removed ones of a conversation, or any of a user."""
    gone = {change.key for change in changes if change.namespace[0] == ATTACHMENTS and change.value is None}
    left = await sizes(store, user_id)
    yield check("attachments", left if session_id is None else gone & left.keys())


async def _threads(
    checkpointer: Checkpointer, user_id: str, session_id: str | None, threads: Sequence[str]
) -> AsyncIterator[Check]:
    """Check that the threads are deleted and no other thread names the user."""
    if checkpointer is None:
        yield Check(name=f"{UNREAD} threads", problem="no checkpointer was given, so they are the caller's to delete")
        return
    states = await few_at_once(lambda id_: checkpointer.aget_tuple({"configurable": {"thread_id": id_}}), threads)
    found = [id_ for id_, state in zip(threads, states, strict=True) if state is not None]
    named = await threads_of(checkpointer, user_id, session_id)
    yield check("threads", [*found, *(named or ())])
    if named is None:
        problem = "the checkpointer lists none: those of other graphs were not looked for"
        yield Check(name=f"{UNREAD} threads", problem=problem)


async def few_at_once(do: Callable[[str], Awaitable[_Result]], ids: Sequence[str]) -> list[_Result]:
    """Call a function for many ids, a few at a time, and return the results in order: others need connections too."""
    results: list[_Result] = []
    for start in range(0, len(ids), _AT_ONCE):
        results += await asyncio.gather(*map(do, ids[start : start + _AT_ONCE]))
    return results


async def _bookkeeping(store: BaseStore, user_id: str, session_id: str | None) -> AsyncIterator[Check]:
    """Check the queue, the terminal's bookmarks and the owner's notes."""
    yield check("work", [change.key for change in await forgotten_work(store, user_id, session_id)])
    marks = await thread_marks(store, user_id)
    yield check("bookmarks", [one.key for one in marks if session_id in (None, one.value.get("thread_id"))])
    if session_id is None:
        noted = await store.asearch(meta_namespace(user_id), limit=WHOLE, refresh_ttl=False)
        yield check("bookkeeping", [item.key for item in noted])
