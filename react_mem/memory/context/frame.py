"""Frame of a turn's prompt: the window and its fixed parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from langchain_core.messages import AnyMessage

from react_mem.memory.context.dialogue import (
    ThreadTurn,
    Verbatim,
    current_start,
    earlier_turns,
    fit,
    is_instruction,
    squeezed,
    visible,
)
from react_mem.memory.language.cues import asks_about_the_past, asks_whole
from react_mem.memory.llm.budget import MESSAGE_TOKENS, Section, Window, count_tokens, message_tokens, sure
from react_mem.memory.merging.transcript import message_record_id, text_of
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.instructions import ASKS_STANDING
from react_mem.memory.retrieval.outline import ASKS_WHOLE

READ_SCOPES = (
    MemoryScope.PROFILE,
    MemoryScope.SEMANTIC,
    MemoryScope.EPISODIC,
    MemoryScope.PROCEDURAL,
    MemoryScope.DIALOG,
)
"""Scopes read before an answer."""

MIN_MESSAGE_TOKENS = 200
"""Minimum tokens of a message of the current turn: with less room, nothing helps."""

_STEPS_SHARE = 4
"""Divisor of the room for the steps of a turn: a quarter, since they come after everything else is decided."""


@dataclass(frozen=True)
class Frame:
    """Frame of a turn's prompt: the window and its fixed parts.

    Args:
        thread: The messages of the conversation, the question last.
        policy: The agent's memory policy.
        window: The model's context window.
        instructions: The system prompt.
        tool_tokens: Tokens of the tools' descriptions; 0 without tools, so that no room is kept for steps.
        times: True to show memories with their time of day, for a reader that goes by nothing else.
    """

    thread: Sequence[AnyMessage]
    policy: MemoryPolicy
    window: Window
    instructions: str = ""
    tool_tokens: int = 0
    times: bool = False

    def query(self, identity: Identity, agent_id: str) -> MemoryQuery:
        """Return the query of the turn, without the messages that the prompt shows in any case.

        Args:
            identity: The owner and the conversation.
            agent_id: The agent.
        """
        certain = self.certain(self.recent, self.profile_cap)
        question = text_of(self.thread[-1])
        return MemoryQuery(
            user_id=identity.user_id,
            session_id=identity.session_id,
            agent_id=agent_id,
            scopes=list(READ_SCOPES),
            query=question,
            extra={
                "seen": [
                    message_record_id(identity.session_id, self.thread[place])
                    for place in visible(self.thread, certain.first, certain.whole)
                ],
                "history": asks_about_the_past(question),
                ASKS_STANDING: True,
                **({ASKS_WHOLE: True} if asks_whole(question) else {}),
                # the thread has its own last turns
                "turns": 0,
            },
        )

    def certain(self, turns: Sequence[ThreadTurn], profile_tokens: int) -> Verbatim:
        """Return the part of the conversation that is shown however much is found."""
        return fit(turns, self.now, sure(self.room(profile_tokens), Section.CONVERSATION))

    def room(self, profile_tokens: int) -> int:
        """Return the tokens for retrieved memories and the earlier conversation."""
        question, _ = self.question
        if not self.window.known:
            # perhaps the window is larger than assumed, and then a long question must not cost all the rest
            question = min(question, self.available // 2)
        room = max(self.available - self.system_tokens - self.tool_tokens - profile_tokens - question, 0)
        steps = min(room // _STEPS_SHARE, self.policy.context.compress_above) if self.tool_tokens else 0
        return room - steps

    @cached_property
    def now(self) -> int:
        """The place in the thread at which the current turn begins."""
        return current_start(self.thread)

    @cached_property
    def recent(self) -> list[ThreadTurn]:
        """The earlier turns that the policy shows, the newest first."""
        return earlier_turns(self.thread, self.policy.context.dialog_turns, self.policy.context.message_chars)

    @cached_property
    def all_turns(self) -> list[ThreadTurn]:
        """All earlier turns, the newest first."""
        return earlier_turns(self.thread, None, self.policy.context.message_chars)

    @cached_property
    def available(self) -> int:
        """Tokens of the window without the answer."""
        return self.window.tokens - min(self.policy.context.answer_tokens, self.window.tokens // 2)

    @cached_property
    def system_tokens(self) -> int:
        """Tokens of the instructions, including the system messages in the thread."""
        own = count_tokens(self.instructions) + MESSAGE_TOKENS
        return own + sum(message_tokens(message) for message in self.thread if is_instruction(message))

    @property
    def profile_cap(self) -> int:
        """Budget of the profile: half of the memories' budget."""
        return self.policy.context.memory_tokens // 2

    @cached_property
    def question_cap(self) -> int | None:
        """Budget of a user message in this turn; None without a limit."""
        if not self.window.known:
            return None
        room = self.available - self.system_tokens - self.tool_tokens - self.profile_cap
        return max(room - room // _STEPS_SHARE, MIN_MESSAGE_TOKENS)

    @cached_property
    def question(self) -> tuple[int, int]:
        """Tokens of the current turn so far, and the characters of it that are left out."""
        tokens = cut = 0
        for message in self.thread[self.now :]:
            if is_instruction(message):
                continue
            shown = squeezed(message, self.question_cap)
            tokens += message_tokens(shown)
            cut += 0 if shown is message else len(text_of(message)) - len(text_of(shown))
        return tokens, cut
