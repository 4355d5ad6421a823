"""Work that a worker knows of: due in order, owners in turn, nothing lost or begun twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.work import items as known_work
from react_mem.memory.work.items import Held, KnownWork, Work


def held(user: str, session: str, due_at: int) -> Held:
    work = Work(kind="extract", agent="tester", session=session, due_at=due_at)
    return Held(work.place(user), user, work)


def begun(known: KnownWork, at: int, without: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    found = []
    while (one := known.next(at, without)) is not None:
        known.pop(one.place, None)
        found.append((one.user_id, one.work.session))
    return found


def test_owners_are_served_in_turn_and_each_ones_longest_overdue_first() -> None:
    known = KnownWork()
    for number in range(4, 0, -1):
        known.add(held("ann", str(number), number))
    known.add(held("bob", "1", 9))
    known.add(held("carl", "1", 10))
    known.add(held("dora", "1", 11))
    assert begun(known, 10) == [("ann", "1"), ("bob", "1"), ("carl", "1"), ("ann", "2"), ("ann", "3"), ("ann", "4")]
    assert (len(known), known.next_due()) == (1, 11)


def test_what_is_put_off_again_and_again_takes_no_room() -> None:
    known = KnownWork()
    known.add(held("bob", "1", 0))
    assert known.next(0, ("bob",)) is None
    for at in range(10_000):
        known.add(held("ann", "1", 10 + at))
    assert len(known._later) < 10 * known_work._SPARE
    assert (begun(known, 5), known.next_due()) == ([("bob", "1")], 10_009)


@given(st.lists(st.tuples(st.sampled_from(["add", "drop", "ask"]), st.integers(0, 5), st.integers(0, 8))))
def test_what_is_due_is_found_once_whatever_happens(steps: list[tuple[str, int, int]]) -> None:
    known, there = KnownWork(), dict[str, int]()
    at = 0
    for step, number, due_at in steps:
        one = held(f"user{number % 3}", str(number), due_at)
        if step == "add":
            known.add(one)
            there[str(number)] = due_at
        elif step == "drop":
            known.pop(one.place, None)
            there.pop(str(number), None)
        else:
            at = max(at, due_at)
            due = {session for session, when in there.items() if when <= at}
            assert {session for _, session in begun(known, at)} == due
            there = {session: when for session, when in there.items() if session not in due}
            assert known.next_due() == min(there.values(), default=None)
        assert len(known) == len(there)
