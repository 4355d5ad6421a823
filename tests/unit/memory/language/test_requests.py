"""Requests that name files, versions and numbers are no facts; what users say of themselves is no request."""

from __future__ import annotations

import pytest

from react_mem.memory.language.statements import is_request, statements_in

REQUESTS = [
    "Please look into notes.txt and tell me what it says.",
    "commit this as v1.2.3",
    "Add a field `age: int` to the User model and make the 12 tests pass.",
    "Rename utils.py to helpers.py and update the imports in 3 files.",
    "Deploy v2 to the staging servers on Monday.",
    "请看一下 notes.txt，告诉我里面写了什么。",
    "把 v1.2.3 提交到 main",
    "Đọc README.md và giải thích cho tôi.",
    "Vui lòng đổi tên utils.py thành helpers.py.",
    "notes.txtを読んで内容を教えてください。",
    "README.mdを直せ",
    "Could you please check main.go and tell me why it panics?",
    "Increase the heap to 4 GB.",
    "config.yamlの3行を削除して。",
]

STATEMENTS = [
    "Moved to Hue in 2024.",
    "Please remember that my code is 7731.",
    "Call me Lan.",
    "My tests are in tests/unit.",
    "Anna my sister lives in Hue.",
    "We deploy v2 to the staging servers on Mondays.",
    "Please always reply in French.",
    "Never let me forget my mother's birthday on May 3.",
    "Because the kids are small, I work from home.",
    "请记住我住在顺化。",
    "我把猫叫作咪咪。",
    "请不要给我花生，我过敏。",
    "Hãy gọi tôi là Lan.",
    "Chạy bộ 5 km mỗi sáng.",
    "私はフエに住んでいることを覚えておいてください。",
    "ランと呼んでください。",
    "毎週main.goを確認しています。",
    "Vuelo a Roma el jueves",
    "Denke an Rom und die Reise.",
]


@pytest.mark.parametrize("said", REQUESTS)
def test_what_the_assistant_is_to_do_now_is_no_fact(said: str) -> None:
    assert statements_in(said) == []


@pytest.mark.parametrize("said", STATEMENTS)
def test_what_tells_of_the_user_or_holds_from_now_on_is_no_request(said: str) -> None:
    assert not is_request(said)


@pytest.mark.parametrize(
    "said",
    [
        "Take the red pill every morning for my blood pressure.",
        "Practise the violin.",
        "Mở quán cà phê ở Huế cho mình và vợ.",
        "将在五月搬到上海。",
    ],
)
def test_what_has_the_form_of_a_request_is_left_to_a_model_where_there_is_one(said: str) -> None:
    assert not is_request(said)
