"""The conversation: what the user says in each turn, and what of it is asked for at the end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from langchain_core.tools import tool

from benchmarks.long_conversation.wording import ENGLISH, VIETNAMESE, sentences

LOOK_UP = "Please look up"
TRA_CUU = "Nhờ bạn tra cứu"

_TOOL_EVERY = 12
_PASTE_EVERY = 25
_ALIKE_EVERY = 4
"""Every fourth turn says something that reads like one of the details, of another thing."""


@dataclass(frozen=True)
class Detail:
    """Something that is said once, in passing.

    Args:
        turn: In which turn.
        said: The sentence, in the middle of a message.
        question: What is asked at the end.
        value: What has to be in the answer.
    """

    turn: int
    said: str
    question: str
    value: str


DETAILS = (
    Detail(
        3,
        "The spare key of the boat house hangs behind the blue barometer in the hallway.",
        "Where does the spare key of the boat house hang?",
        "behind the blue barometer",
    ),
    Detail(
        10,
        "Mã mở cổng nhà nghỉ ở Tam Đảo là 4827, thợ vừa đổi hôm qua.",
        "Mã mở cổng nhà nghỉ ở Tam Đảo là bao nhiêu nhỉ?",
        "4827",
    ),
    Detail(
        50,
        "Dr. Ferreira moved Nora's allergy test to the 17th of June at twenty to ten.",
        "When is Nora's allergy test with Dr. Ferreira?",
        "17th of June at twenty to ten",
    ),
    Detail(
        200,
        "Bà ngoại dặn không cho tôm khô vào nồi canh vì bé Na bị dị ứng.",
        "Bà ngoại dặn không cho gì vào nồi canh vì bé Na bị dị ứng?",
        "tôm khô",
    ),
)


@dataclass(frozen=True)
class Said:
    """Turn of the user.

    Args:
        turn: Its number, from 1.
        text: The message.
        asks_for: The detail that it asks for, if it does.
    """

    turn: int
    text: str
    asks_for: Detail | None = None


def conversation(turns: int) -> Iterator[Said]:
    """Yield the turns of the conversation; in the last ones the details are asked for, the oldest in the very last.

    Args:
        turns: How many; details that would come after the questions are left out.

    >>> said = list(conversation(20))
    >>> said[2].text.count(DETAILS[0].said), said[-1].asks_for == DETAILS[0], said[-1].turn
    (1, True, 20)
    """
    details = details_of(turns)
    planted = {detail.turn: detail for detail in details}
    for turn in range(1, turns - len(details) + 1):
        yield Said(turn, _message(turn, planted.get(turn)))
    for place, detail in enumerate(reversed(details), start=turns - len(details) + 1):
        yield Said(place, detail.question, detail)


def details_of(turns: int) -> tuple[Detail, ...]:
    """Return the details that a conversation of so many turns has room for."""
    return tuple(detail for detail in DETAILS if detail.turn <= turns - len(DETAILS))


def _message(turn: int, detail: Detail | None) -> str:
    chance = random.Random(turn)
    bank = chance.choice((ENGLISH, VIETNAMESE))
    if detail is not None:
        bank = VIETNAMESE if "ị" in detail.said or "ã" in detail.said else ENGLISH
        before, after = sentences(chance, bank, "said", 2), sentences(chance, bank, "said", 1)
        return f"{before} {detail.said} {after}"
    if turn % _TOOL_EVERY == 0:
        request = LOOK_UP if bank is ENGLISH else TRA_CUU
        return f"{request}: {sentences(chance, bank, 'asked', 1)}"
    if turn % _PASTE_EVERY == 0:
        return sentences(chance, bank, "said", 30)
    parts = [sentences(chance, bank, "said", chance.choice((1, 1, 2, 3, 5)))]
    if turn % _ALIKE_EVERY == 0:
        parts.append(sentences(chance, bank, "alike", 1))
    if chance.random() < 0.6:
        parts.append(sentences(chance, bank, "asked", 1))
    return " ".join(parts)


@tool
async def look_up(topic: str) -> str:
    """Look a topic up in the household's papers."""
    chance = random.Random(topic)
    # from a page to three: 2,500 to 7,000 characters
    return sentences(chance, ENGLISH, "said", chance.randint(35, 100))
