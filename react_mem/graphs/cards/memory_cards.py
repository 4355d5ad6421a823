"""Cards that stand with an answer in a chat: what memory brought to it, and what was kept of the turn.

They are `ui` messages of LangGraph, which `cards.tsx` draws. What is in them is data, cut to a length that a chat can
show; the chat's component shows it as text. A card that cannot be made is left out, and costs the turn nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph.ui import AnyUIMessage, push_ui_message, ui_message_reducer
from typing_extensions import TypedDict

from react_mem.memory import MemoryResultItem, telemetry
from react_mem.memory.turns import cause_of

RECALLED, REMEMBERED = "recalled", "remembered"
"""Names of the components in `cards.tsx`."""

MOST_MEMORIES = 8
"""Memories on a card; it says how many more there were."""

MOST_CHARS = 300
"""Characters of a text on a card."""

MOST_CARDS = 100
"""Cards that a thread keeps, the latest: each step of a run writes all of them."""

API_URL_ENV = "LANGGRAPH_API_URL"
"""Variable in which a server says where it listens, as `langgraph dev` does."""

log = logging.getLogger(__name__)


def latest_cards(cards: list[AnyUIMessage], pushed: Any) -> list[AnyUIMessage]:
    """Fold what was pushed into the cards of a thread, which keeps the latest.

    Args:
        cards: The cards so far.
        pushed: Cards: one of an id that is there takes its place, or its properties where it says `merge`.
    """
    return ui_message_reducer(cards, pushed)[-MOST_CARDS:]


Cards = Annotated[list[AnyUIMessage], latest_cards]


class RecalledMemory(TypedDict):
    """A memory as a card shows it.

    Args:
        text: What it says.
        scope: Where it came from.
        origin: Who vouches for it.
        date: When it was said or first believed, in ISO 8601; empty where it has no date.
    """

    text: str
    scope: str
    origin: str
    date: str


class RecalledMemories(TypedDict):
    """Memories that stood in the prompt of a turn.

    Args:
        memories: The first of them.
        more: How many others there were.
    """

    memories: list[RecalledMemory]
    more: int


def recalled_memories(items: Iterable[MemoryResultItem]) -> RecalledMemories | None:
    """Return memories as a card shows them, each text once; None where there are none.

    Args:
        items: The memories, the most important first.
    """
    shown: dict[str, RecalledMemory] = {}
    with _left_out_if_it_fails():
        for item in items:
            text = _cut(str(item.payload.get("text") or ""))
            if text:
                date = item.created_at.isoformat() if item.created_at else ""
                origin = str(item.payload.get("origin") or "")
                shown.setdefault(text, RecalledMemory(text=text, scope=str(item.scope), origin=origin, date=date))
    memories = list(shown.values())
    if not memories:
        return None
    return RecalledMemories(memories=memories[:MOST_MEMORIES], more=len(memories[MOST_MEMORIES:]))


class TurnCards:
    """Cards of one turn, pushed to the run's stream and state.

    Args:
        thread: The messages of the thread, the answer last.
        drawn: Whether facts are drawn from what is said, behind the turn or in it.
    """

    def __init__(self, thread: Sequence[AnyMessage], *, drawn: bool) -> None:
        last = thread[-1]
        self._answer = last if isinstance(last, AIMessage) and last.id else None
        self._drawn = drawn

    def show_recalled(self, recalled: RecalledMemories | None) -> None:
        """Show what memory brought to the answer; nothing where it brought nothing."""
        if recalled is not None:
            self._push(RECALLED, {**recalled, "page": _page()})

    def show_kept(self) -> None:
        """Show that the turn is kept, word for word: no more is known of it yet."""
        self._push(
            REMEMBERED, {"state": "reading" if self._drawn else "kept", "stored": [], "retired": [], "page": _page()}
        )

    def telling(self, tell: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
        """Return what takes the events of memory, and completes the card where they say what was drawn at once.

        Args:
            tell: Takes the events too.
        """

        def told(event: dict[str, Any]) -> None:
            tell(event)
            if event.get("operation") == "extract" and not event.get("waiting") and "stored" in event:
                self._show_drawn(event)

        return told

    def _show_drawn(self, event: Mapping[str, Any]) -> None:
        texts = {name: [_cut(str(text)) for text in event[name]] for name in ("stored", "retired")}
        cut = {name: some[:MOST_MEMORIES] for name, some in texts.items()}
        self._push(REMEMBERED, {"state": "read", **cut}, merge=True)

    def _push(self, name: str, props: dict[str, Any], *, merge: bool = False) -> None:
        if self._answer is None:
            return
        with _left_out_if_it_fails():
            push_ui_message(name, props, id=f"{name}-{self._answer.id}", message=self._answer, merge=merge)


def _cut(text: str) -> str:
    """Return a text on one line, as it is but for its length."""
    line = " ".join(text[: 4 * MOST_CHARS].split())
    return line if len(line) <= MOST_CHARS and len(text) <= 4 * MOST_CHARS else f"{line[: MOST_CHARS - 1]}…"


def _page() -> str:
    """Return where the page of memory is; empty where the server does not say where it listens."""
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
