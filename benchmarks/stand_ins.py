"""Stand-ins for the slow parts, so that a benchmark of time measures the rest: texts, an embedder and a model.

Texts are made of words as common and as rare as in a language, because what a lexical search costs depends on that.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from react_mem.agents.answering_model import AnsweringModel
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.vectors import DocumentVectors

DIMS = 384
"""As many as the local embedder's."""

_COMMON = """
    the of and a to in is I that it was for on you with as have but not they at this from we or an my so what if can
    about all will one there when who more no out up some like time just
""".split()  # noqa: SIM905 - a list would take a line a word
_WORDS = 20_000
"""Texts of one person in years of chat."""

_FLOOR = 0.75
"""The share of every vector that all texts have in common: as with e5, no cosine is far below it."""

_CLAUSE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
"""A clause of the user's, as the extraction shows it."""


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Return the words, the most common first, and their weights added up, after Zipf."""
    chance = random.Random(7)  # noqa: S311 - no secret
    made: dict[str, None] = dict.fromkeys(_COMMON)
    while len(made) < _WORDS:
        syllables = chance.choices("bdfghklmnprstvwz", k=chance.randint(2, 4))
        made["".join(consonant + chance.choice("aeiou") for consonant in syllables)] = None
    return list(made), list(accumulate(1 / (rank + 2.7) for rank in range(_WORDS)))


def words(seed: str, number: int) -> str:
    """Return a text of so many words, always the same for a seed.

    >>> words("tea", 5) == words("tea", 5) != words("milk", 5)
    True
    """
    vocabulary, weights = _vocabulary()
    return " ".join(random.Random(seed).choices(vocabulary, cum_weights=weights, k=number))  # noqa: S311 - no secret


def question(number: int, memory: str) -> str:
    """Return what a user says in a turn: something new, and a question about something remembered."""
    rare = sorted(memory.split(), key=len)[-4:]
    return f"I keep {words(f'new {number}', 6)}. What did I say about {' '.join(rare)}?"


class HashEmbeddings(Embeddings):
    """Unit vectors at once: each word adds a vector of its own, so that texts which share words are near."""

    def __init__(self) -> None:
        self._of_word: dict[str, Any] = {"": self._random("")}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts."""
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a text."""
        return self._embed(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts, without a thread."""
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Embed a text, without a thread."""
        return self._embed(text)

    def _embed(self, text: str) -> list[float]:
        total = np.zeros(DIMS, dtype=np.float32)
        for word in text.lower().split() or [""]:
            if word not in self._of_word:
                self._of_word[word] = self._random(word)
            total += self._of_word[word]
        vector = _FLOOR**0.5 * self._of_word[""] + (1 - _FLOOR) ** 0.5 * total / np.linalg.norm(total)
        unit: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return unit

    @staticmethod
    def _random(word: str) -> Any:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(DIMS, dtype=np.float32)
        return vector / np.linalg.norm(vector)


def embed_with(store: MemoryStore, embeddings: Embeddings) -> None:
    """Let a store embed with a stand-in, questions and what it keeps; it stays named after its own model."""
    store.embedding = replace(store.embedding, embeddings=embeddings)
    store.vectors = DocumentVectors(store.pool, store.embedding)


class TimedEmbeddings(Embeddings):
    """Another embedder, and the time during which it was at work; calls side by side count once."""

    def __init__(self, inner: Embeddings) -> None:
        self.seconds = 0.0
        self.inner = inner
        self._at_work = 0
        self._since = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts."""
        with self._timed():
            return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Embed a text."""
        with self._timed():
            return self.inner.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts."""
        with self._timed():
            return await self.inner.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Embed a text."""
        with self._timed():
            return await self.inner.aembed_query(text)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        if not self._at_work:
            self._since = time.perf_counter()
        self._at_work += 1
        try:
            yield
        finally:
            self._at_work -= 1
            if not self._at_work:
                self.seconds += time.perf_counter() - self._since


class InstantModel(AnsweringModel):
    """Answers at once, and fills in the form of `memory.write.extraction` with what the user said they keep.

    Args:
        remembers: The tools that it calls once a turn before it answers, with their arguments, made from what the user
            says.
        asked: Every prompt, by reference, so that counting its tokens takes no time of the turn.
        offered: The tools, as they are sent.
    """

    remembers: Callable[[str], list[tuple[str, dict[str, Any]]]] | None = None
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    offered: list[Any] = Field(default_factory=list)

    def prompt_tokens(self, first: int = 0) -> list[int]:
        """Return about how many tokens the prompts had, from the `first` on, tools included."""
        tools = len(json.dumps(self.offered)) // 4 if self.offered else 0
        return [count_tokens_approximately(prompt) + tools for prompt in self.asked[first:]]

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Return the model itself: it knows its tools."""
        self.offered = [convert_to_openai_tool(tool) for tool in tools]
        return self

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **kwargs: Any) -> Runnable[Any, Any]:
        """Return what fills in the form."""

        def fill(prompt: list[BaseMessage]) -> dict[str, Any]:
            self.asked.append(prompt)
            raw = AIMessage(json.dumps(proposal(prompt[-1].text)))
            return {"raw": raw, "parsed": None, "parsing_error": None}

        return RunnableLambda(fill)

    def _pieces(self, text: str) -> Sequence[str]:
        return [piece for piece in text.partition(" ") if piece]

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        self.asked.append(messages)
        number = len(self.asked)
        if self.remembers is None or isinstance(messages[-1], ToolMessage):
            return AIMessage(words(f"answer {number}", 40))
        made = self.remembers(messages[-1].text)
        calls = [tool_call(name=name, args=args, id=f"call-{number}-{n}") for n, (name, args) in enumerate(made)]
        return AIMessage("", tool_calls=calls)


def proposal(shown: str) -> dict[str, Any]:
    """Return a label for every clause of the user's in a conversation: what they keep is a fact, else they ask."""
    block = shown.partition("<conversation>\n")[2].partition("\n</conversation>")[0]
    facts: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for number, clause in _CLAUSE.findall(block):
        if clause.endswith("?"):
            others.append({"c": [int(number)], "kind": "question"})
            continue
        text = f"User keeps {clause.removeprefix('I keep ')}"
        fact: dict[str, Any] = {"about": "user", "rel": "new", "target": None, "text": text, "when": "", "needs": []}
        facts.append({"c": [int(number)], **fact})
    return {"facts": facts, "others": others, "profile": [], "episode": None, "summary": ""}
