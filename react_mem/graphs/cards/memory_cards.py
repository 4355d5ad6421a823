"""Cards beside an answer in a chat: the memories in its prompt, and the memories stored from the turn.

They are `ui` messages of LangGraph, which `cards.tsx` draws. Their content is data, cut to a length that a chat can
show; the chat's component shows it as text. A card that cannot be made is left out, and costs the turn nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph.ui import AnyUIMessage, push_ui_message, ui_message_reducer

from react_mem.memory import MemoryResultItem, telemetry
from react_mem.memory.turns import cause_of

RECALLED, REMEMBERED = "recalled", "remembered"
"""Names of the components in `cards.tsx`."""

MOST_MEMORIES = 8  # maximum number of memories on a card; it says how many more there were
MOST_CHARS = 300
MOST_CARDS = 100  # maximum number of cards in a thread, the latest: each step of a run writes all of them
API_URL_ENV = "LANGGRAPH_API_URL"  # variable with the address of the server, as `langgraph dev` sets it
log = logging.getLogger(__name__)


def latest_cards(cards: list[AnyUIMessage], pushed: Any) -> list[AnyUIMessage]:
    """Fold pushed cards into the cards of a thread, which keeps the latest.

    A card replaces the one of its id, or updates the properties with `merge`.
    """
    return ui_message_reducer(cards, pushed)[-MOST_CARDS:]


Cards = Annotated[list[AnyUIMessage], latest_cards]


def recalled_memories(items: Iterable[MemoryResultItem]) -> dict[str, Any] | None:
    """Return memories (the most important first) for a card, each text once; None where there are none.

    A date is of the message or of the first belief, in ISO 8601, or empty; `more` is the number of those left out.
    """
    shown: dict[str, dict[str, str]] = {}
    with _left_out_if_it_fails():
        for item in items:
            text = _cut(str(item.payload.get("text") or ""))
            if text:
                date = item.created_at.isoformat() if item.created_at else ""
                origin = str(item.payload.get("origin") or "")
                shown.setdefault(text, {"text": text, "scope": str(item.scope), "origin": origin, "date": date})
    memories = list(shown.values())
    if not memories:
        return None
    return {"memories": memories[:MOST_MEMORIES], "more": len(memories[MOST_MEMORIES:])}


class TurnCards:
    """Cards of one turn, pushed to the run's stream and state; `drawn` if facts are extracted from it, now or later."""

    def __init__(self, thread: Sequence[AnyMessage], *, drawn: bool) -> None:
        last = thread[-1]
        self._answer = last if isinstance(last, AIMessage) and last.id else None
        self._drawn = drawn

    def show_recalled(self, recalled: dict[str, Any] | None) -> None:
        """Show the memories in the prompt of the answer, if any."""
        if recalled is not None:
            self._push(RECALLED, {**recalled, "page": _page()})

    def show_kept(self) -> None:
        """Show that the turn is stored word for word, before anything is extracted from it."""
        self._push(
            REMEMBERED, {"state": "reading" if self._drawn else "kept", "stored": [], "retired": [], "page": _page()}
        )

    def telling(self, tell: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
        """Return a listener to memory events: it passes them on to `tell`, and shows the facts extracted at once."""

        def told(event: dict[str, Any]) -> None:
            tell(event)
            if event.get("operation") == "extract" and not event.get("waiting") and "stored" in event:
                names = ("stored", "retired")
                texts = {name: [_cut(str(text)) for text in event[name][:MOST_MEMORIES]] for name in names}
                self._push(REMEMBERED, {"state": "read", **texts}, merge=True)

        return told

    def _push(self, name: str, props: dict[str, Any], *, merge: bool = False) -> None:
        if self._answer is None:
            return
        with _left_out_if_it_fails():
            push_ui_message(name, props, id=f"{name}-{self._answer.id}", message=self._answer, merge=merge)


def _cut(text: str) -> str:
    """Return a text on one line of limited length."""
    line = " ".join(text[: 4 * MOST_CHARS].split())
    return line if len(line) <= MOST_CHARS and len(text) <= 4 * MOST_CHARS else f"{line[: MOST_CHARS - 1]}…"


def _page() -> str:
    """Return the address of the memory page; empty where the server's address is unknown."""
    server = os.environ.get(API_URL_ENV, "").rstrip("/")
    return f"{server}/memory/ui#/memories" if server.startswith(("http://", "https://")) else ""


@contextmanager
def _left_out_if_it_fails() -> Any:
    try:
        yield
    except Exception as error:
        # without what it says: that may be content
        log.warning("a card of memory is left out: %s", cause_of(error))
        telemetry.count("degradations", part="cards")
