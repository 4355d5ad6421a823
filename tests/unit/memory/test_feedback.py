"""Feedback on answers: one verdict a turn, the last word of each key, bounded, undone to the digit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import SearchItem
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.recall import Recall, RecallHit
from react_mem.memory.merging.facts import HIGHEST, LOWEST, favour, in_favour, voted
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.operations import put
from react_mem.memory.model.records import Fact
from react_mem.memory.reflect.skill_learner import record_turn
from react_mem.memory.scopes.scope import in_order
from react_mem.memory.write.turns import Turns

ANN = {"user_id": "ann"}
TURN = {"session_id": "talk", "message_id": "a0"}


def fact(id_: str = "tea", **fields: Any) -> Fact:
    return Fact(id=id_, text=f"I like {id_}.", session_id="old", agent_id="tester", **fields)


async def answered(memory: MemoryFacade, used: tuple[str, ...] = ("tea", "boat"), run: str = "") -> str:
    """Have a turn whose prompt showed memories; return the id of the question's record."""
    asked = HumanMessage("What do I like?", id="q0")
    thread = [asked, AIMessage("That one, I think.", id="a0")]
    turns = Turns(memory, None, "ann", "talk", "tester")
    await turns.close(thread, None, used=used, run_id=run)
    return message_record_id("talk", asked)


async def memory_of_ann() -> MemoryFacade:
    memory = MemoryFacade(InMemoryStore())
    await memory.apply([put("ann", fact()), put("ann", fact("boat", importance=0.9)), put("ann", fact("cat"))])
    return memory


async def weights(memory: MemoryFacade) -> dict[str, float]:
    found = await memory.list_records("ann", [MemoryScope.SEMANTIC])
    return {item.id: round(item.payload["importance"], 6) for item in found}


async def test_thumbs_move_what_stood_in_the_prompt_and_the_last_word_counts() -> None:
    memory = await memory_of_ann()
    await answered(memory)
    before = await memory.list_records("ann", [MemoryScope.SEMANTIC])
    report = await memory.feedback("ann", 1, **TURN)
    assert report is not None
    assert (report.verdict, report.memories) == (1, 2)
    up = await weights(memory)
    assert (up["tea"], up["boat"], up["cat"]) == (0.6, 0.9, 0.5)
    again = await memory.feedback("ann", 1, **TURN)
    assert (again and again.memories, await weights(memory)) == (0, up)
    await memory.feedback("ann", -1, **TURN)
    assert await weights(memory) == {"tea": 0.4, "boat": 0.8, "cat": 0.5}
    await memory.feedback("ann", 0, **TURN)
    assert await memory.list_records("ann", [MemoryScope.SEMANTIC]) == before


async def test_a_turn_has_one_verdict_whatever_the_number_of_its_keys() -> None:
    memory = await memory_of_ann()
    await answered(memory)
    for key in ("user", "helpfulness", "correctness"):
        await memory.feedback("ann", 1, **TURN, key=key)
    assert (await weights(memory))["tea"] == 0.6
    await memory.feedback("ann", -1, **TURN, key="correctness")
    assert (await weights(memory))["tea"] == 0.6
    await memory.feedback("ann", -1, **TURN, key="helpfulness")
    assert (await weights(memory))["tea"] == 0.4
    for number in range(7):
        await memory.feedback("ann", 1, **TURN, key=f"key {number}")
    with pytest.raises(ValueError, match="10 keys"):
        await memory.feedback("ann", 1, **TURN, key="one more")


async def test_turns_are_found_by_answer_question_or_run_and_only_the_owners() -> None:
    memory = await memory_of_ann()
    await answered(memory, run="run-1")
    for turn in (TURN, {**TURN, "message_id": "q0"}, {"session_id": "talk"}, {"run_id": "run-1"}):
        report = await memory.feedback("ann", 1, **turn, key=str(turn))
        assert report is not None
        assert await memory.feedback("bob", -1, **turn) is None
    for none in ({"session_id": "other"}, {**TURN, "message_id": "x"}, {"session_id": "other", "run_id": "run-1"}):
        assert await memory.feedback("ann", 1, **none) is None
    with pytest.raises(ValueError, match="give session_id"):
        await memory.feedback("ann", 1)


async def test_what_is_forgotten_does_not_come_back_and_feedback_goes_with_its_turn() -> None:
    memory = await memory_of_ann()
    await answered(memory)
    await memory.feedback("ann", 1, **TURN)
    await memory.forget("ann", "tea")
    report = await memory.feedback("ann", -1, **TURN)
    assert (report and report.memories, sorted(await weights(memory))) == (1, ["boat", "cat"])
    [answer] = [m for m in (await memory.dialog.get_context("ann", "talk")).messages if m.role == "assistant"]
    assert (answer.used, answer.feedback) == (("boat",), {"user": -1})
    lines = [line async for line in memory.export_user("ann")]
    assert sum('"feedback":{"user":-1}' in line for line in lines) == 1
    await memory.delete_session("ann", "talk")
    assert await memory.feedback("ann", 1, **TURN) is None


async def test_feedback_is_a_trial_of_the_skills_that_were_followed() -> None:
    memory = await memory_of_ann()
    skill = await memory.procedural.add_skill(
        {"use_when": "Buy tea", "tool_sops": [{"tool": "order", "action": "it"}]}, **ANN
    )
    asked = await answered(memory, used=("tea", skill.id))
    steps = [{"action": "order", "error": ""}]
    about: dict[str, Any] = {"session_id": "talk", "agent_id": "tester", "turn_id": asked, "offered": [skill.id]}
    await record_turn(memory, "ann", **about, steps=steps)

    async def trials() -> tuple[int, int]:
        [item] = await memory.list_records("ann", [MemoryScope.PROCEDURAL])
        return item.payload["trials"], item.payload["successes"]

    assert await trials() == (1, 1)
    report = await memory.feedback("ann", -1, **TURN)
    assert (report and report.skills, await trials()) == (1, (2, 1))
    await memory.feedback("ann", -1, **TURN)
    assert await trials() == (2, 1)
    await memory.feedback("ann", 1, **TURN)
    assert await trials() == (2, 2)
    await memory.feedback("ann", -1, **TURN)
    turns, _ = await memory.experience.turns("ann")
    assert all(not turn.succeeded for turn in turns)


verdicts = st.lists(st.sampled_from([-1, 0, 1]), max_size=12)


@given(st.floats(0, 1), st.lists(verdicts, min_size=1, max_size=5), st.randoms())
def test_importance_depends_on_the_last_words_alone_and_stays_within_bounds(
    base: float, turns: Any, order: Any
) -> None:
    one = fact(importance=base)
    moves = [(turn, number) for turn, said in enumerate(turns) for number in range(len(said))]
    order.shuffle(moves)
    said = [sorted(number for at, number in moves if at == turn) for turn in range(len(turns))]
    last = dict.fromkeys(range(len(turns)), 0)
    moved = one
    for turn, _ in moves:
        verdict = turns[turn][said[turn].pop(0)]
        moved = voted(moved, last[turn], verdict)
        last[turn] = verdict
        assert min(base, LOWEST) <= moved.importance <= max(base, HIGHEST)
    straight = one
    for verdict in last.values():
        straight = voted(straight, 0, verdict)
    assert moved == straight


def hit(id_: str, score: float, up: int = 0, down: int = 0) -> RecallHit:
    value = {"text": id_, **({"votes": {"up": up, "down": down, "base": 0.5}} if up or down else {})}
    at = fact().created_at
    return RecallHit(SearchItem(("m",), id_, value, at, at, score), {}, None)


def test_without_feedback_and_behind_a_reranker_the_order_stays() -> None:
    plain = [hit("a", 1.0), hit("b", 0.99)]
    assert in_favour(plain) is plain
    liked = [hit("a", 1.0), hit("b", 0.99, up=3)]
    assert [one.key for one in in_favour(liked)] == ["b", "a"]
    # as a read has it
    assert [one.key for one in in_order(Recall(liked, {}), 8)] == ["b", "a"]
    reranked = [hit("a", 0.5), hit("b", 0.99, down=3)]
    assert in_favour(reranked) is reranked
    assert favour({"votes": {"up": 10**6, "down": 0}}) / favour({"votes": {"up": 0, "down": 10**6}}) <= 1.1
