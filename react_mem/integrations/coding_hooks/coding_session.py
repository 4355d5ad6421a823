"""A session of a coding agent in memory: each message is stored once and in order, even if several hooks report it.

A message is named by its place in the session, its role and a hash of its words. So the stored session tells which
messages of a hook are new, and their predecessor. Messages forgotten since do not come back: a transcript is read from
the end of its last reading.

An event may be handled late, when the session has gone on. Each carries its time and the length of the transcript at
that time, and no more is read for it. An event from before another one that has read the transcript has nothing new.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from react_mem import OpenAgentMemory
from react_mem.integrations.coding_hooks import transcripts
from react_mem.integrations.coding_hooks.owed_notes import owed_from, pay
from react_mem.memory import MemoryFacade, MemoryQuery, MemoryResultItem, MemoryResults, MemoryScope, Origin
from react_mem.memory.records import KINDS, AuditActor, AuditReason, acting, storable
from react_mem.memory.turns import (
    Frame,
    Identity,
    Recalled,
    ToldRole,
    TurnMemory,
    Window,
    conclude_soon,
    placed_name,
    placed_thread,
    whole_text,
    words_key,
)

MESSAGE = KINDS["message"]
_EVERY = 1_000_000  # Number of turns that stands for all turns of a session
_SHOWN_BEFORE = 4  # Messages passed on before a turn, by which a "yes" is understood
_LOOKED_BACK = 32  # Latest messages, among which are those that hooks reported before the transcript had them
_SAID_AT = "said_at"

log = logging.getLogger(__name__)


class NotKeptError(Exception):
    """Error for a part of a session that was not stored; it is tried again."""


@dataclass(frozen=True)
class _Prompted:
    place: int
    key: str
    prompt_id: str
    at: int


class CodingSession:
    """One session of one user; `notes` is the folder with the notes of owed sessions."""

    def __init__(self, opened: OpenAgentMemory, identity: Identity, notes: str) -> None:
        self.identity = identity
        self.problems: list[str] = []
        self._opened = opened
        self._notes = notes
        self._memory = MemoryFacade(opened.store, opened.agent.policy)
        self._loaded = self._was_loaded = False
        self._held: list[transcripts.HeldMessage] = []
        # the place behind the last turn that is stored
        self._kept = 0
        self._prompted: deque[_Prompted] = deque(maxlen=_LOOKED_BACK)
        self._latest: deque[tuple[int, AnyMessage]] = deque(maxlen=_SHOWN_BEFORE)
        self._used: Sequence[str] = ()
        self._visible_from = 0
        self._offset: int | None = None
        self._read_at = 0
        # an answer that a hook has told and the transcript has not
        self._told_key = ""
        self._used_tools = False
        # told by hooks, and not yet seen in the transcript, which may lag behind
        self._ahead: Counter[str] = Counter()

    def begun(self) -> None:
        """Mark the session as new: its whole transcript is to be stored."""
        if self._offset is None:
            self._offset = 0

    def compacted(self) -> None:
        """Mark the messages so far as out of the coding agent's context, so that they may be recalled."""
        self._visible_from = self._next

    async def prompt(self, text: str, prompt_id: str, told: transcripts.ToldEvent) -> str:
        """Store a prompt, and return the memories for it; `prompt_id` is the coding agent's, or empty."""
        # a book may be pasted into it
        said, key = await asyncio.to_thread(lambda: (one := transcripts.own_words(storable(text)), words_key(one)))
        if not said or self._is_late(told):
            return ""
        await self._load()
        again = self._is_again(key, prompt_id, told)
        message = HumanMessage(said, id=placed_name(self._next, "user", key))
        turn = self._turn()
        frame = Frame([message], self._policy, Window.of(self._policy.context.window, None))
        since = self._last
        recalled = await turn.begin(
            lambda who: frame.query(who, self._opened.agent.agent_id),
            () if again else placed_thread(self._next, self._latest, [message]),
            since,
        )
        if recalled.stored:
            self._prompted.append(_Prompted(self._next, key, prompt_id, told.at))
            self._note([message])
            self._ahead[key] += 1
        elif not again:
            # it may have been stored all the same, and is looked for in the transcript
            self._loaded = False
        unseen = [item for item in recalled.results if not self._is_seen(item)]
        shown = Recalled(MemoryResults(unseen, recalled.results.missing), recalled.read, stored=False)
        tokens = self._policy.context.memory_tokens
        while True:
            context = self._policy.context.model_copy(update={"memory_tokens": tokens})
            policy = self._policy.model_copy(update={"context": context})
            assembled = await turn.assemble(Frame(frame.thread, policy, frame.window), shown)
            self._used = assembled.layout.get("used") or ()
            found = await asyncio.to_thread(transcripts.prompt_context, assembled)
            if found is not None or tokens <= transcripts.LEAST_TOKENS:
                return found or ""
            tokens = max(tokens * 2 // 3, transcripts.LEAST_TOKENS)

    async def stop(self, answer: str, transcript: str, told: transcripts.ToldEvent) -> None:
        """Store an answer, if there is one, and the rest of the session; else NotKeptError."""
        if self._is_late(told):
            return
        await self._load(anew=True)
        turns, end, is_read = await self._untold(transcript, told)
        if self._kept and all(one.place >= self._kept for one in self._held):
            # all of the session was forgotten: earlier turns that could not be stored must not come back
            del turns[:-1]
        last = turns.pop() if turns else transcripts.SaidTurn(used_tools=True)
        goes_on = last.used_tools and not (last.answer or answer) if is_read else self._used_tools and not answer
        state, before = (self._ahead.copy(), self._told_key), len(self._held)
        if is_read:
            self._told_key = ""
        try:
            for turn in turns:
                await self._keep_turn(turn)
            await self._keep_turn(last, storable(answer).strip(), told.at, before)
        except Exception:
            # it is all read again
            self._ahead, self._told_key = state
            self._ahead.update(one.key for one in self._held[before:])
            raise
        self._kept = self._next
        if end is not None:
            if self._offset is None:
                # much earlier messages are not looked for any more
                self._ahead &= Counter(one.key for one in self._held[-_LOOKED_BACK:])
            self._offset = end
        self._used_tools = goes_on
        if is_read:
            self._read_at = max(self._read_at, told.at)
            if end is not None and (answer or last.answer):
                await asyncio.to_thread(pay, self._notes, self.identity.user_id, self.identity.session_id, end)

    def _is_late(self, told: transcripts.ToldEvent) -> bool:
        return 0 < told.at < self._read_at

    @property
    def _policy(self) -> Any:
        return self._opened.agent.policy

    @property
    def _next(self) -> int:
        return self._held[-1].place + 1 if self._held else 0

    @property
    def _last(self) -> str | None:
        return placed_name(*self._held[-1]) if self._held else None

    def _turn(self) -> TurnMemory:
        config = {"configurable": {"thread_id": self.identity.session_id}}
        runtime: Runtime[Any] = Runtime(store=self._opened.store)
        return TurnMemory(self._opened.agent, runtime, config, self._heard, self.identity)  # type: ignore[arg-type]

    def _heard(self, event: dict[str, Any]) -> None:
        if event.get("status") == "degraded" and event.get("message"):
            self.problems.append(str(event["message"]))

    async def _load(self, *, anew: bool = False) -> None:
        if self._loaded and not anew:
            return
        who = self.identity
        agent_id = self._opened.agent.agent_id
        told = await self._memory.dialog.get_context(who.user_id, who.session_id, _EVERY, agent_id=agent_id)
        known = self._next if self._was_loaded else self._offset
        # a session of months takes a while
        self._held = await asyncio.to_thread(transcripts.held_of, told.messages)
        self._latest = deque(maxlen=_SHOWN_BEFORE)
        for message, one in [*zip(told.messages, self._held, strict=True)][-_SHOWN_BEFORE:]:
            kind = HumanMessage if one.role == "user" else AIMessage
            self._latest.append((one.place, kind(whole_text(vars(message)), id=placed_name(*one))))
        if known is not None:
            # stored after an apparent failure, or before the session began once more
            self._ahead.update(one.key for one in self._held if one.place >= known)
        self._loaded = self._was_loaded = True

    async def _untold(
        self, transcript: str, told: transcripts.ToldEvent
    ) -> tuple[list[transcripts.SaidTurn], int | None, bool]:
        """Return the turns of the transcript that memory may lack, the end of the reading, and true for any turn."""
        if not transcript:
            return [], None, False
        offset, used = self._offset, self._used_tools
        turns, end = await asyncio.to_thread(
            transcripts.read_turns, transcript, offset, told.transcript_bytes, used_tools=used
        )
        is_read = bool(turns)
        if offset is not None:
            # an answer that was written late, of the turn that was stored before
            late = bool(turns and self._told_key) and not turns[0].said
            if late and (len(turns) > 1 or words_key(turns[0].answer) == self._told_key):
                self._taken(self._told_key)
                turns = turns[1:]
            return turns, end, is_read
        if end is None:
            return [], None, False
        # of a session that went on before
        who = self.identity
        owed = await asyncio.to_thread(owed_from, self._notes, who.user_id, who.session_id)
        left, self._ahead = await asyncio.to_thread(transcripts.untold, turns, [*self._held], owed)
        if left and (forgotten := await self._forgotten()):
            left = await asyncio.to_thread(self._without, left, forgotten, self._next + 2 * len(turns))
        return left, end, is_read

    async def _forgotten(self) -> frozenset[str]:
        who = self.identity
        query = MemoryQuery(
            user_id=who.user_id,
            session_id=who.session_id,
            agent_id=self._opened.agent.agent_id,
            scopes=[MemoryScope.DIALOG],
            extra={"turns": 0},
        )
        return (await self._memory.read(query)).forgotten

    def _without(
        self, turns: Sequence[transcripts.SaidTurn], forgotten: frozenset[str], places: int
    ) -> list[transcripts.SaidTurn]:
        """Return turns without forgotten messages, at any of the session's first `places` places."""
        session = self.identity.session_id

        def is_forgotten(role: ToldRole, text: str) -> bool:
            key = words_key(text)
            return any(MESSAGE.id(session, placed_name(place, role, key)) in forgotten for place in range(places))

        kept = [turn for turn in turns if not (turn.said and is_forgotten("user", turn.said))]
        gone = {turn.answer for turn in kept if turn.answer and is_forgotten("assistant", turn.answer)}
        return [replace(turn, answer="") if turn.answer in gone else turn for turn in kept]

    def _is_again(self, key: str, prompt_id: str, told: transcripts.ToldEvent) -> bool:
        """Return true if a prompt is stored already: by its id, or as the one that waits for its answer."""
        if prompt_id and any((one.key, one.prompt_id) == (key, prompt_id) for one in self._prompted):
            return True
        later = next((one for one in self._prompted if one.at > told.at > 0), None)
        if later is not None and later.key == key and not (prompt_id and later.prompt_id):
            # of the two hooks of one prompt the later was the faster
            return True
        turn = self._latest_turn(told.at, len(self._held))
        if not turn or turn[0].key != key or any(one.role != "user" for one in turn):
            return False
        # the transcript tells no id
        ids = {one.place: one.prompt_id for one in self._prompted}
        return not (prompt_id and ids.get(turn[0].place))

    def _is_seen(self, item: MemoryResultItem) -> bool:
        if item.scope is not MemoryScope.DIALOG or item.payload.get("session_id") != self.identity.session_id:
            return False
        place = item.payload.get("turn")
        return not isinstance(place, int) or place >= self._visible_from

    async def _keep_turn(self, turn: transcripts.SaidTurn, answered: str = "", at: int = 0, before: int = 0) -> None:
        """Store the new messages of a turn; the answer by a hook takes precedence, since the transcript may lag behind.

        `at` is the time of the hook, and `before` the number of stored messages at that time.
        """
        new: list[AnyMessage] = []
        if turn.said and not self._taken(key := words_key(turn.said)):
            new.append(HumanMessage(turn.said, id=placed_name(self._next, "user", key), **_said_at(turn.said_at)))
        answer, key = answered or turn.answer, words_key(answered or turn.answer)
        is_new = bool(new or self._held) and not (turn.answer and self._taken(words_key(turn.answer)))
        if answered and words_key(turn.answer) != key:
            # the transcript has none yet, or puts it in another way
            answers = [one.key for one in self._latest_turn(at, before) if one.role == "assistant"]
            is_new = bool(new) or (bool(self._held) and key not in answers)
            if is_new:
                self._ahead[key] += 1
                self._told_key = key
        if answer and is_new:
            written = _said_at("" if answered else turn.answered_at)
            new.append(AIMessage(answer, id=placed_name(self._next + len(new), "assistant", key), **written))
        if new:
            await self._keep(new, [Origin.TOOL] if turn.used_tools else [])

    async def _keep(self, new: Sequence[AnyMessage], heard: Sequence[Origin]) -> None:
        """Store an answer, a prompt, or both; `heard` has the origins of the answer's sources."""
        thread, since = placed_thread(self._next, self._latest, new), self._last
        ends = isinstance(new[-1], AIMessage)
        used, self._used = self._used, ()
        memory = self._turn()
        turns = memory.turns
        if turns is not None and ends:
            stored = await memory.end(turns, turns.close(thread, since, used=used, heard=heard))
        else:
            stored = turns is not None and await memory.end(turns, turns.open(thread, since))
        if not stored:
            self._loaded = False
            raise NotKeptError("something of the session is not stored yet; it is tried again at its next turn")
        self._note(new)

    def _taken(self, key: str) -> bool:
        """Return true, once, for a message of the transcript that a hook has reported already."""
        if not self._ahead[key]:
            return False
        self._ahead[key] -= 1
        return True

    def _latest_turn(self, at: int, before: int) -> Sequence[transcripts.HeldMessage]:
        """Return the user's latest message until a time (0: now) with all that follows, within `before` messages."""
        later = {one.place for one in self._prompted if 0 < at < one.at}
        held = self._held[:before]
        asked = (n for n in range(len(held) - 1, -1, -1) if held[n].role == "user" and held[n].place not in later)
        return held[next(asked, 0) :]

    def _note(self, new: Sequence[AnyMessage]) -> None:
        for message in new:
            place, role, key = str(message.id).split("-")
            held = transcripts.HeldMessage(int(place), "user" if role == "user" else "assistant", key)
            self._held.append(held)
            self._latest.append((held.place, message))


def _said_at(at: str) -> dict[str, Any]:
    return {"additional_kwargs": {_SAID_AT: at}} if at else {}


# Events of coding agents: messages to store, and the context to return.


@dataclass
class _Running:
    session: CodingSession
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # by their times, then by their numbers
    waiting: list[tuple[int, int, Mapping[str, str], transcripts.ToldEvent, asyncio.Future[tuple[str, str]]]] = field(
        default_factory=list
    )


class HookEvents:
    """Handler of the events of all sessions on one memory; `notes` is the folder with the notes of owed sessions."""

    def __init__(self, opened: OpenAgentMemory, notes: str) -> None:
        self._opened = opened
        self._notes = notes
        self._memory = MemoryFacade(opened.store, opened.agent.policy)
        self._numbers = count()
        self._sessions: dict[tuple[str, str], _Running] = {}

    async def answer(self, user_id: str, event: Mapping[str, Any], told: transcripts.ToldEvent) -> tuple[str, str]:
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

    async def _answer(self, session: CodingSession, fields: Mapping[str, str], told: transcripts.ToldEvent) -> str:
        transcript, who = fields.get("transcript_path", ""), session.identity
        match fields["hook_event_name"]:
            case "SessionStart":
                goes_on = fields.get("source") in ("resume", "compact")
                if not goes_on and fields.get("source") != "fork":
                    session.begun()
                return await transcripts.session_context(self._memory, who.user_id, who.session_id, goes_on=goes_on)
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
        return self._sessions[place]
