"""A conversation that is held, and a model that sums it up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import Message, Summary
from react_mem.memory.summaries.summarise import EXTRACTIVE, Summariser
from react_mem.memory.write.chain import load_chain
from react_mem.memory.write.session import TurnReport
from react_mem.memory.write.turns import Turns
from tests.support.scripted_model import ScriptedModel


def shown_texts(prompt: Sequence[BaseMessage]) -> list[str]:
    """Return the texts that a model is shown, in their order."""
    lines = str(prompt[1].content).splitlines()
    return [json.loads(line)["text"] for line in lines if line.startswith("{")]


def sums_up(prompt: list[BaseMessage]) -> AIMessage:
    """Say all that is shown, in one line."""
    return AIMessage("The user said: " + " ".join(shown_texts(prompt)))


def summing_model(*script: Any) -> ScriptedModel:
    """Return a model that follows a script, and sums up without one."""
    return ScriptedModel(script=list(script) or [sums_up])


class Conversation:
    """What a user says, turn by turn, and what comes of it in memory."""

    def __init__(
        self,
        store: BaseStore,
        summariser: Summariser = EXTRACTIVE,
        *,
        user: str = "ann",
        session: str = "talk",
        **policy: Any,
    ) -> None:
        # without an extractor the user's statements are kept word for word: no model is asked but the summariser's
        memory = MemoryFacade(store, MemoryPolicy(extraction={"mode": "inline"}).model_copy(update=policy))
        self.turns = Turns(memory, None, user, session, "tester", summariser)
        self.thread: list[BaseMessage] = []

    def shaped(self, **shape: Any) -> Conversation:
        """Let the chain have another shape."""
        policy = self.turns.memory.policy
        summaries = policy.summaries.model_validate({**policy.summaries.model_dump(), **shape})
        changed = policy.model_copy(update={"summaries": summaries})
        self.turns = replace(self.turns, memory=MemoryFacade(self.turns.memory.store, changed))
        return self

    async def store_turn(self, text: str, answer: str = "") -> None:
        """Let the user say something and be answered, and let it wait."""
        known = str(self.thread[-1].id) if self.thread else None
        number = len(self.thread)
        answer = answer or f"I understand: {text}"
        self.thread += [HumanMessage(text, id=f"m{number}"), AIMessage(answer, id=f"m{number + 1}")]
        await self.turns.close(self.thread, known)

    async def say(self, *texts: str) -> TurnReport:
        """Hold turns, each drawn from at once."""
        report = TurnReport()
        for text in texts:
            await self.store_turn(text)
            report = report + await self.turns.extract()
        return report

    @property
    def memory(self) -> MemoryFacade:
        """Where it is remembered."""
        return self.turns.memory

    async def chain(self) -> ContextChain:
        """Return the chain."""
        chain = await load_chain(self.memory, self.turns.user_id, self.turns.session_id)
        assert chain is not None
        return chain

    async def names(self) -> str:
        """Return the chain as M7 for a message and L1(4-6) for a summary; counted from 1."""
        return " ".join(map(_name, (await self.chain()).entries))

    async def records(self) -> dict[str, Message | Summary]:
        """Return the messages and the chain's summaries, by id."""
        found: dict[str, Message | Summary] = {}
        for item in await self.memory.list_records(self.turns.user_id, [MemoryScope.DIALOG]):
            if item.payload["kind"] == "message":
                found[item.id] = Message.from_value(item.payload)
            elif item.payload["chain"]:
                found[item.id] = Summary.from_value(item.payload)
        return found

    async def summaries(self) -> list[Summary]:
        """Return the chain's summaries, in the order of the conversation, the lower levels first."""
        found = [record for record in (await self.records()).values() if isinstance(record, Summary)]
        return sorted(found, key=lambda summary: (summary.level, summary.first_turn))

    async def reachable(self) -> list[str]:
        """Return the texts of all messages that the chain stands for."""
        records = await self.records()

        def below(id_: str) -> list[str]:
            record = records[id_]
            if isinstance(record, Message):
                return [str(record.content)]
            return [text for source in record.source_ids for text in below(source)]

        return [text for entry in (await self.chain()).entries for text in below(entry.id)]


def _name(entry: ChainEntry) -> str:
    if entry.kind == "message":
        return f"M{entry.first_turn + 1}"
    level = entry.level if entry.level == "master" else f"L{entry.level}"
    return f"{level}({entry.first_turn + 1}-{entry.last_turn + 1})"
