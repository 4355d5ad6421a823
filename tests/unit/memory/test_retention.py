"""Retention removes what is too old, with what came of it, keeps what is younger, and leaves alone what is held."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.memory import MemoryFacade, MemoryPolicy
from react_mem.memory.graph.links import links_of
from react_mem.memory.model.kinds import FACT, MESSAGE, PROFILE, kind_of
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.operations import put, write
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.model.profile_schema import Profile, ProfileField
from react_mem.memory.model.records import (
    Episode,
    Fact,
    Message,
    Record,
    now,
    record_id,
)
from react_mem.memory.model.states import Conversation
from react_mem.memory.rights.retention import retain
from react_mem.memory.store.capabilities import everything
from react_mem.memory.work.items import Work, put_work

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def message(id_: str, days: float, session: str = "1", agent: str = "a", **more: Any) -> Message:
    return Message(
        id=id_,
        text=f"message {id_}",
        content=f"message {id_}",
        role=more.pop("role", "user"),
        turn=0,
        created_at=ago(days),
        session_id=session,
        agent_id=agent,
        **more,
    )


def fact(id_: str, days: float, *sources: str, session: str = "1", agent: str = "a", **more: Any) -> Fact:
    said = ago(days)
    return Fact(
        id=id_,
        text=f"fact {id_}",
        created_at=said,
        said_at=said,
        session_id=session,
        agent_id=agent,
        source_ids=sources,
        **more,
    )


def episode(id_: str, days: float, *sources: str, session: str = "1", agent: str = "a") -> Episode:
    return Episode(
        id=id_,
        text=f"episode {id_}",
        goal=f"episode {id_}",
        created_at=ago(days),
        session_id=session,
        agent_id=agent,
        source_ids=sources,
    )


class Ann:
    """A user's memory, with the records that a test puts into it."""

    def __init__(self, *records: Record) -> None:
        self.store = InMemoryStore()
        self.saver = InMemorySaver()
        self.records = records

    async def begin(self) -> None:
        await write(self.store, [put("ann", record) for record in self.records])

    async def run(self, batch: int = 1000, dry_run: bool = False, **kept: Any) -> Any:
        policies = {"a": RetentionSettings(**kept)}
        return await retain(self.store, self.saver, "ann", policies, at=NOW, batch=batch, dry_run=dry_run)

    async def left(self) -> dict[str, dict[str, Any]]:
        return {item.key: item.value for item in await everything(self.store, "ann")}

    async def thread(self, session: str) -> None:
        config: Any = {"configurable": {"thread_id": session, "checkpoint_ns": ""}}
        await self.saver.aput(config, empty_checkpoint(), {}, {})

    async def has_thread(self, session: str) -> bool:
        return await self.saver.aget_tuple({"configurable": {"thread_id": session}}) is not None


async def ann(*records: Record) -> Ann:
    one = Ann(*records)
    await one.begin()
    return one


async def test_values_of_the_profile_go_with_what_said_them_or_by_their_own_age() -> None:
    fields = {
        "city": ProfileField(value="Hue", source_ids=("old",), updated_at=ago(40)),
        "job": ProfileField(value="baker", source_ids=("new",), updated_at=ago(1)),
        "pet": ProfileField(value="cat", updated_at=ago(70)),
    }
    profile = Profile(id="profile", text="", session_id="1", agent_id="a", fields=fields)
    for kept, wanted in (({}, ["job", "pet"]), ({"profile": "60d"}, ["city", "job"])):
        one = await ann(message("old", 40), message("new", 1), profile)
        await one.run(dialog="30d", **kept)
        [value] = [value for value in (await one.left()).values() if PROFILE.matches(value)]
        assert sorted(value["fields"]) == wanted
        assert "Hue" in str(value) or "city" not in wanted
    one = await ann(message("old", 40), profile.model_copy(update={"fields": {"city": fields["city"]}}))
    await one.run(dialog="30d")
    assert await one.left() == {}


async def test_a_conversation_that_is_over_goes_with_its_thread_and_one_that_goes_on_is_not_shown_what_is_gone() -> (
    None
):
    talk = Conversation(
        id=record_id("conversation", "over"), text="", session_id="over", agent_id="a", last_said_at=ago(31)
    )
    one = await ann(
        message("o1", 32, "over"),
        message("o2", 31, "over", role="assistant"),
        talk,
        message("g1", 31, "on"),
        message("g2", 1, "on"),
        message("i1", 31, "of somebody else", origin="import"),
    )
    for session in ("over", "on", "of somebody else"):
        await one.thread(session)
    await write(one.store, [put_work("ann", Work(kind="maintain", agent="a", session="over", due_at=0))])
    report = await one.run(dialog="30d")
    assert sorted(await one.left()) == ["g2"]
    assert report.threads == 1
    assert [await one.has_thread(session) for session in ("over", "on", "of somebody else")] == [False, True, True]
    assert not await one.store.asearch(("memory_work", "ann"))
    facade = MemoryFacade(one.store)
    noted = await one.store.asearch(meta_namespace("ann"), filter={"kind": "forgotten"})
    assert sorted(chain(*(item.value["messages"] for item in noted))) == ["g1", "i1"]
    assert (await facade.forget_user("ann")).receipt.problems == ()


async def test_a_thread_that_a_crash_has_left_is_deleted_by_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    one = await ann(message("m", 31))
    await one.thread("1")

    async def fails(thread_id: str) -> None:
        raise OSError("gone")

    with monkeypatch.context() as broken:
        broken.setattr(one.saver, "adelete_thread", fails)
        with pytest.raises(OSError, match="gone"):
            await one.run(dialog="30d")
    assert await one.left() == {}
    assert (await one.run(dialog="30d")).threads == 1
    assert not await one.has_thread("1")


async def test_what_was_said_or_used_longest_ago_goes_when_there_is_too_much() -> None:
    used = message("answer", 1, role="assistant", used=("f1",))
    facts = [fact(f"f{n}", 100 - n) for n in range(5)]
    one = await ann(used, *facts)
    assert (await one.run(max_memories=3)).removed == {"fact": 3}
    assert sorted(await one.left()) == ["answer", "f1", "f4"]
    size = max(len(str(value)) for value in (await one.left()).values())
    assert (await one.run(max_bytes=max(1000, size))).total >= 1
    assert "f4" not in await one.left()
    assert "answer" in await one.left()


async def test_a_fact_that_ended_is_not_believed_again_because_what_ended_it_is_gone() -> None:
    ended = fact("was", 1, "new", current=False, superseded_by="is")
    one = await ann(message("old", 40), message("new", 1), ended, fact("is", 40, "old"))
    await one.run(dialog="30d")
    left = await one.left()
    assert sorted(left) == ["new", "was"]
    assert left["was"]["current"] is False
    assert left["was"]["superseded_by"] is None


async def test_the_facade_applies_its_own_policy() -> None:
    old = message("m", 0).model_copy(update={"created_at": now() - timedelta(days=2)})
    one = await ann(old)
    memory = MemoryFacade(one.store, MemoryPolicy.model_validate({"retention": {"dialog": "1d"}}))
    assert (await memory.apply_retention("ann", "b")).total == 0
    assert (await memory.apply_retention("ann", "a", dry_run=True)).total == 1
    assert (await memory.apply_retention("ann", "a")).total == 1
    assert await one.left() == {}


async def test_a_hold_keeps_a_conversation_with_its_facts_and_values() -> None:
    fields = {"city": ProfileField(value="Hue", source_ids=("held",), updated_at=ago(40))}
    one = await ann(
        message("held", 40, "kept"),
        fact("of-held", 40, "held", session="kept"),
        Profile(id="profile", text="city: Hue", session_id="kept", agent_id="a", fields=fields),
        message("free", 40),
    )
    await one.thread("kept")
    memory = MemoryFacade(one.store)
    await memory.hold("ann", "case-17", "kept")
    before = await one.left()
    report = await one.run(dialog="30d", max_memories=1)
    assert report.removed == {"message": 1}
    assert report.held == 1
    assert await one.left() == {key: value for key, value in before.items() if key != "free"}
    assert await one.has_thread("kept")
    await memory.lift_hold("ann", "case-17", "kept")
    await one.run(dialog="30d")
    assert await one.left() == {}
    assert not await one.has_thread("kept")


@pytest.mark.parametrize("age", ["30", 30, "0d", "9999y", True])
def test_what_is_no_time_is_refused(age: object) -> None:
    with pytest.raises(ValueError, match="is no time: give hours, days"):
        RetentionSettings.model_validate({"dialog": age})


# Whatever there is


_DAYS = st.integers(0, 60)
_SESSIONS = st.sampled_from(["1", "2", "3"])
_AGENTS = st.sampled_from(["a", "a", "a", "b"])


@st.composite
def memories(draw: st.DrawFn) -> list[Record]:
    spoken = draw(st.lists(st.tuples(_DAYS, _SESSIONS, _AGENTS), max_size=12))
    messages = [message(f"m{n}", *one) for n, one in enumerate(spoken)]
    sources = (
        st.lists(st.sampled_from([one.id for one in messages]), max_size=3, unique=True) if messages else st.just([])
    )

    def of(made_of: list[str]) -> dict[str, Any]:
        made = [one for one in messages if one.id in made_of]
        # nothing is drawn before it is said
        latest = min(((NOW - one.created_at).days for one in made), default=draw(_DAYS))
        session = made[0].session_id if made else draw(_SESSIONS)
        return {"days": min(latest, draw(_DAYS)), "session": session, "agent": draw(_AGENTS)}

    records: list[Record] = [*messages]
    for n in range(draw(st.integers(0, 8))):
        chosen = draw(sources)
        records.append(_derived(draw, f"d{n}", chosen, of(chosen)))
    return records


def _derived(draw: st.DrawFn, id_: str, sources: list[str], more: dict[str, Any]) -> Record:
    make = draw(st.sampled_from([fact, episode]))
    return make(id_, more["days"], *sources, session=more["session"], agent=more["agent"])


def references(value: Mapping[str, Any]) -> Iterator[str]:
    yield from value.get("source_ids", ())
    yield from (link.target for link in links_of(value))


@settings(max_examples=60, deadline=None)
@given(
    memories(),
    st.fixed_dictionaries(
        {"dialog": st.sampled_from(["20d", "30d"])},
        optional={
            "semantic": st.sampled_from(["10d", "40d", "forever"]),
            "episodic": st.sampled_from(["10d", "forever"]),
        },
    ),
    st.sampled_from([None, "1", "2"]),
    st.integers(1, 5),
)
def test_nothing_older_is_left_nothing_younger_is_lost_and_what_is_held_stays(
    records: list[Record], kept: dict[str, str], held: str | None, batch: int
) -> None:
    async def run() -> None:
        one = await ann(*records)
        memory = MemoryFacade(one.store)
        if held:
            await memory.hold("ann", "case", held)
        before = await one.left()
        await one.run(batch=batch, **kept)
        left = await one.left()
        policy = RetentionSettings(**kept)
        is_held = {id_ for id_, value in before.items() if value["session_id"] == held}
        is_held |= {
            id_ for id_, value in before.items() if value["source_ids"] and is_held.issuperset(value["source_ids"])
        }
        exported = "\n".join([line async for line in memory.export_user("ann")])
        over = {v["session_id"] for i, v in before.items() if MESSAGE.matches(v) and i not in left}
        over -= {v["session_id"] for v in left.values() if MESSAGE.matches(v)}
        for id_, value in before.items():
            scope = kind_of(value).place
            age = policy.age(scope) if value["agent_id"] == "a" else None
            since = datetime.fromisoformat(value["said_at" if FACT.matches(value) else "created_at"])
            named = value["agent_id"] == "a" and policy.has(scope)
            lost = [s for s in value["source_ids"] if s not in left]
            if id_ in is_held:
                wanted = True
            elif age is not None and since < NOW - age:
                wanted = False
            elif named or MESSAGE.matches(value):
                wanted = True
            elif value["source_ids"]:
                wanted = len(lost) < len(value["source_ids"]) if FACT.matches(value) else not lost
            else:
                wanted = value["session_id"] not in over
            assert (id_ in left) is wanted, (id_, value)
            assert (f'"{value["text"]}"' in exported) is wanted
        if not held:
            assert not [
                name for value in left.values() for name in references(value) if name in before and name not in left
            ]

    asyncio.run(run())
