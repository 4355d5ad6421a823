"""Events of coding agents, as memory answers them: what to bring, what to store."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from react_mem.agents.coding_hooks.coding_session import CodingSession
from react_mem.agents.coding_hooks.hook_context import session_context
from react_mem.agents.coding_hooks.hook_memory import HookMemory
from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import AuditActor, AuditReason, Identity, acting, conclude_soon

_MAX_SESSIONS = 64
"""Sessions that are kept at hand; of another one memory tells what there is to know."""


class HookEvents:
    """Answers the events of every session on one memory.

    Args:
        opened: The memory.
    """

    def __init__(self, opened: HookMemory) -> None:
        self._opened = opened
        self._sessions: OrderedDict[tuple[str, str], tuple[CodingSession, asyncio.Lock]] = OrderedDict()

    async def answer(self, user_id: str, event: Mapping[str, Any]) -> tuple[str, str]:
        """Do what an event asks for.

        Args:
            user_id: The owner.
            event: The event.

        Returns:
            What the coding agent is to have in its context, and what could not be done.
        """
        told = {name: value for name, value in event.items() if isinstance(value, str)}
        session, lock = self._session(user_id, told["session_id"])
        # one after the other, as they were said
        async with lock:
            session.problems.clear()
            with acting(AuditActor.AGENT, AuditReason.TURN):
                text = await self._answered(session, told)
            return text, "; ".join(dict.fromkeys(session.problems))

    async def _answered(self, session: CodingSession, told: Mapping[str, str]) -> str:
        match told["hook_event_name"]:
            case "SessionStart":
                return await self._begin(session, told.get("source", ""))
            case "UserPromptSubmit":
                return await session.prompt(told.get("prompt", ""), told.get("prompt_id") or told.get("turn_id", ""))
            case "Stop":
                await session.stop(told.get("last_assistant_message", ""), told.get("transcript_path", ""))
            case "PreCompact":
                await session.stop("", told.get("transcript_path", ""))
                session.compacted()
            case "SessionEnd":
                await session.stop("", told.get("transcript_path", ""))
                who = session.identity
                await conclude_soon(self._opened.store, who.user_id, who.session_id)
        return ""

    async def _begin(self, session: CodingSession, source: str) -> str:
        goes_on = source in ("resume", "compact")
        if not goes_on and source != "fork":
            session.begun()
        memory = MemoryFacade(self._opened.store, self._opened.agent.policy)
        who = session.identity
        return await session_context(memory, who.user_id, who.session_id, goes_on=goes_on)

    def _session(self, user_id: str, session_id: str) -> tuple[CodingSession, asyncio.Lock]:
        place = (user_id, session_id)
        if place not in self._sessions:
            identity = Identity(user_id, session_id, threaded=False)
            self._sessions[place] = (CodingSession(self._opened, identity), asyncio.Lock())
        self._sessions.move_to_end(place)
        for oldest in [*self._sessions][:-_MAX_SESSIONS]:
            if not self._sessions[oldest][1].locked():
                del self._sessions[oldest]
        return self._sessions[place]
