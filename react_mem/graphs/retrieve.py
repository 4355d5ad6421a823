"""Web search before a turn's first answer, without the private parts of the question.

A failing search never fails a turn: it goes on without, and an event names the missing parts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel
from langgraph.types import StreamWriter

from react_mem.graphs import events
from react_mem.memory import MemoryScope, Profile, telemetry
from react_mem.memory.context import WebAnswer
from react_mem.memory.runtime import Turns
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
    """Search the web if the question asks for it, and report the result on the stream.

    `profile` has private values by field, which must not leave the house; `models` decide where words do not.
    """
    try:
        answer = await web.search(question, profile_values=profile, models=models, now=datetime.now(UTC))
    except Exception as error:
        # it has failures of its own for everything it meets; this is one nobody has thought of
        # without what it says: that may be content
        log.warning("the web is not searched for this turn: %s", type(error).__name__)
        telemetry.count("degradations", part="web_search")
        answer = WebAnswer(missing={"search": f"it failed ({type(error).__name__})"})
    if answer.trigger != "none" or answer.missing:
        urls = [page.url for page in answer.pages]
        events.tell(
            writer, "search", trigger=answer.trigger, query=answer.query, urls=urls, missing=dict(answer.missing)
        )
    return answer


async def private_values(turns: Turns, recalled: Recalled) -> dict[str, str] | None:
    """Return the user's private values from the profile; None if the profile cannot be read."""
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
    profiles = (item.payload for item in recalled.results if item.scope is MemoryScope.PROFILE)
    found = next((payload for payload in profiles if payload.get("fields")), None)
    return {} if found is None else Profile.from_value(found).known_values()


def not_searched(writer: StreamWriter) -> WebAnswer:
    """Report that the web is not searched, because private values are unknown."""
    telemetry.count("degradations", part="web_search")
    missing = {"privacy": "memory cannot be read, so nobody knows what is private in the question"}
    events.tell(writer, "search", trigger="none", query="", urls=[], missing=missing)
    return WebAnswer(missing=missing)
