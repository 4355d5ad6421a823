"""Reflection: one driver for whatever is drawn from many turns. Gather, propose, check, merge, report.

A strategy declares what is its own: what it looks at, what a model is asked, which answers pass, and how they are
merged with what is stored. The driver bounds the calls, drops what was forgotten meanwhile, notes what was looked at,
writes all of it in one transaction and reports.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from langgraph.store.base import BaseStore, PutOp

from react_mem.errors import ExtractionError, InvalidOutput
from react_mem.memory.llm.asking import Asker, ModelQuestion
from react_mem.memory.merging.skill_life import sources_of
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.receipt import Change
from react_mem.memory.store.transactions import transact

MAX_CALLS = 5
"""Questions of one run; the others wait for the next."""

log = logging.getLogger(__name__)


@dataclass
class Report:
    """Report of one run.

    Args:
        stored: The texts that are new, have changed, or are taken up again.
        retired: The texts that are no longer believed or followed.
        calls: How many model calls it took.
        refused: Why proposals of the model were not taken.
        problem: What went wrong, for the user; empty when nothing did.
    """

    stored: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    calls: int = 0
    refused: list[str] = field(default_factory=list)
    problem: str = ""


class Draft(Protocol):
    """Something that may be stored."""

    @property
    def source_ids(self) -> Sequence[str]:
        """The records that it stands on: where one has been forgotten, nothing comes of it."""


D = TypeVar("D", bound=Draft)


@dataclass(frozen=True)
class Checked(Generic[D]):
    """Drafts that passed the checks.

    Args:
        drafts: The drafts.
        refused: Why others did not pass.
    """

    drafts: Sequence[D] = ()
    refused: Sequence[str] = ()


@dataclass(frozen=True)
class Asked(Generic[D]):
    """A question to a model, whose answer is drafts.

    Args:
        question: The question.
        keys: By what it is known, in the note of what was looked at.
        otherwise: The drafts where the model gives none.
    """

    question: ModelQuestion[Checked[D]]
    keys: Sequence[str] = ()
    otherwise: Sequence[D] = ()


@dataclass(frozen=True)
class Gathered(Generic[D]):
    """Material of a run: drafts, and questions to the model.

    Args:
        found: What needs no model.
        questions: What a model is asked beyond that.
        noted: Returns the note of what was looked at, of the keys of what was answered; None leaves it as it is.
    """

    found: Checked[D] = field(default_factory=Checked)
    questions: Sequence[Asked[D]] = ()
    noted: Callable[[Sequence[str]], Mapping[str, Any] | None] = lambda keys: None


@dataclass
class Strategy(ABC, Generic[D]):
    """Strategy that draws one kind of memory from others; made for one run.

    Args:
        store: The store.
        user_id: The owner: what is drawn from one user's memories is kept for this one only.
    """

    store: BaseStore
    user_id: str
    note_key: ClassVar[str]
    """The key, among the bookkeeping of a user, of what was looked at."""
    sources: ClassVar[Sequence[MemoryScope]] = ()
    """Scopes of the records that drafts stand on."""

    @abstractmethod
    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[D]:
        """Return what there is to draw.

        Args:
            noted: The note of what was looked at before.
            asker: The model that is to be asked; None for none.
        """

    @abstractmethod
    async def merge(self, drafts: Sequence[D], there: Mapping[str, dict[str, Any]], report: Report) -> list[Change]:
        """Return what drafts change of what is stored; it may be called again, on what is there then.

        Args:
            drafts: Those whose sources are all there.
            there: The sources, as JSON.
            report: Takes what changes.
        """


async def run(strategy: Strategy[D], asker: Asker | None = None) -> Report:
    """Reflect once. Doing it again changes nothing, and asks no model, until there is something new.

    Two workers may do so at once.

    Args:
        strategy: What to reflect on.
        asker: Asks a model; None for what needs none. Where it fails, that is what is left.
    """
    store, user_id, key = strategy.store, strategy.user_id, strategy.note_key

    async def note() -> Mapping[str, Any]:
        item = await store.aget(meta_namespace(user_id), key)
        return item.value if item is not None else {}

    gathered = await strategy.gather(await note(), asker)
    drafts, keys = list(gathered.found.drafts), list[str]()
    asked = Report(refused=list(gathered.found.refused))
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
    """Ask, one after the other, and add what comes of it; a model that cannot be reached is not asked again."""
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
