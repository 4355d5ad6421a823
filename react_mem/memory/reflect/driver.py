"""The one driver of reflection: gather, ask, check, merge, report.

A strategy supplies its material, its questions with their checks, and its merge. The driver bounds the calls, drops
drafts with forgotten sources, records its progress, and writes everything in one transaction.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

from langgraph.store.base import BaseStore, PutOp

from react_mem.errors import ExtractionError, InvalidOutput
from react_mem.memory.llm.calls import Asker, ModelQuestion
from react_mem.memory.merging.skill_life import sources_of
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.operations import Change
from react_mem.memory.store.transactions import transact

MAX_CALLS = 5  # Questions of one run; the others wait for the next
log = logging.getLogger(__name__)


@dataclass
class Report:
    """Report of one run: `stored` and `retired` texts, model calls, refused proposals, and a problem for the user."""

    stored: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    calls: int = 0
    refused: list[str] = field(default_factory=list)
    problem: str = ""


Values = Mapping[str, dict[str, Any]]  # Records as stored, by id
D = TypeVar("D")  # Candidate records, with `source_ids`: one with a forgotten source is dropped


@dataclass(frozen=True)
class Checked(Generic[D]):
    """Drafts that passed the checks, and the reasons why others did not."""

    drafts: Sequence[D] = ()
    refused: Sequence[str] = ()


@dataclass(frozen=True)
class Asked(Generic[D]):
    """A question to a model, its keys in the progress note, and the drafts for a model that fails."""

    question: ModelQuestion[Checked[D]]
    keys: Sequence[str] = ()
    otherwise: Sequence[D] = ()


@dataclass(frozen=True)
class Gathered(Generic[D]):
    """Drafts that need no model, questions, and the new progress note (None: the old) from the answered keys."""

    found: Sequence[D] = ()
    questions: Sequence[Asked[D]] = ()
    noted: Callable[[Sequence[str]], Mapping[str, Any] | None] = lambda keys: None


@dataclass
class Strategy(ABC, Generic[D]):
    """Strategy that draws one kind of memory from others of the same user; made for one run."""

    store: BaseStore
    user_id: str
    note_key: ClassVar[str]  # of the progress note in the user's bookkeeping
    sources: ClassVar[Sequence[MemoryScope]] = ()  # scopes of the drafts' source records

    @abstractmethod
    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[D]:
        """Return the drafts and questions of a run, given the progress note of earlier runs."""

    @abstractmethod
    async def merge(self, drafts: Sequence[D], there: Values, report: Report) -> list[Change]:
        """Return the changes of drafts with all sources `there`; called again if the transaction is retried."""


async def run(strategy: Strategy[D], asker: Asker | None = None) -> Report:
    """Reflect once. Idempotent, and safe for concurrent workers; a failing model only costs the drafts that need it."""
    store, user_id, key = strategy.store, strategy.user_id, strategy.note_key

    async def note() -> Mapping[str, Any]:
        item = await store.aget(meta_namespace(user_id), key)
        return item.value if item is not None else {}

    gathered = await strategy.gather(await note(), asker)
    drafts: list[Any] = [*gathered.found]
    keys, asked = list[str](), Report()
    if asker is not None:
        await _ask(asker, gathered.questions[:MAX_CALLS], drafts, keys, asked)
    looked_at = gathered.noted(keys)

    async def step() -> tuple[Report, list[Change]]:
        # it may be done again: what it tells must not add up
        report = replace(asked, stored=[], retired=[])
        there = await sources_of(store, user_id, (id_ for one in drafts for id_ in one.source_ids), strategy.sources)
        left = [one for one in drafts if there.keys() >= {*one.source_ids}]
        changes = await strategy.merge(left, there, report)
        if looked_at is not None and looked_at != await note():
            changes.append(PutOp(meta_namespace(user_id), key, dict(looked_at), index=False))
        return report, changes

    return await transact(store, user_id, step)


async def _ask(asker: Asker, questions: Sequence[Asked[D]], drafts: list[D], keys: list[str], report: Report) -> None:
    """Ask the questions in turn and add their drafts; an unreachable model is not asked again."""
    is_down = False
    for one in questions:
        answer = Checked(one.otherwise)
        if not is_down:
            report.calls += 1
            try:
                answer = await asker.ask(one.question)
                keys += one.keys
            except ExtractionError as error:
                log.warning("%s: nothing is drawn with the model: %s", one.question.prompt, error)
                report.problem = str(error)
                is_down = not isinstance(error, InvalidOutput)
        if answer.refused:
            log.info("%s: proposals of the model are refused: %s", one.question.prompt, "; ".join(answer.refused))
        drafts += answer.drafts
        report.refused += answer.refused
