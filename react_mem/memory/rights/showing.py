"""Memories as their owner sees them: pages of a list, and one memory with its explanation."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.graph.links import Direction, Edge, LinkKind, reader
from react_mem.memory.graph.traverse import strength
from react_mem.memory.index.entries import whole_text
from react_mem.memory.index.recall import is_over
from react_mem.memory.language.folding import name_key
from react_mem.memory.language.line_breaks import quotes
from react_mem.memory.merging.forks import part_of
from react_mem.memory.merging.outdated import doubts_of, others_of
from react_mem.memory.model import views
from react_mem.memory.model.identity import OUTSIDE
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONCEPT, FACT, KINDS, MESSAGE
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Fact, now
from react_mem.memory.rights.holds import FacadePart
from react_mem.memory.store.audit_log import AuditAction, note_action
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.store.searches import Listed, ListPlace, Wanted, listed, revision_of
from react_mem.memory.store.stored_text import storable

# Cursors of lists: where a page ends, as an opaque text that a client sends back.

_NONE = "cursor: is none of this list; ask for the first page without one"


def cursor_of(*place: str | int) -> str:
    """Return the opaque cursor of the place where a page ends.

    >>> read_cursor(cursor_of("2026-03-01", 7), str, int)
    ('2026-03-01', 7)
    """
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """Return the place that a cursor names, of the given types; `ValueError` if it is not one of such a list."""
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(_NONE) from error
    texts = [part for part in place if isinstance(part, str)] if isinstance(place, list) else []
    if not isinstance(place, list) or [type(part) for part in place] != [*kinds] or [*map(storable, texts)] != texts:
        raise ValueError(_NONE)
    return tuple(place)


# Topics of facts: whom they are about, the names in them, and the themes that they share with others.

MOST_TOPICS = 8  # topics listed of a fact: those with the most facts


async def _topics_of_facts(
    store: BaseStore, user_id: str, facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[str]]:
    """Return the topics of facts by id, given records by id; records without topics are left out."""
    about = {id_: str(value.get("about") or "") for id_, value in facts.items() if FACT.matches(value)}
    if not about:
        return {}
    kept = await store.asearch(
        CONCEPT.namespace(user_id), filter={"kind": CONCEPT.name}, limit=WHOLE, refresh_ttl=False
    )
    # of thousands of names it takes longer than a loop may be held
    return await asyncio.to_thread(topics_in, about, [item.value for item in kept])


def topics_in(about: Mapping[str, str], concepts: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the topics of facts: the subject, then the names in the text, then the themes, the most frequent first.

    >>> hue = {"name": "Hue", "source_ids": ["a", "b"]}
    >>> told = topics_in({"a": "user", "b": "Lan", "c": ""}, [hue])
    >>> told["a"], told["b"], "c" in told
    (['Hue'], ['Lan', 'Hue'], False)
    """
    found: dict[str, dict[str, str]] = {
        id_: {name_key(name): name} for id_, name in about.items() if name and name != "user"
    }

    def rank(concept: Mapping[str, Any]) -> tuple[bool, int, str]:
        return bool(concept.get("theme")), -len(concept.get("source_ids") or ()), str(concept["name"])

    for concept in sorted(concepts, key=rank):
        name = str(concept["name"])
        for id_ in about.keys() & (concept.get("source_ids") or ()):
            found.setdefault(id_, {}).setdefault(name_key(name), name)
    return {id_: list(topics.values())[:MOST_TOPICS] for id_, topics in found.items()}


State = Literal["current", "past", "all"]  # state of the listed memories: believed, no longer believed, or both
MAX_PAGE = 200  # memories on a page, at most
_ROUNDS = 50  # queries for one page, at most, where many listed records are filtered out
_VERSIONS = 50  # facts followed back, and forward, from one
_SOURCES = 100  # source messages shown of a memory: the latest
_LINKED = 100  # linked and derived memories shown of one: the strongest links
_ANSWERS = 1_000  # latest messages searched for the answers that used a memory
_MADE_OF = frozenset({LinkKind.SUPPORT, LinkKind.SUMMARIZATION, LinkKind.MILESTONE})


class MemoryViews(FacadePart):
    """Memories as their owner sees them: a list, one of them, and its explanation."""

    async def page(
        self,
        user_id: str,
        *,
        scopes: Sequence[MemoryScope] = (),
        kinds: Sequence[str] = (),
        state: State = "current",
        session_id: str | None = None,
        origins: Sequence[str] = (),
        limit: int = 50,
        cursor: str = "",
        with_topics: bool = False,
    ) -> views.MemoryPage:
        """Return a page of a user's memories, regardless of the policy, the latest first.

        A write between two pages neither repeats nor hides a memory on the following ones.

        Args:
            kinds: Their kinds; by default all, without memory's own records where no scope is named either.
            state: `current` for believed memories, `past` for former ones, `all` for both.
            session_id: The conversation that they came from; None for any.
            cursor: The `next_cursor` of the page before; empty for the first.
            with_topics: True to add the topics of facts, for which all names in the owner's memory are read.

        Raises:
            ValueError: If the cursor is none of a list, or the limit is less than one.
        """
        if limit < 1:
            raise ValueError("limit: must be 1 or more")
        revision = await revision_of(self.store, user_id)
        unlisted = [] if scopes or kinds else [kind.name for kind in KINDS.values() if not kind.listed]
        wanted = Wanted(
            namespaces=[scope_namespace(user_id, scope) for scope in (scopes or tuple(MemoryScope))],
            kinds=list(kinds) or None,
            without=unlisted,
            current=None if state == "all" else state == "current",
            session_id=session_id,
            origins=list(origins) or None,
        )
        behind = None
        if cursor:
            placed, scope, key = read_cursor(cursor, str, str, str)
            if scope not in set(MemoryScope):
                raise ValueError(_NONE)
            # always within the owner's records
            behind = ListPlace(placed, ".".join(scope_namespace(user_id, scope)), key)
        size, at = min(limit, MAX_PAGE), now()
        meant: list[tuple[ListPlace, Item]] = []
        found = Listed([], 0, False)
        for _ in range(_ROUNDS):
            found = await listed(self.store, user_id, wanted, behind, size)
            meant += [one for one in found.items if _is_meant(one[1].value, state, origins, at)]
            if len(meant) >= size or not found.more:
                break
            behind = found.items[-1][0]
        within = meant[:size]
        last = within[-1][0] if len(meant) > size else found.items[-1][0] if found.items else None
        more = len(meant) > size or found.more
        items = [shown(item, at) for _, item in within]
        if with_topics:
            topics = await _topics_of_facts(self.store, user_id, {item.key: item.value for _, item in within})
            items = [item.model_copy(update={"topics": topics.get(item.id, [])}) for item in items]
        note_action(self.store, user_id, AuditAction.READ, Counter(item.kind for item in items))
        return views.MemoryPage(
            items=items,
            # a scope is the last part of its place
            next_cursor=cursor_of(last.at, last.prefix.rpartition(".")[2], last.key) if more and last else None,
            total=found.total,
            revision=revision,
        )

    async def find(self, user_id: str, id_: str) -> views.MemoryItem | None:
        """Return one memory, whole; None where the user has no such memory."""
        item = (await records_by_id(self.store, user_id, [id_])).get(id_)
        return None if item is None else shown(item, now(), most=None)

    async def explain(self, user_id: str, id_: str) -> views.MemoryDetail | None:
        """Return a memory with its explanation: earlier versions, source messages, derived memories, links and uses.

        Returns:
            None where the user has no such memory.
        """
        store = self.store
        item = (await records_by_id(store, user_id, [id_])).get(id_)
        if item is None:
            return None
        at = now()
        links, used = await asyncio.gather(reader(store, user_id)([id_]), _used(store, user_id, id_))
        doubted = FACT.matches(item.value) and item.value.get("doubts")
        others_told = await others_of(store, user_id, {id_: item.value}) if doubted else {}
        linked = links[id_].edges.values() if id_ in links else ()
        edges = sorted(linked, key=lambda edge: (-strength(edge), edge.at, edge.to))[:_LINKED]
        # of a part of a message, the message
        named = map(part_of, (*item.value.get("source_ids", ()), *item.value.get("withdrawn", ())))
        sources = list(dict.fromkeys(named))[-_SOURCES:]
        versions, others = await asyncio.gather(
            _history(store, user_id, item, edges),
            records_by_id(store, user_id, [*sources, *(edge.to for edge in edges)]),
        )
        made = [edge for edge in edges if edge.direction is Direction.IN and edge.kind in _MADE_OF]
        rest = [edge for edge in edges if edge not in made and edge.to not in sources]
        derived = {edge.to: shown(others[edge.to], at) for edge in made if edge.to in others}
        memory = shown(item, at, most=None)
        note_action(store, user_id, AuditAction.READ, {memory.kind: 1})
        return views.MemoryDetail(
            memory=memory,
            history=versions,
            provenance=_provenance(item.value, sources, others),
            derived=list(derived.values()),
            links=[
                views.MemoryLink(
                    relation=edge.kind.value, direction=edge.direction.value, memory=shown(others[edge.to], at)
                )
                for edge in rest
                if edge.to in others
            ],
            doubts=list(doubts_of(item.value, others_told)) if doubted else [],
            used=used,
        )


def shown(item: Item, at: datetime, most: int | None = views.SHOWN_CHARS) -> views.MemoryItem:
    """Return the view of a stored memory."""
    return views.MemoryItem.of(item.namespace[2], item.key, item.value, at, updated_at=item.updated_at, most=most)


def _is_meant(value: Mapping[str, Any], state: State, origins: Sequence[str], at: datetime) -> bool:
    if origins and value.get("origin") not in origins:
        return False
    past = value.get("current") is False or is_over(value, at)
    return state == "all" or past is (state == "past")


async def records_by_id(store: BaseStore, user_id: str, ids: Iterable[str]) -> dict[str, Item]:
    """Return records by id, from any scope."""
    wanted = [id_ for id_ in dict.fromkeys(ids) if id_ and storable(id_) == id_]
    ops = [GetOp(scope_namespace(user_id, scope), id_, refresh_ttl=False) for scope in MemoryScope for id_ in wanted]
    found = cast("list[Item | None]", await store.abatch(ops)) if ops else []
    return {item.key: item for item in found if item is not None}


def _provenance(
    value: Mapping[str, Any], sources: Sequence[str], others: Mapping[str, Item]
) -> list[views.MemorySource]:
    told: list[views.MemorySource] = []
    for id_ in sources:
        item = others.get(id_)
        if item is not None and MESSAGE.matches(item.value):
            told.append(source_of(id_, item.value, _wordings(value, id_)))
        elif item is None and FACT.matches(value) and (session := value.get("session_id")) in OUTSIDE:
            words = _wordings(value, id_)[0]
            told.append(
                views.MemorySource(
                    id=id_, session_id=session, said_at=value.get("said_at"), role="user", text=words, quote=words
                )
            )
    return sorted(told, key=lambda source: str(source.said_at))


def source_of(id_: str, value: Mapping[str, Any], wordings: Iterable[str]) -> views.MemorySource:
    """Return the view of a source message, with the first of these wordings that it contains as the quote."""
    said = whole_text(value)
    return views.MemorySource(
        id=id_,
        session_id=str(value["session_id"]),
        turn=value.get("turn"),
        said_at=value["created_at"],
        role=str(value["role"]),
        text=said[: views.SHOWN_CHARS],
        quote=next((words for words in wordings if words and quotes(said, words)), ""),
    )


def _wordings(value: Mapping[str, Any], source: str) -> list[str]:
    """Return the wordings in which a message may state a fact, the likeliest first."""
    own = [str(one["text"]) for one in value.get("wordings") or () if source in one.get("source_ids", ())]
    return [words for words in (*own, str(value.get("quote") or ""), str(value.get("text") or "")) if words] or [""]


async def _history(store: BaseStore, user_id: str, item: Item, edges: Sequence[Edge]) -> list[views.MemoryVersion]:
    """Return the versions of a fact and of its predecessors and successors, the oldest first."""
    if not FACT.matches(item.value):
        return []
    before: dict[str, Mapping[str, Any]] = {}
    wanted = _replaced(edges)
    read = reader(store, user_id)
    while wanted and len(before) < _VERSIONS:
        found, documents = await asyncio.gather(records_by_id(store, user_id, wanted), read(wanted))
        before |= {id_: one.value for id_, one in found.items() if FACT.matches(one.value)}
        further = [id_ for document in documents.values() for id_ in _replaced(document.edges.values())]
        wanted = [id_ for id_ in dict.fromkeys(further) if id_ not in before and id_ != item.key]
    after: dict[str, Mapping[str, Any]] = {}
    heir = item.value.get("superseded_by")
    while heir and heir not in after and heir not in before and heir != item.key and len(after) < _VERSIONS:
        found = await records_by_id(store, user_id, [str(heir)])
        if heir not in found:
            break
        after[heir] = found[heir].value
        heir = found[heir].value.get("superseded_by")
    chain = [Fact.from_value(dict(value)) for value in (*before.values(), item.value, *after.values())]
    versions = [version for fact in chain for version in _versions(fact)]
    return sorted(versions, key=lambda version: (version.why == "believed", str(version.since)))


def _replaced(edges: Iterable[Edge]) -> list[str]:
    """Return the facts that a fact superseded."""
    return [
        edge.to
        for edge in edges
        if edge.kind is LinkKind.TIMELINE and edge.direction is Direction.IN and edge.scope == MemoryScope.SEMANTIC
    ]


def _versions(fact: Fact) -> list[views.MemoryVersion]:
    """Return the periods in which a fact was believed, and its other wordings."""
    since = fact.valid_from or fact.created_at
    told = [
        views.MemoryVersion(id=fact.id, text=one.text, since=one.said_at, why="reworded")
        for one in fact.wordings
        # what nobody is known to say so is told as what it took the place of
        if one.text != fact.text and one.source_ids
    ]
    for lapse in fact.lapses:
        told.append(views.MemoryVersion(id=fact.id, text=fact.text, since=since, until=lapse.since, why="set aside"))
        since = lapse.until
    until = fact.valid_to or (None if fact.current else fact.retired_at)
    why: Literal["believed", "replaced", "ended", "over"] = "believed"
    if not fact.current:
        why = "replaced" if fact.superseded_by else "ended" if fact.ended_by else "over"
    elif is_over(fact.to_value(), now()):
        why = "over"
    return [*told, views.MemoryVersion(id=fact.id, text=fact.text, since=since, until=until, why=why)]


async def _used(store: BaseStore, user_id: str, id_: str) -> list[views.MemoryUse]:
    """Return the answers with a memory in their prompt, among the latest messages."""
    said = {"kind": MESSAGE.name}
    found = await store.asearch(MESSAGE.namespace(user_id), filter=said, limit=_ANSWERS, refresh_ttl=False)
    uses = [
        views.MemoryUse(session_id=str(item.value["session_id"]), message_id=item.key, at=item.value["created_at"])
        for item in found
        if id_ in (item.value.get("used") or ())
    ]
    return sorted(uses, key=lambda use: str(use.at), reverse=True)
