"""Web search before a turn's first answer, without what is private in the question.

A failing search never fails a turn: it goes on without, and an event says what is missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel
from langgraph.types import StreamWriter

from react_mem.graphs import events
from react_mem.memory import MemoryResultItem, MemoryScope, Profile, telemetry
from react_mem.memory.context import WebAnswer
from react_mem.memory.runtime import Turns, now
from react_mem.memory.turns import Recalled, cause_of

if TYPE_CHECKING:
    from react_mem.tools.web.search import WebSearch

log = logging.getLogger(__name__)


async def search_web(
    web: WebSearch,
    question: str,
    profile: dict[str, str],
    models: Sequence[BaseChatModel],
    writer: StreamWriter,
) -> WebAnswer:
    """Search the web where the question asks for it, and say what came of it.

    Args:
        web: How.
        question: The question.
        profile: What is private, by what it is.
        models: The model that decides where words do not, then those that stand in for it; none where nobody does.
        writer: Where to say it.
    """
    try:
        answer = await web.search(question, profile_values=profile, models=models, now=now())
    except Exception as error:
        # it has failures of its own for everything it meets; this is one nobody has thought of
        # without what it says: that may be content
        log.warning("the web is not searched for this turn: %s", type(error).__name__)
        telemetry.count("degradations", part="web_search")
        answer = WebAnswer(missing={"search": f"it failed ({type(error).__name__})"})
    if answer.trigger != "none" or answer.missing:
        events.search(
            writer,
            trigger=answer.trigger,
            query=answer.query,
            urls=[page.url for page in answer.pages],
            missing=answer.missing,
        )
    return answer


async def private_values(turns: Turns, recalled: Recalled) -> dict[str, str] | None:
    """Return what the profile knows of the user, which is not to leave the house; None where it cannot be known.

    Args:
        turns: Whose memory.
        recalled: What was read.
    """
    if not recalled.read:
        return None
    if not turns.memory.policy.recall.profile:
        # not in the prompt, but private all the same
        try:
            async with asyncio.timeout(turns.memory.policy.recall.timeout):
                profile = await turns.memory.profile.get_profile(turns.user_id)
        except Exception as error:
            log.warning("the profile cannot be read: %s", cause_of(error))
            return None
        return {} if profile is None else profile.known_values()
    found = next((item.payload for item in recalled.results if _is_profile(item)), None)
    return {} if found is None else Profile.from_value(found).known_values()


def not_searched(writer: StreamWriter) -> WebAnswer:
    """Say that the web is not searched, because what is private cannot be known."""
    telemetry.count("degradations", part="web_search")
    missing = {"privacy": "memory cannot be read, so nobody knows what is private in the question"}
    events.search(writer, trigger="none", query="", urls=[], missing=missing)
    return WebAnswer(missing=missing)


def _is_profile(item: MemoryResultItem) -> bool:
    return item.scope is MemoryScope.PROFILE and bool(item.payload.get("fields"))
