"""Episodic scope: attempts and their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from react_mem.memory.graph.links import capped
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, normalise
from react_mem.memory.merging.facts import episode_text, merged, same_episode
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import EPISODE
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.records import Episode, Level, Record
from react_mem.memory.scopes.scope import ScopeStore
from react_mem.memory.store.transactions import transact

_TOLD_BEFORE = 50
"""Latest episodes compared for a repetition."""

_ALIKE = 20
"""Older episodes compared, found by a search for the goal."""


class EpisodicMemoryStore(ScopeStore):
    """The episodic scope."""

    scope = MemoryScope.EPISODIC

    async def record(self, goal: str, *, user_id: str, session_id: str, agent_id: str, **said: Any) -> Episode:
        """Record an episode, and return it as stored; repeated with news, it updates the recorded one.

        `said` are other fields of an `Episode`: its situation, thoughts, steps, outcome, lessons, level, `source_ids`,
        ... A `ValueError` names an empty goal or a wrong field.
        """
        episode = self.made(Episode, {**said, "goal": goal, "session_id": session_id, "agent_id": agent_id})
        return await self._told(user_id, episode)

    async def told_before(self, user_id: str, episode: Episode) -> Episode:
        """Return an episode merged with the stored one that it repeats; unchanged where it is new."""
        stored = await self.get(user_id, [episode.id])
        latest = await self._latest(user_id, _TOLD_BEFORE, kind=EPISODE.name, level=str(episode.level))
        # of several the one that was told last
        same = await asyncio.to_thread(_same, [*stored.values(), *reversed(latest)], episode)
        # whoever has few episodes has no older ones to search; a conversation is told again by its id alone
        if same is None and len(latest) == _TOLD_BEFORE and episode.level is not Level.CONVERSATION:
            goal = f"{episode.milestone_title} {episode.goal}".strip()[:MAX_INDEXED_CHARS]
            older = [item.payload for item in await self.recall(goal, _ALIKE, user_id=user_id)]
            same = await asyncio.to_thread(_same, older, episode)
        return episode if same is None else await asyncio.to_thread(merged, same, episode)

    async def _keep(self, user_id: str, records: Sequence[Record], *, dated: bool = True) -> None:
        await super()._keep(user_id, [one for one in records if not isinstance(one, Episode)], dated=dated)
        for episode in records:
            if isinstance(episode, Episode):
                await self._told(user_id, episode)

    async def _told(self, user_id: str, episode: Episode) -> Episode:
        await self._room(user_id, [episode])

        async def step() -> tuple[Episode, list[Change]]:
            [kept] = await capped(self.store, user_id, [await self.told_before(user_id, episode)])
            stored = await self.get(user_id, [kept.id])
            return kept, [put(user_id, kept)] if kept.to_value() != stored.get(kept.id) else []

        return await transact(self.store, user_id, step)

    async def recall(self, query: str, top_k: int = 5, *, user_id: str) -> list[MemoryResultItem]:
        """Return the episodes nearest to a text, or the latest for an empty one."""
        return await self._find(user_id, query, top_k, {"kind": EPISODE.name})

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Derive id and text from the attempt."""
        return completed(data) if EPISODE.may_be(data) else data


def _same(known: Sequence[dict[str, Any]], episode: Episode) -> Episode | None:
    # so many goals, of any length
    return same_episode(episode, map(Episode.from_value, known))


def completed(data: dict[str, Any], snapshot: str = "") -> dict[str, Any]:
    """Return an episode's data with its id and text, of a milestone the snapshot instead of its outcome.

    A turn has one episode of each level. One without a goal is a `ValueError`.
    """
    goal, title, outcome = (str(data.get(name, "")) for name in ("goal", "milestone_title", "outcome"))
    if not goal.strip():
        raise ValueError("memory scope episodic: goal: is missing; give what was wanted")
    level = str(data.get("level", Level.TASK))
    sources = data.get("source_ids")
    if level == Level.MILESTONE and title:
        # a title may be the request itself, a sentence
        title, story = title.rstrip(" .。…:;,"), snapshot or outcome
        told = story if story.startswith(title) else f"{title}: {story}"
    else:
        told = " ".join(filter(None, [title, goal, outcome, *data.get("lessons", ())]))
    text = episode_text(told, str(data.get("situation", "")))
    id_ = EPISODE.id(level, *sources) if sources else EPISODE.id(data["session_id"], normalise(goal))
    return {"id": id_, "text": text, **data}
