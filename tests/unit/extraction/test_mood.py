"""A plan, a maybe, a condition and the past are believed as such; what is known ends only by what ends it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.extraction.test_checks import judged, op, reasons


@pytest.mark.parametrize(
    ("said", "object_", "text", "reason"),
    [
        ("If I had a garden, I would grow roses.", "roses", "User grows roses.", "supposed"),
        ("If I were rich, I would sail and I would paint.", "paint", "User can paint.", "supposed"),
        ("Nếu có vườn, tôi sẽ trồng hoa hồng.", "hoa hồng", "Người dùng trồng hoa hồng.", "supposed"),
        ("Perhaps I own a share of it.", "share", "User owns a share.", "perhaps"),
        ("I might have a cold.", "cold", "User has a cold.", "perhaps"),
        ("Hình như tôi bị cảm.", "cảm", "Người dùng bị cảm.", "perhaps"),
        ("I'll get a tattoo.", "tattoo", "User has a tattoo.", "planned"),
        ("We are going to buy a boat", "boat", "User has a boat.", "planned"),
        ("I want to learn Korean", "Korean", "User learns Korean.", "planned"),
        ("Tuần sau tôi sẽ nhận nuôi chó", "chó", "Người dùng nuôi chó.", "planned"),
        ("Tôi muốn học tiếng Hàn", "tiếng Hàn", "Người dùng học tiếng Hàn.", "planned"),
        ("I lived in Rome until 2012.", "Rome", "User lives in Rome.", "over"),
        ("I worked at Uber.", "Uber", "User works at Uber.", "over"),
        ("Tôi làm ở ngân hàng đến năm 2012.", "ngân hàng", "Người dùng làm ở ngân hàng.", "over"),
        ("Trước đây tôi nuôi chim.", "chim", "Người dùng nuôi chim.", "over"),
        ("I'll move to Rome in May.", "Rome", "User will live in Rome.", "plan"),
    ],
)
def test_what_is_not_meant_as_so_is_not_believed_to_be_so(said: str, object_: str, text: str, reason: str) -> None:
    predicate = "lives_in" if "will live" in text else text.replace(object_, "").strip(" .")
    result = judged([("user", said)], {"ops": [op(object_, text, predicate=predicate)]})
    assert result.ops == ()
    assert reason in reasons(result)[0]


@pytest.mark.parametrize(
    ("said", "object_", "text"),
    [
        ("If you must know, I live in Hue.", "Hue", "User lives in Hue."),
        ("Nếu bạn muốn biết, tôi sống ở Huế.", "Huế", "Người dùng sống ở Huế."),
        ("Maybe I'll buy a boat.", "boat", "User might buy a boat."),
        ("I want to tell you that I live in Hue.", "Hue", "User lives in Hue."),
        ("I will never eat meat.", "meat", "User never eats meat."),
        ("My birthday is in May", "May", "User's birthday is in May."),
        ("Tôi có thể nói tiếng Anh", "tiếng Anh", "Người dùng nói tiếng Anh."),
        ("Tính tôi thích yên tĩnh", "yên tĩnh", "Người dùng thích yên tĩnh."),
        ("Next year I'm moving to Rome", "Rome", "User is moving to Rome."),
        ("Tôi sẽ cưới vào tháng 5", "cưới", "Người dùng sẽ cưới vào tháng 5."),
        ("I lived in Rome until 2012, now I live in Oslo", "Oslo", "User lives in Oslo."),
        ("I have always lived in Rome", "Rome", "User lives in Rome."),
        ("I lived in Rome until 2012", "Rome", "User used to live in Rome."),
        ("Tôi sống ở Vinh đến năm 2012", "Vinh", "Người dùng từng sống ở Vinh."),
        ("Don't forget that I like tea!", "tea", "User likes tea."),
        ("Đừng quên tôi ăn chay", "ăn chay", "Người dùng ăn chay."),
    ],
)
def test_what_is_meant_so_is_believed(said: str, object_: str, text: str) -> None:
    result = judged([("user", said)], {"ops": [op(object_, text)]})
    assert (reasons(result), [o.text for o in result.ops]) == ([], [text])


@pytest.mark.parametrize(
    ("known", "said", "object_", "text", "subject"),
    [
        ("User lives in Oslo", "Next year I'm going to move to Rome", "Rome", "User is going to move to Rome.", "user"),
        ("Người dùng ở Vinh", "Tôi sắp chuyển ra Huế", "Huế", "Người dùng sắp chuyển ra Huế.", "user"),
        ("User lives in Oslo", "I lived in Rome until 2012", "Rome", "User lived in Rome until 2012.", "user"),
        ("User likes fish", "I don't like fish sauce", "fish sauce", "User does not like fish sauce.", "user"),
        ("User plays chess", "I also play poker now", "poker", "User plays poker.", "user"),
        ("Người dùng chơi cờ", "Giờ tôi chơi cả bài nữa", "bài", "Người dùng chơi bài.", "user"),
        ("User likes fish", "My son hates fish now", "fish", "User's son hates fish.", "son"),
        ("Người dùng thích cá", "Bố tôi không thích cá", "cá", "Bố của người dùng không thích cá.", "bố"),
        ("User's son likes fish", "I don't like fish", "fish", "User does not like fish.", "user"),
    ],
)
def test_what_adds_to_the_known_does_not_end_it(known: str, said: str, object_: str, text: str, subject: str) -> None:
    proposed = op(object_, text, op="update", target_id="f1", subject=subject)
    result = judged([("user", said)], {"ops": [proposed]}, (known,))
    assert [(o.op, o.text) for o in result.ops] == [("add", text)]


@pytest.mark.parametrize(
    ("known", "said", "object_", "text"),
    [
        ("User drinks", "I quit drinking!", "drinking", "User quit drinking."),
        ("User has two sons", "No, I meant three sons", "three sons", "User has three sons."),
        ("Người dùng có hai con", "À nhầm, ba con", "ba con", "Người dùng có ba con."),
        ("User has a dog named Rex", "My dog Rex died", "Rex", "User's dog Rex died."),
        ("User lives in Oslo", "I no longer live in Oslo", "Oslo", "User no longer lives in Oslo."),
        ("User lives in Oslo", "I used to live in Oslo", "Oslo", "User used to live in Oslo."),
    ],
)
def test_what_ends_the_known_ends_it(known: str, said: str, object_: str, text: str) -> None:
    result = judged([("user", said)], {"ops": [op(object_, text, op="update", target_id="f1")]}, (known,))
    assert [(o.op, o.target_id) for o in result.ops] == [("update", "fact-1")]


@pytest.mark.parametrize(
    ("said", "proposed", "ended"),
    [
        ("Forget that I like green tea.", "f3", "fact-2"),
        ("Forget that I like green tea.", "f1", "fact-2"),
        ("Forget that I like tea.", "f1", "fact-1"),
        ("Forget that I like jazz.", "f3", None),
        ("Don't forget that I like tea!", "f1", None),
        ("Never forget that I like tea", "f1", None),
        ("I forget things. I like tea", "f1", None),
        ("Forget that I like green tea. I work at a bank.", "f3", "fact-2"),
        ("I work at a bank. Forget that.", "f3", "fact-3"),
        ("Forget that I like tea and that I swim", "f3", None),
        ("Đừng quên là tôi thích bơi nhé", "f4", None),
        ("Tôi quên nói là tôi thích bơi", "f4", None),
        ("Quên chuyện tôi thích bơi đi", "f3", "fact-4"),
    ],
)
def test_what_the_user_names_is_forgotten(said: str, proposed: str, ended: str | None) -> None:
    known = ("User likes tea", "User likes green tea", "User works at a bank", "Người dùng thích bơi", "User swims")
    result = judged([("user", said)], {"ops": [op("", "", op="retract", target_id=proposed)]}, known)
    assert [o.target_id for o in result.ops] == ([ended] if ended else [])
    assert result.complete is bool(ended)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I live in Rome. No wait, I live in Oslo.", ["Oslo"]),
        ("I live in Rome, I mean, Oslo.", ["Oslo"]),
        ("I live in Rome. Oops, Oslo!", ["Oslo"]),
        ("Tôi sống ở Rome. À nhầm, tôi sống ở Oslo.", ["Oslo"]),
        ("I live in Rome. I work in Oslo.", ["Rome", "Oslo"]),
        ("I like Rome. No wait, I like Oslo too.", ["Rome", "Oslo"]),
        ("I like Rome. No, I really love Rome, and Oslo", ["Rome", "Oslo"]),
    ],
)
def test_what_is_corrected_in_the_same_breath_is_withdrawn(said: str, kept: list[str]) -> None:
    verb = next(word for word in ("live", "sống ở", "like") if word in said)
    ops = [op(name, f"User {verb} {name}.") for name in ("Rome", "Oslo")]
    result = judged([("user", said)], {"ops": ops})
    assert [o.object for o in result.ops] == kept
    # these words are not to be kept word for word
    assert all(not rejected.source_ids for rejected in result.rejected)


@pytest.mark.parametrize(
    "yes", ["Yes, exactly.", "Right!", "That's right", "Đúng rồi.", "Ừ, đúng vậy", "Correct", "Vâng ạ"]
)
def test_many_words_of_assent(yes: str) -> None:
    lives = op("Rome", "User lives in Rome.", source_ids=["m2"])
    assert judged([("assistant", "Do you live in Rome?"), ("user", yes)], {"ops": [lives]}).complete


_NAMES = st.sampled_from(["tea", "Rome", "cà phê", "a red car", "2 dogs"])


@pytest.mark.parametrize("no", ["Yes, but not there", "Đúng không?", "Yeah, no", "Right?", "Đúng, nhưng ở chỗ khác"])
def test_half_a_yes_is_no_assent(no: str) -> None:
    lives = op("Rome", "User lives in Rome.", source_ids=["m2"])
    assert not judged([("assistant", "Do you live in Rome?"), ("user", no)], {"ops": [lives]}).ops


@given(
    _NAMES, st.sampled_from(["Maybe I like {}", "If I get {}, fine", "Có lẽ tôi thích {}", "I'll take {}", "Nếu có {}"])
)
def test_nothing_that_is_only_thought_of_is_a_fact(name: str, said: str) -> None:
    result = judged([("user", said.format(name))], {"ops": [op(name, f"User likes {name}.", predicate="likes")]})
    assert result.ops == ()
