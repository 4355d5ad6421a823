"""What was believed at a time: what a snapshot taken then holds, whatever has become of it since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from react_mem.memory.merging.reconcile import reconcile, retire
from react_mem.memory.model.operations import Operation, Relation
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, Wording, fact_id
from react_mem.memory.retrieval.last_known import as_of
from tests.support.saying import said_on

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
TEXTS = ("I live in Hue", "I live in Hanoi", "I like tea", "I have a cat")


@dataclass(frozen=True)
class Step:
    """One statement.

    Args:
        relation: How it stands to the target.
        text: What it says.
        target: The text of the fact that it is about.
        source: The message that says it.
        late: How many hours after it was said it is read.
        over: Whether it says that it is over already.
        origin: Who says it.
    """

    relation: Relation
    text: str
    target: str | None
    source: int
    late: int = 0
    over: bool = False
    origin: Origin = Origin.USER

    def operation(self, read_at: datetime) -> Operation:
        return Operation(
            self.relation,
            "" if self.relation in ("ends", "forget") else self.text,
            target_id=None if self.target is None else fact_id("user", self.target),
            source_ids=(f"m{self.source}",),
            origin=self.origin,
            valid_to=read_at - timedelta(days=30) if self.over else None,
        )


STEPS = st.builds(
    Step,
    st.sampled_from(["new", "new", "same", "changes", "ends", "corrects", "unsure"]),
    st.sampled_from(TEXTS),
    st.one_of(st.none(), st.sampled_from(TEXTS)),
    st.integers(0, 9),
    st.sampled_from([0, 0, 0, 5]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([Origin.USER, Origin.USER, Origin.USER, Origin.TOOL]),
)


def _history(steps: Sequence[Step]) -> tuple[dict[str, Fact], dict[datetime, set[tuple[str, str]]]]:
    """Return the facts after all steps, an hour each, and what was believed after each of them."""
    facts: dict[str, Fact] = {}
    snapshots: dict[datetime, set[tuple[str, str]]] = {}
    for number, step in enumerate(steps):
        at = START + number * HOUR
        said = {f"m{step.source}": said_on(at - step.late * HOUR, step.text)}
        changed = reconcile([step.operation(at)], facts, at=at, session_id="s", agent_id="a", said=said)
        facts |= {fact.id: fact for fact in changed}
        snapshots[at] = {(fact.id, fact.text) for fact in facts.values() if fact.current}
    return facts, snapshots


def _believed(facts: dict[str, Fact], at: datetime) -> set[tuple[str, str]]:
    return {(then.id, then.text) for fact in facts.values() if (then := as_of(fact, at))}


@example([Step("new", TEXTS[0], None, 0), Step("ends", "", TEXTS[0], 1), Step("new", TEXTS[0], None, 2)])
@example([Step("new", TEXTS[0], None, 0, over=True), Step("new", TEXTS[0], None, 1)])
@example(
    [Step("new", TEXTS[0], None, 0), Step("changes", TEXTS[1], TEXTS[0], 1), Step("changes", TEXTS[0], TEXTS[1], 2)]
)
@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_what_was_believed_is_what_a_snapshot_holds(steps: list[Step]) -> None:
    facts, snapshots = _history(steps)
    assert _believed(facts, START - HOUR) == set()
    for at, expected in snapshots.items():
        for moment in (at, at + HOUR / 2):
            assert _believed(facts, moment) == expected
        # nor does it depend on how it is stored
        stored = {id_: Fact.from_value(fact.to_value()) for id_, fact in facts.items()}
        assert _believed(stored, at) == expected


def _fact(**fields: object) -> Fact:
    return Fact.model_validate(
        {"id": "f", "text": "I live in Hue", "created_at": START, "said_at": START, "session_id": "s", "agent_id": "a"}
        | fields
    )


def test_an_end_that_nobody_knew_of_is_left_out() -> None:
    over = retire(_fact(doubts=("g",)), START + HOUR, START + 2 * HOUR, superseded_by="g")
    then = as_of(over, START + HOUR)
    assert then is not None
    assert (then.current, then.retired_at, then.valid_to, then.superseded_by) == (True, None, None, None)
    assert then.doubts == ()
    assert as_of(over, START + 2 * HOUR) is None


def test_ways_to_put_it_that_nobody_had_used_are_left_out() -> None:
    later = Wording(text="Hue is my home", said_at=START + 2 * HOUR, source_ids=("m2",))
    fact = _fact(wordings=(later,), said_at=START + 2 * HOUR)
    then, now = as_of(fact, START + HOUR), as_of(fact, START + 2 * HOUR)
    assert then is not None
    assert (then.wordings, then.said_at) == ((), START)
    assert now is not None
    assert (now.wordings, now.said_at) == ((later,), START + 2 * HOUR)


def test_what_was_withdrawn_with_its_branch_was_believed_until_then() -> None:
    withdrawn = _fact(withdrawn=("m1",), current=False, retired_at=START + HOUR, valid_to=START + HOUR)
    assert as_of(withdrawn, START) is not None
    assert as_of(withdrawn, START + HOUR) is None
