"""Facade of memory: every read and write of a graph, a tool or an outside service."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, TypeVar, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, GetOp, Item, Result

from react_mem.errors import NotThere
from react_mem.memory import telemetry
from react_mem.memory.branches.tree import branch_key, tip_of
from react_mem.memory.index.recall import Recall
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.llm.checked_calls import checked, checked_calls
from react_mem.memory.merging.doubts import with_doubts, with_places
from react_mem.memory.model.interface import (
    Arm,
    MemoryQuery,
    MemoryResultItem,
    MemoryResults,
    MemoryScope,
    MemoryWriteEvent,
)
from react_mem.memory.model.kinds import FACT, MESSAGE, PENDING
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.receipt import Change, Receipt, write
from react_mem.memory.model.records import Fact
from react_mem.memory.model.retention_settings import LegalHold
from react_mem.memory.model.shown import MemoryDetail, MemoryItem, MemoryPage, MemoryUsage
from react_mem.memory.retrieval import last_known
from react_mem.memory.retrieval.divided_store import divided, recall
from react_mem.memory.retrieval.graph_reading import MemoryGraph, with_linked, with_links
from react_mem.memory.retrieval.outline import (
    instruction_operations,
    instructions_of,
    outline_of,
    outline_operations,
    rerank,
)
from react_mem.memory.rights import erasure, forgetting, hidden, holds, portability
from react_mem.memory.rights.conversations_shown import (
    AnswerSources,
    ConversationDetail,
    ConversationPage,
    explain_answer,
    page_of_conversations,
    show_conversation,
)
from react_mem.memory.rights.feedback import FeedbackReport, Verdict, correct_fact, give_feedback
from react_mem.memory.rights.forgotten import ErasedSessions, forgotten_in, forgotten_key
from react_mem.memory.rights.hidden import HiddenMemory
from react_mem.memory.rights.holdings_shown import (
    OwnersProfile,
    ShownGraph,
    SkillList,
    WaitingTurns,
    count_usage,
    list_skills,
    list_waiting,
    show_graph,
    show_profile,
)
from react_mem.memory.rights.portability import ImportReport, Told, nobody_listens
from react_mem.memory.rights.receipts import SignedReceipt, sign
from react_mem.memory.rights.retention import Retained, retain
from react_mem.memory.rights.showing import State, explain_memory, find_memory, page_of_memories
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
from react_mem.memory.store.audit.audit_entries import ALL, AuditAction
from react_mem.memory.store.audit.audit_log import note_action
from react_mem.memory.store.listing import latest_first, revision_of
from react_mem.memory.store.owned import WHOLE, everything

log = logging.getLogger(__name__)


_Scope = TypeVar("_Scope", bound=ScopeStore)


@checked_calls
class MemoryFacade:
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
        parts = {scope: _store_of(scope, one) for scope, one in given.items() if one is not None}
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
            user_id: The owner.
            session_id: The conversation; None where the calls name it.
            agent_id: The agent.

        Raises:
            ValueError: If no owner is named.
        """
        return BoundMemory(self._scopes.values(), user_id, session_id, agent_id)

    async def read(self, query: MemoryQuery) -> MemoryResults:
        """Return the memories for a query, scope by scope, the most relevant first within a scope.

        One embedding call and one round trip, whatever the number of scopes (on a store that batches, as
        `MemoryStore` does); now and then one more, for the names of speakers, for the doubts about a fact
        or for the place of its message, and one or two where the graph is among the policy's arms, or facts are shown
        with their links. Without the embedder, words, neighbours and times still find; without the index of words,
        vectors do; without the database, `last_known` has the results of the last read.

        Args:
            query: The query. `extra["seen"]` may list the ids of records the caller has already; `extra["now"]`, the
                time of asking (ISO 8601), is the base of "last week"; `extra["turns"]` is how many of the last
                turns of this conversation dialog begins with, by default and at most `context.dialog_turns`;
                `extra["standing"]` asks for the instructions and preferences that stand and fit, and `extra["whole"]`
                for an outline of all conversations: more results, behind those of the scopes.

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
        self._note(query.user_id, AuditAction.READ, Counter(item.payload.get("kind", "") for item in results))
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
        beside = [ask(query, question, self.policy) for ask in (instruction_operations, outline_operations)]
        answers = await recall(self.store, [*operations, *chain(*beside), *notes] if operations else [])
        forgotten, branch = (answers.pop(), answers.pop()) if answers else (None, None)
        answers, told = answers[: len(operations)], answers[len(operations) :]
        if Arm.GRAPH in self.policy.recall.arms:
            answers = await with_links(self.store, operations, answers)
        results = MemoryResults(
            tip=tip_of(branch if isinstance(branch, Item) else None),
            forgotten=forgotten_in(forgotten if isinstance(forgotten, Item) else None),
        )
        if query.as_of is not None:
            # many records are read again
            answers = await asyncio.to_thread(_as_of, asked, answers, query.as_of)
        answers = await _followed(asked, answers, query)
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
        standing, whole = told[: len(beside[0])], told[len(beside[0]) :]
        if _any_found(standing):
            results += await asyncio.to_thread(instructions_of, standing, query)
        if query.as_of is None:
            results[:] = await with_doubts(self.store, query.user_id, results)
            results[:] = await with_places(self.store, query.user_id, results)
            if self.policy.recall.links:
                results[:] = await with_linked(self.store, query.user_id, results)
            # an outline is of no use for another question
            last_known.keep(self.store, query, results, since=started)
        if _any_found(whole):
            results += await asyncio.to_thread(outline_of, whole, query)
        return results

    def _note(self, user_id: str, action: AuditAction, counts: Mapping[str, int]) -> None:
        note_action(self.store, user_id, action, counts)

    def last_known(self, query: MemoryQuery) -> MemoryResults | None:
        """Return this process's last results for the same user, agent and scopes, for when the database is down.

        Args:
            query: The query of now.

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
        """Write one record; writing the same record again changes nothing.

        `data` is a record of the scope (see `memory.model.records`). Fields that follow from the event may be left out:
        its conversation and agent, and an id that the record's content determines. A fact may be just {"text"} or
        {"text", "about"}; it is then reconciled with the known facts.

        Args:
            event: The owner and the data.

        Raises:
            ValueError: If the data is no record of the scope; the message names the field and the fix, and nothing is
                written.
        """
        await self._scopes[event.scope].write(event)

    async def delete_session(self, user_id: str, session_id: str, *, proof: bool = False) -> Receipt:
        """Forget one conversation of one owner: its messages, its thread, and all memories derived from it.

        Memories that other conversations support too keep that support.

        Args:
            user_id: The owner.
            session_id: The conversation.
            proof: True to look through every table of the database afterwards, which may take a while.

        Returns:
            The removed records, and the remains found afterwards.

        Raises:
            ValueError: If no conversation is named.
        """
        receipt = await erasure.delete_session(self.store, self.checkpointer, user_id, session_id, proof=proof)
        self._note(user_id, AuditAction.ERASE, receipt.counts)
        return receipt

    async def forget_user(self, user_id: str, *, proof: bool = False) -> ErasedSessions:
        """Forget everything about one user: every scope, pending work, and the threads.

        Args:
            user_id: The owner.
            proof: True to look through every table of the database afterwards, which may take a while.

        Returns:
            The conversations there were: a caller with threads elsewhere deletes them there. Its `receipt`
            lists the removed records, and the remains found afterwards.
        """
        erased = await erasure.forget_user(self.store, self.checkpointer, user_id, proof=proof)
        self._note(user_id, AuditAction.ERASE, {ALL: 1, **erased.receipt.counts})
        return erased

    async def signed(self, user_id: str, receipt: Receipt) -> SignedReceipt:
        """Return a receipt with the server's signature, as a proof: see `react-mem receipt verify`.

        Args:
            user_id: The user of the receipt; it names nobody, and can be matched with a user's id.
            receipt: The receipt of forgetting.
        """
        return await sign(self.store, user_id, receipt)

    async def feedback(
        self,
        user_id: str,
        score: Verdict,
        *,
        session_id: str = "",
        message_id: str = "",
        run_id: str = "",
        key: str = "user",
    ) -> FeedbackReport | None:
        """Apply a user's rating of an answer to the memories in its prompt and the skills that it followed.

        Idempotent; of each key the last rating counts.

        Args:
            user_id: The owner.
            score: 1 for good, -1 for bad, 0 to withdraw the rating.
            session_id: The conversation; may be left out where the run is given.
            message_id: The answer, or the question: by its id in the thread, or by its record; empty for the last
                answer.
            run_id: The run that answered.
            key: Aspect of the rating, such as `helpfulness`.

        Returns:
            The verdict on the turn, and how many memories and skills it moved; None where the user has no such turn.

        Raises:
            ValueError: If neither a conversation nor a run is named, or a turn would have too many keys.
        """
        if not (session_id or run_id):
            raise ValueError("feedback is about a turn: give session_id, with message_id or without, or run_id")
        turn = {"session_id": session_id, "message_id": message_id, "run_id": run_id}
        return await give_feedback(self.store, user_id, score, **turn, key=key)

    async def correct(self, user_id: str, id_: str, text: str, *, revision: str = "", vouched: bool = False) -> Fact:
        """Put the user's own words in the place of a fact, which stays as dated history.

        Args:
            user_id: The owner.
            id_: The fact.
            text: The true statement.
            revision: The fact's `MemoryItem.revision` when it was looked at; empty for any.
            vouched: True if the user is known to state it, in whatever form.

        Returns:
            The fact that is believed now.

        Raises:
            MemoryChanged: If the revision is outdated.
            ValueError: If it is not a fact that is believed, or the text states nothing, or nothing new; the message
                names the cause.
        """
        fact = await correct_fact(self.store, user_id, id_, text, revision=revision, vouched=vouched)
        self._note(user_id, AuditAction.CORRECT, {fact.kind: 1})
        return fact

    async def forget(self, user_id: str, *ids: str, revision: str = "") -> Receipt:
        """Forget memories and everything derived from them; a fact goes with the sentences of messages that said it.

        Args:
            user_id: The owner.
            ids: The records.
            revision: Their `MemoryItem.revision` when they were looked at; empty for any.

        Returns:
            The removed records, and the remains found afterwards.

        Raises:
            MemoryChanged: If a revision is outdated: nothing is removed.
        """
        receipt = await forgetting.forget(self.store, user_id, ids=ids, revision=revision)
        self._note(user_id, AuditAction.FORGET, receipt.counts)
        return receipt

    async def forget_said(self, user_id: str, what: str) -> forgetting.Forgotten:
        """Forget the one memory that says something, as `forget` does.

        Args:
            user_id: The owner.
            what: Description of the memory, in words.

        Returns:
            The receipt, or the candidates where the description is not clear.
        """
        done = await forgetting.forget_said(self.store, user_id, what)
        self._note(user_id, AuditAction.FORGET, done.receipt.counts)
        return done

    async def hidden(self, user_id: str) -> list[HiddenMemory]:
        """Return the hidden memories, the oldest first: a conversation seems to have asked to forget them.

        They are erased after a day.

        Args:
            user_id: The owner.
        """
        return await hidden.hidden(self.store, user_id)

    async def undo(self, user_id: str, id_: str) -> HiddenMemory:
        """Restore a hidden memory.

        Args:
            user_id: The owner.
            id_: Its id in `hidden`.

        Returns:
            The restored memory.

        Raises:
            NotThere: If nothing is hidden under this id any more.
        """
        undone = await hidden.undo(self.store, user_id, id_)
        erasure.forget_caches(self.store, user_id)
        self._note(user_id, AuditAction.WRITE, {FACT.name: len(undone.texts)})
        return undone

    async def erase(self, user_id: str, id_: str) -> Receipt:
        """Erase a hidden memory for good, before its day is over.

        Args:
            user_id: The owner.
            id_: Its id in `hidden`.

        Returns:
            The removed records, and the remains found afterwards.

        Raises:
            NotThere: If nothing is hidden under this id any more.
            LegalHoldError: If part of it is under a legal hold: it stays hidden.
        """
        return await hidden.erase(self.store, user_id, id_)

    async def hold(self, user_id: str, reference: str, session_id: str = "") -> LegalHold:
        """Put a user, or one conversation of theirs, under a legal hold: nothing of it is removed until it is lifted.

        Neither retention nor any call that forgets removes it; those raise `LegalHoldError`. No tool of an agent and no
        route of the server sets or lifts a hold: only code like this, or `react-mem hold`, does.

        Args:
            user_id: The owner. There need be no memories of them yet.
            reference: Name of the hold, such as the number of a case.
            session_id: The conversation; empty for everything, also future conversations.

        Returns:
            The hold; where it was set before, as it was set then.

        Raises:
            ValueError: If the reference is empty, longer than 100 characters, or not one printable line.
        """
        hold = await holds.set_hold(self.store, user_id, reference, session_id)
        self._note(user_id, AuditAction.HOLD, {ALL: 1})
        return hold

    async def lift_hold(self, user_id: str, reference: str, session_id: str = "") -> bool:
        """Lift a legal hold; other holds stay.

        Args:
            user_id: The owner.
            reference: Name of the hold.
            session_id: The conversation; empty where the hold is on everything.

        Returns:
            True if there was such a hold.
        """
        lifted = await holds.lift_hold(self.store, user_id, reference, session_id)
        self._note(user_id, AuditAction.LIFT, {ALL: int(lifted)})
        return lifted

    async def holds(self, user_id: str) -> list[LegalHold]:
        """Return the legal holds on a user and on conversations of theirs, the oldest first."""
        return await holds.holds_on(self.store, user_id)

    async def apply_retention(self, user_id: str, agent_id: str, *, dry_run: bool = False) -> Retained:
        """Remove records of a user and an agent that are older, or more, than the policy's `retention` allows.

        A worker does so by itself for agents with a config; this is for an application of your own.

        Args:
            user_id: The owner.
            agent_id: The agent whose records are judged; those of others go only with their sources.
            dry_run: True to remove nothing, and only count.

        Returns:
            The records that were removed, or would be, by kind.
        """
        policies = {agent_id: self.policy.retention}
        return await retain(self.store, self.checkpointer, user_id, policies, dry_run=dry_run)

    async def export_user(self, user_id: str, told: Told = nobody_listens) -> AsyncIterator[str]:
        """Yield all memories of a user as JSON Lines, without line ends.

        The lines name no user. Importing them into an empty database marks all of it as imported; exporting and
        importing that again gives the same bytes.

        Args:
            user_id: The owner.
            told: Called with the number of exported records, and an estimate of all.
        """
        count = 0
        try:
            async for line in portability.export_user(self.store, user_id, told):
                count += 1
                yield line
        finally:
            self._note(user_id, AuditAction.EXPORT, {ALL: count})

    async def import_user(
        self,
        user_id: str,
        lines: Iterable[str] | AsyncIterable[str],
        *,
        restore: bool = False,
        dry_run: bool = False,
        told: Told = nobody_listens,
    ) -> ImportReport:
        """Import an export, for the same user or for another one; existing records stay unchanged.

        Args:
            user_id: The owner of the imported records.
            lines: Lines of `export_user`.
            restore: True for a backup of your own: its records keep their origins; otherwise their origin is `import`.
            dry_run: True to write nothing, and only count.
            told: Called with the number of finished records, and of all.

        Returns:
            How many records were added.

        Raises:
            ValueError: If a line is not one of an export, or the policy's quotas leave no room (`MemoryFull`); nothing
                has been imported then.
        """
        report = await portability.import_user(
            self.store, user_id, lines, self.policy.quotas, restore=restore, dry_run=dry_run, told=told
        )
        if not dry_run:
            self._note(user_id, AuditAction.IMPORT, {ALL: report.added})
        return report

    async def list_records(
        self, user_id: str, scopes: Sequence[MemoryScope] = tuple(MemoryScope)
    ) -> list[MemoryResultItem]:
        """Return every record of some scopes of a user, regardless of the policy, the latest first, as `page` has them.

        Args:
            user_id: The owner.
            scopes: The scopes; all of them by default.
        """
        found = [
            self._scopes[MemoryScope(item.namespace[2])].shown(item)
            for item in await asyncio.to_thread(latest_first, await everything(self.store, user_id))
            if item.namespace[2] in scopes
        ]
        self._note(user_id, AuditAction.READ, Counter(item.payload.get("kind", "") for item in found))
        return found

    async def page(
        self,
        user_id: str,
        *,
        scopes: Sequence[MemoryScope] = (),
        kinds: Sequence[str] = (),
        state: State = "current",
        session_id: str | None = None,
        origins: Sequence[str] = (),
        limit: int = 50,
        cursor: str = "",
        with_topics: bool = False,
    ) -> MemoryPage:
        """Return a page of a user's memories, regardless of the policy, the latest first.

        A write between two pages neither repeats nor hides a memory on the following ones.

        Args:
            user_id: The owner.
            scopes: Their scopes; all of them by default.
            kinds: Their kinds; by default all, without memory's own records where no scope is named either.
            state: `current` for believed memories, `past` for former ones, `all` for both.
            session_id: The conversation that they came from; None for any.
            origins: Their origins; by default any.
            limit: How many, 200 at most.
            cursor: The `next_cursor` of the page before; empty for the first.
            with_topics: True to add the topics of facts, for which all names in the owner's memory are read.

        Raises:
            ValueError: If the cursor is none of a list, or the limit is less than one.
        """
        chosen: dict[str, Any] = {"scopes": scopes, "kinds": kinds, "state": state, "origins": origins}
        chosen["with_topics"] = with_topics
        page = await page_of_memories(self.store, user_id, session_id=session_id, limit=limit, cursor=cursor, **chosen)
        self._note(user_id, AuditAction.READ, Counter(item.kind for item in page.items))
        return page

    async def explain(self, user_id: str, id_: str) -> MemoryDetail | None:
        """Return a memory with its explanation: earlier versions, source messages, derived memories, links and uses.

        Args:
            user_id: The owner.
            id_: The record.

        Returns:
            None where the user has no such memory.
        """
        told = await explain_memory(self.store, user_id, id_)
        if told is not None:
            self._note(user_id, AuditAction.READ, {told.memory.kind: 1})
        return told

    async def find(self, user_id: str, id_: str) -> MemoryItem | None:
        """Return one memory, whole; None where the user has no such memory.

        Args:
            user_id: The owner.
            id_: The record.
        """
        return await find_memory(self.store, user_id, id_)

    async def conversations(self, user_id: str, *, limit: int = 50, cursor: str = "") -> ConversationPage:
        """Return a page of a user's conversations, the one with the latest message first.

        Args:
            user_id: The owner.
            limit: How many.
            cursor: The `next_cursor` of the page before; empty for the first.

        Raises:
            ValueError: If the cursor is none of a list.
        """
        return await page_of_conversations(self.store, user_id, limit=limit, cursor=cursor)

    async def conversation(
        self, user_id: str, session_id: str, *, limit: int = 100, cursor: str = "", first_turn: int = 0
    ) -> ConversationDetail | None:
        """Return a conversation with the tree of its summaries and a page of its messages, the oldest first.

        Args:
            user_id: The owner.
            session_id: The conversation.
            limit: How many messages.
            cursor: The `next_cursor` of the page before; empty for the first.
            first_turn: The first place to show.

        Returns:
            None where the user has no such conversation.

        Raises:
            ValueError: If the cursor is none of a list.
        """
        told = await show_conversation(
            self.store, user_id, session_id, limit=limit, cursor=cursor, first_turn=first_turn
        )
        if told is not None:
            self._note(user_id, AuditAction.READ, {MESSAGE.name: len(told.messages.items)})
        return told

    async def explain_answer(self, user_id: str, session_id: str, message_id: str) -> AnswerSources | None:
        """Return why an answer was given: the memories that stood in its prompt.

        Args:
            user_id: The owner.
            session_id: The conversation.
            message_id: The answer, or the question: by its id in the thread, or by its record.

        Returns:
            None where the user has no such answer.
        """
        told = await explain_answer(self.store, user_id, session_id, message_id)
        if told is not None:
            self._note(user_id, AuditAction.READ, Counter(item.kind for item in told.used))
        return told

    async def show_profile(self, user_id: str) -> OwnersProfile:
        """Return a user's profile, field by field, with the messages that say each."""
        return await show_profile(self.store, user_id)

    async def list_waiting(self, user_id: str) -> WaitingTurns:
        """Return the turns of a user that wait for extraction, the oldest first, and why."""
        return await list_waiting(self.store, user_id)

    async def list_skills(self, user_id: str) -> SkillList:
        """Return the skills that agents have learnt for a user, the most used first."""
        return await list_skills(self.store, user_id)

    async def show_graph(self, user_id: str, *, kinds: Collection[str] = (), limit: int = 2_000) -> ShownGraph:
        """Return a user's memories with the links among them; of many, the newest."""
        return await show_graph(self.store, user_id, kinds=kinds, limit=limit)

    async def usage(self, user_id: str) -> MemoryUsage:
        """Return how much is remembered of a user."""
        return await count_usage(self.store, user_id)

    async def revision(self, user_id: str) -> str:
        """Return the revision of a user's memory, which changes with every write: a cheap check for changes."""
        return await revision_of(self.store, user_id)

    async def records(self, user_id: str, scope: MemoryScope, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the records that exist among these ids, by id, in one round trip."""
        wanted = list(dict.fromkeys(ids))
        found = await self.store.abatch([GetOp(scope_namespace(user_id, scope), id_) for id_ in wanted])
        return {item.key: item.value for item in cast("list[Item | None]", found) if item is not None}

    async def apply(self, changes: Sequence[Change]) -> None:
        """Write and delete records in one batch, which is atomic on a store with atomic batches."""
        if changes:
            await write(self.store, changes)

    async def attachment(self, user_id: str, ref: str) -> bytes:
        """Return the bytes of an attachment of a user's message: an image, a sound or a file.

        Args:
            user_id: The owner.
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


def _numbers(receipt: Receipt) -> dict[str, int]:
    return {kind: len(ids) for kind, ids in receipt.removed.items()}


def _store_of(scope: MemoryScope, given: ScopeStore | BaseStore) -> BaseStore:
    """Return the store of a scope, given as a store or as the scope on it."""
    if isinstance(given, ScopeStore) and given.scope is scope:
        return given.store
    return cast(BaseStore, given)


def _any_found(answers: Iterable[Result | Recall]) -> bool:
    return any(isinstance(answer, Recall) and answer.found for answer in answers)


async def _followed(
    asked: Sequence[tuple[ScopeStore, Sequence[Any]]], answers: Sequence[Result | Recall], query: MemoryQuery
) -> list[Result | Recall]:
    """Return the answers of each scope, with references resolved."""
    left = iter(answers)
    return [one for scope, part in asked for one in await scope.followed([next(left) for _ in part], query)]


def _as_of(
    asked: Sequence[tuple[ScopeStore, Sequence[Any]]], answers: Sequence[Result | Recall], at: datetime
) -> list[Result | Recall]:
    """Return the answers of each scope as of a time."""
    left, then = iter(answers), []
    for scope, part in asked:
        then += scope.answers_as_of([next(left) for _ in part], at)
    return then
