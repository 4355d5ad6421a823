"""Relevance of the facts in a prompt: shown facts for each needed one.

    python -m benchmarks.relevance --json results/relevance.json [--half test]

60 facts of one user, 15 of them in Vietnamese, and 120 questions in other words: 30 need none of the facts, 50 one, 25
two, 15 three. One half of the questions (by a checksum of their text) served to choose the shares in
`memory/retrieval/relevance.py`; the other half is reported.

`recall` is the share of needed facts that are shown, `recall_kept` the share among those found without the cut, and
`shown_per_needed` the number of shown facts for each needed one. `shown_for_idle` is the number of facts shown for a
greeting, thanks, chat or task, of 170 in seven languages. `without_cut` is the same without it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from langgraph.store.memory import InMemoryStore

from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, Metrics, print_table, write_json
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.store.embeddings import load_embedding_model

DATA = Path(__file__).with_name("data")
_USER = "user"


class Asked(NamedTuple):
    """A question with the indexes of the needed facts."""

    text: str
    needs: frozenset[int]

    @property
    def half(self) -> str:
        return ("tuning", "test")[int(hashlib.sha256(self.text.encode()).hexdigest(), 16) % 2]


def load_facts() -> list[str]:
    return [str(text) for text in json.loads((DATA / "facts.json").read_text(encoding="utf-8"))]


def load_questions(half: str = "all") -> list[Asked]:
    rows = json.loads((DATA / "questions.json").read_text(encoding="utf-8"))
    asked = [Asked(row["text"], frozenset(row["needs"])) for row in rows]
    return [one for one in asked if half in ("all", one.half)]


def idle_messages() -> list[tuple[str, str]]:
    """Return the messages that need nothing, with their languages."""
    read = json.loads((DATA / "messages.json").read_text(encoding="utf-8"))["idle"]
    return [(language, text) for language, texts in read.items() for text in texts]


async def fill(store: InMemoryStore, facts: Sequence[str]) -> dict[str, int]:
    """Store facts, each in a conversation of its own, and return their indexes by id."""
    memory = MemoryFacade(store).semantic
    places = {}
    for place, text in enumerate(facts):
        [fact] = await memory.add([text], user_id=_USER, session_id=f"earlier {place}", agent_id="agent")
        places[fact.id] = place
    return places


async def ask(
    store: InMemoryStore, places: dict[str, int], questions: Sequence[Asked], *, cut: bool
) -> list[list[int]]:
    """Return the indexes of the facts shown for each question in a new conversation, the best first."""
    memory = MemoryFacade(store)
    shown = []
    for question in counted(questions, "Asking", "questions"):
        query = MemoryQuery(
            user_id=_USER,
            session_id="now",
            agent_id="agent",
            scopes=[MemoryScope.SEMANTIC],
            query=question.text,
            extra={"cut": cut},
        )
        shown.append([places[item.id] for item in await memory.read(query)])
    return shown


def metrics(questions: Sequence[Asked], shown: Sequence[Sequence[int]], found: Sequence[Sequence[int]]) -> Metrics:
    """Return the metrics of the facts `shown`, and `found` without a cut, for each question."""
    pairs = list(zip(questions, shown, found, strict=True))
    needed = sum(len(question.needs) for question in questions)
    told = sum(len(question.needs & {*facts}) for question, facts, _ in pairs)
    findable = sum(len(question.needs & {*facts}) for question, _, facts in pairs)
    idle = [len(facts) for question, facts, _ in pairs if not question.needs]
    return {
        "recall": round(told / needed, 4),
        "recall_kept": round(told / findable, 4) if findable else 1.0,
        "shown_per_needed": round(sum(map(len, shown)) / needed, 2),
        "shown_where_none_needed": round(sum(idle) / len(idle), 2) if idle else 0.0,
    }


async def measure(half: str) -> tuple[Metrics, Metrics]:
    model = load_embedding_model("local")
    store = InMemoryStore(index={"dims": model.dims, "embed": model.embeddings, "fields": ["text"]})
    places = await fill(store, load_facts())
    questions = load_questions(half)
    idle = [one for _, text in idle_messages() if half in ("all", (one := Asked(text, frozenset())).half)]
    told: list[Metrics] = []
    found = await ask(store, places, questions, cut=False)
    for cut in (True, False):
        shown = await ask(store, places, questions, cut=True) if cut else found
        idly = await ask(store, places, idle, cut=cut)
        told.append(metrics(questions, shown, found) | {"shown_for_idle": round(sum(map(len, idly)) / len(idle), 2)})
    return told[0], told[1]


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("relevance", __doc__)
    command.add_argument("--half", choices=("test", "tuning", "all"), default="test")
    told = command.parse_args(argv)
    cut, whole = asyncio.run(measure(told.half))
    print_table("Facts shown", tuple(cut), {"react_mem": cut, "without_cut": whole})
    write_json(told.json, cut, {"without_cut": whole}, vars(told))


if __name__ == "__main__":
    main()
