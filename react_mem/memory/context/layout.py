"""Layout of a turn's prompt: the window, its fixed parts, and the prompt made from them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NotRequired, overload

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage
from typing_extensions import TypedDict

from react_mem.memory.context.dialogue import (
    MESSAGE_CHARS,
    ThreadTurn,
    Verbatim,
    bounded,
    current_start,
    earlier_turns,
    fit,
    is_instruction,
    is_step,
    squeezed,
    visible,
)
from react_mem.memory.language.statements import asks_about_the_past
from react_mem.memory.llm.budget import MESSAGE_TOKENS, Section, Window, count_tokens, message_tokens, sure
from react_mem.memory.merging.authors import is_users
from react_mem.memory.merging.transcript import message_record_id, text_of
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.results import ASKS_STANDING
from react_mem.prompts import load_prompt

# On Python < 3.12 typing.TypedDict yields null JSON schemas in the server.


_FORGOTTEN = load_prompt("forgotten_message")


class Layout(TypedDict):
    """Layout of a turn's prompt, for all its steps: they only add to its end.

    The beginning stays the same, byte for byte, so that provider caches hit.

    Args:
        retrieved: The text between the instructions and the conversation.
        first: The id of the first message that is shown; empty for the whole thread, as it is.
        whole: The id of the message from which on the agent's steps are shown as well.
        question_tokens: Maximum tokens of a user message in this turn; None for any number.
        result_tokens: Maximum tokens of a tool's result, and of the notes on older steps; None for any number.
        step_tokens: Maximum tokens of all steps of the turn together.
        offered: The ids of the skills in the prompt, or kept back from it for comparison.
        used: The ids of the memories in the prompt, as many as feedback goes to.
        kinds: Task kinds of these skills, with the tools of one of each.
        searched: True if the prompt shows pages of the web.
        snapshot: True if extraction makes a snapshot of the turn.
        forgotten: The ids of forgotten messages. The thread keeps them, and no model is to take them up again.
    """

    retrieved: str
    first: str
    whole: str
    question_tokens: int | None
    result_tokens: int | None
    step_tokens: int
    offered: NotRequired[list[str]]
    used: NotRequired[list[str]]
    kinds: NotRequired[dict[str, list[str]]]
    searched: NotRequired[bool]
    snapshot: NotRequired[bool]
    forgotten: NotRequired[list[str]]


def lay_out(
    thread: Sequence[AnyMessage], layout: Layout | None, instructions: str | SystemMessage
) -> list[BaseMessage]:
    """Return the prompt: instructions, retrieved text, and the shown part of the thread.

    Args:
        layout: Layout of this turn; None for the instructions and the whole thread.
        instructions: The system prompt; the retrieved text comes behind its content blocks, so that a mark for the
            provider's cache in one of them holds.
    """
    system = followed_by(instructions, layout["retrieved"] if layout else "")
    head: list[BaseMessage] = [system if isinstance(system, SystemMessage) else SystemMessage(system)] if system else []
    if layout is None:
        return [*head, *thread]
    thread = _without(thread, frozenset(layout.get("forgotten") or ()))
    now = current_start(thread)
    if not layout["first"]:
        return [*head, *thread[:now], *(_current(message, layout) for message in thread[now:])]
    ids = [message.id for message in thread[: now + 1]]
    # what was shown first may have been removed from the thread since: then all that is left of it is shown
    first, whole = (ids.index(id_) if id_ in ids else 0 for id_ in (layout["first"], layout["whole"]))
    before = current_start(thread[:now])
    for place in visible(thread, first, whole):
        message, media = thread[place], place >= before
        head.append(bounded(message, MESSAGE_CHARS, media=media) if place < now else _current(message, layout))
    return head


def _without(thread: Sequence[AnyMessage], forgotten: Collection[str]) -> Sequence[AnyMessage]:
    """Return a thread with forgotten messages of earlier turns blanked, and the steps of these turns left out."""
    if not forgotten:
        return thread
    now = current_start(thread)
    blank = {"content": _FORGOTTEN, "additional_kwargs": {}}
    shown: list[AnyMessage] = []
    turn: list[AnyMessage] = []
    for message in [*thread[:now], None]:
        if message is None or is_users(message):
            named = any(one.id in forgotten for one in turn)
            left = (one for one in turn if not (named and is_step(one)))
            shown += [one.model_copy(update=blank) if one.id in forgotten else one for one in left]
            turn = []
        if message is not None:
            turn.append(message)
    return [*shown, *thread[now:]]


@overload
def followed_by(instructions: str, text: str) -> str: ...


@overload
def followed_by(instructions: str | SystemMessage, text: str) -> str | SystemMessage: ...


def followed_by(instructions: str | SystemMessage, text: str) -> str | SystemMessage:
    """Return instructions with a text (empty for none) behind them; content blocks stay unchanged."""
    if isinstance(instructions, str):
        return "\n\n".join(filter(None, (instructions, text)))
    if not text:
        return instructions
    content = instructions.content
    if isinstance(content, str):
        return instructions.model_copy(update={"content": f"{content}\n\n{text}"})
    return instructions.model_copy(update={"content": [*content, {"type": "text", "text": f"\n\n{text}"}]})


def _current(message: AnyMessage, layout: Layout) -> BaseMessage:
    if isinstance(message, SystemMessage):
        return message
    return squeezed(message, layout["question_tokens" if is_users(message) else "result_tokens"])


# Calls of tools paired with their results in the prompt, whatever has become of the thread.

_STOPPED = load_prompt("stopped_call")
_NO_ID = ("", "None")
"""Placeholder for the id of a call that had none."""


def with_call_ids(answer: AIMessage) -> AIMessage:
    """Return an answer with an id for each of its tool calls, including the unreadable ones.

    A new id is derived from the message, so that the prompts of a turn stay the same, byte for byte.

    Args:
        answer: The answer of a model.

    >>> call = {"name": "look", "args": {}, "id": None, "type": "tool_call"}
    >>> named = with_call_ids(AIMessage("", tool_calls=[call, {**call, "id": "a"}, {**call, "id": "a"}], id="m"))
    >>> [call["id"] for call in named.tool_calls].index("a"), len({call["id"] for call in named.tool_calls})
    (1, 3)
    """
    taken: set[str] = set()
    fields: dict[str, list[Any]] = {"tool_calls": [], "invalid_tool_calls": []}
    for field, named in fields.items():
        for call in getattr(answer, field):
            id_ = call["id"]
            if not id_ or id_ in taken:
                id_ = f"call_{uuid.uuid5(uuid.NAMESPACE_OID, f'{answer.id}:{field}:{len(named)}').hex}"
            taken.add(id_)
            named.append({**call, "id": id_})
    changed = {field: named for field, named in fields.items() if named != getattr(answer, field)}
    return answer.model_copy(update=changed) if changed else answer


def paired_calls(prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return messages as every provider takes them: behind each answer one result for each of its calls, and no other.

    A run that was cancelled while a tool ran leaves calls without results; a thread that was trimmed has one without
    the other, or elsewhere. Providers refuse any of it, so that without this the conversation could never be continued.
    A result goes to its call; a missing one is replaced by a note that the call was stopped; one without its call is
    left out. Calls without an id get one, and so do their results. The rest of an answer, such as its thinking,
    stays with it.

    Args:
        prompt: The messages for the model.

    >>> from langchain_core.messages import HumanMessage
    >>> call = {"name": "fetch", "args": {}, "id": "1", "type": "tool_call"}
    >>> [m.type for m in paired_calls([ToolMessage("", tool_call_id="0"), AIMessage("", tool_calls=[call])])]
    ['ai', 'tool']
    """
    paired: list[BaseMessage] = []
    waiting: dict[str, int] = {}
    latest = 0
    for message in prompt:
        if isinstance(message, ToolMessage):
            id_ = message.tool_call_id
            if id_ in _NO_ID:
                id_ = next((call for call, place in waiting.items() if place > latest), id_)
            if (place := waiting.pop(id_, None)) is not None:
                same = id_ == message.tool_call_id
                paired[place] = message if same else message.model_copy(update={"tool_call_id": id_})
            continue
        if isinstance(message, AIMessage):
            message = with_call_ids(message)
            latest = len(paired)
        paired.append(message)
        if isinstance(message, AIMessage):
            for call in [*message.tool_calls, *message.invalid_tool_calls]:
                waiting[str(call["id"])] = len(paired)
                paired.append(ToolMessage(_STOPPED, tool_call_id=call["id"], name=call["name"], status="error"))
    return paired


# Frame of a turn's prompt: the window and its fixed parts.

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
        """Return the query of the turn, without the messages that the prompt shows in any case."""
        certain = self.certain(self.recent, self.profile_cap)
        question = text_of(self.thread[self.now])
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
        return earlier_turns(self.thread, self.policy.context.dialog_turns, MESSAGE_CHARS)

    @cached_property
    def all_turns(self) -> list[ThreadTurn]:
        """All earlier turns, the newest first."""
        return earlier_turns(self.thread, None, MESSAGE_CHARS)

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
