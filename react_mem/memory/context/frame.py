"""Frame of a turn's prompt: the window, and what is in it whatever is found."""

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
"""Least tokens of a message of the current turn: where there is less room, nothing helps."""

_STEPS_SHARE = 4
"""A quarter of the room is kept for the steps of a turn: they come when everything else has been decided."""


@dataclass(frozen=True)
class Frame:
    """Frame of a turn's prompt: the window, and what is in it whatever is found.

    Args:
        thread: The messages of the conversation, the question last.
        policy: How much of what.
        window: What the model reads at once.
        instructions: The system prompt.
        tool_tokens: What the descriptions of the tools take; 0 without tools, so that no room is kept for steps.
        times: Whether memories are shown with their time of day, for a reader that goes by nothing else.
    """

    thread: Sequence[AnyMessage]
    policy: MemoryPolicy
    window: Window
    instructions: str = ""
    tool_tokens: int = 0
    times: bool = False

    def query(self, identity: Identity, agent_id: str) -> MemoryQuery:
        """Return what to ask memory for: what the prompt shows in any case is not asked for.

        Args:
            identity: Who asks, in which conversation.
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
        """Return the part of the conversation that is shown however much is found.

        Args:
            turns: The earlier turns.
            profile_tokens: What the profile takes.
        """
        return fit(turns, self.now, sure(self.room(profile_tokens), Section.CONVERSATION))

    def room(self, profile_tokens: int) -> int:
        """Return the tokens there are for what is found and for the earlier conversation.

        Args:
            profile_tokens: What the profile takes.
        """
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
        """The window without the answer."""
        return self.window.tokens - min(self.policy.context.answer_tokens, self.window.tokens // 2)

    @cached_property
    def system_tokens(self) -> int:
        """Return the tokens of the instructions, with those that the caller put into the thread."""
        own = count_tokens(self.instructions) + MESSAGE_TOKENS
        return own + sum(message_tokens(message) for message in self.thread if is_instruction(message))

    @property
    def profile_cap(self) -> int:
        """Return the budget of the profile: half of that of memories."""
        return self.policy.context.memory_tokens // 2

    @cached_property
    def question_cap(self) -> int | None:
        """Return the budget of a message of the user in this turn; None where no limit is known."""
        if not self.window.known:
            return None
        room = self.available - self.system_tokens - self.tool_tokens - self.profile_cap
        return max(room - room // _STEPS_SHARE, MIN_MESSAGE_TOKENS)

    @cached_property
    def question(self) -> tuple[int, int]:
        """Return the tokens of the current turn so far, and the characters of it that are left out."""
        tokens = cut = 0
        for message in self.thread[self.now :]:
            if is_instruction(message):
                continue
            shown = squeezed(message, self.question_cap)
            tokens += message_tokens(shown)
            cut += 0 if shown is message else len(text_of(message)) - len(text_of(shown))
        return tokens, cut
