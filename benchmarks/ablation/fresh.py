"""Cases of another layout: fragments of the user's words, the model's answers by fragment, and what is known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.writing.case import Case, Expected, Line, Outcome, Pattern, Turn


def load_fresh(file: Path) -> list[Case]:
    return [_case(entry) for entry in json.loads(file.read_text(encoding="utf-8"))]


def _case(entry: dict[str, Any]) -> Case:
    turns: list[Turn] = []
    for place, conversation in enumerate(entry["conversations"]):
        at = datetime.fromisoformat(f"{conversation['date']}+00:00")
        for number, one in enumerate(conversation["turns"]):
            # two turns may say the same
            said = one["user"] + " " * sum(turn.say.strip() == one["user"].strip() for turn in turns)
            told: dict[str, Any] = {"say": said, "reply": one["assistant"], "correct": tuple(_lines(one))}
            turns.append(Turn(**told, conversation=str(place), at=at + timedelta(minutes=number)))
    expect = {name: [_pattern(words) for words in entry["expect"][name]] for name in entry["expect"] if name != "ask"}
    outcome = Outcome(
        current=tuple(Expected(**words) for words in expect["current"]),
        gone=tuple(Pattern(**words) for words in expect["not_current"]),
        history=tuple(Pattern(**words) for words in expect["history"]),
        never=(Pattern(says=("\0",)),),
    )
    id_ = f"{entry['lang']}-{re.sub(r'[^a-z0-9]', '-', entry['id'])}"
    return Case(id=id_, lang=entry["lang"], kind="new", turns=tuple(turns), expect=outcome)


def _lines(turn: dict[str, Any]) -> Iterator[Line]:
    for one in (answer for answer in turn["answers"] if "rel" in answer):
        for target in one["to"] if one["rel"] != "new" else [None]:
            told = {name: one[name] for name in ("about", "rel", "text", "when")}
            needs = tuple(map(_any, one["needs"]))
            yield Line(quote=_span(turn, one["frag"]), **told, target=_any(target) if target else None, needs=needs)


def _span(turn: dict[str, Any], fragment: str | list[str]) -> str:
    """Return the words of a message from the first of some fragments to the end of the last."""
    said, parts = turn["user"], [fragment] if isinstance(fragment, str) else fragment
    return str(said[min(map(said.index, parts)) : max(said.index(part) + len(part) for part in parts)])


def _pattern(words: Sequence[str]) -> dict[str, Any]:
    says, without = ([_any(word.lstrip("!")) for word in words if (word[0] == "!") is no] for no in (False, True))
    return {"says": tuple(says) or (".*",), "without": tuple(without)}


def _any(word: str) -> str:
    return rf"\w*(?:{'|'.join(map(re.escape, word.split('|')))})\w*"
