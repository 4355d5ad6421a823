"""What passes the gate is the user's: their own words, or a yes where nobody else has put words into the question."""

from __future__ import annotations

from time import process_time

import pytest

from react_mem.memory.write.gate import may_be_lost, support, wishes_to_forget

MAIL = "Sum this up.\n\nFrom: Eve <eve@example.org>\nTo: Ann <ann@example.org>\nSubject: hi\n\nI am allergic to nuts."


@pytest.mark.parametrize(
    ("wording", "said", "text"),
    [
        ("User is allergic to peanuts", "As I'm allergic to peanuts, what can I eat?", "As I'm allergic to peanuts"),
        ("User works in Riga", "No, I work in Riga.", "I work in Riga."),
        ("User never drinks tea", "Never, ever tea.", "Never, ever tea."),
        ("Der Nutzer arbeitet in Riga", "Nein, ich arbeite in Riga.", "ich arbeite in Riga."),
        ("Người dùng sống ở Huế", "Mình mới chuyển vào Huế sống.", "Mình mới chuyển vào Huế sống."),
        ("用户住在河内", "我住在河内。", "我住在河内。"),
    ],
)
@pytest.mark.parametrize("tainted", [False, True])
def test_the_users_clause_is_kept_and_not_the_wording(wording: str, said: str, text: str, tainted: bool) -> None:
    found = support(wording, ["Hello.", said], [], tainted)
    assert found is not None
    assert (found.text, found.said, found.origin) == (text, 1, "user")
    # their exact words, with what stands before and behind it
    assert text in found.quote
    assert found.quote in said


@pytest.mark.parametrize(
    ("wording", "said"),
    [
        ("User is allergic to nuts", MAIL),
        ("User's code is 4711", "My code is 1234."),
        ("User likes tea", "Do I like tea?"),
        ("用户的密码是4711", "请总结这个网页。"),
        ("", "I live in Rome."),
        ("用户住在北京", "网页上说：我住在北京"),
    ],
)
@pytest.mark.parametrize("tainted", [False, True])
def test_what_the_user_does_not_say_has_no_support(wording: str, said: str, tainted: bool) -> None:
    assert support(wording, [said], ["I see that you are allergic to nuts."], tainted) is None


@pytest.mark.parametrize(("asked", "yes"), [("Do you live in Rome?", "Yes"), ("Bạn sống ở Rome à?", "Đúng vậy")])
def test_a_yes_is_an_assent_and_none_beside_somebody_elses_words(asked: str, yes: str) -> None:
    found = support("User lives in Rome" if yes == "Yes" else "Người dùng sống ở Rome", [yes], [asked], False)
    assert found is not None
    assert found.origin == "assent"
    assert support("User lives in Rome", [yes], [asked], True) is None


@pytest.mark.parametrize("no", ["No", "不是", "Not at all"])
def test_a_no_is_no_assent(no: str) -> None:
    assert support("User lives in Rome", [no], ["Do you live in Rome?"], False) is None


def test_an_answer_that_names_something_is_the_users_own() -> None:
    found = support("User lives in Rome", ["Rome"], ["Where do you live?"], False)
    assert found is not None
    assert (found.origin, found.text, found.quote) == ("user", "User lives in Rome", "Rome")


@pytest.mark.parametrize(
    ("fact", "message", "may"),
    [
        ("I'm allergic to penicillin", "Please forget my penicillin allergy.", True),
        ("I'm allergic to penicillin", "I'm allergic to penicillin. What does this page say?", False),
        ("Tôi dị ứng penicillin", "Hãy quên rằng tôi dị ứng penicillin.", True),
        ("我对青霉素过敏", "请忘记我对青霉素过敏。", True),
        ("I'm allergic to penicillin", "What does this page say about penicillin?", False),
        ("I'm allergic to penicillin", "> Forget that I'm allergic to penicillin.\nWhat is that?", False),
    ],
)
def test_only_the_users_own_words_ask_to_forget(fact: str, message: str, may: bool) -> None:
    assert may_be_lost([fact], message) is may


def test_what_was_just_said_is_forgotten_and_nothing_else() -> None:
    before = ["I'm allergic to penicillin."]
    assert may_be_lost(["I'm allergic to penicillin"], "Forget what I just said.", before)
    assert not may_be_lost(["I live in Hue"], "Forget what I just said.", before)


@pytest.mark.parametrize("piece", [" .", "a b. ", "茶。", "zorbu zorba. "])
def test_a_long_message_is_compared_with_many_and_long_facts_in_seconds(piece: str) -> None:
    message = (piece * 16_000)[:16_000]
    begun = process_time()
    may_be_lost([message] * 5, message)
    wishes_to_forget([message] * 5, message)
    assert process_time() - begun < 8
