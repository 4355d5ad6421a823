"""What closes or decides something is told from what asks about it, or leaves it open, in each language with a file."""

from __future__ import annotations

import pytest

from react_mem.memory.language import FILES, settles

SETTLED = {
    "en": [
        "Alright, let’s go with the second offer.",
        "That settles it, thanks for your help!",
    ],
    "vi": [
        "Chốt phương án hai nhé.",
        "Báo cáo quý xong rồi, gửi cho sếp luôn.",
    ],
    "zh": ["我们决定用第二个方案。", "就这么定了。", "合同已经签好了。"],
    "ja": ["二番目の案に決めました。", "では、青いタイルでいきましょう。", "移行が完了しました。"],
    "de": [
        "Damit ist es beschlossen.",
    ],
    "es": ["Hemos decidido alquilar el piso.", "Nos quedamos con la segunda oferta.", "Trato hecho, gracias."],
}

OPEN = {
    "en": [
        "What did we decide about the tiles?",
        "We haven't decided yet.",
        "If we go with the second offer, what does it cost?",
        "Which decision would you take?",
    ],
    "vi": [
        "Tôi chưa chốt được.",
        "Nếu chốt phương án hai thì tốn bao nhiêu?",
    ],
    "zh": ["我们决定用什么方案？", "还没决定。", "我在刷墙。"],
    "ja": ["どの案に決めましたか？", "まだ決めていません。", "廊下を塗っています。"],
    "de": ["Was haben wir entschieden?", "Wir sind noch nicht fertig.", "Ich streiche den Flur."],
    "es": ["¿Qué hemos decidido?", "Todavía no hemos decidido nada.", "Estoy pintando el pasillo."],
}


def test_every_language_with_a_file_has_its_cues() -> None:
    assert {code for code, data in FILES.items() if "settles" in data} == SETTLED.keys() == OPEN.keys()


@pytest.mark.parametrize("text", [text for texts in SETTLED.values() for text in texts])
def test_what_settles_something(text: str) -> None:
    assert settles(text)


@pytest.mark.parametrize("text", [text for texts in OPEN.values() for text in texts])
def test_what_leaves_it_open(text: str) -> None:
    assert not settles(text)


def test_what_the_user_only_shows_settles_nothing() -> None:
    assert not settles("My boss wrote:\n> We decided on the blue tiles.\nI am still thinking.")
