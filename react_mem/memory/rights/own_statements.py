"""The gate for what a user tells memory itself, outside of a conversation: to remember, or in the place of a fact."""

from __future__ import annotations

from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.language.standing import only_instructs
from react_mem.memory.language.statements import asks_to_forget, may_state, sentences, statements_in
from react_mem.memory.language.text import MAX_INDEXED_CHARS, normalise

_STATES_NOTHING = (
    "states nothing: it asks, requests, greets, supposes, or only shows somebody else's words; say it as a statement "
    "of your own, such as 'I live in Hue.'"
)


def check_told(text: str) -> None:
    """Refuse what is no telling, whatever it states.

    Args:
        text: What the user says.

    Raises:
        ValueError: If it is empty, too long, or asks to forget something; the message says what to do.
    """
    if not text:
        raise ValueError("text: is empty; say what is true")
    if len(text) > MAX_INDEXED_CHARS:
        raise ValueError(f"text: is longer than {MAX_INDEXED_CHARS:,} characters; say it in fewer, or in several parts")
    if any(map(asks_to_forget, sentences(text))):
        raise ValueError("text: asks to forget something; use what forgets")


def own_statements(text: str, *, or_nothing: bool = False) -> list[str]:
    """Return what a user states in a text, each statement once.

    Args:
        text: What they say.
        or_nothing: Whether it may state nothing, as it says something else.

    Raises:
        ValueError: If it states nothing; the message says what to do.
    """
    stated = {normalise(statement): statement for statement in _statements(text)}
    if not (stated or or_nothing):
        raise ValueError(f"text: {_STATES_NOTHING}")
    return list(stated.values())


def own_statement(text: str, *, any_form: bool) -> str:
    """Return what a user states in a text as one statement.

    Args:
        text: What they say.
        any_form: Whether it may be put as no sentence is: a part of one, "Two cats".

    Raises:
        ValueError: If it states nothing; the message says what to do.
    """
    whole = " ".join(unwrapped(text).split())
    stated = _statements(text)
    if sum(map(_marks, stated)) == _marks(whole):
        return whole
    if not stated and any_form and all(may_state(one) and not only_instructs(one) for one in sentences(whole)):
        return whole
    return " ".join(stated or own_statements(text))


def _statements(text: str) -> list[str]:
    """Return the statements of a text; what only tells to do something from now on is none."""
    return [statement for statement in statements_in(text) if not only_instructs(statement)]


def _marks(text: str) -> int:
    return len("".join(text.split()))
