"""What a turn finds before its first answer: what memory has on the question, and what the web says.

A failing memory and a failing search never fail a turn: it goes on without, and an event says what is missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langgraph.config import get_config
from langgraph.types import StreamWriter

from react_mem.graphs import events
from react_mem.memory import telemetry
from react_mem.memory.context import Assembled, Section
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.transcript import misdated
from react_mem.memory.model.external import WebAnswer
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryResults, MemoryScope
from react_mem.memory.model.records import now
from react_mem.memory.retrieval.last_known import DATABASE
from react_mem.memory.write.turns import Turns

if TYPE_CHECKING:
    from react_mem.tools.web import WebSearch

_FAILED_PART: dict[str, str] = {"retrieve": "database", "store": "store", "extract": "extraction"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recalled:
    """What memory has on a question.

    Args:
        results: What was found.
        read: Whether memory answered, if only with what was last read; if not, nothing is known of the user.
        stored: Whether the question is durable, so that what is left out of the prompt can be recalled later.
    """

    results: MemoryResults = field(default_factory=MemoryResults)
    read: bool = False
    stored: bool = False


async def recall(
    turns: Turns, query: MemoryQuery, thread: Sequence[AnyMessage], since: str | None, writer: StreamWriter
) -> Recalled:
    """Read what is remembered for the question, and make the question itself durable, both at once.

    Args:
        turns: Whose memory.
        query: What to read.
        thread: The messages of the conversation.
        since: The id of the last message that memory has already.
        writer: Where to say what is missing.
    """
    try:
        async with asyncio.timeout(turns.memory.policy.recall.timeout):
            results, opened = await asyncio.gather(
                turns.memory.read(query), turns.open(thread, since), return_exceptions=True
            )
            if isinstance(results, BaseException):
                raise results
            if await turns.follow(thread, since, results.tip, get_config()):
                results = await turns.memory.read(query)
    except Exception as error:
        known = turns.memory.last_known(query)
        if known is None:
            degrade(writer, "retrieve", error)
            return Recalled()
        telemetry.count("degradations", part="database")
        log.warning("memory is unavailable for this turn, what was last read stands in: %s", cause_of(error))
        known.missing[DATABASE] += f" ({cause_of(error)})"
        return Recalled(known, read=True)
    if opened is not None:
        # what could not be stored stays in the prompt with the whole thread
        degrade(writer, "store", opened)
    elif problem := misdated(thread, since):
        log.warning("a time is not taken over: %s", problem)
        events.memory(writer, "store", "degraded", problem)
    return Recalled(results, read=True, stored=opened is None)


async def search_web(
    web: WebSearch,
    question: str,
    profile: dict[str, str],
    model: BaseChatModel | None,
    writer: StreamWriter,
    stand_ins: Sequence[BaseChatModel] = (),
) -> WebAnswer:
    """Search the web where the question asks for it, and say what came of it.

    Args:
        web: How.
        question: The question.
        profile: What is private, by what it is.
        model: Decides where words do not; None where nobody does.
        writer: Where to say it.
        stand_ins: The models to ask in its place where it fails, in order.
    """
    try:
        answer = await web.search(question, profile_values=profile, model=model, stand_ins=stand_ins, now=now())
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


async def private_values(turns: Turns | None, recalled: Recalled) -> dict[str, str] | None:
    """Return what the profile knows of the user, which is not to leave the house; None where it cannot be known.

    Args:
        turns: Whose memory; None where nobody is named, of whom nothing is known.
        recalled: What was read.
    """
    if turns is None:
        return {}
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
        return _values({} if profile is None else profile.to_value()["fields"])
    return _values(next((item.payload["fields"] for item in recalled.results if _is_profile(item)), {}))


def not_searched(writer: StreamWriter) -> WebAnswer:
    """Say that the web is not searched, because what is private cannot be known."""
    telemetry.count("degradations", part="web_search")
    missing = {"privacy": "memory cannot be read, so nobody knows what is private in the question"}
    events.search(writer, trigger="none", query="", urls=[], missing=missing)
    return WebAnswer(missing=missing)


def report(
    assembled: Assembled,
    recalled: Recalled | None,
    window: int,
    writer: StreamWriter,
    identity: Identity | None = None,
) -> None:
    """Say what was retrieved and how the prompt was put together.

    Args:
        assembled: The context.
        recalled: What memory had; None where memory is off, or could not be reached, which has been said.
        window: The tokens of the model's window.
        writer: Where to say it.
        identity: Whose memory it was.
    """
    if recalled is not None:
        details = [
            {"scope": str(item.scope), "id": item.id, "text": item.payload.get("text", ""), "score": item.score}
            for item in assembled.memories.items
        ]
        if assembled.missing:
            telemetry.count("degradations", part="summary")
        missing = recalled.results.missing | assembled.missing
        text = "; ".join(f"{name}: {cause}" for name, cause in missing.items())
        status: events.MemoryStatus = "degraded" if text else "ok"
        message = f"Memory was searched without {text}" if text else ""
        whose = identity.details() if identity is not None else {}
        dropped = assembled.memories.dropped
        events.memory(writer, "retrieve", status, message, items=details, dropped=dropped, **whose)
    events.context(
        writer,
        tokens=_named(assembled.tokens),
        budget=_named(assembled.budget),
        dropped=_named({section: number for section, number in assembled.dropped.items() if number}),
        window=window,
        cut=assembled.cut,
    )
    _measure(assembled, window)


def degrade(writer: StreamWriter, operation: Literal["retrieve", "extract", "store"], error: BaseException) -> None:
    """Go on without memory, and say so: once in the log with the cause, once to whoever watches the stream."""
    cause = cause_of(error)
    telemetry.count("degradations", part=_FAILED_PART[operation])
    log.warning("memory is unavailable for this turn (%s): %s", operation, cause)
    missing = "the answer does not use it" if operation == "retrieve" else "this turn will be remembered later"
    events.memory(writer, operation, "degraded", f"Memory could not be reached, {missing}: {cause}")


def _values(fields: dict[str, Any]) -> dict[str, str]:
    """Return what the fields of a profile hold and have held, by what they are called."""
    values = {}
    for name, entry in fields.items():
        values[name] = str(entry["value"])
        for place, former in enumerate(entry.get("previous") or ()):
            values[f"{name} former {place}"] = str(former["value"])
    # what was cleared is no value
    return {name: value for name, value in values.items() if value}


def _is_profile(item: MemoryResultItem) -> bool:
    return item.scope is MemoryScope.PROFILE and bool(item.payload.get("fields"))


def _named(numbers: dict[Section, int]) -> dict[str, int]:
    # plain strings: what a stream carries is JSON
    return {str(section): number for section, number in numbers.items()}


def _measure(assembled: Assembled, window: int) -> None:
    for section, tokens in assembled.tokens.items():
        telemetry.record("context.tokens", tokens, section=str(section))
        telemetry.record("context.utilization", tokens / window, section=str(section))
    for section, number in assembled.dropped.items():
        if number:
            telemetry.count("context.dropped", number, section=str(section))
    total = sum(assembled.tokens.values())
    telemetry.record("context.tokens", total, section="total")
    telemetry.record("context.utilization", total / window, section="total")
