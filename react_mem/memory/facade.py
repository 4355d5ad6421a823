"""Facade of memory: every read and write of a graph, a tool or an outside service."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, GetOp, Item, Result

from react_mem.errors import NotThere
from react_mem.memory import telemetry
from react_mem.memory.index.recall import Recall
from react_mem.memory.llm.causes import cause_of, checked
from react_mem.memory.merging.forks import branch_key, tip_of
from react_mem.memory.merging.outdated import former_operations, with_doubts
from react_mem.memory.model.interface import (
    MemoryQuery,
    MemoryResultItem,
    MemoryResults,
    MemoryScope,
    MemoryWriteEvent,
)
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.operations import Change, Receipt, write
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval import last_known
from react_mem.memory.retrieval.graph_reading import MemoryGraph, with_linked
from react_mem.memory.retrieval.results import instruction_operations, instructions_of, rerank
from react_mem.memory.retrieval.stock_recall import divided, recall
from react_mem.memory.rights import forgetting
from react_mem.memory.rights.erasure import Erasure
from react_mem.memory.rights.feedback import FeedbackCalls
from react_mem.memory.rights.hidden import HiddenCalls
from react_mem.memory.rights.holdings_shown import HoldingViews
from react_mem.memory.rights.holds import LegalHolds
from react_mem.memory.rights.portability import Portability
from react_mem.memory.rights.receipts import SignedReceipt, sign
from react_mem.memory.rights.retention import Retained, retain
from react_mem.memory.rights.showing import MemoryViews
from react_mem.memory.rights.unsaid import forgotten_in, forgotten_key
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
from react_mem.memory.scopes.scope import BoundMemory, question_of
from react_mem.memory.store.attachments import bytes_of, read_attachment
from react_mem.memory.store.audit_log import AuditAction, note_action
from react_mem.memory.store.capabilities import WHOLE, everything
from react_mem.memory.store.searches import latest_first, revision_of

log = logging.getLogger(__name__)


_Scope = TypeVar("_Scope", bound=ScopeStore)


class MemoryFacade(MemoryViews, HoldingViews, FeedbackCalls, Erasure, HiddenCalls, LegalHolds, Portability):
    """Memory on any LangGraph store, under one policy. Each scope is an attribute, such as `memory.semantic`.

    The links between memories are another one, `memory.graph`.

        memory = MemoryFacade(dialog_store=InMemoryStore(), semantic_store=SemanticMemoryStore(vectors))

    Args:
        store: The store of the records.
        policy: Policy of reading and writing.
        checkpointer: Keeps the threads, so that forgetting reaches them; without it the caller deletes them.
        dialog_store: Another store for this scope: a store, or the scope's own on one. A scope without a store
            of its own lives in `store`, else in the first of these that is given.
        state_store: Likewise.
        semantic_store: Likewise.
        procedural_store: Likewise.
        profile_store: Likewise.
        experience_store: Likewise.
        episodic_store: Likewise.

    Raises:
        ValueError: If no store is given.
        TypeError: If an argument is neither a store nor the store of its scope.
    """

    @checked(store="give a LangGraph store, such as InMemoryStore(), or open the one of a database with open_memory()")
    def __init__(
        self,
        store: BaseStore | None = None,
        policy: MemoryPolicy | None = None,
        *,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        dialog_store: DialogMemoryStore | BaseStore | None = None,
        state_store: StateMemoryStore | BaseStore | None = None,
        semantic_store: SemanticMemoryStore | BaseStore | None = None,
        procedural_store: ProceduralMemoryStore | BaseStore | None = None,
        profile_store: ProfileMemoryStore | BaseStore | None = None,
        experience_store: ExperienceMemoryStore | BaseStore | None = None,
        episodic_store: EpisodicMemoryStore | BaseStore | None = None,
    ) -> None:
        given: dict[MemoryScope, ScopeStore | BaseStore | None] = {
            MemoryScope.DIALOG: dialog_store,
            MemoryScope.STATE: state_store,
            MemoryScope.SEMANTIC: semantic_store,
            MemoryScope.PROCEDURAL: procedural_store,
            MemoryScope.PROFILE: profile_store,
            MemoryScope.EXPERIENCE: experience_store,
            MemoryScope.EPISODIC: episodic_store,
        }
        parts = {
            # a store, or the scope on it
            scope: one.store if isinstance(one, ScopeStore) and one.scope is scope else cast(BaseStore, one)
            for scope, one in given.items()
            if one is not None
        }
        first = next(iter(parts.values()), None) if store is None else store
        if first is None:
            raise ValueError("give memory a store: MemoryFacade(InMemoryStore()), or one for each scope")
        self.store = store = divided(first, parts)
        self.policy = policy or MemoryPolicy.model_validate({})
        self.checkpointer = checkpointer

        def part(kind: type[_Scope]) -> _Scope:
            own = given[kind.scope]
            return own.within(store, self.policy) if isinstance(own, kind) else kind(store, self.policy)

        self.dialog = part(DialogMemoryStore)
        self.state = part(StateMemoryStore)
        self.semantic = part(SemanticMemoryStore)
        self.episodic = part(EpisodicMemoryStore)
        self.procedural = part(ProceduralMemoryStore)
        self.profile = part(ProfileMemoryStore)
        self.experience = part(ExperienceMemoryStore)
        self.graph = MemoryGraph(store)
        own = {scope.scope: scope for scope in vars(self).values() if isinstance(scope, ScopeStore)}
        self._scopes = {scope: own.get(scope) or ScopeStore(store, self.policy, scope) for scope in MemoryScope}

    @checked()
    def of(self, user_id: str, *, session_id: str | None = None, agent_id: str = "") -> BoundMemory:
        """Return the memory of one owner: the calls of its scopes need not name them.

            ann = memory.of("ann", session_id="monday", agent_id="planner")
            await ann.state.save_state("trip", "monday", {"step": 1})

        Args:
            session_id: The conversation; None where the calls name it.

        Raises:
            ValueError: If no owner is named.
        """
        return BoundMemory(self._scopes.values(), user_id, session_id, agent_id)

    async def read(self, query: MemoryQuery) -> MemoryResults:
        """Return the memories for a query, scope by scope, the most relevant first within a scope.

        One embedding call and one round trip, whatever the number of scopes (on a store that batches, as
        `MemoryStore` does); now and then one more, for the names of speakers, for the doubts about a fact
        or for the place of its message, and one or two where facts are shown with their links. Without the
        embedder, words, neighbours and times still find; without the index of words, vectors do; without the
        database, `last_known` has the results of the last read.

        Args:
            query: The query. `extra["seen"]` may list the ids of records the caller has already; `extra["now"]`, the
                time of asking (ISO 8601), is the base of "last week"; `extra["turns"]` is how many of the last
                turns of this conversation dialog begins with, by default and at most `context.dialog_turns`;
                `extra["cut"]` is False for a search, which gets what a message does not need, too;
                `extra["standing"]` asks for the instructions and preferences that stand and fit: more results, behind
                those of the scopes.

        Returns:
            The results, in the order of `query.scopes`, with `missing` naming the parts that could not be asked; a
            scope that the policy turns off has none.

        Raises:
            ValueError: If `extra["now"]` is not a time, `extra["seen"]` not a list of ids, or `extra["turns"]` not a
                number of turns.
        """
        with telemetry.span("read") as measured:
            results = await self._read(query)
            measured.set(results=len(results), missing=len(results.missing))
        note_action(
            self.store, query.user_id, AuditAction.READ, Counter(item.payload.get("kind", "") for item in results)
        )
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
        beside = instruction_operations(query, question, self.policy)
        former = former_operations(query, question, self.policy)
        answers = await recall(self.store, [*operations, *beside, *former, *notes] if operations else [])
        forgotten, branch = (answers.pop(), answers.pop()) if answers else (None, None)
        of_facts, answers, standing = answers, answers[: len(operations)], answers[len(operations) :][: len(beside)]
        results = MemoryResults(
            tip=tip_of(branch if isinstance(branch, Item) else None),
            forgotten=forgotten_in(forgotten if isinstance(forgotten, Item) else None),
        )
        left, answers = iter(answers), []
        for scope, part in asked:
            own = [next(left) for _ in part]
            if query.as_of is not None:
                # many records are read again
                own = await asyncio.to_thread(scope.answers_as_of, own, query.as_of)
            answers += own
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
        if _any_found(standing):
            results += await asyncio.to_thread(instructions_of, standing, query)
        if query.as_of is None:
            results[:] = await with_doubts(self.store, query, results, of_facts)
            if self.policy.recall.links:
                results[:] = await with_linked(self.store, query.user_id, results)
            last_known.keep(self.store, query, results, since=started)
        return results

    def last_known(self, query: MemoryQuery) -> MemoryResults | None:
        """Return this process's last results for the same user, agent and scopes, for when the database is down.

        Returns:
            The results, marked as old in `missing`; None if nothing was read before.
        """
        # what was believed at a time is not what was last read
        return None if query.as_of else last_known.recall(self.store, query)

    async def _reranked(self, answers: list[Result | Recall], query: str) -> tuple[list[Result | Recall], str]:
        """Return the answers in the order of the reranker, and the cause if it fails."""
        path = self.policy.recall.reranker
        if not path:
            return answers, ""

        async def ordered(answer: Result | Recall) -> Result | Recall:
            if not isinstance(answer, Recall):
                return answer
            return replace(answer, found=await rerank(path, query, answer.found))

        try:
            # half of what the read may take: if it is late, there is still the order without it
            async with asyncio.timeout(self.policy.recall.timeout / 2):
                return await asyncio.gather(*map(ordered, answers)), ""
        except Exception as error:  # whatever it raises: it is somebody else's
            cause = cause_of(error)
            log.warning("the order of memories is not checked by %s: %s", path, cause)
            return answers, cause

    async def write(self, event: MemoryWriteEvent) -> None:
        """Write one record; writing the same record again changes nothing.

        `data` is a record of the scope (see `memory.model.records`). Fields that follow from the event may be left out:
        its conversation and agent, and an id that the record's content determines. A fact may be just {"text"} or
        {"text", "about"}; it is then reconciled with the known facts.

        Raises:
            ValueError: If the data is no record of the scope; the message names the field and the fix, and nothing is
                written.
        """
        await self._scopes[event.scope].write(event)

    async def signed(self, user_id: str, receipt: Receipt) -> SignedReceipt:
        """Return a receipt with the server's signature, as a proof: see `react-mem receipt verify`.

        Args:
            user_id: The user of the receipt; it names nobody, and can be matched with a user's id.
        """
        return await sign(self.store, user_id, receipt)

    async def forget(self, user_id: str, *ids: str, revision: str = "") -> Receipt:
        """Forget memories and everything derived from them; a fact goes with the sentences of messages that said it.

        Args:
            revision: Their `MemoryItem.revision` when they were looked at; empty for any.

        Returns:
            The removed records, and the remains found afterwards.

        Raises:
            MemoryChanged: If a revision is outdated: nothing is removed.
        """
        keeps = self.checkpointer
        receipt = await forgetting.forget(self.store, user_id, ids=ids, revision=revision, checkpointer=keeps)
        note_action(self.store, user_id, AuditAction.FORGET, receipt.counts)
        return receipt

    async def forget_said(self, user_id: str, what: str) -> forgetting.Forgotten:
        """Forget the one memory that says something, as `forget` does.

        Returns:
            The receipt, or the candidates where the description is not clear.
        """
        done = await forgetting.forget_said(self.store, user_id, what, checkpointer=self.checkpointer)
        note_action(self.store, user_id, AuditAction.FORGET, done.receipt.counts)
        return done

    async def apply_retention(self, user_id: str, agent_id: str, *, dry_run: bool = False) -> Retained:
        """Remove records of a user and an agent that are older, or more, than the policy's `retention` allows.

        A worker does so by itself for agents with a config; this is for an application of your own.

        Args:
            agent_id: The agent whose records are judged; those of others go only with their sources.

        Returns:
            The records that were removed, or would be, by kind.
        """
        policies = {agent_id: self.policy.retention}
        return await retain(self.store, self.checkpointer, user_id, policies, dry_run=dry_run)

    async def list_records(
        self, user_id: str, scopes: Sequence[MemoryScope] = tuple(MemoryScope)
    ) -> list[MemoryResultItem]:
        """Return every record of some scopes of a user under any policy, the latest first, as `page` does."""
        found = [
            self._scopes[MemoryScope(item.namespace[2])].shown(item)
            for item in await asyncio.to_thread(latest_first, await everything(self.store, user_id))
            if item.namespace[2] in scopes
        ]
        note_action(self.store, user_id, AuditAction.READ, Counter(item.payload.get("kind", "") for item in found))
        return found

    async def revision(self, user_id: str) -> str:
        """Return the revision of a user's memory, which changes with every write: a cheap check for changes."""
        return await revision_of(self.store, user_id)

    async def records(self, user_id: str, scope: MemoryScope, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the records that exist among these ids, by id, in one round trip."""
        return await self._scopes[scope].get(user_id, ids)

    async def apply(self, changes: Sequence[Change]) -> None:
        """Write and delete records in one batch, which is atomic on a store with atomic batches."""
        if changes:
            await write(self.store, changes)

    async def attachment(self, user_id: str, ref: str) -> bytes:
        """Return the bytes of an attachment of a user's message: an image, a sound or a file.

        Args:
            ref: Its `ref` in a block of the message's content, `sha256:...`.

        Raises:
            NotThere: If this user has no such attachment.
        """
        pieces = await read_attachment(self.store, user_id, ref)
        if pieces is None:
            raise NotThere(
                f"this user has no attachment {ref!r:.90}: use the `ref` of a block of one of their messages, as long "
                "as that is remembered"
            )
        return await bytes_of(pieces)

    async def pending(self, user_id: str) -> list[dict[str, Any]]:
        """Return the turns of a user that wait for extraction, the oldest first."""
        found = await self.store.asearch(PENDING.namespace(user_id), limit=WHOLE, refresh_ttl=False)
        return sorted((item.value for item in found), key=lambda value: str(value["created_at"]))


def _any_found(answers: Iterable[Result | Recall]) -> bool:
    return any(isinstance(answer, Recall) and answer.found for answer in answers)
