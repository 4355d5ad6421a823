"""Redaction of records, one method for each kind; of a turn; and notes on forgotten messages.

The notes hold ids and no words. The thread keeps its messages: code that stores them again, as after a fork or an
outage, or shows them to a model, skips the noted ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.comparison import share
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, normalise
from react_mem.memory.language.standing import kind_of_standing
from react_mem.memory.language.statements import sentences
from react_mem.memory.merging.blocks import captions_in
from react_mem.memory.model.kinds import EPISODE, FACT, FILE, MESSAGE, PENDING, PROFILE, SUMMARY, WhenUnsaid, kind_of
from react_mem.memory.model.namespaces import ABANDONED, meta_namespace
from react_mem.memory.model.operations import Change
from react_mem.memory.model.profile_schema import Profile, ProfileValue
from react_mem.memory.model.records import Fact, Message, record_id
from react_mem.memory.rights.saying import Sayings, contains, led_without, same, shown_without, texts_in
from react_mem.memory.scopes.profile import values_of

Value = dict[str, Any]

_BORNE_OUT = 0.5  # share of a sentence's words that the remaining sources must contain: otherwise the sentence goes too


class Unsaid:
    """Records of an owner after some facts, and every statement of them, are redacted.

    Args:
        items: All records of the owner.
        chosen: The ids of the records to forget.
        said: More words of the user's that state them, such as the request to forget.
        instead: The part to forget of a fact, by its id, where it is not the whole.
    """

    def __init__(
        self, items: Sequence[Item], chosen: Iterable[str], said: Sequence[str] = (), instead: Mapping[str, str] = {}
    ) -> None:
        facts = {item.key: Fact.from_value(item.value) for item in items if FACT.matches(item.value)}
        messages = [item for item in items if MESSAGE.matches(item.value)]
        named = [facts[id_] for id_ in dict.fromkeys(chosen) if id_ in facts]
        texts = [text for fact in named for text in _texts_of(fact, instead.get(fact.id))] + list(said)
        named += [fact for fact in facts.values() if fact not in named and _is_same(fact, named, texts)]
        texts += [text for fact in named for text in _texts_of(fact, instead.get(fact.id))]
        self.erased: set[str] = {*chosen, *(fact.id for fact in named)}
        self._texts = tuple(dict.fromkeys(texts))
        others = [fact for fact in facts.values() if fact.id not in self.erased]
        kept = tuple(text for fact in others for text in (fact.text, *(one.text for one in fact.wordings)))
        strict = Sayings(self._texts, kept)
        self._sources: dict[str, list[Fact]] = {}
        for fact in named:
            for id_ in _said_in(fact):
                self._sources.setdefault(id_, []).append(fact)
        theirs = [(item, whole_text(item.value)) for item in messages if item.value.get("role") == "user"]
        left = [strict.without(text, by_user=True) for _, text in theirs]
        self._sayings = Sayings(self._texts, kept, tuple(left))
        self._standing: dict[str, list[str]] = {}
        for fact in others:
            for id_ in _said_in(fact):
                self._standing.setdefault(id_, []).append(fact.text)
        self._said_before = {item.key: whole_text(item.value) for item in messages}
        self.left: dict[str, str] = {item.key: self._said(item) for item in messages}
        """Redacted texts of the messages."""
        self.cut = {
            item.key
            for item in messages
            if self.left[item.key] != self._said_before[item.key] or self._is_captioned(item.value)
        }
        """Messages that are shortened or emptied."""
        self.erased |= {id_ for id_ in self.cut if not self.left[id_]}
        self.messages = sum(item.key in self.cut for item, _ in theirs)
        self.facts = named

    def value(self, item: Item) -> Value | None:
        """Return the redacted value of a record: None where nothing is left, the same value where nothing changes."""
        after = self._rewritten(item)
        # nobody can tell what of a note beside a record is about what it says
        if after is None or "meta" not in after or (after == item.value and not self._is_noted(item)):
            return after
        return {name: part for name, part in after.items() if name != "meta"}

    def _is_noted(self, item: Item) -> bool:
        return any(map(self._sayings.hint, texts_in(item.value.get("meta", {}))))

    def _rewritten(self, item: Item) -> Value | None:
        if item.key in self.erased:
            return None
        if not self._texts:
            return item.value
        kind = kind_of(item.value)
        match kind.when_unsaid:
            case WhenUnsaid.REWRITTEN:
                rewritten = {MESSAGE: self._message, FACT: self._fact, PENDING: self._pending, FILE: self._file}
                return rewritten.get(kind, self._retold)(item)
            case WhenUnsaid.STAYS:
                return item.value
            case gone:
                about = self._sayings.tell if gone is WhenUnsaid.GONE_IF_TOLD else self._sayings.hint
                return None if any(map(about, _sentences(item.value))) else item.value

    def is_said(self, item: Item) -> bool:
        """Return true if a stored record states the forgotten facts."""
        if PROFILE.matches(item.value):
            fields = Profile.from_value(item.value).fields
            return any(self._is_told(name, one.value) for name, entry in fields.items() for one in values_of(entry))
        if self._is_noted(item):
            return True
        if MESSAGE.matches(item.value):
            text = whole_text(item.value)
            by_user = item.value.get("role") == "user"
            led = led_without(item.value, self._sayings.hint)
            return bool(led) or self._is_captioned(item.value) or self._sayings.without(text, by_user=by_user) != text
        if PENDING.matches(item.value):
            return self._sayings.tell(str(item.value.get("text") or ""))
        if FACT.matches(item.value) and self._sayings.tell(str(item.value.get("text") or "")):
            return True
        return self.value(item) != item.value

    def is_unsaid(self, field: str, value: ProfileValue, source: str) -> bool:
        """Return true if a source no longer states the value of a profile field."""
        if self._is_told(field, value.value):
            return True
        if source not in self.cut:
            return False
        return share(value.value, [self._said_before[source]]) == 1 and share(value.value, [self.left[source]]) < 1

    def _is_told(self, field: str, value: str) -> bool:
        """Return true if the value of a profile field states them."""
        if self._sayings.tell(f"{field}: {value}"):
            return True
        # it is a word of the facts, and none that the user says otherwise
        return any(share(value, [text]) == 1 for text in self._texts) and self._sayings.hint(f"{field}: {value}")

    def _is_captioned(self, value: Value) -> bool:
        """Return true if a caption in a message's content states the facts."""
        return any(map(self._sayings.hint, captions_in(value.get("content"))))

    def _said(self, item: Item) -> str:
        """Return the redacted text of a message."""
        text = whole_text(item.value)
        if item.key in self.erased:
            return ""
        by_user = item.value.get("role") == "user"
        left = self._sayings.without(text, by_user=by_user)
        if left == text:
            for fact in self._sources.get(item.key, ()):
                left = self._without_evidence(left, fact)
        # what else is known from it goes on standing on it, in the words in which it is known
        return left or (" ".join(dict.fromkeys(self._standing.get(item.key, ()))) if by_user else "")

    def _without_evidence(self, text: str, fact: Fact) -> str:
        """Return a message that supported a fact in other words, without these words."""
        if fact.quote:
            left = Sayings((fact.quote,), self._sayings.kept).without(text, by_user=True)
            if left != text:
                return left
        told = " ".join(filter(None, (fact.text, fact.quote)))
        near = [(share(told, [one]), place, one) for place, one in enumerate(sentences(text))]
        best = max(near, default=(0.0, 0, ""))
        is_kept = normalise(best[2]) in {normalise(kept) for kept in self._sayings.kept}
        if best[0] < _BORNE_OUT or is_kept:
            return text
        return self._sayings.without(text, by_user=True, tells=lambda one: one == best[2])

    def _message(self, item: Item) -> Value:
        left = self.left[item.key] if item.key in self.left else self._said(item)
        changed: Value = led_without(item.value, self._sayings.hint)
        if left != whole_text(item.value):
            # what is not text, such as an image, has no words to keep; what was thought may say it in others
            changed |= {"content": left, "text": left[:MAX_INDEXED_CHARS], "keywords": "", "thinking": ""}
            changed |= {"standing": kind_of_standing(left)} if item.value.get("standing") else {}
        elif any(map(self._sayings.hint, [str(item.value.get("keywords") or "")])):
            kept = shown_without(item.value["content"], self._sayings.hint)
            changed |= {"content": kept, "keywords": " ".join(captions_in(kept))}
        after = {**item.value, **changed} if changed else item.value
        return {name: part for name, part in after.items() if part or name not in Message.RARE} if changed else after

    def _fact(self, item: Item) -> Value:
        value = item.value
        wordings = [one for one in value.get("wordings") or () if not self._sayings.tell(one["text"])]
        quote, reading, keywords = (str(value.get(name) or "") for name in ("quote", "reading", "keywords"))
        changed = {
            "wordings": wordings,
            "quote": self._sayings.without(quote, by_user=True),
            "reading": "" if self._sayings.hint(reading) else reading,
            "keywords": "" if self._sayings.hint(keywords) else keywords,
        }
        changed = {
            name: left for name, left in changed.items() if left != value.get(name) and (left or value.get(name))
        }
        return {**value, **changed} if changed else value

    def _file(self, item: Item) -> Value | None:
        """Return a file without the matching sentences, and otherwise unchanged letter by letter."""
        changed: Value = {}
        for name in ("text", "data"):
            text = str(item.value.get(name) or "")
            if item.value.get("encoding") == "utf-8" and self._sayings.may_be_in(text):
                changed[name] = _lines_without(text, self._sayings.tell)
        after = {**item.value, **changed}
        if after == item.value:
            return item.value
        return after if after["text"].strip() or str(after.get("data") or "").strip() else None

    def _retold(self, item: Item) -> Value | None:
        """Return an episode or a summary with the sentences that its remaining sources support."""
        value, kind = item.value, kind_of(item.value)
        sources = [str(id_) for id_ in value.get("source_ids") or ()]
        touched = bool(self.cut.intersection(sources))
        if kind is SUMMARY and value.get("chain"):
            # made again by its conversation's chain
            return None if touched or any(map(self._sayings.hint, _sentences(value))) else value
        known = [self.left[id_] for id_ in sources if self.left.get(id_)]

        def goes(sentence: str) -> bool:
            return self._sayings.hint(sentence) or (touched and share(sentence, known) < _BORNE_OUT)

        after = dict(value)
        for name in filter(value.get, kind.told_in):
            after[name] = _without(str(value[name]), goes)
        for name in kind.listed_in:
            after[name] = [left for one in value.get(name) or () if (left := _without(str(one), goes))]
        after["source_ids"] = [id_ for id_ in sources if id_ not in self.erased]
        if after == {**value, "source_ids": sources}:
            return value
        says_nothing = not after["text"] or (kind is EPISODE and not after["goal"])
        return None if says_nothing or (sources and not after["source_ids"]) else after

    def _pending(self, item: Item) -> Value | None:
        """Return the redacted note of a pending turn, unclaimed, so that any worker reads it again."""
        value, sources = item.value, item.value.get("source_ids") or ()
        # whoever is reading it may have the words before them, of its messages, of those before it or of a memory
        free = {**value, "claimed_by": "", "claimed_until": None}
        text = self._sayings.without(str(value.get("text") or ""), by_user=True)
        if not self.cut.intersection(sources) and text == value.get("text"):
            return free if value.get("claimed_by") else value
        left = [id_ for id_ in sources if id_ not in self.erased]
        return {**free, "text": text, "steps": [], "source_ids": left} if left else None


def with_value(item: Item, value: Mapping[str, Any]) -> Item:
    """Return a copy of an item with another value."""
    changed = copy(item)
    changed.value = dict(value)
    return changed


def index_of(item: Item) -> Any:
    """Return the index argument for rewriting a record in its place."""
    return False if item.namespace[2] == ABANDONED else kind_of(item.value).index(item.value)


def _sentences(value: Mapping[str, Any]) -> Iterator[str]:
    return (sentence for text in texts_in(value) for sentence in sentences(text))


def _without(text: str, goes: Callable[[str], bool]) -> str:
    parts = sentences(text)
    left = [sentence for sentence in parts if not goes(sentence)]
    return text if len(left) == len(parts) else " ".join(left)


def _lines_without(text: str, goes: Callable[[str], bool]) -> str:
    left: list[str] = []
    for line in text.splitlines(keepends=True):
        kept = _without(line, goes)
        if kept and kept is not line:
            kept = f"{line[: len(line) - len(line.lstrip())]}{kept}{line[len(line.rstrip()) :]}"
        left.append(kept)
    return "".join(left)


def _texts_of(fact: Fact, instead: str | None) -> list[str]:
    return [instead] if instead else [fact.text, *(one.text for one in fact.wordings)]


def _said_in(fact: Fact) -> set[str]:
    return {*fact.source_ids, *fact.withdrawn, *(id_ for one in fact.wordings for id_ in one.source_ids)}


def _is_same(fact: Fact, named: Sequence[Fact], texts: Sequence[str]) -> bool:
    """Return true if a fact states the same as others: in their words, or in equivalent ones of the same message."""
    abouts = {normalise(one.about) for one in named} or {"user"}
    if normalise(fact.about) not in abouts:
        return False
    if any(contains(fact.text, text) for text in texts):
        return True
    sources = _said_in(fact)
    return any(
        same(fact.text, one.text) and (sources & _said_in(one) or normalise(fact.text) == normalise(one.text))
        for one in named
    )


# Notes on forgotten messages of a conversation, by id and without their words; and the redaction of a turn.

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
        """Return the redacted messages, without the assistant's messages that say nothing else.

        The user's stay, even empty: the note of the turn names them.
        """
        if self._sayings is None:
            return list(records)
        kept = []
        for record in records:
            said = record.content if isinstance(record.content, str) else record.text
            left = self._sayings.without(said, by_user=record.role == "user")
            if left == said:
                changed = {"content": shown_without(record.content, self._sayings.hint)}
            elif left or record.role == "user":
                changed = {"content": left, "text": left[:MAX_INDEXED_CHARS]}
            else:
                continue
            calls = [call for call in record.tool_calls if call.name not in FORGETTING]
            told = record.model_copy(update={**changed, "tool_calls": tuple(calls)})
            # no call or thought that names the forgotten text
            led = led_without(told.to_value(), self._sayings.hint) if record.tool_calls or record.thinking else {}
            kept.append(told.model_validate({**told.to_value(), **led}) if led else told)
        return kept

    def steps(self, steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the steps of the turn that do not name the forgotten text."""
        if self._sayings is None:
            return list(steps)
        hint = self._sayings.hint
        return [step for step in steps if step["action"] not in FORGETTING and not any(map(hint, texts_in(dict(step))))]
