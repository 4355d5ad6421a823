"""Facts shown with what they are linked with: what the prompt then has of the answer, and what that takes.

    python -m benchmarks.linked_context --json results/linked_context.json

40 conversations of one user with an agent, as an extraction leaves them: three messages, a fact, an episode with its
outcome and a lesson, and a step of a task. 60 questions ask what came of what a fact tells, or what was done about it,
and 60 ask for the fact itself.

`evidence` is the share of all questions whose answer stands in the block of memories, in a sentence of the right
conversation; `evidence_outcome`, `evidence_step` and `evidence_plain` are those of the 40 that ask for an outcome, the
20 for a step, which nothing but a link leads to, and the 60. `prompt_tokens` is the mean size of the block.
`without` is `recall.links: false`; `without_at_more_room` is that with as many memories of a scope as take at least as
many tokens as with links.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.memory.context.found_memory import FoundMemory
from react_mem.memory.context.memories import render_found
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.tokens import count_lines
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.embeddings import load_embedding_model

_DATA = Path(__file__).with_name("data") / "sessions.json"
_SENTENCES = ("said", "later", "fact", "goal", "outcome", "lesson", "step")
_USER = "user"
_AGENT = "agent"

_SCOPES = [MemoryScope.DIALOG, MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.PROCEDURAL]

_MEMORIES = 8
"""Memories of a scope by default."""

_MOST_MEMORIES = 16
"""Memories of a scope up to which as many tokens are looked for as with links."""

Metrics = dict[str, float]


class Asked(NamedTuple):
    """Question, what it asks for (`outcome`, `step`, `plain`), and the sentences of which any answers it."""

    text: str
    kind: str
    answers: tuple[str, ...]


def load_sessions() -> list[dict[str, Any]]:
    """Return the conversations."""
    return list(json.loads(_DATA.read_text(encoding="utf-8")))


def load_questions(sessions: Sequence[dict[str, Any]]) -> list[Asked]:
    """Return what is asked of conversations, all together."""
    return [_asked(session, row, kind) for session in sessions for kind in ("linked", "plain") for row in session[kind]]


def _asked(session: dict[str, Any], row: dict[str, str], kind: str) -> Asked:
    answers = {name: session[name] for name in _SENTENCES if row["needs"].casefold() in session[name].casefold()}
    told = "outcome" if "outcome" in answers else "step"
    return Asked(row["text"], kind if kind == "plain" else told, tuple(answers.values()))


async def fill(store: BaseStore, sessions: Sequence[dict[str, Any]]) -> None:
    """Write conversations with what an extraction draws from them."""
    memory = MemoryFacade(store)
    for place, session in enumerate(sessions):
        for scope, data in _records(place, session):
            await memory.write(
                MemoryWriteEvent(user_id=_USER, session_id=f"session {place}", agent_id=_AGENT, scope=scope, data=data)
            )


def _records(place: int, session: dict[str, Any]) -> list[tuple[MemoryScope, dict[str, Any]]]:
    at = f"2026-{place // 28 + 3:02}-{place % 28 + 1:02}T09:00:00+00:00"
    said, answer, later = (f"m{place}-{turn}" for turn in range(3))
    texts = {said: ("user", session["said"]), answer: ("assistant", f"Let us see. {session['goal']}.")}
    texts[later] = ("user", session["later"])
    messages = [
        {"kind": "message", "id": id_, "text": text, "content": text, "role": role, "turn": turn}
        for turn, (id_, (role, text)) in enumerate(texts.items())
    ]
    episode = {name: session[name] for name in ("goal", "outcome")}
    step = {"kind": "task_step", "task_id": f"t{place}", "text": session["step"], "status": "done"}
    fact = {"kind": "fact", "id": f"f{place}", "text": session["fact"], "source_ids": [said]}
    return [
        *((MemoryScope.DIALOG, {**message, "created_at": at}) for message in messages),
        (MemoryScope.SEMANTIC, {**fact, "created_at": at}),
        (
            MemoryScope.EPISODIC,
            {
                **episode,
                "kind": "episode",
                "lessons": [session["lesson"]],
                "source_ids": list(texts),
                "created_at": at,
            },
        ),
        (MemoryScope.STATE, {**step, "id": f"s{place}", "source_ids": [said], "created_at": at}),
    ]


async def ask(store: BaseStore, questions: Sequence[Asked], *, links: bool, memories: int = _MEMORIES) -> Metrics:
    """Return the metrics of what each question is shown.

    Args:
        store: The memory.
        questions: What is asked, each in a new conversation.
        links: Whether facts come with what they are linked with.
        memories: Memories of a scope, at most.
    """
    policy = MemoryPolicy.model_validate({"recall": {"links": links, "max_memories": memories}})
    memory = MemoryFacade(store, policy)
    has: dict[str, list[bool]] = {"outcome": [], "step": [], "plain": []}
    tokens = []
    for question in counted(questions, "Asking", "questions"):
        found = await memory.read(
            MemoryQuery(user_id=_USER, session_id="now", agent_id=_AGENT, scopes=_SCOPES, query=question.text)
        )
        tellable = [FoundMemory(item) for item in found if item.source != "context_chain"]
        block = render_found(tellable, policy.context.memory_tokens, question=question.text).briefing
        has[question.kind].append(any(answer in block for answer in question.answers))
        tokens.append(count_lines(block))
    return {
        "evidence": round(mean(chain.from_iterable(has.values())), 4),
        **{f"evidence_{kind}": round(mean(found), 4) for kind, found in has.items()},
        "prompt_tokens": round(mean(tokens), 1),
    }


async def measure() -> dict[str, Metrics]:
    """Return the metrics without links, with them, and without them where there are as many tokens."""
    model = load_embedding_model("local")
    store = InMemoryStore(index={"dims": model.dims, "embed": model.embeddings, "fields": ["text"]})
    sessions = load_sessions()
    await fill(store, sessions)
    questions = load_questions(sessions)
    without = await ask(store, questions, links=False)
    linked = await ask(store, questions, links=True)
    more = without
    for memories in range(_MEMORIES + 1, _MOST_MEMORIES + 1):
        if more["prompt_tokens"] >= linked["prompt_tokens"]:
            break
        more = await ask(store, questions, links=False, memories=memories)
    return {"without": without, "with_links": linked, "without_at_more_room": more}


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.linked_context", description=(__doc__ or "").partition("\n")[0]
    )
    add_json_option(parser)
    arguments = parser.parse_args(argv)
    rows = asyncio.run(measure())
    print_table("Facts with what they are linked with", tuple(rows["without"]), rows)
    write_json(arguments.json, rows.pop("without"), rows, {})


if __name__ == "__main__":
    main()
