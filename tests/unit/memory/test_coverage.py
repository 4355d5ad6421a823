"""What a model leaves unread of what the user says is kept as said, clause by clause, and nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from memory.clauses import clauses, uncovered
from memory.conversations import end_conversation
from memory.extraction import EpisodeDraft, Extraction, Operation, ProfileChange, Rejected, TranscriptMessage
from memory.facade import MemoryFacade
from memory.interface import MemoryPolicy, MemoryScope
from memory.namespaces import scope_namespace
from memory.turns import TurnReport, Turns

Triple = tuple[str, str, str]
KEPT = "kept as said"


class Model:
    """A model that proposes what the test says: accepted triples, refused ones, retractions by the text of a fact."""

    def __init__(self, *facts: Triple, refused: Sequence[str] = (), retracts: str = "", **more: Any) -> None:
        self.facts, self.refused, self.retracts, self.more = facts, refused, retracts, more

    async def extract(self, messages: Sequence[TranscriptMessage], existing: Any, **_: Any) -> Extraction:
        users = [message.id for message in messages if message.role == "user"]
        ids = tuple(users) if self.more.pop("whole", False) else (users[-1],)
        ops = [Operation("add", None, "user", predicate, object_, text, ids) for predicate, object_, text in self.facts]
        ops += [
            Operation("retract", fact.id, "user", "", "", "", ids) for fact in existing if fact.text == self.retracts
        ]
        rejected = tuple(Rejected(raw, "it is not in the form", ids) for raw in self.refused)
        changes = tuple(ProfileChange(field, value, ids) for field, value in self.more.get("profile", ()))
        episode = EpisodeDraft(goal=self.more["goal"]) if "goal" in self.more else None
        return Extraction(
            tuple(ops), episode=episode, profile_changes=changes, rejected=rejected, complete=not rejected
        )


TOFU = ("likes", "tofu", "User likes tofu.")
TEA = ("likes", "tea", "User likes tea.")


async def read(store: InMemoryStore, said: str, model: Model, number: int = 0) -> TurnReport:
    memory = MemoryFacade(store, MemoryPolicy.model_validate({"extraction": "inline"}))
    turns = Turns(memory, model, "ann", "1", "tester")
    await turns.close([HumanMessage(said, id=f"q{number}"), AIMessage("Fine.", id=f"a{number}")], None)
    return await turns.extract()


async def facts(store: InMemoryStore, *, verbatim: bool) -> list[str]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), limit=100)
    values = [item.value for item in found if item.value["kind"] == "fact" and item.value["current"]]
    return sorted(value["text"] for value in values if value["verbatim"] is verbatim)


@pytest.mark.parametrize(
    ("said", "model", "kept"),
    [
        ("I like tofu and never touch shellfish.", Model(TOFU, refused=["shellfish"]), ["never touch shellfish."]),
        ("I like tofu and never touch shellfish.", Model(TOFU), ["never touch shellfish."]),
        ("I like tofu, never shellfish please.", Model(refused=["tofu"]), ["I like tofu, never shellfish please."]),
        ("I have a boat.", Model(), ["I have a boat."]),
        ("我喜欢豆腐，从来不吃贝类。", Model(("喜欢", "豆腐", "我喜欢豆腐")), ["从来不吃贝类。"]),
        (
            "Tôi thích đậu phụ nhưng không bao giờ ăn hải sản.",
            Model(("thích", "đậu phụ", "Người dùng thích đậu phụ.")),
            ["nhưng không bao giờ ăn hải sản."],
        ),
        ("I like tea, tofu and cake.", Model(TOFU, TEA), ["I like tea, tofu and cake."]),
        ("I eat tofu at home but I do not eat tofu at work.", Model(TOFU), ["but I do not eat tofu at work."]),
        ("My name is An and I keep three bees.", Model(profile=[("name", "An")]), ["I keep three bees."]),
    ],
)
async def test_what_no_accepted_operation_covers_is_kept_as_said(said: str, model: Model, kept: list[str]) -> None:
    store = InMemoryStore()
    report = await read(store, said, model)
    assert await facts(store, verbatim=True) == kept
    assert set(kept) <= set(report.stored)
    assert (KEPT in report.problem) is bool(model.refused)


NO_MEAT = ("does_not_eat", "meat", "User does not eat meat.")
SESAME = ("allergic_to", "sesame", "User is allergic to sesame.")
LOCKSMITH = "My neighbour, who is a locksmith, lent me a ladder."
BOB = "My friend Bob Smith, who is a locksmith, lent me a ladder."
EXCEPTED = "I don't eat meat (except bacon on Sundays), and I am allergic to sesame."


@pytest.mark.parametrize(
    ("said", "model", "kept"),
    [
        (EXCEPTED, Model(NO_MEAT), EXCEPTED),
        (EXCEPTED, Model(NO_MEAT, SESAME), "I don't eat meat (except bacon on Sundays)"),
        ("I don't eat meat except bacon on Sundays.", Model(NO_MEAT), None),
        ("Tôi không ăn thịt trừ cá khô.", Model(("không_ăn", "thịt", "Người dùng không ăn thịt.")), None),
        ("My brother (the one in Oslo) is divorced.", Model(("is", "divorced", "User's brother is divorced.")), None),
        ("我住在河内（以前在顺化）。", Model(("住在", "河内", "用户住在河内")), None),
        (
            "I bought tofu - it's smoked - for the trip to Lapland.",
            Model(("bought", "tofu", "User bought tofu.")),
            None,
        ),
        ("I bought tofu – a smoked one – in Lapland.", Model(("bought", "tofu", "User bought tofu.")), None),
        ("Shopping list: eggs, leeks, saffron.", Model(("buys", "eggs", "User's shopping list has eggs.")), None),
        ("Shopping list: eggs, leeks.", Model(("buys", "eggs", "User's shopping list has eggs.")), None),
        ("I speak Thai, Lao, Khmer.", Model(("speaks", "Thai", "User speaks Thai.")), None),
        ("My name is An, 28 years, in Vinh.", Model(("name", "An", "User's name is An.")), None),
        ("My name is An, 28, single.", Model(("name", "An", "User's name is An.")), None),
        ("Tôi tên Hà, 28 tuổi, đang sống ở Vinh.", Model(("name", "Hà", "Người dùng tên Hà.")), None),
        (LOCKSMITH, Model(("is", "locksmith", "User's neighbour is a locksmith.")), None),
        (LOCKSMITH, Model(("lent", "ladder", "User's neighbour lent a ladder.")), "My neighbour, who is a locksmith"),
        (BOB, Model(("lent", "ladder", "Bob Smith lent a ladder.")), "My friend Bob Smith, who is a locksmith"),
        (
            "I really like tofu, which is odd, and never eat meat.",
            Model(TOFU, NO_MEAT),
            "I really like tofu, which is odd",
        ),
        ("I really like tofu; cats, not so much.", Model(TOFU), "cats, not so much."),
        ("I really like tofu; cats, no.", Model(TOFU), None),
        ("I really like tofu; tea.", Model(TOFU), None),
    ],
)
async def test_what_is_said_by_the_way_is_kept_with_what_it_belongs_to(
    said: str, model: Model, kept: str | None
) -> None:
    store = InMemoryStore()
    await read(store, said, model)
    assert await facts(store, verbatim=True) == [kept or said]


@pytest.mark.parametrize(
    ("said", "model"),
    [
        (EXCEPTED, Model(("does_not_eat", "meat", "User does not eat meat except bacon on Sundays."), SESAME)),
        ("I like two things: tea and tofu.", Model(TEA, TOFU)),
        ("I really like tofu (really).", Model(TOFU)),
        ("I really like tofu with my friends at home.", Model(TOFU)),
        ("I like tea and tofu.", Model(TEA, TOFU)),
        ("Thanks! Where can I buy tofu?", Model()),
        ("My name is An.", Model(profile=[("name", "An")])),
        ("I live in Da Nang, Vietnam.", Model(("lives_in", "Da Nang", "User lives in Da Nang."))),
        (
            "I live in Hanoi. No wait, I live in Haiphong.",
            Model(("lives_in", "Haiphong", "User lives in Haiphong.")),
        ),
    ],
)
async def test_what_is_covered_is_not_kept_beside_its_fact_and_nothing_claims_it_is(said: str, model: Model) -> None:
    store = InMemoryStore()
    report = await read(store, said, model)
    assert await facts(store, verbatim=True) == []
    assert report.problem == ""


async def test_no_words_are_said_to_be_kept_where_a_refused_proposal_leaves_none() -> None:
    store = InMemoryStore()
    report = await read(store, "I like tofu.", Model(TOFU, refused=["tofu once more"]))
    assert await facts(store, verbatim=True) == []
    assert report.problem == "1 proposals were refused (it is not in the form)"


@pytest.mark.parametrize("again", ["I like tea.", "Still, I like tea."])
async def test_what_a_memory_says_already_may_be_left_out(again: str) -> None:
    store = InMemoryStore()
    await read(store, "I like tea.", Model(TEA))
    await read(store, again, Model(), 1)
    assert await facts(store, verbatim=True) == []


@pytest.mark.parametrize("said", ["I sell tea.", "I like green tea.", "My neighbour drinks tea.", "I don't like tea."])
async def test_what_says_more_than_a_memory_is_not_left_out(said: str) -> None:
    store = InMemoryStore()
    await read(store, "I like tea.", Model(TEA))
    await read(store, said, Model(), 1)
    assert await facts(store, verbatim=True) == [said]


async def test_what_an_episode_tells_of_is_not_kept_as_said_beside_it() -> None:
    store = InMemoryStore()
    await read(
        store, "Please book a table at Quan Ngon. I am allergic to shrimp.", Model(goal="Book a table at Quan Ngon")
    )
    assert await facts(store, verbatim=True) == ["I am allergic to shrimp."]


async def test_what_is_asked_to_be_forgotten_is_not_kept_as_said() -> None:
    store = InMemoryStore()
    await read(store, "I like tea.", Model(TEA))
    await read(store, "I like tea, you noted. Forget that!", Model(retracts="User likes tea."), 1)
    assert await facts(store, verbatim=False) == []
    assert "tea" not in " ".join(await facts(store, verbatim=True))


async def test_what_was_kept_as_said_goes_when_it_is_read_at_the_end_of_the_conversation() -> None:
    store = InMemoryStore()
    await read(store, "I like tofu and never touch shellfish.", Model(TOFU))
    avoids = ("does_not_eat", "shellfish", "User never touches shellfish.")
    memory = MemoryFacade(store, MemoryPolicy.model_validate({"extraction": "inline"}))
    await end_conversation(Turns(memory, Model(TOFU, avoids), "ann", "1", "tester"))
    assert await facts(store, verbatim=True) == []
    assert await facts(store, verbatim=False) == ["User likes tofu.", "User never touches shellfish."]


@given(st.text(max_size=60) | st.text(alphabet="ab1 ,;:-()，、.", max_size=60))
def test_clauses_are_parts_of_their_sentence_in_order(sentence: str) -> None:
    end = 0
    for place, part in enumerate(clauses(sentence)):
        assert part.text == sentence[part.begin : part.end].strip()
        assert part.begin >= end
        assert 0 <= part.head <= place
        end = part.end


@given(st.text(alphabet="ab1 ,;:-()，、.", max_size=60))
def test_clauses_miss_no_word(sentence: str) -> None:
    said = "".join(part.text for part in clauses(sentence))
    assert [char for char in said if char in "ab1"] == [char for char in sentence if char in "ab1"]


@given(st.lists(st.sampled_from(["I like tea", "never eat beef", "cake", "my cat is old"]), min_size=1, max_size=6))
def test_every_part_that_is_not_covered_is_in_what_is_kept(said: list[str]) -> None:
    sentence = ", ".join(said[:-1]) + (" and " if len(said) > 1 else "") + said[-1]
    for covered in set(said):
        kept = uncovered(sentence, lambda part, covered=covered: covered in part)
        open_ = [part.text for part in clauses(sentence) if covered not in part.text]
        assert all(any(part in text for text in kept) for part in open_)
        assert all(text in sentence for text in kept)
