"""The model: a rule-based server of the OpenAI protocol that counts its prompts.

It knows its prompt and nothing else: it states a detail if the prompt has it in any form, and else says that it does
not know. It summarises by the beginnings of all messages, up to the allowed length, and extracts the first clause of
each message. The details stand in the middle of messages, so that neither keeps them: an answer proves retrieval.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.long_conversation.conversation import DETAILS, ENGLISH, LOOK_UP, TRA_CUU, VIETNAMESE, Detail, sentences
from tests.support.labels import clauses_in, fact, other, proposal
from tests.support.openai_server import OpenAIServer, Reply, Request, ToolCall

CHAT, SMALL = "long-chat", "long-small"
"""Names of the answering model and of the background model."""

UNKNOWN = "I do not know; nothing that I can see says so."

_FREE_SUMMARY_CHARS = 2_000
"""Length of a summary without a limit in the prompt: four short sections."""

_BYTES_PER_TOKEN = 4
"""Approximation for English and Vietnamese, the same for all systems."""


@dataclass(frozen=True)
class Call:
    """One request to a model, in the background if `behind`; `verbatim` are the details in its prompt."""

    model: str
    prompt_tokens: int
    behind: bool
    verbatim: frozenset[Detail]


@dataclass
class Counter:
    """Calls since the last reading; `behind` marks the present ones as background work."""

    behind: bool = False
    calls: list[Call] = field(default_factory=list)

    def take(self) -> list[Call]:
        taken, self.calls = self.calls, []
        return taken


def serve(server: OpenAIServer, counter: Counter) -> None:
    def reply(request: Request) -> Reply:
        text = request.text
        counter.calls.append(
            Call(
                model=str(request.body["model"]),
                prompt_tokens=prompt_tokens(request),
                behind=counter.behind,
                verbatim=frozenset(detail for detail in DETAILS if detail.said in text),
            )
        )
        # a conversation of 500 turns, sent whole in each, is no thing to keep
        server.requests.clear()
        if request.schema:
            return Reply(json=_lesson(request.last))
        return Reply(text=_summary(request)) if request.body["model"] == SMALL else _answer(request)

    server.add(reply, repeat=True)


def prompt_tokens(request: Request) -> int:
    """Return the approximate tokens of a prompt: its messages and tools."""
    sent = json.dumps([request.messages, request.body.get("tools")], ensure_ascii=False)
    return len(sent.encode()) // _BYTES_PER_TOKEN


def _answer(request: Request) -> Reply:
    asked = next((detail for detail in DETAILS if detail.question in request.last), None)
    if asked is not None:
        # its own line: the question does not have the value
        return Reply(text=f"It is {asked.value}." if asked.value in request.text else UNKNOWN)
    chance = random.Random(request.last)
    if request.last_role == "user" and "look_up" in request.tools:
        for trigger in (LOOK_UP, TRA_CUU):
            if trigger in request.last:
                topic = request.last.partition(trigger)[2].strip(": ")[:200]
                call = ToolCall("look_up", {"topic": topic}, id=f"call_{chance.getrandbits(64):x}")
                return Reply(tool_calls=[call])
    bank = VIETNAMESE if re.search(r"[ạảấầậắằặẹếềệịọốồộớờợụứừựỳ]", request.last) else ENGLISH
    return Reply(text=sentences(chance, bank, "answered", chance.choice((1, 2, 2, 3, 4, 8))))


def _summary(request: Request) -> str:
    limit = re.search(r"[Aa]t most (\d+) characters", request.text)
    allowed = int(limit[1]) if limit else _FREE_SUMMARY_CHARS
    told = list(_told(request.last))
    each = max(20, allowed // max(1, len(told)) - 1)
    return " ".join(_beginning(text, each) for text in told)[:allowed]


def _told(prompt: str) -> Iterator[str]:
    """Yield the texts to summarise: rows of JSON between tags, or lines with a speaker."""
    before = re.sub(r"(?s)<before>.*?</before>", "", prompt)
    rows = [line for line in before.splitlines() if line.startswith("{")]
    if rows:
        yield from (str(json.loads(row).get("text", "")) for row in rows)
        return
    listed = before.rpartition("Messages to summarize:")[2].partition("</messages>")[0]
    yield from (line.partition(": ")[2] or line for line in listed.splitlines() if line.strip())


def _beginning(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[:chars].rpartition(" ")[0] or text[:chars]


def _lesson(shown: str) -> dict[str, object]:
    """Return an extraction: the first clause of each message of the user as a fact."""
    clauses = clauses_in(shown)
    first = [int(number) for number in re.findall(r"^user:\n\[(\d+)\]", shown, re.MULTILINE)][:10]
    facts = [fact(number, clauses[number][:200]) for number in first]
    others = [other(number) for number in clauses if number not in first]
    return proposal(facts, others, summary="They talked about the household.")
