"""What a model proposes is believed only as far as the transcript bears it out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.extraction import ExistingMemory, Extraction, TranscriptMessage
from memory.extraction.answers import Answer
from memory.extraction.briefing import brief
from memory.extraction.checks import check
from memory.records import Role

Said = list[tuple[Role, str]]


def judged(said: Said, payload: dict[str, Any], known: tuple[str, ...] = (), **answer: Any) -> Extraction:
    messages = [TranscriptMessage(f"id-{i}", role, text) for i, (role, text) in enumerate(said, 1)]
    existing = [ExistingMemory(f"fact-{i}", "fact", text) for i, text in enumerate(known, 1)]
    return check(Answer(payload, **answer), brief(messages, existing))


def op(object_: str, text: str, **fields: Any) -> dict[str, Any]:
    predicate = text.replace(object_, "").strip(" .")[:60] or "is"
    filled = {"op": "add", "target_id": None, "subject": "user", "predicate": predicate, "source_ids": ["m1"], **fields}
    return {**filled, "object": object_, "text": text}


def reasons(extraction: Extraction) -> list[str]:
    return [rejected.reason for rejected in extraction.rejected]


@pytest.mark.parametrize(
    ("said", "object_", "text"),
    [
        ("I love green tea", "green tea", "User loves green tea."),
        ("I'm allergic to peanuts", "peanut", "User is allergic to peanuts."),
        ("We have two dogs", "2 dogs", "The user has 2 dogs."),
        ("toi song o Ha Noi", "Hà Nội", "Người dùng sống ở Hà Nội."),
        ("Mình ở Hà Nội", "Hanoi", "Người dùng ở Hanoi."),
        ("Tôi không ăn thịt bò", "thịt bò", "Người dùng không ăn thịt bò."),
        ("mình ko ăn cay được", "cay", "Người dùng không ăn cay được."),
        ("I don’t drink coffee", "coffee", "User does not drink coffee."),
        ("I hate coffee", "coffee", "User dislikes coffee."),
        ("I don't eat pork, beef or lamb", "lamb", "User does not eat lamb."),
        ("I don't eat meat, but I love fish", "fish", "User loves fish."),
        ("Tôi không thích cà phê nhưng thích trà", "trà", "Người dùng thích trà."),
        ("I used to live in Hue", "Hue", "User used to live in Hue."),
        ("I moved from Hanoi to Da Nang", "Da Nang", "User moved to Da Nang."),
        ("Mình vừa chuyển từ Hà Nội vào Đà Nẵng sống", "Đà Nẵng", "Người dùng sống ở Đà Nẵng."),
        ("I am vegetarian, what can I cook?", "vegetarian", "User is vegetarian."),
        ("我喜欢绿茶", "绿茶", "用户喜欢绿茶"),
        ("My neighbour, who is a locksmith, lent me a ladder.", "ladder", "User's neighbour lent them a ladder."),
        ("My neighbour, who is a locksmith, lent me a ladder.", "locksmith", "User's neighbour is a locksmith."),
        ("My neighbour – who is a nurse – plays chess.", "chess", "User's neighbour plays chess."),
        ("My boss, whose wife is a doctor, plays chess.", "chess", "User's boss plays chess."),
        ("My knee hurts, which it does every winter.", "every winter", "User's knee hurts every winter."),
    ],
)
def test_what_the_user_says_is_kept(said: str, object_: str, text: str) -> None:
    result = judged([("user", said)], {"ops": [op(object_, text)]})
    assert (reasons(result), [o.text for o in result.ops], result.complete) == ([], [text], True)


@pytest.mark.parametrize(
    ("said", "object_", "text", "reason"),
    [
        ("I love green tea", "black tea", "User loves black tea.", "not grounded"),
        ("I live in Hanoi", "Hanover", "User lives in Hanover.", "not grounded"),
        ("I was born in 1991", "1990", "User was born in 1990.", "not grounded"),
        ("I don't eat meat", "meat", "User eats meat.", "opposite"),
        ("I eat meat", "meat", "User does not eat meat.", "opposite"),
        ("I don't eat pork, beef or lamb", "lamb", "User eats lamb.", "opposite"),
        ("Tôi không ăn thịt bò", "thịt bò", "Người dùng ăn thịt bò.", "opposite"),
        ("toi chua co con", "con", "Người dùng có con.", "opposite"),
        ("Tôi chưa bao giờ đi Huế", "Huế", "Người dùng đi Huế.", "opposite"),
        ("I hate coffee", "coffee", "User likes coffee.", "opposite"),
        ("I used to live in Hue", "Hue", "User lives in Hue.", "opposite"),
        ("I moved from Hanoi to Da Nang", "Hanoi", "User lives in Hanoi.", "opposite"),
        ("Mình chuyển từ Hà Nội vào Đà Nẵng", "Hà Nội", "Người dùng sống ở Hà Nội.", "opposite"),
        ("Should I move to Berlin?", "Berlin", "User moves to Berlin.", "asked or supposed"),
        ("Tôi có nên học tiếng Nhật không?", "tiếng Nhật", "Người dùng học tiếng Nhật.", "asked or supposed"),
        ("If I were rich I would buy a yacht", "yacht", "User would buy a yacht.", "asked or supposed"),
        ("I am bored, should I move to Berlin", "Berlin", "User moves to Berlin.", "asked or supposed"),
        ("I saved a bit, which car should I buy", "car", "User buys a car.", "asked or supposed"),
        ("I am hungry, where is the best pho", "pho", "User has the best pho.", "asked or supposed"),
        ("My son, who is tall?", "tall", "User's son is tall.", "asked or supposed"),
        ("I love green tea", "", "User loves green tea.", "object is empty"),
        ("I love green tea", "green tea", "", "text is empty"),
        ("I love green tea", "tea " * 60, "User loves tea.", "object is too long"),
        ("I love green tea", "green tea", "green tea " * 40, "text is too long"),
    ],
)
def test_what_the_user_does_not_say_is_refused(said: str, object_: str, text: str, reason: str) -> None:
    result = judged([("user", said)], {"ops": [op(object_, text)]})
    assert result.ops == ()
    assert reason in reasons(result)[0]
    assert not result.complete
    assert result.rejected[0].source_ids == ("id-1",)


@pytest.mark.parametrize("text", ["User loves black coffee.", "User loves green tea, Mars and the Venus flytrap."])
def test_a_text_that_says_something_else_is_refused(text: str) -> None:
    result = judged([("user", "I love green tea")], {"ops": [op("green tea", text, predicate="loves")]})
    assert reasons(result) == ["its text says something else"]


def test_a_statement_whose_parts_contradict_its_text_is_refused() -> None:
    proposed = op("meat", "User does not eat meat.", predicate="eats")
    result = judged([("user", "I don't eat meat")], {"ops": [proposed]})
    assert reasons(result) == ["its text contradicts its parts"]
    fine = {**proposed, "predicate": "does_not_eat"}
    assert judged([("user", "I don't eat meat")], {"ops": [fine]}).complete


@pytest.mark.parametrize(
    ("cited", "reason"),
    [
        ([], "cites nothing"),
        (["m9"], "does not exist"),
        (["m1", "m9"], "does not exist"),
        (["id-1"], "does not exist"),
        (["m2"], "nothing that the user said"),
        (["m3"], "nothing that the user said"),
    ],
)
def test_citations_must_exist_and_be_the_users(cited: list[str], reason: str) -> None:
    said: Said = [("user", "hi, I love tea"), ("assistant", "you love tea"), ("tool", "tea")]
    result = judged(said, {"ops": [op("tea", "User loves tea.", source_ids=cited)]})
    assert result.ops == ()
    assert reason in reasons(result)[0]


def test_an_assistants_remark_is_no_fact_even_when_a_users_message_is_cited() -> None:
    said: Said = [("user", "What should I cook?"), ("assistant", "You love Italian food!"), ("user", "haha good one")]
    result = judged(said, {"ops": [op("Italian food", "User loves Italian food.", source_ids=["m2", "m3"])]})
    assert reasons(result) == ["not grounded in the cited messages"]


def test_what_a_user_assents_to_is_a_fact() -> None:
    said: Said = [("assistant", "Do you live in Rome?"), ("user", "Yes, exactly")]
    lives = op("Rome", "User lives in Rome.", source_ids=["m2"])
    assert judged(said, {"ops": [lives]}).complete
    assert not judged([said[0], ("user", "No way")], {"ops": [lives]}).ops


def test_an_unknown_target_is_refused_and_never_added() -> None:
    for target in ("f2", "fact-1", "m1"):
        proposed = op("Da Nang", "User lives in Da Nang.", op="update", target_id=target)
        result = judged([("user", "I moved to Da Nang")], {"ops": [proposed]}, ("User lives in Hanoi",))
        assert (result.ops, reasons(result)) == ((), ["it changes a memory that does not exist"])


def test_an_update_that_names_no_memory_is_an_addition_and_such_a_retraction_is_nothing() -> None:
    proposed = op("Da Nang", "User lives in Da Nang.", op="update")
    result = judged([("user", "I moved to Da Nang")], {"ops": [proposed]}, ("User lives in Hanoi",))
    assert [(o.op, o.target_id) for o in result.ops] == [("add", None)]
    assert result.complete
    nothing = judged([("user", "Forget Hanoi")], {"ops": [{**proposed, "op": "retract"}]}, ("User lives in Hanoi",))
    assert (nothing.ops, nothing.complete) == ((), False)


@pytest.mark.parametrize(
    ("known", "said", "object_", "text"),
    [
        ("User lives in Hanoi", "I moved from Hanoi to Da Nang", "Da Nang", "User lives in Da Nang."),
        ("User lives in Hanoi", "I live in Da Nang", "Da Nang", "User lives in Da Nang."),
        ("Người dùng sống ở Hà Nội", "Mình chuyển vào Đà Nẵng rồi", "Đà Nẵng", "Người dùng sống ở Đà Nẵng."),
        ("User eats meat", "I don't eat meat", "meat", "User does not eat meat."),
        ("I work at FPT", "I work for Viettel these days", "Viettel", "User works for Viettel."),
        ("User's favorite color is red", "my favorite color is blue", "blue", "User's favorite color is blue."),
        ("User drives a Honda", "I drive a Kia instead", "Kia", "User drives a Kia."),
    ],
)
def test_a_change_updates_its_target(known: str, said: str, object_: str, text: str) -> None:
    result = judged([("user", said)], {"ops": [op(object_, text, op="update", target_id="f1")]}, (known,))
    assert [(o.op, o.target_id) for o in result.ops] == [("update", "fact-1")]
    assert result.complete


@pytest.mark.parametrize(
    ("known", "said", "object_", "text"),
    [
        ("User likes tea", "I like coffee", "coffee", "User likes coffee."),
        ("User lives in Hanoi", "I like coffee", "coffee", "User likes coffee."),
        ("User drinks coffee", "I quit coffee now. I never eat peanuts", "peanuts", "User never eats peanuts."),
        ("User's dog is named Rex", "My name is An", "An", "User's name is An."),
        ("User's favorite color is red", "my favorite dish is pho", "pho", "User's favorite dish is pho."),
    ],
)
def test_an_update_that_changes_nothing_known_overwrites_nothing(
    known: str, said: str, object_: str, text: str
) -> None:
    result = judged([("user", said)], {"ops": [op(object_, text, op="update", target_id="f1")]}, (known,))
    assert [(o.op, o.target_id, o.text) for o in result.ops] == [("add", None, text)]
    assert "does not change the memory" in reasons(result)[0]


def test_what_is_said_once_more_is_no_change() -> None:
    again = op("Hanoi", "User lives in Hanoi.", op="update", target_id="f1")
    result = judged([("user", "I live in Hanoi")], {"ops": [again]}, ("user lives in  Hanoi",))
    assert [(o.op, o.target_id) for o in result.ops] == [("add", None)]
    assert result.complete


@pytest.mark.parametrize(
    ("known", "said", "believed"),
    [
        ("User likes tea", "Please forget that I like tea", True),
        ("User likes tea", "I don't like tea", True),
        ("Người dùng thích trà", "Mình không thích trà nữa", True),
        ("User does not eat meat", "I eat meat", True),
        ("User likes tea", "I like tea a lot", False),
        ("User likes tea", "I don't like coffee", False),
        ("User likes tea", "hello", False),
    ],
)
def test_a_retraction_needs_the_users_word(known: str, said: str, believed: bool) -> None:
    result = judged([("user", said)], {"ops": [op("", "", op="retract", target_id="f1")]}, (known,))
    assert [o.target_id for o in result.ops] == (["fact-1"] if believed else [])
    assert result.complete is believed


def test_one_operation_per_target() -> None:
    said: Said = [("user", "I moved from Hanoi to Da Nang, well, to Hue")]
    ops = [
        op("Da Nang", "User lives in Da Nang.", op="update", target_id="f1"),
        op("Hue", "User lives in Hue.", op="update", target_id="f1"),
    ]
    result = judged(said, {"ops": ops}, ("User lives in Hanoi",))
    assert [o.object for o in result.ops] == ["Da Nang"]
    assert reasons(result) == ["a second operation on one memory"]


def test_duplicates_are_merged() -> None:
    said: Said = [("user", "I love tea"), ("user", "did I say that I love tea? I love tea.")]
    again = op("Tea.", "The user loves tea.", predicate="Loves", source_ids=["m2"])
    ops = [op("tea", "User loves tea.", predicate="loves"), again]
    result = judged(said, {"ops": ops})
    assert [o.source_ids for o in result.ops] == [("id-1", "id-2")]
    assert result.complete


def test_the_profile_is_checked_alike() -> None:
    changes = [
        {"field": "Time Zone", "value": "Berlin time", "source_ids": ["m1"]},
        {"field": "time_zone", "value": "Berlin", "source_ids": ["m1"]},
        {"field": "name", "value": "Bob", "source_ids": ["m1"]},
        {"field": "", "value": "Berlin", "source_ids": ["m1"]},
        "nonsense",
    ]
    result = judged([("user", "I am on Berlin time")], {"profile_changes": changes})
    assert [(c.field, c.value) for c in result.profile_changes] == [("time_zone", "Berlin time")]
    assert len(result.rejected) == 4


def test_an_episode_and_a_summary_are_bounded() -> None:
    episode = {"goal": "Book a table", "steps": ["call", " "], "outcome": "booked", "importance": 0.3}
    fine = judged([("user", "book it")], {"episode": episode, "summary": "User  asked, done."})
    assert fine.episode is not None
    assert (fine.episode.steps, fine.summary, fine.complete) == (("call",), "User asked, done.", True)
    for broken in (
        {"goal": ""},
        {"goal": "x" * 301},
        {"goal": "x", "importance": 7},
        {"goal": "x", "level": "no"},
        [1],
    ):
        refused = judged([("user", "book it")], {"episode": broken})
        assert (refused.episode, refused.complete) == (None, False)
    assert not judged([("user", "hi")], {"summary": "x" * 501}).complete
    assert not judged([("user", "hi")], {"summary": ["x"]}).complete


def test_more_than_was_asked_for_is_refused() -> None:
    ops = [op(f"thing{i}", f"User has thing{i}.") for i in range(25)]
    result = judged([("user", "I have " + " and ".join(f"thing{i}" for i in range(25)))], {"ops": ops})
    assert (len(result.ops), len(result.rejected), result.complete) == (20, 5, False)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
VOCABULARY = "I you user don't not like love tea green Hanoi live moved không thích trà ? , ."
words = st.sampled_from(VOCABULARY.split())
phrases = st.lists(words, min_size=1, max_size=8).map(" ".join)
proposed_ops = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "update", "retract", "upsert"]),
        "target_id": st.sampled_from(["f1", "f2", "f3", None]),
        "subject": st.sampled_from(["user", "", "x" * 81]),
        "predicate": st.sampled_from(["likes", "lives_in", ""]),
        "object": phrases,
        "text": phrases,
        "source_ids": st.lists(st.sampled_from(["m1", "m2", "m3", "m4"]), max_size=3),
    }
)


@given(
    said=st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), phrases), min_size=1, max_size=3),
    ops=st.lists(proposed_ops | json_values, max_size=6),
    changes=json_values,
    episode=json_values,
    summary=json_values,
)
def test_whatever_is_proposed_is_accounted_for(
    said: Any, ops: list[Any], changes: Any, episode: Any, summary: Any
) -> None:
    payload = {"ops": ops, "profile_changes": changes, "episode": episode, "summary": summary}
    result = judged(said, payload, ("User likes tea", "User lives in Hanoi"))
    user_ids = {f"id-{i}" for i, (role, _) in enumerate(said, 1) if role == "user"}
    all_ids = {f"id-{i}" for i in range(1, len(said) + 1)}
    targets = [o.target_id for o in result.ops if o.target_id]
    assert len(targets) == len(set(targets))
    for operation in result.ops:
        assert set(operation.source_ids) & user_ids
        assert set(operation.source_ids) <= all_ids
        assert (operation.target_id is None) == (operation.op == "add")
        assert operation.target_id in {None, "fact-1", "fact-2"}
    assert len({change.field for change in result.profile_changes}) == len(result.profile_changes)
    # an operation is kept, merged with its like, or refused; one that is refused makes the whole incomplete
    assert len(result.ops) + len(result.rejected) >= len({repr(o) for o in ops}) - _alike(ops)
    assert result.complete is not bool(result.rejected)


def _alike(ops: list[Any]) -> int:
    """At most so many of these may be merged: those that are operations at all, but for one."""
    return max(0, sum(isinstance(o, dict) for o in ops) - 1)


@given(json_values)
def test_no_value_of_a_model_breaks_the_checks(value: Any) -> None:
    for field in ("ops", "profile_changes", "episode", "summary"):
        result = judged([("user", "I love tea")], {field: value})
        assert result.ops == ()
        empty = value in (None, "", [], {}, 0, False) or (field == "summary" and isinstance(value, str))
        assert empty or not result.complete or result.episode is not None


@pytest.mark.parametrize(
    "shown",
    ["```\nI like opera\n```", "> I like opera", "“Dear Bob. I like opera.”", "---\nFrom: Bob\nTo: An\n\nI like opera"],
)
def test_what_the_user_shows_teaches_nothing(shown: str) -> None:
    said: Said = [("user", f"I like green tea. Look at this:\n{shown}")]
    ops = [op("opera", "User likes opera."), op("green tea", "User likes green tea.")]
    result = judged(said, {"ops": ops})
    assert [operation.object for operation in result.ops] == ["green tea"]
    assert reasons(result) == ["not grounded in the cited messages"]
