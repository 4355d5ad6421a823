"""A session of a coding agent in memory: what is said in it is stored once, whichever hook tells it, and in order.

A message is named by its place in the session, who says it and a hash of its words. So what memory has of a session
tells all that has to be known of it: what a hook brings that is there already, and on what the next message follows.
What was forgotten since does not come back: the transcript of a session is read from where it was read last.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from react_mem.agents.coding_hooks.hook_context import prompt_context
from react_mem.agents.coding_hooks.hook_memory import HookMemory
from react_mem.agents.coding_hooks.transcripts import SaidTurn, own_words, read_turns
from react_mem.memory import MemoryFacade, MemoryQuery, MemoryResultItem, MemoryResults, MemoryScope, Message
from react_mem.memory.context import Assembled, Frame, Window, whole_text
from react_mem.memory.runtime import (
    MESSAGE,
    Identity,
    Origin,
    Recalled,
    ToldRole,
    TurnMemory,
    placed_name,
    placed_thread,
    storable,
    words_key,
)

_EVERY = 1_000_000
"""Turns of a session: all of them."""

_SHOWN_BEFORE = 4
"""Messages before a turn that are handed on with it: a "yes" is understood by what it answers."""

_SAID_AT = "said_at"

log = logging.getLogger(__name__)


class NotKeptError(Exception):
    """Reason why something of a session is not stored, for whoever reads the log; it is tried again."""


@dataclass(frozen=True)
class _HeldMessage:
    """A message that memory has."""

    place: int
    role: ToldRole
    key: str


class CodingSession:
    """One session of one user.

    Args:
        opened: The memory.
        identity: The user and the session.
    """

    def __init__(self, opened: HookMemory, identity: Identity) -> None:
        self.identity = identity
        self.problems: list[str] = []
        self._opened = opened
        self._memory = MemoryFacade(opened.store, opened.agent.policy)
        self._loaded = False
        self._held: list[_HeldMessage] = []
        self._latest: deque[tuple[int, AnyMessage]] = deque(maxlen=_SHOWN_BEFORE)
        self._used: Sequence[str] = ()
        self._asked: tuple[str, str] = ("", "")
        self._visible_from = 0
        self._offset: int | None = None
        # told by hooks, and not yet seen in the transcript, which may lag behind
        self._ahead: Counter[str] = Counter()

    def begun(self) -> None:
        """Note that the session begins: all of its transcript is to be stored."""
        if self._offset is None:
            self._offset = 0

    def compacted(self) -> None:
        """Note that the coding agent does not see any more what was said so far, so that it may be recalled."""
        self._visible_from = self._next

    async def prompt(self, text: str, prompt_id: str) -> str:
        """Make a prompt durable, and return what is remembered for it.

        Args:
            text: The prompt.
            prompt_id: What the coding agent calls it; empty where it does not.
        """
        # a book may be pasted into it
        said, key = await asyncio.to_thread(lambda: (one := own_words(storable(text)), words_key(one)))
        if not said:
            return ""
        await self._load()
        again = self._is_open(key) and (not prompt_id or (key, prompt_id) == self._asked)
        self._asked = (key, prompt_id)
        message = HumanMessage(said, id=placed_name(self._next, "user", key))
        turn = self._turn()
        frame = Frame([message], self._policy, Window.of(self._policy.context.window, None))
        since = self._last
        recalled = await turn.begin(
            lambda who: frame.query(who, self._opened.agent.agent_id),
            () if again else self._thread([message]),
            since,
        )
        if recalled.stored:
            self._note([message])
            self._ahead[key] += 1
        elif not again:
            # it may have been stored all the same, and is looked for in the transcript
            self._loaded = False
        results = MemoryResults(
            [item for item in recalled.results if not self._is_seen(item)], recalled.results.missing
        )
        shown = Recalled(results, recalled.read, stored=False)

        async def assembling(tokens: int) -> Assembled:
            context = self._policy.context.model_copy(update={"memory_tokens": tokens})
            policy = self._policy.model_copy(update={"context": context})
            return await turn.assemble(Frame(frame.thread, policy, frame.window), shown)

        found, assembled = await prompt_context(assembling, self._policy.context.memory_tokens)
        self._used = assembled.layout.get("used") or ()
        return found

    async def stop(self, answer: str, transcript: str) -> None:
        """Store the answer that ends a turn, and what of the session is not stored yet.

        Args:
            answer: The answer; empty where the coding agent does not tell it.
            transcript: The path of the transcript; empty where there is none.

        Raises:
            NotKeptError: If something could not be stored.
        """
        await self._load(anew=True)
        turns, end = await self._untold(transcript)
        last = turns.pop() if turns else SaidTurn(used_tools=True)
        for turn in turns:
            await self._keep_turn(turn)
        await self._keep_turn(last, storable(answer).strip())
        if end is not None:
            if self._offset is None:
                # what was said before is not looked for any more
                self._ahead = Counter(one.key for one in self._latest_turn())
                self._ahead -= Counter([words_key(last.said), words_key(last.answer)])
            self._offset = end

    @property
    def _policy(self) -> Any:
        return self._opened.agent.policy

    @property
    def _next(self) -> int:
        """The place of the next message."""
        return self._held[-1].place + 1 if self._held else 0

    @property
    def _last(self) -> str | None:
        """The id of the last message that memory has."""
        if not self._held:
            return None
        last = self._held[-1]
        return placed_name(last.place, last.role, last.key)

    def _turn(self) -> TurnMemory:
        config = {"configurable": {"thread_id": self.identity.session_id}}
        runtime: Runtime[Any] = Runtime(store=self._opened.store)
        return TurnMemory(self._opened.agent, runtime, config, self._heard, self.identity)  # type: ignore[arg-type]

    def _heard(self, event: dict[str, Any]) -> None:
        if event.get("status") == "degraded" and event.get("message"):
            self.problems.append(str(event["message"]))

    async def _load(self, *, anew: bool = False) -> None:
        """Read what memory has of the session."""
        if self._loaded and not anew:
            return
        who = self.identity
        told = await self._memory.dialog.get_context(
            who.user_id, who.session_id, _EVERY, agent_id=self._opened.agent.agent_id
        )
        known = self._next if self._held else None
        # a session of months takes a while
        self._held = await asyncio.to_thread(_held_of, told.messages)
        self._latest = deque(maxlen=_SHOWN_BEFORE)
        for message, one in [*zip(told.messages, self._held, strict=True)][-_SHOWN_BEFORE:]:
            kind = HumanMessage if one.role == "user" else AIMessage
            id_ = placed_name(one.place, one.role, one.key)
            self._latest.append((one.place, kind(whole_text(vars(message)), id=id_)))
        if known is not None:
            # stored after all, though whoever stored it was not told so
            self._ahead.update(one.key for one in self._held if one.place >= known)
        self._loaded = True

    async def _untold(self, transcript: str) -> tuple[list[SaidTurn], int | None]:
        """Return the turns of the transcript that may not be stored, and up to where it was read; None for nowhere."""
        if not transcript:
            return [], None
        offset = self._offset
        turns, end = await asyncio.to_thread(read_turns, transcript, offset)
        if offset is not None:
            # an answer that was written late, of the turn that was stored before
            late = len(turns) > 1 and not turns[0].said
            return turns[1:] if late else turns, end
        if end is None:
            return [], None
        # of a session that went on before: back to the last turn that was stored to its end
        answers = {one.key for one in self._held if one.role == "assistant"}
        first = next((n for n in range(len(turns) - 2, -1, -1) if words_key(turns[n].answer) in answers), None)
        # where nothing tells whether what was said before is to be stored, it may have been forgotten
        turns = turns[-1:] if first is None else turns[first + 1 :]
        self._ahead = Counter(one.key for one in self._held)
        forgotten = await self._forgotten()
        return [turn for turn in turns if not self._was_said(turn, forgotten)] if forgotten else turns, end

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

    def _was_said(self, turn: SaidTurn, forgotten: frozenset[str]) -> bool:
        key, session = words_key(turn.said), self.identity.session_id
        places = range(self._next + 1)
        return any(MESSAGE.id(session, placed_name(place, "user", key)) in forgotten for place in places)

    def _is_open(self, key: str) -> bool:
        """Return whether a prompt is the one that waits for its answer."""
        return bool(self._held) and (self._held[-1].role, self._held[-1].key) == ("user", key)

    def _is_seen(self, item: MemoryResultItem) -> bool:
        """Return whether the coding agent has it in its own conversation."""
        if item.scope is not MemoryScope.DIALOG or item.payload.get("session_id") != self.identity.session_id:
            return False
        place = item.payload.get("turn")
        return not isinstance(place, int) or place >= self._visible_from

    async def _keep_turn(self, turn: SaidTurn, told: str = "") -> None:
        """Store what is new of a turn.

        Args:
            turn: The turn, as the transcript has it.
            told: Its answer as a hook tells it, which counts more: the transcript may lag behind.
        """
        new: list[AnyMessage] = []
        if turn.said and not self._taken(key := words_key(turn.said)):
            new.append(HumanMessage(turn.said, id=placed_name(self._next, "user", key), **_said_at(turn.said_at)))
        answer, key = told or turn.answer, words_key(told or turn.answer)
        taken = self._taken(words_key(turn.answer)) if turn.answer else False
        is_new = bool(new) or (bool(self._held) and not self._is_answered(key) and (bool(told) or not taken))
        if answer and is_new:
            at = _said_at("" if told else turn.answered_at)
            new.append(AIMessage(answer, id=placed_name(self._next + len(new), "assistant", key), **at))
            if told and words_key(turn.answer) != key:
                self._ahead[key] += 1
        if new:
            await self._keep(new, [Origin.TOOL] if turn.used_tools else [])

    async def _keep(self, new: Sequence[AnyMessage], heard: Sequence[Origin]) -> None:
        """Store new messages.

        Args:
            new: The messages: an answer, what the user said, or both.
            heard: Where that comes from which the answer was made of.
        """
        thread, since = self._thread(new), self._last
        ends = isinstance(new[-1], AIMessage)
        used, self._used = self._used, ()
        stored = await self._turn().end(
            lambda turns: turns.close(thread, since, used=used, heard=heard) if ends else turns.open(thread, since)
        )
        if not stored:
            self._loaded = False
            raise NotKeptError("something of the session is not stored yet; it is tried again at its next turn")
        self._note(new)

    def _taken(self, key: str) -> bool:
        """Return whether a hook has told what the transcript shows, which then counts as shown."""
        if not self._ahead[key]:
            return False
        self._ahead[key] -= 1
        return True

    def _is_answered(self, key: str) -> bool:
        """Return whether an answer is there already, since the user last said something."""
        return key in [one.key for one in self._latest_turn() if one.role == "assistant"]

    def _latest_turn(self) -> Sequence[_HeldMessage]:
        """Return the latest thing that the user said, with what follows."""
        asked = next((n for n in range(len(self._held) - 1, -1, -1) if self._held[n].role == "user"), 0)
        return self._held[asked:]

    def _thread(self, new: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return new messages behind the latest ones, each at its place in the conversation."""
        return placed_thread(self._next, self._latest, new)

    def _note(self, new: Sequence[AnyMessage]) -> None:
        for message in new:
            place, role, key = str(message.id).split("-")
            held = _HeldMessage(int(place), "user" if role == "user" else "assistant", key)
            self._held.append(held)
            self._latest.append((held.place, message))


def _held_of(messages: Sequence[Message]) -> list[_HeldMessage]:
    """Return messages of a session, in their order, without their words."""
    return [
        _HeldMessage(one.turn, "user" if one.role == "user" else "assistant", words_key(whole_text(vars(one))))
        for one in messages
    ]


def _said_at(at: str) -> dict[str, Any]:
    return {"additional_kwargs": {_SAID_AT: at}} if at else {}
