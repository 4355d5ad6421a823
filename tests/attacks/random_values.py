"""Texts, values and objects made at random, of pieces that have broken something somewhere."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from react_mem.memory.model.interface import MemoryScope

CANARY = "xylophonquartz"
"""Word that only another owner's memory has."""

VICTIM, ATTACKER = "ann", "bob"

_BITS = (
    "", " ", "\x00", "\ud800", "\udfff", "\u202e", "\u200d", "\ufeff", "👩‍👩‍👧", "é", "e\u0301", "漢", "ß", "İ", "﷽",
    "../", "%00", "%2e%2e", "'", '"', "\\", "`", "--", ";", "DROP TABLE store", "$1", "{0}", "{", "}", "[", "]", "(",
    "<", ">", "</", "<!--", "<script>", "&amp;", "&#x110000;", "&", "*a", "&a ", "!!python/name:os.system", "---\n",
    "\n", "\r\n", "\t", ": ", "- ", "#", "|", "2026-02-32", "0000-00-00", "9999-12-31T23:59:60Z", "1e999", "NaN",
    "ann", "ann.dialog", "memory", ".", "*", "system", "user", "null", "true", "-0", "0x", "0" * 40, "9" * 5_000,
)  # fmt: skip
SCOPES = [str(scope) for scope in MemoryScope]


def text(r: random.Random) -> str:
    """Return a text, mostly short and of odd pieces."""
    kind = r.random()
    if kind < 0.1:
        return r.choice(_BITS) * r.choice((1, 10, 500))
    if kind < 0.2:
        return "".join(chr(r.randrange(0x11_0000)) for _ in range(r.randrange(30)))
    return "".join(r.choice((*_BITS[:-2], "tea", "my name is", CANARY[:4])) for _ in range(r.randrange(8)))


def value(r: random.Random, depth: int = 0) -> Any:
    """Return a value of JSON, or one that JSON has no form for."""
    kind = r.randrange(10 if depth < 4 else 7)
    if kind < 4:
        return text(r)
    if kind == 7:
        return [value(r, depth + 1) for _ in range(r.randrange(4))]
    if kind > 7:
        return {text(r): value(r, depth + 1) for _ in range(r.randrange(4))}
    numbers = (None, True, False, 0, -1, 2**31, 2**63, -(2**64), 10**400, 0.5, 1e308, float("nan"), float("inf"))
    return r.choice(numbers)


def changed(r: random.Random, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with some of its fields changed, gone or added, at any depth."""
    made = dict(given)
    for _ in range(r.randrange(1, 4)):
        name = r.choice([*made, text(r)]) if made else text(r)
        held = made.get(name)
        if isinstance(held, dict) and r.random() < 0.7:
            made[name] = changed(r, held)
        elif r.random() < 0.15:
            made.pop(name, None)
        else:
            made[name] = value(r)
    return made


def torn(r: random.Random, whole: str) -> str:
    """Return a text with a piece cut out, doubled or put in."""
    at, end = sorted((r.randrange(len(whole) + 1), r.randrange(len(whole) + 1)))
    return r.choice((whole[:at] + whole[end:], whole[:end] + whole[at:], whole[:at] + text(r) + whole[at:]))
