"""What a user asks to forget in a conversation is forgotten for good, whenever the process that reads it dies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import Op, PutOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import Extractor
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.capabilities import everything
from react_mem.memory.write.conversations import end_conversation
from react_mem.memory.write.turns import Turns
from tests.support.labels import Labeller, Says

FORGETS = Labeller(Says("Forget", "forget", "green tea"), Says("boat"))


class Killed(BaseException):
    """The end of a process: nothing within it handles this."""


class MortalStore(InMemoryStore):
    """A store whose process dies after so many writes; what was written stays."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    async def abatch(self, ops: Iterable[Op]) -> list[Any]:
        ops = list(ops)
        if self.left is not None and any(isinstance(op, PutOp) for op in ops):
            if self.left == 0:
                raise Killed
            self.left -= 1
        return await super().abatch(ops)


def turns(store: InMemoryStore, model: Extractor | None, session: str = "9") -> Turns:
    memory = MemoryFacade(store, MemoryPolicy.model_validate({"extraction": {"mode": "inline", "recover_after": 0}}))
    return Turns(memory, model, "ann", session, "tester")


async def say(store: InMemoryStore, text: str, number: int, session: str | None = None) -> None:
    said = [HumanMessage(text, id=f"q{number}"), AIMessage("Fine.", id=f"a{number}")]
    since = None if session is None or not number else f"a{number - 1}"
    await turns(store, None, session or str(number)).close(said, since)


async def told(store: InMemoryStore) -> str:
    return " ".join(str(item.value) for item in await everything(store, "ann"))


async def dies(store: MortalStore, writes: int) -> bool:
    """Read what waits in a process that dies after so many writes; return whether it died."""
    store.left = writes
    try:
        await turns(store, FORGETS, "1").extract()
    except Killed:
        return True
    finally:
        store.left = None
    return False


async def test_what_is_to_be_forgotten_is_forgotten_wherever_the_process_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    # what the killed process has claimed is free at once, as the next one on this machine finds it
    monkeypatch.setattr("react_mem.memory.write.session.is_dead", bool)
    writes = 0
    died = True
    while died:
        store = MortalStore()
        await say(store, "I like green tea. I have a boat.", 0)
        await turns(store, Labeller(Says("green tea"), Says("boat"))).extract()
        await say(store, "Forget that I like green tea!", 1)
        died = await dies(store, writes)
        # the next process, in another conversation
        await turns(store, FORGETS, "9").extract()
        left = await told(store)
        assert "green tea" not in left, f"died after {writes} writes: {left}"
        assert "boat" in left
        assert not await store.asearch(("memory", "ann", "meta"), filter={"kind": "wish"})
        writes += 1
    assert writes > 3


async def test_what_cannot_be_forgotten_now_keeps_nothing_from_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MortalStore()
    await say(store, "I like green tea.", 0)
    await turns(store, Labeller(Says("green tea"))).extract()
    await say(store, "Forget that I like green tea!", 1)

    async def fails(*_: Any, **__: Any) -> Any:
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr("react_mem.memory.write.session.forget", fails)
        with pytest.raises(ConnectionError):
            await turns(store, FORGETS).extract()
        await say(store, "I have a boat.", 2)
        with pytest.raises(ConnectionError):
            await turns(store, FORGETS).extract()
        history = await turns(store, None).memory.semantic.history(user_id="ann")
        assert [fact.text for fact in history if fact.current] == ["I have a boat."]
    await turns(store, FORGETS).extract()
    assert "green tea" not in await told(store)


async def test_what_a_conversation_asks_to_forget_is_forgotten_when_it_is_read_at_its_end() -> None:
    store, reads_nothing = MortalStore(), Labeller(rest=None)
    await say(store, "I like green tea.", 0, "1")
    await say(store, "Forget that I like green tea! I have a boat.", 1, "1")
    for _ in range(3):
        await turns(store, reads_nothing, "1").extract()
    await end_conversation(turns(store, Labeller(Says("I like green tea."), *FORGETS.says), "1"))
    left = await told(store)
    assert "green tea" not in left
    assert "boat" in left


async def test_what_is_told_anew_after_it_was_forgotten_stays() -> None:
    store = MortalStore()
    await say(store, "I like green tea.", 0)
    await turns(store, Labeller(Says("green tea"))).extract()
    await say(store, "Forget that I like green tea!", 1)
    await turns(store, FORGETS).extract()
    await say(store, "I like green tea.", 2)
    await turns(store, Labeller(Says("green tea"))).extract()
    await turns(store, FORGETS).extract()
    assert [fact.text for fact in await turns(store, None).memory.semantic.history(user_id="ann")] == [
        "I like green tea."
    ]
