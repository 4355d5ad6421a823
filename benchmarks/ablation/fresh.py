"""Cases of another layout: fragments of the user's words, the model's answers by fragment, and questions at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.messages import AIMessage, BaseMessage

from benchmarks.writing.case import Case, Expected, Line, Outcome, Pattern, Turn
from benchmarks.writing.scripted import ScriptedChat
from react_mem.memory.language.folding import normalise

_KINDS = {"ask": "question", "request": "request", "maybe": "maybe", "fiction": "maybe"}


class ListeningChat(ScriptedChat):
    """Answers by the script, and keeps the lines of memory in the latest prompt of each question."""

    heard: ClassVar[dict[str, list[str]]] = {}

    def _reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        lines = "\n".join(str(message.content) for message in messages[:-1]).splitlines()
        self.heard[str(messages[-1].text)] = [line for line in lines if line.startswith("- ")]
        return super()._reply(messages)


class FreshCase(Case):
    """A case with questions, each with words that its memories must hold and must not."""

    asks: tuple[dict[str, Any], ...] = ()

    def unanswered(self) -> Iterator[str]:
        for ask in self.asks:
            lines = ListeningChat.heard.get(ask["q"], [])
            facts = "\n".join(line for line in lines if line.startswith("- [fact") and " until " not in line)
            for name, text in (("must", lines), ("not_fact", [facts]), ("nowhere", lines)):
                for word in ask[name]:
                    if (normalise(word) in normalise("\n".join(text))) is (name != "must"):
                        yield f"{ask['q']} {name} {word}"


def load_fresh(file: Path) -> list[FreshCase]:
    return [_case(entry) for entry in json.loads(file.read_text(encoding="utf-8"))]


def _case(entry: dict[str, Any]) -> FreshCase:
    turns = []
    at = datetime.min
    for place, conversation in enumerate(entry["conversations"]):
        at = datetime.fromisoformat(f"{conversation['date']}+00:00")
        for turn in conversation["turns"]:
            at += timedelta(minutes=1)
            lines = tuple(_lines(turn))
            # two turns may say the same
            twice = " " * sum(one.say.strip() == turn["user"].strip() for one in turns)
            turns.append(
                Turn(say=turn["user"] + twice, reply=turn["assistant"], conversation=str(place), at=at, correct=lines)
            )
    expect, said = entry["expect"], {turn.say for turn in turns}
    asks = [ask for ask in expect["ask"] if ask["q"] not in said]
    for place, ask in enumerate({ask["q"]: ask for ask in asks}.values()):
        when = datetime.fromisoformat(f"{ask['at']}+00:00") if ask["at"] else at + timedelta(hours=1)
        turns.append(Turn(say=ask["q"], conversation=f"ask {place}", at=when))
    outcome = Outcome(
        current=tuple(Expected(**_pattern(words)) for words in expect["current"]),
        gone=tuple(Pattern(**_pattern(words)) for words in expect["not_current"]),
        history=tuple(Pattern(**_pattern(words)) for words in expect["history"]),
        never=(Pattern(says=("\0",)),),
    )
    id_ = f"{entry['lang']}-{re.sub(r'[^a-z0-9]', '-', entry['id'])}"
    return FreshCase(id=id_, lang=entry["lang"], kind="new", turns=tuple(turns), expect=outcome, asks=tuple(asks))


def _lines(turn: dict[str, Any]) -> Iterator[Line]:
    said = turn["user"]
    stated = [one for one in turn["answers"] if "rel" in one]
    for one in stated:
        quote = _span(said, one["frag"])
        for target in one["to"] if one["rel"] != "new" else [None]:
            told = {"quote": quote, "about": one["about"], "rel": one["rel"], "text": one["text"], "when": one["when"]}
            yield Line(**told, target=_any(target) if target else None, needs=tuple(map(_any, one["needs"])))
    for one in turn["gold"]:
        if one["k"] in _KINDS and not any(one["t"] == other["frag"] for other in stated):
            yield Line(quote=_span(said, one["t"]), drop=_KINDS[one["k"]])  # type: ignore[arg-type]


def _span(said: str, fragment: str | list[str]) -> str:
    """Return the words of a message from the first of some fragments to the end of the last."""
    parts = [fragment] if isinstance(fragment, str) else fragment
    return said[min(map(said.index, parts)) : max(said.index(part) + len(part) for part in parts)]


def _pattern(words: Sequence[str]) -> dict[str, Any]:
    return {
        "says": tuple(_any(word) for word in words if word[0] != "!") or (".*",),
        "without": tuple(_any(word[1:]) for word in words if word[0] == "!"),
    }


def _any(word: str) -> str:
    return rf"\w*(?:{'|'.join(map(re.escape, word.split('|')))})\w*"
