"""Feedback on a turn: it changes the importance of the memories in its prompt, and counts for the skills it followed.

A turn has one verdict over all keys, and each key counts with its last value. The verdict is kept on the answer's
record and goes with it. Comments are never stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from langgraph.store.base import BaseStore

from react_mem.errors import MemoryChanged
from react_mem.memory import telemetry
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, normalise
from react_mem.memory.language.hedging import is_hypothetical
from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.standing import only_instructs, standing_in
from react_mem.memory.language.statements import (
    asks_to_forget,
    before_question,
    is_pleasantry,
    is_question,
    is_request,
    sentences,
    statements_in,
)
from react_mem.memory.merging.facts import fact_changes, load_facts, voted
from react_mem.memory.merging.reconcile import reconcile, ways
from react_mem.memory.merging.skill_life import after_use, sources_of, without_use
from react_mem.memory.model.identity import CORRECTED
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT, MESSAGE, OUTCOME, kind_of
from react_mem.memory.model.operations import Change, Operation, discreet_text, put
from react_mem.memory.model.records import Fact, Message, Record, fact_id, now, record_id
from react_mem.memory.model.states import Skill, TurnOutcome
from react_mem.memory.model.views import fingerprint
from react_mem.memory.rights.holds import FacadePart
from react_mem.memory.store.audit_log import AuditAction, note_action
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.transactions import transact

Verdict = Literal[-1, 0, 1]  # good, bad, or withdrawn
MAX_KEYS = 10  # feedback keys of one turn, at most
_SCOPES = (MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.DIALOG, MemoryScope.PROCEDURAL)
_NAMES: dict[int, str] = {1: "up", -1: "down", 0: "withdrawn"}


@dataclass(frozen=True)
class FeedbackReport:
    """Verdict of a turn over all keys, and the numbers of memories and skills it changed."""

    verdict: Verdict
    memories: int = 0
    skills: int = 0


class FeedbackCalls(FacadePart):
    """Feedback on turns, and corrections of facts."""

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
            score: 1 for good, -1 for bad, 0 to withdraw the rating.
            session_id: The conversation; may be left out where the run is given.
            message_id: The answer, or the question: by its id in the thread, or by its record; empty for the last
                answer.
            key: Aspect of the rating, such as `helpfulness`.

        Returns:
            The verdict on the turn, and how many memories and skills it moved; None where the user has no such turn.

        Raises:
            ValueError: If neither a conversation nor a run is named, or a turn would have too many keys.
        """
        if not (session_id or run_id):
            raise ValueError("feedback is about a turn: give session_id, with message_id or without, or run_id")

        async def step() -> tuple[tuple[FeedbackReport | None, bool], list[Change]]:
            answer, outcome = await _found(self.store, user_id, session_id, message_id, run_id)
            # a flow remembers what became of a turn, and not its messages
            before = answer.feedback if answer is not None else outcome.feedback if outcome is not None else None
            if before is None:
                return (None, False), []
            if len(before.keys() | {key}) > MAX_KEYS:
                keys = ", ".join(sorted(before))
                raise ValueError(f"a turn takes feedback under {MAX_KEYS} keys; give one of {keys}")
            after = {**before, key: score}
            was, is_ = _verdict(before), _verdict(after)
            if after == before:
                return (FeedbackReport(is_), False), []
            used: Sequence[str] = ()
            changes: list[Change] = []
            if answer is not None:
                used = answer.used
                changes.append(put(user_id, answer.model_copy(update={"feedback": after})))
            if outcome is not None:
                noted = {"verdict": is_} if answer is not None else {"verdict": is_, "feedback": after}
                changes.append(put(user_id, outcome.model_copy(update=noted)))
            if was == is_:
                return (FeedbackReport(is_), True), changes
            found = await sources_of(self.store, user_id, used, _SCOPES)
            records = [kind_of(value).record.from_value(value) for value in found.values()]
            moved = {record.id: voted(record, was, is_) for record in records}
            followed: dict[str, Record] = {}
            skills = outcome.followed if outcome is not None else ()
            for id_, value in (await sources_of(self.store, user_id, skills, [MemoryScope.PROCEDURAL])).items():
                known = moved.get(id_)
                skill = known if isinstance(known, Skill) else Skill.from_value(value)
                skill = without_use(skill, was > 0) if was else skill
                followed[id_] = after_use(skill, is_ > 0) if is_ else skill
            changes += [put(user_id, record) for record in {**moved, **followed}.values()]
            return (FeedbackReport(is_, len(moved), len(followed)), True), changes

        report, is_news = await transact(self.store, user_id, step)
        if is_news:
            telemetry.count("feedback", verdict=_NAMES[score], key=key)
            if score:
                telemetry.record("user.satisfaction", float(score > 0))
        return report

    async def correct(self, user_id: str, id_: str, text: str, *, revision: str = "", vouched: bool = False) -> Fact:
        """Put the user's own words in the place of a fact, which stays as dated history.

        Args:
            revision: The fact's `MemoryItem.revision` when it was looked at; empty for any.
            vouched: True if the user is known to state it, in whatever form.

        Raises:
            MemoryChanged: If the revision is outdated.
            ValueError: If it is not a fact that is believed, or the text states nothing, or nothing new; the message
                names the cause.
        """
        words = await discreet_text(storable(text).strip(), self.policy.secrets)
        check_told(words)

        async def step() -> tuple[Fact, list[Change]]:
            fact = (await load_facts(self.store, user_id, (), [id_])).get(id_)
            if fact is None:
                raise ValueError("only a fact can be corrected; anything else can be deleted")
            if revision:
                item = await self.store.aget(FACT.namespace(user_id), id_, refresh_ttl=False)
                if item is None or fingerprint(item.value) != revision:
                    raise MemoryChanged
            if not fact.current:
                raise ValueError("it is not believed any more; correct the fact that is")
            if normalise(fact.text) == normalise(words):
                raise ValueError("that is what it says already")
            # nobody has to put it better than what it replaces, or than what it was before
            before = (await load_facts(self.store, user_id, (), [fact_id(fact.about, words)])).values()
            any_form = vouched or not statements_in(fact.text) or any(ways(one) & {normalise(words)} for one in before)
            said = own_statement(words, any_form=any_form, alone=vouched)
            # a clock that has been set back leaves facts that were said later than now
            at = max(now(), fact.said_at)
            source = record_id("correction", id_, normalise(said), at.isoformat())
            operation = Operation("changes", said, about=fact.about, target_id=id_, source_ids=(source,))
            stored = await load_facts(self.store, user_id, [operation])
            changed = reconcile([operation], stored, at=at, session_id=CORRECTED, agent_id=fact.agent_id)
            [believed] = [one for one in changed if one.id == operation.id]
            return believed, await fact_changes(self.store, user_id, changed)

        fact = await transact(self.store, user_id, step)
        note_action(self.store, user_id, AuditAction.CORRECT, {fact.kind: 1})
        return fact


def _verdict(feedback: Mapping[str, int]) -> Verdict:
    total = sum(feedback.values())
    return cast("Verdict", (total > 0) - (total < 0))


async def _found(
    store: BaseStore, user_id: str, session_id: str, message_id: str, run_id: str
) -> tuple[Message | None, TurnOutcome | None]:
    """Return the answer of a turn and its logged outcome; of a flow's turn the outcome alone."""
    where = MESSAGE.namespace(user_id)
    named: set[str] = set()
    if run_id:
        by_run = {"kind": MESSAGE.name, "run_id": run_id}
        found = await store.asearch(where, filter=by_run, limit=WHOLE, refresh_ttl=False)
        said = [item.value for item in found if session_id in ("", item.value["session_id"])]
        if not said:
            return None, None
        latest = max(said, key=lambda value: value["turn"])
        session_id, named = str(latest["session_id"]), {str(latest["id"])}
    elif message_id:
        named = {message_id, MESSAGE.id(session_id, message_id)}
    in_it = {"kind": MESSAGE.name, "session_id": session_id}
    found = await store.asearch(where, filter=in_it, limit=WHOLE, refresh_ttl=False)
    messages = sorted((Message.from_value(item.value) for item in found), key=lambda one: (one.turn, one.created_at))
    if not messages:
        return None, await _outcome(store, user_id, session_id, message_id)
    place = next((place for place, one in enumerate(messages) if one.id in named), None) if named else 0
    answers = [at for at in range(place or 0, len(messages)) if messages[at].role == "assistant"]
    if place is None or not answers:
        return None, None
    at = answers[0] if named else answers[-1]
    asked = next((messages[n] for n in range(at, -1, -1) if messages[n].role == "user"), None)
    return messages[at], await _outcome(store, user_id, session_id, asked.id) if asked is not None else None


async def _outcome(store: BaseStore, user_id: str, session_id: str, turn_id: str) -> TurnOutcome | None:
    """Return the outcome of a turn by its question; without one, the last outcome of the conversation."""
    where = OUTCOME.namespace(user_id)
    if turn_id:
        item = await store.aget(where, OUTCOME.id(session_id, turn_id), refresh_ttl=False)
        return TurnOutcome.from_value(item.value) if item is not None else None
    in_it = {"kind": OUTCOME.name, "session_id": session_id}
    found = await store.asearch(where, filter=in_it, limit=WHOLE, refresh_ttl=False)
    known = (TurnOutcome.from_value(item.value) for item in found)
    return max(known, key=lambda one: one.created_at, default=None)


# The gate for what a user tells memory itself, outside of a conversation: to remember, or in the place of a fact.

STATES_NOTHING = (
    "text: states nothing: it asks, requests, greets, supposes, or only shows somebody else's words; say it as a "
    "statement of your own, such as 'I live in Hue.'"
)


def check_told(text: str) -> None:
    """Refuse a text that is empty, too long, or asks to forget something, with a `ValueError` and advice."""
    if not text:
        raise ValueError("text: is empty; say what is true")
    if len(text) > MAX_INDEXED_CHARS:
        raise ValueError(f"text: is longer than {MAX_INDEXED_CHARS:,} characters; say it in fewer, or in several parts")
    if any(map(asks_to_forget, sentences(text))):
        raise ValueError("text: asks to forget something; use what forgets")


def told_statements(text: str, *, alone: bool = True) -> list[str]:
    """Return the statements in a text meant for memory, each once; any form will do ("Likes tea").

    Questions, requests and pleasantries beside other sentences are left out, and so are standing instructions. A text
    that stands `alone` is kept even so, unless it is nothing but a question or somebody else's words.
    """
    said = [one for one in sentences(own_words_in(text)) if not only_instructs(one)]
    said = [part for one in said if (part := before_question(one) if is_question(one) else one)]
    stated = [one for one in said if not (is_pleasantry(one) or is_request(one) or is_hypothetical(one))]
    if not stated and alone and standing_in(text) is None:
        stated = said
    return list({normalise(one): one for one in stated}.values())


def own_statement(text: str, *, any_form: bool, alone: bool) -> str:
    """Return the statements of a user's text as one; a `ValueError` if it states nothing.

    `any_form` permits an incomplete sentence, such as "Two cats"; `alone` is as for `told_statements`.
    """
    whole = " ".join(unwrapped(text).split())
    stated = [one for one in statements_in(text, told=True) if not only_instructs(one)]
    if len("".join("".join(stated).split())) == len("".join(whole.split())):
        return whole
    stated = stated or (told_statements(text, alone=alone) if any_form else [])
    if not stated:
        raise ValueError(STATES_NOTHING)
    return " ".join({normalise(one): one for one in stated}.values())
