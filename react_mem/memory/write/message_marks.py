"""Marks that an extraction sets on messages: what stands from now on, or no longer, and words to find them by."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.language.comparison import missing, share
from react_mem.memory.language.standing import standing_in
from react_mem.memory.model.operations import Extraction
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.receipt import Change, put
from react_mem.memory.model.records import Fact, Message
from react_mem.memory.write.session import Session

_SAYS = 0.5
"""The share of an instruction's words that a fact has which says the same."""


_MOST_WORDS = 24
"""Words that one reading adds to a message: those of two facts."""


async def marked(session: Session, extraction: Extraction, facts: Sequence[Fact]) -> list[Change]:
    """Return the writes of messages that stand from now on, that no longer do since a fact of theirs has ended, or that
    are found by more words than they say.

    Reads messages only where there are any.

    Args:
        session: The conversation.
        extraction: What a model has drawn from it.
        facts: The facts that change.
    """
    over = {id_: fact for fact in facts if not fact.current for id_ in fact.source_ids}
    topics: dict[str, str] = {}
    for operation in extraction.ops:
        for source in operation.source_ids if operation.topic else ():
            topics[source] = f"{topics.get(source, '')} {operation.topic}"
    found = await session.messages({*extraction.standing, *over, *topics})
    changed = [
        _marked(_found_by(message, topics.get(message.id, "")), message.id in extraction.standing, over.get(message.id))
        for message in found
    ]
    return [put(session.user_id, new) for old, new in zip(found, changed, strict=True) if new != old]


def _found_by(message: Message, topic: str) -> Message:
    """Return a message with more words to find it by that it does not say; those of an earlier reading stay."""
    new = missing(topic, [message.text, message.keywords])[:_MOST_WORDS]
    words = " ".join(filter(None, [message.keywords, *new]))
    return message if not new or message.role != "user" else message.model_copy(update={"keywords": words})


def _marked(message: Message, stands: bool, over: Fact | None) -> Message:
    if message.role != "user" or message.origin is not Origin.USER:
        return message
    if over is not None and message.standing and _says(message, over):
        return message.model_copy(update={"standing": ""})
    if stands and not message.standing:
        return message.model_copy(update={"standing": "instruction"})
    return message


def _says(message: Message, fact: Fact) -> bool:
    found = standing_in(message.content if isinstance(message.content, str) else message.text)
    said = found.said if found is not None else message.text
    return share(said, [fact.text, fact.quote]) >= _SAYS
