"""Fit of the model that says whether a message needs what was found for it.

    python -m benchmarks.relevance.fit [--data locomo.json] [--cases fresh_cases.json] [--json fit.json]

A logistic regression over `memory.retrieval.relevance.features`, whose result stands there as `WEIGHTS`. Messages that
need memories: the questions, requests and bare words of this benchmark, LoCoMo's or BEAM's about messages (`--data`),
and those of cases about their facts (`--cases`), in a memory of each case and of all of its language. Messages that
need none: greetings, thanks, chat and tasks in seven languages, on each of these memories. Each source counts alike.
The printed table has the shares of messages that get something at several probabilities, by source, for the half of the
messages that is left out of a fit, and for each source where it is left out as a whole.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.databases import database_server, new_database, opened
from benchmarks.locomo.dataset import load
from benchmarks.locomo.systems import ReactMem
from benchmarks.progress import interruptible
from benchmarks.relevance.__main__ import DATA, idle_messages, load_facts, load_questions
from benchmarks.report import Command, print_table, write_rows
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.recall import Recall
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.relevance import features
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.scopes.scope import question_of
from react_mem.memory.store.embeddings import load_embedding_model

_PROBABILITIES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_RIDGE = 0.5
_COUNT = 100.0
"""Messages for which each source counts; those of rare forms (`_DOUBLE`) twice."""

_DOUBLE = {"questions", "requests", "beam_dev"}
_EVERY = 5
"""One in so many idle messages is asked of each small memory."""


class Asked(NamedTuple):
    """A message with its source, the features of what was found, and whether any of that is needed."""

    text: str
    source: str
    row: Mapping[str, float]
    needs: bool

    @property
    def is_held_out(self) -> bool:
        return _sum(self.text) % 2 == 1


def _sum(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


class Asking:
    """Messages asked of memories in one database, with the features of what they found."""

    def __init__(self, memory: MemoryFacade) -> None:
        self.asked: list[Asked] = []
        self._memory = memory

    async def fill(self, user: str, facts: Iterable[str]) -> dict[str, str]:
        """Store facts, and return them by id."""
        added = [
            await self._memory.semantic.add([text], user_id=user, session_id="earlier", agent_id="agent")
            for text in dict.fromkeys(facts)
        ]
        return {fact.id: fact.text for facts_added in added for fact in facts_added}

    async def ask(
        self, user: str, text: str, source: str, needed: Iterable[str] = (), scope: MemoryScope = MemoryScope.SEMANTIC
    ) -> None:
        """Ask one message, which needs some records by id; it counts unless they are not found, or nothing is."""
        query = MemoryQuery(user_id=user, session_id="now", agent_id="agent", scopes=[scope], query=text)
        store = self._memory.store
        question = await question_of(store, query.model_copy(update={"extra": {"turns": 0}}))
        part = self._memory.dialog if scope is MemoryScope.DIALOG else self._memory.semantic
        answers = await recall(store, part.operations(query, question))
        found = next(answer for answer in answers if isinstance(answer, Recall))
        ids = set(needed)
        needs = bool(ids & {hit.key for hit in found.found})
        is_compared = any(hit.similarity is not None for hit in found.found)
        if is_compared and needs == bool(ids):
            self.asked.append(Asked(text, source, features(found, text), needs))


async def _of_facts(asking: Asking) -> None:
    facts = load_facts()
    ids = {text: id_ for id_, text in (await asking.fill("facts", facts)).items()}
    for question in load_questions():
        source = "questions" if question.needs else "idle questions"
        await asking.ask("facts", question.text, source, [ids[facts[place]] for place in question.needs])
    rows = json.loads((DATA / "messages.json").read_text(encoding="utf-8"))
    for source in ("requests", "searches"):
        for row in rows[source]:
            await asking.ask("facts", row["text"], source, [ids[facts[place]] for place in row["needs"]])
    for _, text in idle_messages():
        await asking.ask("facts", text, "idle facts")


async def _of_cases(asking: Asking, cases: Sequence[Mapping[str, Any]]) -> None:
    told = {case["id"]: list(_facts_of(case)) for case in cases}
    for language in dict.fromkeys(case["lang"] for case in cases):
        own = [case for case in cases if case["lang"] == language and told[case["id"]]]
        every = await asking.fill(language, [text for case in own for text in told[case["id"]]])
        for case in own:
            few = await asking.fill(case["id"], told[case["id"]])
            for asked in case["expect"]["ask"]:
                words = [word.casefold() for must in asked["must"] for word in must.split("|")]
                for user, known, source in ((case["id"], few, "small case"), (language, every, "cases")):
                    needed = [
                        id_
                        for id_, text in known.items()
                        if text in told[case["id"]] and any(word in text.casefold() for word in words)
                    ]
                    if needed:
                        await asking.ask(user, asked["q"], source, needed)
            for _, text in idle_messages():
                if _sum(case["id"] + text) % _EVERY == 0:
                    await asking.ask(case["id"], text, "idle small case")
        for of, text in idle_messages():
            if of in (language, "fr"):
                await asking.ask(language, text, "idle cases")


def _facts_of(case: Mapping[str, Any]) -> Iterator[str]:
    for said in case["conversations"]:
        for turn in said["turns"]:
            yield from (answer["text"] for answer in turn["answers"] if answer.get("text"))


async def _of_conversations(asking: Asking, system: ReactMem, files: Sequence[Path]) -> None:
    for conversation in load(files):
        await system.write(conversation)
        for question in conversation.questions:
            needed = [id_ for id_, turn in system.turn_ids.items() if turn in question.evidence]
            await asking.ask(conversation.owner, question.text, conversation.source, needed, scope=MemoryScope.DIALOG)
        for _, text in idle_messages():
            await asking.ask(conversation.owner, text, f"idle {conversation.source}", scope=MemoryScope.DIALOG)


def fitted(asked: Sequence[Asked]) -> dict[str, float]:
    """Return the weights that fit the messages best, by Newton's method."""
    names = list(asked[0].row)
    counts = Counter(one.source for one in asked)
    rows = np.array([[one.row[name] for name in names] for one in asked])
    needs = np.array([one.needs for one in asked], dtype=np.float64)
    counted = np.array([_COUNT * (1 + (one.source in _DOUBLE)) / counts[one.source] for one in asked])
    ridge = _RIDGE * np.diag([float(name != "constant") for name in names])
    weights = np.zeros(len(names))
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (counted * (chance - needs)) + ridge @ weights
        weights -= np.linalg.solve((rows * (counted * chance * (1 - chance))[:, np.newaxis]).T @ rows + ridge, slope)
    return {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}


def shares(weights: Mapping[str, float], asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Return the share of messages that get something, by source, at each probability."""
    chances: dict[str, list[float]] = {}
    for one in asked:
        total = sum(weights[name] * value for name, value in one.row.items())
        chances.setdefault(one.source, []).append(1 / (1 + float(np.exp(-total))))
    found: dict[str, NDArray[np.float64]] = {source: np.array(values) for source, values in sorted(chances.items())}
    return {
        source: {f"{least}": round(float((values >= least).mean()), 3) for least in _PROBABILITIES}
        for source, values in found.items()
    }


async def collected(data: Sequence[Path], cases: Sequence[Mapping[str, Any]]) -> list[Asked]:
    model = load_embedding_model("local")
    async with database_server() as server:
        url = await new_database(server, "relevance")
        async with opened(url, model.embeddings) as storage:
            asking = Asking(MemoryFacade(storage.store, MemoryPolicy()))
            await _of_facts(asking)
            await _of_cases(asking, cases)
            if data:
                await _of_conversations(asking, ReactMem(storage.store), data)
    return asking.asked


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("relevance.fit", __doc__)
    command.add_argument("--data", type=Path, action="append", default=[], help="a file in LoCoMo's or BEAM's layout")
    command.add_argument("--cases", type=Path, help="a file of cases with their facts and questions")
    told = command.parse_args(argv)
    cases = json.loads(told.cases.read_text(encoding="utf-8")) if told.cases else []
    asked = asyncio.run(collected(told.data, cases))
    columns = tuple(map(str, _PROBABILITIES))
    weights = fitted(asked)
    print("WEIGHTS =", json.dumps(weights, indent=4))
    half = fitted([one for one in asked if not one.is_held_out])
    table = shares(half, [one for one in asked if one.is_held_out])
    print_table("Messages that get something, of the half that is left out", columns, table)
    for left_out in sorted({one.source for one in asked if one.needs}):
        rest = fitted([one for one in asked if left_out not in one.source])
        table |= {
            f"without {left_out}": row for row in shares(rest, [o for o in asked if o.source == left_out]).values()
        }
    print_table("Sources left out as a whole", columns, {name: row for name, row in table.items() if "without" in name})
    write_rows(told.json, table, (), {"weights": weights})


if __name__ == "__main__":
    main()
