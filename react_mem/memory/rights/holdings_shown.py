"""Views for an owner beside memories: profile, waiting turns, skills, graph, usage and conversations."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import BaseStore

from react_mem.memory.index.entries import whole_text
from react_mem.memory.merging.forks import part_of
from react_mem.memory.merging.skill_life import sources_of
from react_mem.memory.model import views
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import MESSAGE, PENDING, SKILL, SUMMARY
from react_mem.memory.model.records import now
from react_mem.memory.model.states import PendingTurn, Skill
from react_mem.memory.retrieval.graph_reading import MemoryGraph
from react_mem.memory.rights.holds import FacadePart
from react_mem.memory.rights.showing import cursor_of, read_cursor, records_by_id, shown, source_of
from react_mem.memory.scopes.dialog import DialogMemoryStore, held_in
from react_mem.memory.scopes.profile import ProfileMemoryStore
from react_mem.memory.store.audit_log import AuditAction, note_action
from react_mem.memory.store.capabilities import WHOLE, everything
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.room import usage_of
from react_mem.memory.store.searches import ConversationPlace
from react_mem.memory.store.stored_text import storable

_NODE_CHARS = 600  # characters of a memory in the graph, as many as fit beside a drawing
_ABOUT_CHARS = 300
_SUMMARY_CHARS = 2_000
_MAX_DEPTH = 12  # levels of summaries that can exist, with a margin
_USER = "user"


class HoldingViews(FacadePart):
    """Views beside memories: profile, waiting turns, skills, graph, usage, conversations, reasons of an answer."""

    async def show_profile(self, user_id: str) -> views.OwnersProfile:
        """Return a user's profile, field by field, with the messages that say each."""
        profile = await ProfileMemoryStore(self.store).get_profile(user_id)
        if profile is None:
            return views.OwnersProfile(fields=[])
        ids = {part_of(source) for entry in profile.fields.values() for source in entry.source_ids}
        said = await sources_of(self.store, user_id, ids, [MemoryScope.DIALOG])
        return views.OwnersProfile(
            fields=[
                views.ShownField(
                    name=name,
                    provenance=[
                        source_of(id_, said[id_], [entry.value])
                        for id_ in dict.fromkeys(map(part_of, entry.source_ids))
                        if id_ in said
                    ],
                    **dict(entry),
                )
                for name, entry in sorted(profile.fields.items())
            ]
        )

    async def list_waiting(self, user_id: str) -> views.WaitingTurns:
        """Return the turns of a user that wait for extraction, the oldest first, and why."""
        found = await self.store.asearch(PENDING.namespace(user_id), limit=WHOLE, refresh_ttl=False)
        turns = sorted((PendingTurn.from_value(item.value) for item in found), key=lambda turn: turn.created_at)
        return views.WaitingTurns(items=[views.WaitingTurn.model_validate(turn) for turn in turns])

    async def list_skills(self, user_id: str) -> views.SkillList:
        """Return the skills that agents have learnt for a user, the most used first."""
        of_kind = {"kind": SKILL.name}
        found = await self.store.asearch(SKILL.namespace(user_id), filter=of_kind, limit=WHOLE, refresh_ttl=False)
        skills = sorted((Skill.from_value(item.value) for item in found), key=lambda skill: (-skill.trials, skill.id))
        return views.SkillList(items=[views.ShownSkill.model_validate(skill) for skill in skills])

    async def show_graph(self, user_id: str, *, kinds: Collection[str] = (), limit: int = 2_000) -> views.ShownGraph:
        """Return a user's memories with the links among them; of many, the newest."""
        graph, older = await MemoryGraph(self.store).newest(user_id, limit, kinds=kinds)
        return await asyncio.to_thread(
            lambda: views.ShownGraph(
                nodes=[
                    views.ShownNode(
                        id=one.id, kind=one.type, text=(one.text or one.name)[:_NODE_CHARS], current=one.current
                    )
                    for one in graph.nodes
                ],
                links=[
                    views.ShownLink(source=one.source, target=one.target, relation=one.kind.value)
                    for one in graph.links
                ],
                left_out=older,
                cut=f"the {len(graph.nodes):,} newest of {len(graph.nodes) + older:,} memories" if older else "",
            )
        )

    async def usage(self, user_id: str) -> views.MemoryUsage:
        """Return how much is remembered of a user; a store without statistics is read as a whole."""
        if not isinstance(self.store, MemoryStore):
            return await _counted(self.store, user_id)
        async with self.store.pool.connection() as conn:
            return await usage_of(conn, user_id)

    async def conversations(self, user_id: str, *, limit: int = 50, cursor: str = "") -> views.ConversationPage:
        """Return a page of a user's conversations, the one with the latest message first.

        Args:
            cursor: The `next_cursor` of the page before; empty for the first.
        """
        behind = ConversationPlace(*read_cursor(cursor, str, str)) if cursor else None
        shown, total, more = await DialogMemoryStore(self.store).page(user_id, behind, limit)
        return views.ConversationPage(
            items=[_shortened(held) for _, held in shown],
            next_cursor=cursor_of(*shown[-1][0]) if more else None,
            total=total,
        )

    async def conversation(
        self, user_id: str, session_id: str, *, limit: int = 100, cursor: str = "", first_turn: int = 0
    ) -> views.ConversationDetail | None:
        """Return a conversation with the tree of its summaries and a page of its messages, the oldest first.

        Args:
            cursor: The `next_cursor` of the page before; empty for the first.

        Returns:
            None where the user has no such conversation.
        """
        behind = read_cursor(cursor, int, str) if cursor else None
        values = await _said_in(self.store, user_id, session_id)
        messages = _messages(values)
        if not messages:
            return None
        [held] = await asyncio.to_thread(held_in, values)
        start = max(behind or (first_turn, ""), (first_turn, ""))
        left = [one for one in messages if (int(one["turn"]), str(one["id"])) > start]
        shown = left[:limit]
        more = cursor_of(int(shown[-1]["turn"]), str(shown[-1]["id"])) if len(left) > limit else None
        page = views.MessagePage(items=[_message(value) for value in shown], next_cursor=more, total=len(messages))
        chain = [value for value in values if SUMMARY.matches(value) and value.get("chain")]
        note_action(self.store, user_id, AuditAction.READ, {MESSAGE.name: len(shown)})
        return views.ConversationDetail(conversation=_shortened(held), summaries=_trees(chain), messages=page)

    async def explain_answer(self, user_id: str, session_id: str, message_id: str) -> views.AnswerSources | None:
        """Return why an answer was given: the memories that stood in its prompt.

        Args:
            message_id: The answer, or the question: by its id in the thread, or by its record.

        Returns:
            None where the user has no such answer.
        """
        messages = _messages(await _said_in(self.store, user_id, session_id))
        names = {message_id, MESSAGE.id(session_id, message_id)}
        place = next((at for at, value in enumerate(messages) if value["id"] in names), len(messages))
        answers = (
            at for at, value in enumerate(messages) if at >= place and value["role"] not in (_USER, "system", "tool")
        )
        if (answer := next(answers, None)) is None:
            return None
        question = next((messages[at] for at in range(answer, -1, -1) if messages[at]["role"] == _USER), None)
        used = [str(id_) for id_ in messages[answer].get("used") or ()]
        found = await records_by_id(self.store, user_id, used)
        at = now()
        items = [shown(found[id_], at) for id_ in used if id_ in found]
        note_action(self.store, user_id, AuditAction.READ, Counter(item.kind for item in items))
        return views.AnswerSources(
            answer=_message(messages[answer]),
            question=None if question is None else _message(question),
            used=items,
            gone=len(used) - len(items),
        )


async def _counted(store: BaseStore, user_id: str) -> views.MemoryUsage:
    items = await everything(store, user_id)
    kept = [item for item in items if item.namespace[2] in set(MemoryScope)]
    waiting = [item.value for item in items if PENDING.matches(item.value)]
    return views.MemoryUsage(
        kinds=dict(Counter(str(item.value.get("kind", "")) for item in kept)),
        texts=0,
        bytes=await asyncio.to_thread(lambda: sum(len(str(item.value).encode("utf-8", "replace")) for item in kept)),
        waiting=len(waiting),
        parked=sum(PendingTurn.from_value(value).is_parked for value in waiting),
    )


async def _said_in(store: BaseStore, user_id: str, session_id: str) -> list[dict[str, Any]]:
    known = bool(session_id) and storable(session_id) == session_id
    return await DialogMemoryStore(store).every(user_id, session_id=session_id) if known else []


def _messages(values: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    said = [value for value in values if MESSAGE.matches(value)]
    return sorted(said, key=lambda value: (int(value["turn"]), str(value["id"])))


def _message(value: Mapping[str, Any]) -> views.ShownMessage:
    return views.ShownMessage(**{"speaker": "", "used": [], "feedback": {}, **value, "text": whole_text(value)})


def _shortened(held: views.HeldConversation) -> views.HeldConversation:
    return held.model_copy(update={"about": held.about[:_ABOUT_CHARS], "summary": held.summary[:_SUMMARY_CHARS]})


def _trees(chain: Sequence[Mapping[str, Any]]) -> list[views.SummaryTree]:
    """Return summaries as trees; each appears once, even if an import forged its sources."""
    known = {str(value["id"]): value for value in chain}
    named = {str(id_) for value in chain for id_ in value.get("source_ids") or () if id_ != value["id"]}
    placed: set[str] = set()

    def tree(value: Mapping[str, Any], depth: int) -> views.SummaryTree:
        placed.add(str(value["id"]))
        below = [known[id_] for id_ in map(str, value.get("source_ids") or ()) if id_ in known]
        children = [
            tree(one, depth + 1)
            for one in sorted(below, key=_span)
            if str(one["id"]) not in placed and depth < _MAX_DEPTH
        ]
        return views.SummaryTree(**{**value, "children": children})

    roots = [value for value in sorted(chain, key=_span) if str(value["id"]) not in named]
    return [tree(value, 0) for value in roots]


def _span(value: Mapping[str, Any]) -> tuple[int, str]:
    return int(value.get("first_turn") or 0), str(value["created_at"])
