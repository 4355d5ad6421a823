"""Conversation up to a tool call, with the provenance of each text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from react_mem.memory.merging.transcript import identified, is_said, is_users, message_record_id, text_of
from react_mem.memory.model.external import OWN_TOOLS, origin_of_result
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.write.gate import shows_something

_TURNS = 3
"""Turns that are looked at, the current one included: what the user said a moment ago may be stored now."""

_PAGES = "<web_pages>"
"""Mark around the pages that were searched for the turn, in the prompt."""


@dataclass(frozen=True)
class Heard:
    """Texts of a conversation by provenance.

    Args:
        own: The user's messages, the latest last.
        ids: Their records.
        assistant: What the assistant said just before the latest of them.
        said: All that was said, by whomever.
        observed: What tools returned.
        tainted: Whether a tool's result, a page or a quotation was shown, which may have told the model what to do.
        origin: Who vouches for what is drawn from all of it.
    """

    own: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    assistant: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    tainted: bool = False
    origin: Origin = Origin.ASSISTANT

    @property
    def asked(self) -> str:
        """The user's message that the turn answers."""
        return self.own[-1] if self.own else ""

    @classmethod
    def of(cls, state: Any, session_id: str) -> Self:
        """Return what was said and shown in the latest turns of a conversation; not for an event loop.

        Args:
            state: The state of the agent, with the messages of the thread.
            session_id: The conversation.
        """
        thread: Sequence[BaseMessage] = identified(state.get("messages", ())) if isinstance(state, Mapping) else ()
        asked = [place for place, message in enumerate(thread) if is_users(message)]
        if not asked:
            return cls()
        latest = thread[asked[-_TURNS:][0] :]
        users = [message for message in latest if is_users(message)]
        before = next((m for m in reversed(thread[: asked[-1]]) if isinstance(m, AIMessage) and is_said(m)), None)
        results = [m for m in latest if _is_shown(m)]
        pages = _PAGES in str((state.get("layout") or {}).get("retrieved", ""))
        return cls(
            own=tuple(text_of(message) for message in users),
            ids=tuple(message_record_id(session_id, message) for message in users),
            assistant=(text_of(before),) if before is not None else (),
            said=tuple(text_of(message) for message in latest if is_said(message)),
            observed=tuple(message.text for message in results),
            tainted=pages
            or any(map(_is_shown, thread))
            or any(shows_something(text_of(m)) for m in thread if is_users(m)),
            origin=lowest(
                [Origin.ASSISTANT, *(origin_of_result(m.name or "") for m in results), *([Origin.WEB] if pages else [])]
            ),
        )


def _is_shown(message: BaseMessage) -> bool:
    """Return whether a message shows the model the words of others: a tool's result, or a text in the user's name."""
    if isinstance(message, ToolMessage):
        return message.name not in OWN_TOOLS
    return isinstance(message, HumanMessage) and not is_users(message)
