"""What a question says: its words, whom it is about, and when."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.entries import mark
from react_mem.memory.index.recall import MAX_TERMS, Question, read_question
from react_mem.memory.language.terms import index_terms, index_words
from react_mem.memory.language.times import Period
from react_mem.memory.model.interface import MemoryQuery, MemoryScope

NOW = datetime(2024, 5, 15, 10)
BY_THE_USER = mark("role", "user")
names = st.one_of(
    st.sampled_from(["Ann", "Ann Lee", "Hùng", "Will", "Dr. J.", "田中", "(", "\\", ""]), st.text(max_size=20)
)


def read(query: str, *speakers: str) -> Question:
    return read_question(query, NOW, speakers)


def terms_of(question: Question) -> list[str]:
    return [term for term, _ in question.terms]


# --- names ---


@pytest.mark.parametrize(
    ("query", "speakers", "text", "who"),
    [
        ("What did Ann paint?", ["Ann", "Bob"], "What did paint?", "Ann"),
        ("What is Ann’s cat called?", ["Ann"], "What is cat called?", "Ann"),
        ("Con mèo của Hùng tên gì?", ["Hùng"], "Con mèo của tên gì?", "Hùng"),
        ("con meo cua hung ten gi", ["Hùng"], "con meo cua ten gi", "Hùng"),
        ("What did Ann Lee paint?", ["Ann", "Ann Lee"], "What did paint?", "Ann Lee"),
        ("What did Ann paint?", ["Ann", "Ann Lee"], "What did paint?", "Ann"),
        ("What did c++ (the bot) paint?", ["c++ (the bot)"], "What did paint?", "c++ (the bot)"),
    ],
)
def test_who_is_named_must_have_said_it_and_is_not_looked_for(
    query: str, speakers: list[str], text: str, who: str
) -> None:
    question = read(query, *speakers)
    assert (question.text, question.speaker) == (text, mark("speaker", who))
    assert not set(terms_of(question)) & set(index_terms(who))


def test_of_two_who_are_named_neither_is_the_one() -> None:
    question = read("What did Ann tell Bob about my kitchen?", "Ann", "Bob")
    assert question.speaker == ""
    assert question.text == "What did tell about my kitchen?"
    assert terms_of(question) == ["kitchen"]


@pytest.mark.parametrize("query", ["How was the annual dinner?", "The Anna Karenina book?"])
def test_a_name_within_a_word_is_none(query: str) -> None:
    question = read(query, "Ann")
    assert (question.text, question.speaker) == (query, "")


@pytest.mark.parametrize("query", ["Ann", "Who is Ann?"])
def test_a_name_is_looked_for_where_nothing_else_is_asked(query: str) -> None:
    question = read(query, "Ann")
    assert question.text == query
    assert terms_of(question) == ["ann"]
    assert question.speaker == mark("speaker", "Ann")


@pytest.mark.parametrize(
    ("to_the_assistant", "to_the_user"),
    [
        ("How did you recommend structuring my essay?", "What did I tell you about my essay?"),
        ("Remind me what you suggested for my trip", "What would you recommend for my trip?"),
        ("Bạn đã gợi ý nhà hàng nào cho tôi?", "Bạn tôi đã khuyên tôi điều gì?"),
        ("Was hast du mir für meine Reise empfohlen?", "Weißt du, was ich über meine Reise gesagt habe?"),
        ("¿Qué me recomendaste para mi viaje?", "¿Qué te dije de mi viaje?"),
        ("你给我推荐了哪些餐厅？", "你知道我说过什么吗？"),
        ("私におすすめしてくれたレストランはどこ？", "私の妹が教えてくれたレストランはどこ？"),
    ],
)
async def test_what_the_assistant_said_is_looked_for_in_its_messages(to_the_assistant: str, to_the_user: str) -> None:
    memory = MemoryFacade(InMemoryStore())
    for query, role in ((to_the_assistant, "assistant"), (to_the_user, "user")):
        said = [{"role": one, "content": query, "id": one} for one in ("user", "assistant")]
        for message in said if role == "assistant" else reversed(said):
            await memory.dialog.append(role, f"{role} {message['role']}", [message])
        wanted = MemoryQuery(user_id=role, session_id="now", agent_id="a", scopes=[MemoryScope.DIALOG], query=query)
        first = (await memory.read(wanted))[0]
        assert (query, first.payload["role"]) == (query, role)


def test_a_name_that_is_a_common_word_is_one_as_it_is_written() -> None:
    assert read("What will the painter do?", "Will").speaker == ""
    assert read("What did Will paint?", "Will").speaker == mark("speaker", "Will")
    assert read("mình thích gì", "Minh").speaker == BY_THE_USER


@pytest.mark.parametrize(
    "query",
    [
        "What did I paint?",
        "what's my cat called",
        "Tôi thích gì?",
        "toi thich gi",
    ],
)
def test_i_is_the_user(query: str) -> None:
    assert read(query, "Ann").speaker == BY_THE_USER


@pytest.mark.parametrize("query", ["What is painted?", "in the iPhone", "Ai tới?", ""])
def test_who_said_it_does_not_show(query: str) -> None:
    assert read(query, "Ann").speaker == ""


# --- words ---


def test_each_word_counts_once_and_what_kind_of_answer_is_wanted_counts_less() -> None:
    weights = dict(read("What kind of pet, what name of a pet?").terms)
    assert list(weights) == ["kind", "pet", "name"]
    assert weights["pet"] == 1.0
    assert 0 < weights["kind"] == weights["name"] < 1


def test_of_a_long_question_the_words_that_say_most_count() -> None:
    many = [f"word{'x' * length}" for length in range(MAX_TERMS)]
    question = read(" ".join(["kind", "day", *many, "ox"]))
    assert terms_of(question) == many


@settings(max_examples=50)
@given(st.one_of(st.text(), st.text(st.characters())), st.lists(names, max_size=5))
def test_any_question_is_read(query: str, speakers: list[str]) -> None:
    question = read(query, *speakers)
    assert len(question.terms) <= MAX_TERMS
    assert all(0 < weight <= 1 for _, weight in question.terms)
    assert set(terms_of(question)) <= set(index_terms(query))
    assert bool(question.text) == bool(query)
    # what is left is of the question, in its order
    rest = iter(index_words(query))
    assert all(word in rest for word in index_words(question.text))


@pytest.mark.parametrize("piece", ["tea ", "Ann's ", "(", "猫", "in 2021 "])
def test_a_megabyte_is_read_as_far_as_it_can_be_a_question(piece: str) -> None:
    # anything worse than linear does not end within the time of a test
    huge = piece * (1_000_000 // len(piece))
    question = read(huge, "Ann", "Ann Lee", *(f"Speaker {number}" for number in range(100)))
    assert len(question.text) < 10_000
    assert len(question.terms) <= MAX_TERMS
    assert "kitchen" not in terms_of(read(huge + " kitchen"))


# --- times ---


def test_times_are_read_as_of_when_it_is_asked() -> None:
    assert read("What did Ann paint last week?", "Ann").periods == (Period(date(2024, 5, 6), date(2024, 5, 12)),)
    assert read_question("What was last week?", datetime(2020, 1, 1)).periods == (
        Period(date(2019, 12, 23), date(2019, 12, 29)),
    )
    assert read("When did Ann paint?", "Ann").asks_when
    assert not read("What did Ann paint?", "Ann").asks_when
    assert read("What did Ann paint?", "Ann").periods == ()


def test_a_speaker_named_like_a_month_is_no_time_taken_away() -> None:
    assert read("What did June paint in May 2023?", "June").periods == (Period(date(2023, 5, 1), date(2023, 5, 31)),)
