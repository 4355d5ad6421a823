"""Forgetting one statement: the fact, everything that derives from it, and the sentences of messages that say it.

A message keeps its other sentences. Words decide which sentences match, in the same way in every language; embeddings
decide nothing. The thread keeps its messages: the forgotten ones are noted, so that they are not stored again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, Item, PutOp

from react_mem.errors import MemoryChanged
from react_mem.memory.index.entries import whole_text
from react_mem.memory.language import OTHERS, other_language
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.statements import statements_in
from react_mem.memory.language.terms import content_terms
from react_mem.memory.merging.skill_life import stale_knowledge
from react_mem.memory.model.kinds import CHAIN, FACT, MESSAGE, SUMMARY
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.operations import Change, Receipt, put
from react_mem.memory.model.records import Fact, fact_id, now
from react_mem.memory.model.views import fingerprint
from react_mem.memory.rights.erasure import erasing
from react_mem.memory.rights.hidden import Hiding, hidden_without, hiding
from react_mem.memory.rights.holds import check_held, forget_caches
from react_mem.memory.rights.receipts import Says, read_again, receipt_of
from react_mem.memory.rights.saying import Sayings, same, says
from react_mem.memory.rights.thread_states import look_through_threads
from react_mem.memory.rights.unsaid import Unsaid, forgotten_changes, index_of, with_value
from react_mem.memory.store.attachments import unattached
from react_mem.memory.store.capabilities import everything, set_aside
from react_mem.memory.store.transactions import transact

_CANDIDATES = 6  # candidates listed at most where the wish is ambiguous


@dataclass(frozen=True)
class Forgotten:
    """Outcome of a request to forget: the forgotten statements, or an unclear one's candidates, and the receipt."""

    texts: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    receipt: Receipt = field(default_factory=Receipt)


@dataclass(frozen=True)
class _Wish:
    """Request to forget: records, more words of the user's that say it, and the parts of facts that say more."""

    ids: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)


async def forget(
    store: BaseStore,
    user_id: str,
    *,
    ids: Sequence[str] = (),
    said: Sequence[str] = (),
    note: str = "",
    revision: str = "",
    hides: Hiding | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Receipt:
    """Forget records of a user for good, with everything derived from them and the sentences that say them.

    `said` are more words to forget, such as the clause that asks for it; `note`, the key of this wish's note, goes in
    the same batch, and if it is gone already, nothing is forgotten. Where a model read the wish, it `hides` everything
    first. With another `revision` than the record's, or a legal hold, nothing is removed: `MemoryChanged`,
    `LegalHoldError`.
    """

    def wished(items: Sequence[Item]) -> tuple[_Wish, tuple[str, ...]]:
        if revision and any(item.key in ids and fingerprint(item.value) != revision for item in items):
            raise MemoryChanged
        return _Wish(tuple(ids), tuple(said)), ()

    return (await _forget(store, user_id, wished, note, hides, checkpointer=checkpointer)).receipt


async def forget_said(
    store: BaseStore,
    user_id: str,
    what: str,
    *,
    all_about: bool = False,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Forgotten:
    """Forget a statement by the user's words: exact matches, else the only one, or `all_about` them.

    Of a sentence that says more, the other clauses stay. Ambiguous words forget nothing: see `Forgotten.unclear`.
    """
    if all_about and (code := other_language(what)):
        # "meinen Chef": the topic is not said to be theirs each time
        what = OTHERS[code].sub(" ", what).strip() or what

    def wished(items: Sequence[Item]) -> tuple[_Wish, tuple[str, ...]]:
        return _wished(what, items, all_about=all_about)

    return await _forget(store, user_id, wished, checkpointer=checkpointer)


async def _forget(
    store: BaseStore,
    user_id: str,
    wish: Callable[[Sequence[Item]], tuple[_Wish, tuple[str, ...]]],
    note: str = "",
    hides: Hiding | None = None,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Forgotten:
    """Forget a wish: a function of all records of the owner, which returns the candidates where it is ambiguous."""
    noted = (meta_namespace(user_id), note)
    sessions: dict[str, None] = {}

    async def step() -> tuple[tuple[Forgotten, Says], list[Change]]:
        if note and await store.aget(*noted, refresh_ttl=False) is None:
            # granted by somebody else: it may have been said again since
            return (Forgotten(), bool), []
        # what was said on a branch that was left is forgotten with the rest
        items = [*await everything(store, user_id), *await set_aside(store, user_id)]
        sessions.update(dict.fromkeys(str(one.value["session_id"]) for one in items if one.value.get("session_id")))
        wished, unclear = await asyncio.to_thread(wish, items)
        if not wished.ids and not wished.said:
            return (Forgotten(unclear=unclear), bool), []
        done, says, changes = await _forgetting(store, user_id, items, wished)
        is_found = done.receipt.removed or done.receipt.rewritten
        if is_found:
            await check_held(store, user_id, items, changes)
        if hides is None:
            changes += await unattached(store, user_id, items, changes)
            changes += await hidden_without(
                store, user_id, lambda past: {(one.namespace, one.key): None for one in past if says(one)}
            )
        elif is_found:
            changes += await hiding(store, user_id, hides, wished.ids, changes, done.receipt)
        return (done, says), [*changes, *([PutOp(*noted, None)] if note else [])]

    done, says = await transact(store, user_id, step)
    forget_caches(store, user_id)
    if not done.receipt.removed and not done.receipt.rewritten:
        return replace(done, texts=())
    states = {"thread states": look_through_threads(store, checkpointer, user_id, done.texts, sessions)}
    checks = await read_again(store, user_id, done.receipt.gone, says, done.texts, states)
    return replace(done, receipt=done.receipt.model_copy(update={"checks": checks}))


def _wished(what: str, items: Sequence[Item], *, all_about: bool) -> tuple[_Wish, tuple[str, ...]]:
    """Return the wish that the user's words express, and the candidates where they are ambiguous."""
    meant, unclear = _meant(what, items, all_about)
    if not meant:
        return _Wish(), tuple(unclear[:_CANDIDATES])
    facts = [Fact.from_value(item.value) for item in items if FACT.matches(item.value)]
    named = [fact for fact in facts if normalise(fact.text) in meant]
    known = {normalise(fact.text) for fact in named}
    # all about something goes with what else is said of it
    instead = {fact.id: Sayings((what,)).part(fact.text) for fact in named if not all_about and _rest(fact.text, what)}
    whole = [text for form, text in meant.items() if form not in known and (all_about or not _rest(text, what))]
    return _Wish(tuple(fact.id for fact in named), (what, *whole), instead), ()


def _meant(what: str, items: Sequence[Item], all_about: bool) -> tuple[dict[str, str], list[str]]:
    """Return the matching statements by their normalised form, and the candidates where the words are ambiguous."""
    wanted = content_terms(what)
    stated: dict[str, str] = {}
    for item in items:
        if FACT.matches(item.value):
            text = str(item.value.get("text", ""))
            stated.setdefault(normalise(text), text)
        elif MESSAGE.matches(item.value) and item.value.get("role") == "user":
            for sentence in statements_in(whole_text(item.value)):
                stated.setdefault(normalise(sentence), sentence)
    named = {form: text for form, text in stated.items() if form == normalise(what)}
    telling = {form: text for form, text in stated.items() if says(text, what)} if wanted else {}
    exact = {form: text for form, text in telling.items() if same(text, what)}
    if all_about and telling:
        return telling, []
    if named or exact:
        return {**named, **exact}, []
    if len(telling) == 1:
        return telling, []
    return {}, list(telling.values()) or [text for text in stated.values() if wanted & content_terms(text)]


async def _forgetting(
    store: BaseStore, user_id: str, items: Sequence[Item], wish: _Wish
) -> tuple[Forgotten, Says, list[Change]]:
    unsaid = await asyncio.to_thread(Unsaid, items, wish.ids, wish.said, wish.instead)
    after = await asyncio.to_thread(lambda: {(item.namespace, item.key): unsaid.value(item) for item in items})
    left = [with_value(item, after[item.namespace, item.key] or item.value) for item in items]
    erased = {item.key for item in items if after[item.namespace, item.key] is None}
    less = {item.key for item in items if after[item.namespace, item.key] not in (None, item.value)}
    without = await asyncio.to_thread(
        erasing, left, erased, cut=unsaid.cut, made_anew=less, revives=False, is_unsaid=unsaid.is_unsaid
    )
    changes = {
        (item.namespace, item.key): PutOp(item.namespace, item.key, item.value, index=index_of(item))
        for item in left
        if item.key in less and item.key not in erased
    }
    changes |= {(change.namespace, change.key): change for change in without}
    at = now()
    ended = [fact.model_copy(update={"current": False, "retired_at": at}) for fact in unsaid.facts]
    for change in await stale_knowledge(store, user_id, ended):
        changes.setdefault((change.namespace, change.key), change)
    bare = {"quote": "", "reading": "", "keywords": "", "wordings": (), "meta": {}}
    for fact in unsaid.facts:
        # the remainder of a fact that is forgotten in part
        if fact.id in wish.instead and (rest := _rest(fact.text, wish.instead[fact.id])):
            id_ = fact_id(fact.about, rest)
            change = put(user_id, fact.model_copy(update={"id": id_, "text": rest, **bare}))
            changes[change.namespace, change.key] = change
    gone = {change.key for change in changes.values() if change.value is None}
    texts_left = {id_: unsaid.left[id_] for id_ in unsaid.cut - gone}
    for change in chains_without(items, texts_left, gone):
        changes[change.namespace, change.key] = change
    said_in: dict[str, list[str]] = {}
    for item in items:
        if MESSAGE.matches(item.value) and item.key in unsaid.cut | gone:
            said_in.setdefault(str(item.value.get("session_id", "")), []).append(item.key)
    # for the user: of a fact that says more, the part
    texts = [wish.instead.get(fact.id, fact.text) for fact in unsaid.facts] or list(wish.said)
    told = tuple({normalise(text): text for text in texts}.values())
    done = Forgotten(told, receipt=receipt_of(items, changes.values(), unsaid.messages))
    return done, unsaid.is_said, [*changes.values(), *await forgotten_changes(store, user_id, said_in)]


def _rest(text: str, what: str) -> str:
    """Return the rest of a statement after redaction; empty where nothing is left."""
    sayings = Sayings((what,))
    return sayings.rest(text) if sayings.tell(text) else ""


def chains_without(items: Sequence[Item], texts: Mapping[str, str], gone: Collection[str]) -> list[Change]:
    """Return the writes that remove deleted entries from summary chains, with the new texts of shortened messages."""
    changes: list[Change] = []
    for item in items:
        if not CHAIN.matches(item.value) or item.key in gone:
            continue
        before = item.value.get("entries", ())
        entries = [
            {**entry, "text": texts[entry["id"]][: len(entry["text"])]} if entry["id"] in texts else dict(entry)
            for entry in before
            if entry["id"] not in gone
        ]
        latest = [id_ for id_ in item.value.get("latest", ()) if id_ not in gone]
        behind = item.value.get("behind", False) or any(e["id"] in gone and e["kind"] == SUMMARY.name for e in before)
        value = {**item.value, "entries": entries, "latest": latest, "behind": behind}
        if value != item.value:
            changes.append(PutOp(item.namespace, item.key, value, index=False))
    return changes
