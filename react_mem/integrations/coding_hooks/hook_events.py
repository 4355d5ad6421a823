"""Events of coding agents: messages to store, and the context to return."""

from __future__ import annotations

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from react_mem import OpenAgentMemory
from react_mem.integrations.coding_hooks.coding_session import CodingSession
from react_mem.integrations.coding_hooks.hook_context import ToldEvent, session_context
from react_mem.memory import MemoryFacade
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.turns import Identity, conclude_soon

_MAX_SESSIONS = 64
"""Sessions in memory of the process; others are loaded again from the store."""


@dataclass
class _Running:
    session: CodingSession
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # by their times, then by their numbers
    waiting: list[tuple[int, int, Mapping[str, str], ToldEvent, asyncio.Future[tuple[str, str]]]] = field(
        default_factory=list
    )


class HookEvents:
    """Handler of the events of all sessions on one memory; `notes` is the folder with the notes of owed sessions."""

    def __init__(self, opened: OpenAgentMemory, notes: str) -> None:
        self._opened = opened
        self._notes = notes
        self._memory = MemoryFacade(opened.store, opened.agent.policy)
        self._numbers = count()
        self._sessions: OrderedDict[tuple[str, str], _Running] = OrderedDict()

    async def answer(self, user_id: str, event: Mapping[str, Any], told: ToldEvent) -> tuple[str, str]:
        """Handle an event; return the context for the coding agent, and the problems."""
        fields: Mapping[str, str] = {name: value for name, value in event.items() if isinstance(value, str)}
        running = self._session(user_id, fields["session_id"])
        answer: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        heapq.heappush(running.waiting, (told.at, next(self._numbers), fields, told, answer))
        # others that waited for memory to be there may be earlier
        await asyncio.sleep(0)
        # one after the other, as they were told
        async with running.lock:
            *_, fields, told, earliest = heapq.heappop(running.waiting)
            try:
                session = running.session
                session.problems.clear()
                with acting(AuditActor.AGENT, AuditReason.TURN):
                    text = await self._answer(session, fields, told)
                earliest.set_result((text, "; ".join(dict.fromkeys(session.problems))))
            except Exception as error:
                earliest.set_exception(error)
        return await answer

    async def _answer(self, session: CodingSession, fields: Mapping[str, str], told: ToldEvent) -> str:
        transcript, who = fields.get("transcript_path", ""), session.identity
        match fields["hook_event_name"]:
            case "SessionStart":
                goes_on = fields.get("source") in ("resume", "compact")
                if not goes_on and fields.get("source") != "fork":
                    session.begun()
                return await session_context(self._memory, who.user_id, who.session_id, goes_on=goes_on)
            case "UserPromptSubmit":
                prompt_id = fields.get("prompt_id") or fields.get("turn_id", "")
                return await session.prompt(fields.get("prompt", ""), prompt_id, told)
            case "Stop":
                await session.stop(fields.get("last_assistant_message", ""), transcript, told)
            case "PreCompact":
                await session.stop("", transcript, told)
                session.compacted()
            case "SessionEnd":
                await session.stop("", transcript, told)
                await conclude_soon(self._opened.store, who.user_id, who.session_id)
        return ""

    def _session(self, user_id: str, session_id: str) -> _Running:
        place = (user_id, session_id)
        if place not in self._sessions:
            identity = Identity(user_id, session_id, threaded=False)
            self._sessions[place] = _Running(CodingSession(self._opened, identity, self._notes))
        self._sessions.move_to_end(place)
        for oldest in [*self._sessions][:-_MAX_SESSIONS]:
            if not (self._sessions[oldest].lock.locked() or self._sessions[oldest].waiting):
                del self._sessions[oldest]
        return self._sessions[place]
