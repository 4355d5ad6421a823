"""Memory writes by an agent's tools, bounded by the conversation and by the user's requests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.recall import as_read
from react_mem.memory.language import denial_of
from react_mem.memory.language.comparison import missing, share
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.secrets import kept_of
from react_mem.memory.language.standing import as_stated
from react_mem.memory.language.statements import forget_last, forgets_all_about, sentences, statements_in, to_forget
from react_mem.memory.llm.answers import fence
from react_mem.memory.merging.authors import Owner, is_users
from react_mem.memory.merging.facts import hold_episode, write_facts
from react_mem.memory.merging.outdated import doubts_of, others_of
from react_mem.memory.merging.transcript import identified, is_kept_out, is_said, message_record_id, text_of
from react_mem.memory.model.external import OWN_TOOLS, origin_of_result
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryDoubt, MemoryScope
from react_mem.memory.model.kinds import EPISODE, FACT, PROFILE, title_of
from react_mem.memory.model.operations import EpisodeDraft, Operation, Receipt, discreet_text
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import Fact, now, record_id
from react_mem.memory.model.views import ScoredMemory
from react_mem.memory.rights.forgetting import Forgotten, forget, forget_said
from react_mem.memory.rights.hidden import Hiding
from react_mem.memory.store.room import make_room
from react_mem.memory.store.stored_text import storable
from react_mem.memory.write.chain import Unfolded, find_summary, unfold
from react_mem.memory.write.drawing import related_facts
from react_mem.memory.write.extraction.proposal import are_linked, is_borne_out
from react_mem.memory.write.gate import Support, may_be_lost, shows_something, support, wishes_to_forget
from react_mem.memory.write.session import owner_of
from react_mem.memory.write.text_calls import TextCalls
from react_mem.memory.write.when import resolve

# Conversation up to a tool call, with the provenance of each text.

_RECENT = 20
"""Messages that tell whether somebody is named in a thread."""

_TURNS = 3  # turns looked at, the current one included
_PAGES = "<web_pages>"  # mark of searched web pages in the prompt


@dataclass(frozen=True)
class Heard:
    """Texts of a conversation, the latest last; tainted if a tool result, a page or a quotation was shown.

    `asked` is the message of this turn, empty if it is not the user's; `unkept` is true of a turn off the record.
    """

    own: tuple[str, ...] = ()
    asked: str = ""
    ids: tuple[str, ...] = ()
    assistant: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    tainted: bool = False
    unkept: bool = False
    origin: Origin = Origin.ASSISTANT

    @classmethod
    def of(cls, state: Any, session_id: str, owner: Owner) -> Self:
        """Read the latest turns of a conversation from an agent's state; not for an event loop.

        What a named speaker says is said in the conversation, and is not the owner's own.
        """
        thread: Sequence[BaseMessage] = identified(state.get("messages", ())) if isinstance(state, Mapping) else ()
        asked = [place for place, message in enumerate(thread) if is_users(message)]
        if not asked:
            return cls()
        latest = thread[asked[-_TURNS:][0] :]
        users = [message for message in latest if is_users(message) and not owner.speaker(message)]
        before = next((m for m in reversed(thread[: asked[-1]]) if isinstance(m, AIMessage) and is_said(m)), None)
        results = [m for m in latest if _is_shown(m)]
        pages = _PAGES in str((state.get("layout") or {}).get("retrieved", ""))
        return cls(
            own=tuple(text_of(message) for message in users),
            asked=text_of(users[-1]) if thread[asked[-1]] in users[-1:] else "",
            ids=tuple(message_record_id(session_id, message) for message in users),
            assistant=(text_of(before),) if before is not None else (),
            said=tuple(text_of(message) for message in latest if is_said(message)),
            observed=tuple(message.text for message in results),
            tainted=pages
            or any(map(_is_shown, thread))
            or any(owner.speaker(m) or shows_something(text_of(m)) for m in thread if is_users(m)),
            unkept=is_kept_out(thread[asked[-1]]) or kept_of(text_of(thread[asked[-1]])) is None,
            origin=lowest(
                [Origin.ASSISTANT, *(origin_of_result(m.name or "") for m in results), *([Origin.WEB] if pages else [])]
            ),
        )


def _is_shown(message: BaseMessage) -> bool:
    """Return true if a message has others' words: a tool result, or a human message that is not the user's."""
    if isinstance(message, ToolMessage):
        return message.name not in OWN_TOOLS
    return isinstance(message, HumanMessage) and not is_users(message)


# Matching of a model's words with a remembered fact; unclear ones are asked about, as to end a wrong one is worse.

_CLEAR = 0.8
"""Shared words, as F1, from which a description means a fact: "the fact that I am allergic to peanuts" has 0.8."""

_APART = 0.25  # margin to the next fact: one word of four
_CUT = 40  # characters from which the shown beginning of a long fact stands for all of it


def meant_facts(what: str, facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts meant by a description: exact matches, else the clear best match; none if it is ambiguous."""
    exact = [fact for fact in facts if _is_named(what, fact)]
    if exact:
        # the words of the user that such a fact was drawn from, where they are kept as well
        return exact + [fact for fact in facts if fact.verbatim and fact not in exact and _says(what, fact)]
    alike = [fact for fact in facts if bool(denial_of(fact.text)) is bool(denial_of(what))]
    same = [fact for fact in alike if _says(what, fact)]
    if same:
        return same if sum(not fact.verbatim for fact in same) <= 1 else []
    whole = [fact for fact in alike if share(what, [fact.text]) == 1]
    if len(whole) == 1:
        return whole
    ranked = sorted(((_fit(what, fact.text), place) for place, fact in enumerate(alike)), reverse=True)
    if not whole and ranked and ranked[0][0] >= _CLEAR and (len(ranked) == 1 or ranked[1][0] <= ranked[0][0] - _APART):
        return [alike[ranked[0][1]]]
    return []


def _is_named(what: str, fact: Fact) -> bool:
    named, text = normalise(what), normalise(fence(fact.text))
    shortened = len(named) >= _CUT and what.rstrip().endswith("…") and text.startswith(named)
    return shortened or named in (text, normalise(fact.text), normalise(as_stated(fact.text)))


def _says(what: str, fact: Fact) -> bool:
    """Return true if a fact has the same content words, and no others."""
    return _fit(what, fact.text) == 1 and bool(denial_of(what)) is bool(denial_of(fact.text))


def _fit(one: str, other: str) -> float:
    forth, back = share(one, [other]), share(other, [one])
    return 2 * forth * back / (forth + back) if forth + back else 0.0


_FORGET_CHARS = 8_000


@dataclass(frozen=True)
class Unclear:
    """Ambiguous request, with the candidates, the likeliest first, if anything like it is remembered."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Erased:
    """Forgotten records; only hidden, and erased after a day, if the user's last message does not ask for it."""

    receipt: Receipt
    texts: list[str]
    hidden: bool


@dataclass(frozen=True)
class ToolMemory:
    """One user's memory, in the turn of a tool call, with the texts of the conversation so far."""

    memory: MemoryFacade
    user_id: str
    session_id: str
    agent_id: str
    heard: Heard

    @classmethod
    async def of(cls, memory: MemoryFacade, identity: Identity, agent_id: str, state: Any) -> Self:
        """Return the memory for a call of a tool; the agent's state has the messages of the thread."""
        thread = state.get("messages", ()) if isinstance(state, Mapping) else ()
        owner = await owner_of(memory, identity.user_id, thread, -_RECENT)
        heard = await asyncio.to_thread(Heard.of, state, identity.session_id, owner)
        return cls(memory, identity.user_id, identity.session_id, agent_id, heard)

    @classmethod
    async def told(cls, memory: MemoryFacade, identity: Identity, agent_id: str, said: str) -> Self:
        """Return the memory for an external agent that passes on a message of the user, word for word.

        The rest of its conversation is unknown here, so it counts as tainted.
        """
        said = storable(said)
        # told again the same day it is the same message
        message = HumanMessage(said, id=record_id("told", f"{now():%Y-%m-%d}", said))
        heard = await asyncio.to_thread(Heard.of, {"messages": [message]}, identity.session_id, Owner(""))
        return cls(memory, identity.user_id, identity.session_id, agent_id, replace(heard, tainted=True))

    async def store(self, text: str, about: str, replaces: str) -> list[Fact] | Unclear | None:
        """Store a statement of the user in this conversation, in the model's words, perhaps in place of a known fact.

        Returns the facts that are new or changed; `Unclear` if the fact to replace is ambiguous; None if the user did
        not say it.
        """
        heard = self.heard
        said = await asyncio.to_thread(support, text, heard.own, heard.assistant, heard.tainted)
        if said is None or self.heard.unkept:
            return None
        policy = self.memory.policy.secrets
        said = replace(said, text=await discreet_text(said.text, policy), quote=await discreet_text(said.quote, policy))
        text = await discreet_text(text, policy)
        known = await related_facts(self.memory.store, self.user_id, [replaces]) if replaces.strip() else []
        replaced = meant_facts(replaces, known) if known else []
        if replaces.strip() and not replaced:
            return Unclear(tuple(known))
        operations = _operations(text, about, said, replaced, heard)
        await make_room(self.memory.store, self.user_id, self.memory.policy.quotas, [text])
        return await write_facts(
            self.memory.store, self.user_id, operations, at=now(), session_id=self.session_id, agent_id=self.agent_id
        )

    async def record(self, goal: str, outcome: str, steps: Sequence[str], lessons: Sequence[str]) -> bool:
        """Record an episode; return true if this conversation supports it."""
        draft = EpisodeDraft(goal=goal, outcome=outcome, steps=tuple(steps), lessons=tuple(lessons))
        held = await asyncio.to_thread(
            hold_episode, draft, self.heard.said, self.heard.observed, [now()], map(own_words_in, self.heard.own)
        )
        if held is None or self.heard.unkept:
            return False
        await self.memory.episodic.record(
            held.goal,
            user_id=self.user_id,
            session_id=self.session_id,
            agent_id=self.agent_id,
            # recorded again in this conversation, with what has become of it since, it replaces what was recorded
            id=EPISODE.id(self.session_id, normalise(goal)),
            outcome=held.outcome,
            steps=held.steps,
            lessons=held.lessons,
            origin=self.heard.origin,
            source_ids=self.heard.ids[-1:],
        )
        return True

    async def forget(self, what: str) -> Erased | Unclear | None:
        """Forget a fact, by its text or distinctive words, its consequences, and the words that said it.

        Returns the forgotten records; `Unclear` if the fact is ambiguous; None if something other than the user may
        have asked for it.
        """
        known = await related_facts(self.memory.store, self.user_id, [what])
        meant = meant_facts(what, known)
        if not meant:
            return Unclear(tuple(known))
        texts = [fact.text for fact in meant]
        return await self._erase([fact.id for fact in meant], texts, what)

    async def forget_one(self, id_: str) -> Erased | None:
        """Forget a record of the user by its id, as `forget` does; raise `LookupError` if there is none."""
        found = [item for item in await self.memory.list_records(self.user_id) if item.id == id_]
        if not found:
            raise LookupError("this user has no such memory")
        texts = [str(title_of(item.payload)) for item in found]
        return await self._erase([id_], texts, "")

    async def correct(self, id_: str, text: str) -> Fact | None:
        """Replace a fact by a statement of the user in this conversation, in the model's words; None if there is none.

        Raises `ValueError` if it is not a believed fact, or the text says nothing new; the message names the cause.
        """
        heard = self.heard
        said = await asyncio.to_thread(support, text, heard.own, heard.assistant, heard.tainted)
        return (
            None
            if said is None or heard.unkept
            else await self.memory.correct(self.user_id, id_, said.text, vouched=True)
        )

    async def _erase(self, ids: Sequence[str], texts: Sequence[str], what: str) -> Erased | None:
        """Forget records if the user asks for it, together with the request."""
        asked, before = self.heard.asked, self.heard.own[:-1]
        is_asked = await asyncio.to_thread(may_be_lost, texts, asked, before)
        if self.heard.tainted and not is_asked:
            return None
        # the words that ask for it say it too
        said = await asyncio.to_thread(wishes_to_forget, texts, asked)
        hides = None if is_asked else Hiding(self.agent_id, ())
        receipt = await forget(self.memory.store, self.user_id, ids=ids, said=said, hides=hides)
        return Erased(receipt, [*texts, *said, *filter(None, [what])], hides is not None)

    async def forget_asked(self, messages: Sequence[BaseMessage]) -> list[Forgotten]:
        """Carry out the requests to forget in the user's last message, and return the outcome of each."""
        owner = await owner_of(self.memory, self.user_id, messages, -_RECENT)
        asked = [message for message in messages if is_users(message)][-_RECENT:]
        said = [message for message in asked if not owner.speaker(message)]
        done: list[Forgotten] = []
        if not said or said[-1] is not asked[-1]:
            return done
        for sentence in await asyncio.to_thread(lambda: sentences(_own(said[-1])[:_FORGET_CHARS])):
            last = forget_last(sentence)
            what = await asyncio.to_thread(_last_statement, said[:-1]) if last else to_forget(sentence)
            if what:
                about = forgets_all_about(sentence)
                done.append(await forget_said(self.memory.store, self.user_id, what, all_about=about))
        return done

    async def known(self) -> tuple[list[dict[str, Any]], list[Fact]]:
        """Return the user's profile, if any, and, if the policy recalls facts, the believed ones, latest first."""
        scopes = [MemoryScope.PROFILE, *([MemoryScope.SEMANTIC] if self.memory.policy.recall.semantic else [])]
        records = [item.payload for item in await self.memory.list_records(self.user_id, scopes)]
        read = (as_read(record, now()) for record in records if FACT.matches(record))
        facts = [Fact.from_value(record) for record in read if record["current"]]
        facts.sort(key=lambda fact: fact.said_at, reverse=True)
        return [record for record in records if PROFILE.matches(record)], facts

    async def with_doubts(self, facts: Sequence[Fact]) -> list[tuple[dict[str, Any], tuple[MemoryDoubt, ...]]]:
        """Return facts as JSON, each with its doubts."""
        values = {fact.id: as_read(fact.to_value(), now()) for fact in facts}
        others = await others_of(self.memory.store, self.user_id, values)
        found = []
        for value in values.values():
            doubts = doubts_of(value, others)
            found.append(({**value, "doubts": [doubt.id for doubt in doubts]}, doubts))
        return found

    async def search(self, query: str, limit: int) -> Sequence[ScoredMemory]:
        """Return the memories nearest to a query, the best first."""
        memory = TextCalls(self.memory.store, self.memory.policy)
        return await memory.search(query, user_id=self.user_id, limit=limit)

    async def unfold(self, name: str) -> Unfolded | None:
        """Return the sources of a summary by its id or the beginning of it; None without such a summary."""
        id_ = await find_summary(self.memory, self.user_id, self.session_id, name)
        return await unfold(self.memory, self.user_id, id_) if id_ else None


def _own(message: BaseMessage) -> str:
    return own_words_in(message.text)


def _last_statement(said: Sequence[BaseMessage]) -> str:
    stated = (statements_in(_own(message)[-_FORGET_CHARS:]) for message in reversed(said))
    return next((one[-1] for one in stated if one), "")


def _operations(text: str, about: str, said: Support, replaced: Sequence[Fact], heard: Heard) -> list[Operation]:
    """Return the operations that store a statement and change the facts that it may replace."""
    at = now()
    when = resolve(said.quote, at, UTC, "")
    name = " ".join(about.split())
    is_named = name and not missing(name, heard.own) and name.casefold() != "user"
    stated = Operation(
        relation="new",
        text=said.text,
        about=name if is_named else "user",
        quote=said.quote if said.quote != said.text else "",
        reading=text.strip() if text.strip() != said.text and is_borne_out(text, [said.quote]) else "",
        source_ids=(heard.ids[said.said],),
        origin=said.origin,
        **vars(when),
    )
    operations = []
    for fact in replaced:
        linked = said.origin is Origin.USER and (not heard.tainted or are_linked(said.quote, [fact.text]))
        operations.append(replace(stated, relation="changes" if linked else "unsure", target_id=fact.id))
    return operations or [stated]
