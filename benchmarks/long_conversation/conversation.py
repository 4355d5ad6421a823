"""The conversation: the user's message of each turn, and the details to recall.

Small talk of a household is composed of parts (wording.yaml), so that no two of a thousand sentences are equal, in two
languages that mix as in a bilingual family.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from langchain_core.tools import tool

Bank = Mapping[str, Sequence[str]]

WORDING: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("wording.yaml").read_text(encoding="utf-8"))
ENGLISH: Bank = WORDING["english"]
VIETNAMESE: Bank = WORDING["vietnamese"]

LOOK_UP = "Please look up"
TRA_CUU = "Nhờ bạn tra cứu"

_TOOL_EVERY = 12
_PASTE_EVERY = 25
_ALIKE_EVERY = 4
"""Every fourth turn resembles one of the details."""


class Detail(NamedTuple):
    """A detail mentioned once, in passing: the sentence, the question and the required part of its answer."""

    turn: int
    said: str
    question: str
    value: str


DETAILS = tuple(Detail(**detail) for detail in WORDING["details"])


class Said(NamedTuple):
    """A message of the user, with its number from 1 and the detail it asks for, if any."""

    turn: int
    text: str
    asks_for: Detail | None = None


def conversation(turns: int) -> Iterator[Said]:
    """Yield the messages; the last ones ask for the details, the very last for the oldest.

    Details that would come after the questions are left out.

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


def sentences(chance: random.Random, bank: Bank, kind: str, number: int) -> str:
    """Return sentences of a kind in a language: `said`, `asked`, `answered` or `alike`."""
    made = []
    for _ in range(number):
        parts = {name: chance.choice(bank[name]) for name in ("who", "thing", "place", "when", "what", "how")}
        sentence = chance.choice(bank[kind]).format(**parts, number=chance.randint(1000, 9999))
        made.append(sentence[:1].upper() + sentence[1:])
    return " ".join(made)
