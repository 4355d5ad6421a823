"""Forgetting one thing that was said: the fact, what derives from it, and the sentences of messages that said it.

A message that says more than that keeps the rest of its sentences. Words decide which sentences those are, in the same
form in every language; embeddings decide nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import BaseStore, Item, PutOp

from memory.changes import Change, put
from memory.clauses import clauses, uncovered
from memory.consolidation import stale_knowledge
from memory.drafts import part_of
from memory.erasure import erasing, forget
from memory.extraction.grounding import is_grounded, is_negative
from memory.interface import MemoryScope
from memory.language.terms import terms
from memory.owned import everything, set_aside
from memory.records import MAX_INDEXED_CHARS, Fact, ProfileValue, normalise, now
from memory.statements import asks_to_forget, is_question, sentences, speaks_of_self, statements
from memory.transactions import transact

_CANDIDATES = 6
"""What may be meant that is told, at most."""

_RETOLD = {"summary", "episode", "knowledge", "task", "task_step", "skill", "experience"}
"""Kinds that retell what was said, or what was done about it; they go where they say what is forgotten."""

Tells = Callable[[str], bool]
"""Whether a sentence says what is forgotten."""


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten.

    Args:
        texts: What it said; empty where nothing was forgotten.
        messages: How many messages said it.
        unclear: What may have been meant, where that is not clear.
    """

    texts: tuple[str, ...] = ()
    messages: int = 0
    unclear: tuple[str, ...] = ()


async def forget_said(store: BaseStore, user_id: str, what: str, *, all_about: bool = False) -> Forgotten:
    """Forget what the user asks to forget: what says just that, else the one thing that says it among others.

    Of a sentence that says more, the clauses that speak of the user and do not say it stay, as a statement.

    Args:
        store: The store.
        user_id: The owner.
        what: What to forget, in the words of the user.
        all_about: Whether all that says something of it is meant.

    Returns:
        What was forgotten; nothing where it is not clear what is meant.
    """

    async def step() -> tuple[Forgotten, list[Change]]:
        # what was said on a branch that was left is forgotten with the rest
        items = [*await everything(store, user_id), *await set_aside(store, user_id)]
        meant, unclear = await asyncio.to_thread(_meant, what, items, all_about)
        if not meant:
            return Forgotten(unclear=tuple(unclear[:_CANDIDATES])), []
        facts = {item.key for item in items if _kind(item) == "fact" and normalise(_text(item)) in meant}
        # what is left of a statement is not what it said as a whole
        tells = tuple(text for text in meant.values() if not _remains(text, what))
        gone = tuple(_gone(text, what) for text in meant.values())
        return await _forgetting(store, user_id, items, facts, (what, *tells), gone)

    done = await transact(store, user_id, step)
    forget(store, user_id)
    return done


async def forget_record(store: BaseStore, user_id: str, id_: str) -> Forgotten:
    """Forget one record; a fact goes with the sentences that said it.

    Args:
        store: The store.
        user_id: The owner.
        id_: The record.
    """

    async def step() -> tuple[Forgotten, list[Change]]:
        # what was said on a branch that was left is forgotten with the rest
        items = [*await everything(store, user_id), *await set_aside(store, user_id)]
        record = next((item for item in items if item.key == id_), None)
        if record is None:
            return Forgotten(), []
        text = _text(record)
        said = (text,) if _kind(record) == "fact" else ()
        return await _forgetting(store, user_id, items, {id_}, said, (text,))

    done = await transact(store, user_id, step)
    forget(store, user_id)
    return done


def says(sentence: str, what: str) -> bool:
    """Return whether a sentence says something, or asks for it: it has all the telling words, and denies no less.

    >>> says("As I told you, I am allergic to penicillin", "I'm allergic to penicillin")
    True
    >>> says("I am not allergic to penicillin", "I'm allergic to penicillin")
    False
    """
    wanted = terms(what)
    if not wanted:
        return normalise(what) in normalise(sentence)
    if not wanted <= terms(sentence):
        return False
    # what is denied in another clause is not denied of this: "My boss is Ann and she never calls"
    saying = next((part.text for part in clauses(sentence) if wanted <= terms(part.text)), sentence)
    return is_question(sentence) or is_negative(saying) is is_negative(what)


def _meant(what: str, items: Sequence[Item], all_about: bool) -> tuple[dict[str, str], list[str]]:
    """Return the statements that are meant, by their form, and what may be meant where that is not clear."""
    wanted = terms(what)
    stated: dict[str, str] = {}
    for item in items:
        if _kind(item) == "fact":
            stated.setdefault(normalise(_text(item)), _text(item))
        elif _kind(item) == "message" and item.value.get("role") == "user":
            for sentence in statements(_whole(item.value)):
                stated.setdefault(normalise(sentence), sentence)
    named = {form: text for form, text in stated.items() if form == normalise(what)}
    telling = {form: text for form, text in stated.items() if says(text, what)} if wanted else {}
    exact = {form: text for form, text in telling.items() if terms(text) == wanted}
    if all_about and telling:
        return telling, []
    if named or exact:
        return {**named, **exact}, []
    if len(telling) == 1:
        return telling, []
    return {}, list(telling.values()) or [text for text in stated.values() if wanted & terms(text)]


def _remains(text: str, what: str) -> str:
    """Return what of a statement stays when something that it says is forgotten."""
    return _left(text, lambda part: says(part, what))


def _gone(text: str, what: str) -> str:
    """Return what of a statement is forgotten."""
    if not _remains(text, what):
        return text
    return " ".join(uncovered(text, lambda part: not says(part, what)))


def _left(sentence: str, tells: Tells) -> str:
    """Return a sentence without the clauses that tell something; only clauses about the user stand for themselves.

    >>> _left("I like green tea and I work at Bosch.", lambda part: "Bosch" in part)
    'I like green tea'
    >>> _left("My boss is Ann and she is tall.", lambda part: "boss" in part)
    ''
    """
    if not tells(sentence):
        return sentence
    if is_question(sentence) or asks_to_forget(sentence):
        return ""
    parts = uncovered(sentence, tells)
    if parts == [sentence] or any(map(tells, parts)):
        return ""
    return " ".join(part for part in parts if speaks_of_self(part))


async def _forgetting(
    store: BaseStore,
    user_id: str,
    items: Sequence[Item],
    facts: Iterable[str],
    said: Sequence[str],
    texts: tuple[str, ...],
) -> tuple[Forgotten, list[Change]]:
    erased = set(facts)
    tells = await asyncio.to_thread(_teller, items, erased, said)
    rewritten, messages = await asyncio.to_thread(_rewritten, items, erased, tells) if said else ({}, 0)
    left = [_with(item, rewritten.get(item.key)) for item in items]
    before = {item.key: _whole(item.value) for item in items if item.key in rewritten}

    def is_unsaid(field: str, value: ProfileValue, source: str) -> bool:
        if tells(f"{field}: {value.value}"):
            return True
        # as it was taken from a message: where that grounds it
        return (
            source in before
            and is_grounded(value.value, before[source])
            and not is_grounded(value.value, _whole(rewritten[source]))
        )

    less = [PutOp(item.namespace, item.key, item.value, index=_index(item)) for item in left if item.key in rewritten]
    without = await asyncio.to_thread(erasing, left, erased, cut=rewritten.keys(), is_unsaid=is_unsaid)
    changes = {(change.namespace, change.key): change for change in [*less, *without]}
    ended = [Fact.from_value(item.value) for item in items if item.key in erased and _kind(item) == "fact"]
    at = now()
    stale = await stale_knowledge(
        store, user_id, [f.model_copy(update={"current": False, "retired_at": at}) for f in ended]
    )
    for change in stale:
        changes.setdefault((change.namespace, change.key), change)
    for item in items:
        rest = _left(_text(item), tells) if item.key in erased and item.value.get("verbatim") else ""
        if rest and rest != _text(item):
            kept = part_of(Fact.from_value(item.value), rest)
            changes[item.namespace, kept.id] = put(user_id, MemoryScope.SEMANTIC, kept)
    gone = {change.key for change in changes.values() if change.value is None}
    for change in _chains(items, rewritten, gone):
        changes[change.namespace, change.key] = change
    return Forgotten(texts, messages), list(changes.values())


def _teller(items: Sequence[Item], erased: Collection[str], said: Sequence[str]) -> Tells:
    """Return what tells whether a sentence says what is forgotten."""
    wanted = [(terms(what), what) for what in said]
    others = {normalise(_text(item)) for item in items if _kind(item) == "fact" and item.key not in erased}

    def tells(sentence: str) -> bool:
        if normalise(sentence) in others:
            return False
        if asks_to_forget(sentence):
            return any(words and words <= terms(sentence) for words, _ in wanted)
        return any(says(sentence, what) for _, what in wanted)

    return tells


def _rewritten(items: Sequence[Item], erased: set[str], tells: Tells) -> tuple[dict[str, dict[str, Any]], int]:
    """Return what the records that say it say without it; those that say nothing else are added to `erased`."""
    rewritten: dict[str, dict[str, Any]] = {}
    cut: set[str] = set()
    pending: list[Item] = []
    messages = 0
    for item in items:
        kind = _kind(item)
        if kind == "message":
            text = _whole(item.value)
            kept = _without(text, tells)
            if kept == text:
                continue
            messages += item.value.get("role") == "user"
            cut.add(item.key)
            if not kept:
                erased.add(item.key)
                continue
            # what is no text, such as an image, has no words to keep
            rewritten[item.key] = {"content": kept, "text": kept[:MAX_INDEXED_CHARS], "keywords": ""}
        elif kind in _RETOLD and any(tells(part) for text in _texts(item.value) for part in sentences(text)):
            erased.add(item.key)
        elif kind == "pending":
            pending.append(item)
    for item in pending:
        sources = item.value.get("source_ids", ())
        # whoever is reading it may have the words before them, of its messages, of those before it or of a memory: it
        # is to be read again, by nobody who has claimed it
        free = {"claimed_by": "", "claimed_until": None}
        if not cut & set(sources):
            if item.value.get("claimed_by"):
                rewritten[item.key] = free
            continue
        left = [id_ for id_ in sources if id_ not in erased]
        if not left:
            erased.add(item.key)
            continue
        rewritten[item.key] = {"text": _without(_text(item), tells), "steps": [], "source_ids": left, **free}
    return rewritten, messages


def _without(text: str, tells: Tells) -> str:
    """Return a text without the sentences, or clauses, that tell something; as it is where none does."""
    lines = [(line, sentences(line)) for line in text.splitlines()]
    if not any(tells(sentence) for _, parts in lines for sentence in parts):
        return text
    kept = [" ".join(filter(None, (_left(part, tells) for part in parts))) for _, parts in lines]
    return "\n".join(line for line in kept if line.strip(' .,;:!?…"“”')).strip()


def _chains(items: Sequence[Item], rewritten: Mapping[str, Mapping[str, Any]], gone: set[str]) -> list[Change]:
    """Return the writes of conversations' chains: without what is gone, and what only fell with it to join again."""
    changes: list[Change] = []
    for item in items:
        if _kind(item) != "chain" or item.key in gone:
            continue
        before = item.value.get("entries", ())
        entries = [_entry(entry, rewritten) for entry in before if entry["id"] not in gone]
        latest = [id_ for id_ in item.value.get("latest", ()) if id_ not in gone]
        behind = item.value.get("behind", False) or any(e["id"] in gone and e["kind"] == "summary" for e in before)
        value = {**item.value, "entries": entries, "latest": latest, "behind": behind}
        if value != item.value:
            changes.append(PutOp(item.namespace, item.key, value, index=False))
    return changes


def _entry(entry: Mapping[str, Any], rewritten: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    changed = rewritten.get(str(entry["id"]))
    return {**entry, "text": changed["text"][: len(entry["text"])]} if changed else dict(entry)


def _with(item: Item, changed: Mapping[str, Any] | None) -> Item:
    if changed is None:
        return item
    value = {**item.value, **changed}
    return Item(
        value=value, key=item.key, namespace=item.namespace, created_at=item.created_at, updated_at=item.updated_at
    )


def _index(item: Item) -> Any:
    # as where they were written: only messages are found by meaning among what is rewritten
    return None if _kind(item) == "message" and item.namespace[2] == MemoryScope.DIALOG else False


def _kind(item: Item) -> str:
    return str(item.value.get("kind", ""))


def _text(item: Item) -> str:
    return str(item.value.get("text", ""))


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a record, wherever it stands in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _texts(part)


def _whole(value: Mapping[str, Any]) -> str:
    content = value.get("content")
    return content if isinstance(content, str) else str(value.get("text", ""))
