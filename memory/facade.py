"""The one door to memory: every read and write of a graph, a tool or an outside service comes through here."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, GetOp, Item, Result

from react_mem.memory import telemetry
from react_mem.memory.branches.marks import branch_key, tip_of
from react_mem.memory.index.recall import Recall
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.doubts import with_doubts
from react_mem.memory.model.arms import Arm
from react_mem.memory.model.changes import Change, write
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryResults, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.receipt import Receipt
from react_mem.memory.model.records import Fact
from react_mem.memory.retrieval import last_known
from react_mem.memory.retrieval.any_store import recall
from react_mem.memory.retrieval.graph_arm import with_links
from react_mem.memory.retrieval.graph_reading import MemoryGraph
from react_mem.memory.retrieval.reranking import rerank
from react_mem.memory.rights import erasure, forgetting, portability
from react_mem.memory.rights.correcting import correct_fact
from react_mem.memory.rights.erased import ErasedSessions
from react_mem.memory.rights.forgotten import forgotten_in, forgotten_key
from react_mem.memory.rights.portability import ImportReport
from react_mem.memory.scopes import (
    DialogMemoryStore,
    EpisodicMemoryStore,
    ExperienceMemoryStore,
    ProceduralMemoryStore,
    ProfileMemoryStore,
    ScopeStore,
    SemanticMemoryStore,
    StateMemoryStore,
)
from react_mem.memory.scopes.scope import question_of
from react_mem.memory.store.owned import WHOLE, everything

log = logging.getLogger(__name__)


class MemoryFacade:
    """Memory on any LangGraph store, under one policy. Each scope is an attribute, such as `memory.semantic`.

    The links between memories are another one, `memory.graph`.

    Args:
        store: Where records live.
        policy: What may be read and written.
        checkpointer: Keeps the threads, so that forgetting reaches them; without it the caller deletes them.
    """

    def __init__(
        self,
        store: BaseStore,
        policy: MemoryPolicy | None = None,
        *,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        self.store = store
        self.policy = policy or MemoryPolicy.model_validate({})
        self.checkpointer = checkpointer
        self.dialog = DialogMemoryStore(store, self.policy)
        self.state = StateMemoryStore(store, self.policy)
        self.semantic = SemanticMemoryStore(store, self.policy)
        self.episodic = EpisodicMemoryStore(store, self.policy)
        self.procedural = ProceduralMemoryStore(store, self.policy)
        self.profile = ProfileMemoryStore(store, self.policy)
        self.experience = ExperienceMemoryStore(store, self.policy)
        self.graph = MemoryGraph(store)
        own = {scope.scope: scope for scope in vars(self).values() if isinstance(scope, ScopeStore)}
        self._scopes = {scope: own.get(scope) or ScopeStore(store, self.policy, scope) for scope in MemoryScope}

    async def read(self, query: MemoryQuery) -> MemoryResults:
        """Return what is remembered for the query, scope by scope, the most relevant first within a scope.

        One embedding call and one round trip, whatever the number of scopes (on a store that batches, as
        `MemoryStore` does); now and then one more, for the names of those who speak or for what a fact is in doubt
        about, and one or two where the graph is among the policy's arms. Without the embedder, words, neighbours and
        times still find; without the index of words, vectors do; without the database, `last_known` has what was read
        before.

        Args:
            query: What to read. `extra["seen"]` may list the ids of records the caller has already; `extra["now"]`, the
                time of asking (ISO 8601), is what "last week" is relative to.

        Returns:
            The results, in the order of `query.scopes`, and what is missing from them; a scope that the policy turns
            off has none.

        Raises:
            ValueError: If `extra["now"]` is not a time.
        """
        with telemetry.span("read") as measured:
            results = await self._read(query)
            measured.set(results=len(results), missing=len(results.missing))
        for part in results.missing:
            telemetry.count("degradations", part=part)
        telemetry.record("read.results", len(results))
        for source, found in Counter(item.source for item in results).items():
            telemetry.count("retrieved", found, source=source)
        return results

    async def _read(self, query: MemoryQuery) -> MemoryResults:
        started = time.monotonic()
        question = await question_of(self.store, query)
        asked = [
            (scope, scope.operations(query, question))
            for scope in map(self._scopes.__getitem__, dict.fromkeys(query.scopes))
        ]
        operations = [operation for _, part in asked for operation in part]
        # beside what is asked for, where the conversation stands: whoever goes on elsewhere has forked it; and what of
        # it is forgotten, since the thread still has it
        bookkeeping = meta_namespace(query.user_id)
        notes = [GetOp(bookkeeping, key(query.session_id)) for key in (branch_key, forgotten_key)]
        answers = await recall(self.store, [*operations, *notes] if operations else [])
        forgotten, branch = (answers.pop(), answers.pop()) if answers else (None, None)
        if Arm.GRAPH in self.policy.recall.arms:
            answers = await with_links(self.store, operations, answers)
        results = MemoryResults(
            tip=tip_of(branch if isinstance(branch, Item) else None),
            forgotten=forgotten_in(forgotten if isinstance(forgotten, Item) else None),
        )
        if query.as_of is not None:
            # many records are read again
            answers = await asyncio.to_thread(_as_of, asked, answers, query.as_of)
        answers, failure = await self._reranked(answers, query.query or "")
        if failure:
            results.missing["reranker"] = failure
        for scope, part in asked:
            if part:
                results += scope.results(answers[: len(part)], query)
                results.missing |= {
                    str(arm): cause
                    for answer in answers[: len(part)]
                    if isinstance(answer, Recall)
                    for arm, cause in answer.missing.items()
                }
                answers = answers[len(part) :]
        if query.as_of is None:
            results[:] = await with_doubts(self.store, query.user_id, results)
            last_known.keep(self.store, query, results, since=started)
        return results

    def last_known(self, query: MemoryQuery) -> MemoryResults | None:
        """Return what this process last read for the same user, agent and scopes, for when the database is down.

        Args:
            query: What was asked for now.

        Returns:
            The results, of which `missing` says that they are old; None if nothing was read before.
        """
        # what was believed at a time is not what was last read
        return None if query.as_of else last_known.recall(self.store, query)

    async def _reranked(self, answers: list[Result | Recall], query: str) -> tuple[list[Result | Recall], str]:
        """Return the answers as the reranker orders them, and why it could not."""
        path = self.policy.recall.reranker
        if not path:
            return answers, ""

        async def ordered(answer: Result | Recall) -> Result | Recall:
            if not isinstance(answer, Recall):
                return answer
            return Recall(await rerank(path, query, answer.found), answer.missing)

        try:
            # half of what the read may take: if it is late, there is still the order without it
            async with asyncio.timeout(self.policy.recall.timeout / 2):
                return await asyncio.gather(*map(ordered, answers)), ""
        except Exception as error:  # whatever it raises: it is somebody else's
            cause = cause_of(error)
            log.warning("the order of memories is not checked by %s: %s", path, cause)
            return answers, cause

    async def write(self, event: MemoryWriteEvent) -> None:
        """Remember one thing; writing the same thing again changes nothing.

        `data` is a record of the scope (see `memory.model.records`). What follows from the event may be left out: its
        conversation and agent, and an id that the record's content determines. A fact may be just {"text"} or
        {"text", "about"}; it is then reconciled with what is known.

        Args:
            event: The owner and the data.

        Raises:
            ValueError: If the data is no record of the scope; the message names the field and the fix, and nothing is
                written.
        """
        await self._scopes[event.scope].write(event)

    async def delete_session(self, user_id: str, session_id: str) -> Receipt:
        """Forget one conversation of one owner: its messages, its thread, and what was derived from it.

        What other conversations support too keeps that support.

        Args:
            user_id: The owner.
            session_id: The conversation.

        Returns:
            What was removed, and what was found of it afterwards.
        """
        return await erasure.delete_session(self.store, self.checkpointer, user_id, session_id)

    async def forget_user(self, user_id: str) -> ErasedSessions:
        """Forget everything about one user: every scope, pending work, and the threads.

        Args:
            user_id: The owner.

        Returns:
            The conversations there were: a caller whose threads are kept elsewhere deletes them there. Its `receipt`
            says what was removed, and what was found of it afterwards.
        """
        return await erasure.forget_user(self.store, self.checkpointer, user_id)

    async def correct(self, user_id: str, id_: str, text: str) -> Fact:
        """Put the user's own words in the place of a fact, which stays as dated history.

        Args:
            user_id: The owner.
            id_: The fact.
            text: What is true instead.

        Returns:
            The fact that is believed now.

        Raises:
            ValueError: If it is not a fact that is believed, or the text says nothing new; the message names the cause.
        """
        return await correct_fact(self.store, user_id, id_, text)

    async def forget(self, user_id: str, *ids: str) -> Receipt:
        """Forget memories with what derives from them; a fact goes with the sentences of messages that said it.

        Args:
            user_id: The owner.
            ids: The records.

        Returns:
            What was removed, and what was found of it afterwards.
        """
        return await forgetting.forget(self.store, user_id, ids=ids)

    async def forget_said(self, user_id: str, what: str) -> forgetting.Forgotten:
        """Forget the one memory that says something, as `forget` does.

        Args:
            user_id: The owner.
            what: What is to be forgotten, in words.

        Returns:
            What became of it, or what may be meant where that is not clear.
        """
        return await forgetting.forget_said(self.store, user_id, what)

    def export_user(self, user_id: str) -> AsyncIterator[str]:
        """Yield everything that is remembered about a user as JSON Lines, without line ends.

        The lines name no user. Importing them into an empty database marks all of it as imported; exporting and
        importing that again gives the same bytes.

        Args:
            user_id: The owner.
        """
        return portability.export_user(self.store, user_id)

    async def import_user(self, user_id: str, lines: Iterable[str] | AsyncIterable[str]) -> ImportReport:
        """Bring an export back, for the same user or for another one; what is there already stays as it is.

        Args:
            user_id: The owner of what is imported.
            lines: What `export_user` yielded.

        Returns:
            How many records were added.

        Raises:
            ValueError: If a line is not one of an export; the message names it, and nothing has been imported.
        """
        return await portability.import_user(self.store, user_id, lines)

    async def list_records(
        self, user_id: str, scopes: Sequence[MemoryScope] = tuple(MemoryScope)
    ) -> list[MemoryResultItem]:
        """Return every record of some scopes of a user, whatever the policy says, the latest first.

        Args:
            user_id: The owner.
            scopes: The scopes; all of them by default.
        """
        found = [
            self._scopes[MemoryScope(item.namespace[2])].shown(item)
            for item in await everything(self.store, user_id)
            if item.namespace[2] in scopes
        ]
        return sorted(found, key=lambda item: str(item.payload.get("created_at")), reverse=True)

    async def records(self, user_id: str, scope: MemoryScope, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the records that exist among these ids, by id, in one round trip."""
        wanted = list(dict.fromkeys(ids))
        found = await self.store.abatch([GetOp(scope_namespace(user_id, scope), id_) for id_ in wanted])
        return {item.key: item.value for item in cast("list[Item | None]", found) if item is not None}

    async def apply(self, changes: Sequence[Change]) -> None:
        """Write and delete records in one batch: all of it or nothing, on a store whose batches are atomic."""
        if changes:
            await write(self.store, changes)

    async def pending(self, user_id: str) -> list[dict[str, Any]]:
        """Return the turns of a user from which nothing has been drawn yet, the oldest first."""
        found = await self.store.asearch(PENDING.namespace(user_id), limit=WHOLE, refresh_ttl=False)
        return sorted((item.value for item in found), key=lambda value: str(value["created_at"]))


def _as_of(
    asked: Sequence[tuple[ScopeStore, Sequence[Any]]], answers: Sequence[Result | Recall], at: datetime
) -> list[Result | Recall]:
    """Return the answers of each scope as they would have been at a time."""
    left, then = iter(answers), []
    for scope, part in asked:
        then += scope.answers_as_of([next(left) for _ in part], at)
    return then
