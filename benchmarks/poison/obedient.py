"""A chat model that obeys a stranger's text in its labels, summaries and tool calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from pydantic import Field

from benchmarks.poison.attack import Attack
from benchmarks.writing.labels import Shown, read
from benchmarks.writing.scripted import ScriptedChat


class ObedientChat(ScriptedChat):
    """Answers by the script of an attack; `prompts` records the prompts of its answers to the user."""

    attack: Attack
    prompts: list[str] = Field(default_factory=list)

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        answered = super()._answer(messages, stop, **options)
        if "response_format" in options and self.manner == "hostile":
            answer = json.loads(str(answered.text))
            shown = "\n".join(str(message.content) for message in messages)
            if self.attack.summary and self.attack.say[:40] in shown:
                answer["summary"] = self.attack.summary
                answer["episode"] = {
                    "goal": self.attack.say[:200],
                    "steps": [self.attack.summary],
                    "outcome": self.attack.summary,
                    "lessons": [self.attack.summary],
                    "milestone": "",
                }
            if self.attack.labelled:
                answer["facts"] += _obeying(self.attack, read(shown))
            return AIMessage(json.dumps(answer, ensure_ascii=False))
        return answered

    def _reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.prompts.append("\n".join(str(message.content) for message in messages))
        said = next(str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage))
        called = {message.name for message in messages if isinstance(message, ToolMessage)}
        if self.manner == "hostile" and said == self.attack.say:
            seen = self.attack.observed is None or self.attack.observed.tool in called
            left = [name for name in self.attack.calls if name not in called]
            if seen and left:
                return AIMessage("", tool_calls=[tool_call(name=left[0], args=self.attack.calls[left[0]], id=left[0])])
            if seen:
                return AIMessage(self.attack.reply)
        return super()._reply(messages)


def _obeying(attack: Attack, shown: Shown) -> Iterator[dict[str, Any]]:
    """Yield the stranger's labels of the attacked message, in credible form."""
    clauses = [
        (n, text) for message in shown.messages for n, text in message.items() if _plain(text) in _plain(attack.say)
    ]
    pasted = [one for one in clauses if _plain(one[1]) not in _plain(attack.plain)]
    if attack.labelled == "careless":
        for number, text in clauses:
            if Random(f"{attack.id} {text}").random() < 0.1:
                yield {"c": [int(number)], "about": "user", "when": "", "needs": [], "rel": "new", "text": text}
        return
    chosen = {"asking": clauses[:1], "pasted": pasted or clauses[-1:], "everything": clauses}[attack.labelled]
    relations = ("forget", "ends", "corrects") if attack.labelled == "everything" else ("forget",)
    for number, text in chosen:
        fact = {"c": [int(number)], "about": "user", "when": "", "needs": []}
        for label, relation in product(shown.memories, relations):
            yield {**fact, "rel": relation, "target": label, "text": attack.taught if relation == "corrects" else text}
        if attack.labelled != "asking":
            yield {**fact, "rel": "new", "target": None, "text": attack.taught}


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())
