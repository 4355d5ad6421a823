"""The chain on its own: the reference traces, and what holds of every chain under all settings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache

from hypothesis import example, given, settings
from hypothesis import strategies as st

from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.policy import SummarySettings
from react_mem.memory.model.records import Message, Summary
from react_mem.memory.summaries.sources import MASTER, applied, next_fold, shown

AT = datetime(2026, 11, 20, tzinfo=UTC)


@cache
def message(number: int) -> Message:
    """The message M1, M2, ...: at the places 0, 1, ..."""
    return Message(
        id=f"M{number}",
        text=f"text {number}",
        role="user" if number % 2 else "assistant",
        content=f"text {number}",
        turn=number - 1,
        created_at=AT + timedelta(minutes=number),
        session_id="talk",
        agent_id="tester",
    )


def messages(first: int, last: int) -> list[Message]:
    return [message(number) for number in range(first, last + 1)]


class Talk:
    """A chain that is folded until nothing is due, and the summaries that came of it."""

    def __init__(self, **shape: object) -> None:
        self.settings = SummarySettings.model_validate(shape)
        self.chain = ContextChain.begin("talk", "tester")
        self.sources: dict[str, tuple[str, ...]] = {}
        self.levels: dict[str, str] = {}

    def say(self, said: Iterable[Message]) -> Talk:
        self.chain = self.chain.append(list(said))
        while fold := next_fold(self.chain, self.settings):
            id_ = fold.summary_id("talk")
            known = self.sources.get(id_, ()) if fold.master else ()
            assert fold.master is not None or id_ not in self.sources
            self.sources[id_] = (*known, *fold.source_ids)
            self.levels[id_] = fold.level
            summary = Summary(
                id=id_,
                text=f"what {', '.join(map(self.name, fold.parts))} say",
                level=fold.level,
                session_id="talk",
                agent_id="tester",
            )
            self.chain = applied(self.chain, fold, summary)
        return self

    def name(self, entry: ChainEntry) -> str:
        """M4 for a message, L1(4-6) for a summary of the messages 4 to 6."""
        if entry.kind == "message":
            return entry.id
        level = entry.level if entry.level == MASTER else f"L{entry.level}"
        return f"{level}({entry.first_turn + 1}-{entry.last_turn + 1})"

    @property
    def names(self) -> str:
        return " ".join(map(self.name, self.chain.entries))

    def below(self, id_: str) -> list[str]:
        if id_ not in self.sources:
            return [id_]
        return [said for source in self.sources[id_] for said in self.below(source)]

    @property
    def reachable(self) -> list[str]:
        return [said for entry in self.chain.entries for said in self.below(entry.id)]


def test_the_reference_trace_of_newest_up_to_the_master() -> None:
    talk = Talk(window="newest")
    talk.say(messages(1, 30))
    assert talk.names == "M1 M2 M3 L3(4-30)"
    assert talk.say(messages(31, 83)).names == (
        "M1 M2 M3 L3(4-30) L3(31-57) L2(58-66) L2(67-75) L1(76-78) L1(79-81) M82 M83"
    )
    assert talk.say(messages(84, 84)).names == "M1 M2 M3 master(4-84)"
    [first] = talk.chain.entries[3:]
    assert talk.say(messages(85, 164)).names == (
        "M1 M2 M3 master(4-84) L3(85-111) L3(112-138) L2(139-147) L2(148-156) L1(157-159) L1(160-162) M163 M164"
    )
    assert talk.say(messages(165, 165)).names == "M1 M2 M3 master(4-165)"
    [second] = talk.chain.entries[3:]
    assert first.id == second.id
    assert len(talk.sources[second.id]) == 6


def test_the_reference_trace_of_oldest() -> None:
    talk = Talk(window="oldest")
    assert talk.say(messages(1, 5)).names == "M1 M2 M3 M4 M5"
    assert talk.say(messages(6, 6)).names == "L1(1-3) M4 M5 M6"
    assert talk.say(messages(7, 9)).names == "L1(1-3) L1(4-6) M7 M8 M9"
    assert talk.say(messages(10, 12)).names == "L2(1-9) M10 M11 M12"
    assert talk.say(messages(13, 30)).names == "L3(1-27) M28 M29 M30"
    assert talk.say(messages(31, 84)).names == "master(1-81) M82 M83 M84"
    assert talk.say(messages(85, 165)).names == "master(1-162) M163 M164 M165"


shapes = st.builds(
    lambda n_sum, window, n_sum_sum, levels, which: {
        "n_sum": n_sum,
        "sum_window": min(window, n_sum),
        "n_sum_sum": n_sum_sum,
        "max_sum_lvl": levels,
        "window": which,
    },
    st.integers(2, 40),
    st.integers(1, 40),
    st.integers(2, 12),
    st.integers(1, 9),
    st.sampled_from(["newest", "oldest"]),
)
totals = st.one_of(st.just(300), st.integers(1, 300))


def said_in(total: int, at_once: int) -> list[list[Message]]:
    """Messages in portions."""
    return [messages(first, min(first + at_once - 1, total)) for first in range(1, total + 1, at_once)]


@settings(max_examples=40, deadline=None)
@given(shapes, totals, st.integers(10, 100), st.integers(0, 300))
@example({}, 300, 50, 290)
@example({"window": "oldest"}, 300, 50, 290)
def test_nothing_is_lost_nor_twice_and_the_chain_stays_short(
    shape: dict[str, object], total: int, at_once: int, first_turn: int
) -> None:
    talk = Talk(**shape)
    shaped = talk.settings
    # what the chain's docstring promises
    longest = (shaped.n_sum - 1) + (shaped.max_sum_lvl - 1) * (shaped.n_sum_sum - 1) + (shaped.sum_window - 1) + 1
    said: list[str] = []
    for portion in said_in(total, at_once):
        talk.say(portion)
        said += [one.id for one in portion]
        entries = talk.chain.entries
        assert sorted(talk.reachable) == sorted(said)
        assert len(entries) <= longest
        assert sum(entry.level == MASTER for entry in entries) <= 1
        assert sum(entry.covers for entry in entries) == len(said)
        places = [(entry.first_turn, entry.last_turn) for entry in entries]
        # one after the other, and nothing between them
        assert [first for first, _ in places] == [0, *(last + 1 for _, last in places[:-1])]
    assert sum(level == MASTER for level in talk.levels.values()) <= 1
    covered = {id_ for entry in shown(talk.chain, first_turn) for id_ in talk.below(entry.id)}
    assert covered >= {id_ for id_ in said if int(id_[1:]) <= first_turn}
