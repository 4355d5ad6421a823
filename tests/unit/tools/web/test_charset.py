"""Bytes of pages as text: what is declared, what is not, and what is damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.tools.web.fetch import decode

SENTENCES = {
    "ar": ("اليوم في القاهرة ستمطر وسعر الذهب ارتفع كثيرا. ", "cp1256"),
    "de": ("Die Straße nach München führt über grüne Hügel, und der Käse schmeckt schön. ", "cp1252"),
    "ja": ("今日の東京の天気は晴れで、気温は二十度です。金の価格が上がりました。", "shift_jis"),
    "ja, Unix": ("今日の東京の天気は晴れで、気温は二十度です。金の価格が上がりました。" * 3, "euc-jp"),
    "ko": ("오늘 서울의 날씨는 맑고 기온은 이십 도입니다. 금값이 올랐습니다.", "euc-kr"),
    "ru": ("Сегодня в Москве ожидается дождь. Цены на золото выросли. ", "cp1251"),
    "ru, Unix": ("Сегодня в Москве ожидается дождь. Цены на золото выросли. ", "koi8-r"),
    "zh": ("今天北京的天气很好，金价上涨了，市民们都很高兴。", "gb18030"),
    "zh, Taiwan": ("今天台北的天氣很好，金價上漲了，市民們都很高興。", "big5"),
}


@pytest.mark.parametrize("times", [500])
@pytest.mark.parametrize("language", SENTENCES)
def test_a_page_that_declares_nothing_is_read_in_its_own_letters(language: str, times: int) -> None:
    sentence, encoding = SENTENCES[language]
    page = f"<html><script>var a = 1;</script>\n<p>{sentence * times}</p></html>"
    assert decode(page.encode(encoding)) == page
    assert decode(page.encode(encoding), "no-such-thing") == page


@pytest.mark.parametrize("start", range(4))
def test_a_sample_may_end_within_a_letter(start: int) -> None:
    page = "a" * start + "今日の東京の天気は晴れで気温は二十度です" * 300
    assert decode(page.encode("euc-jp")) == page


def test_utf_8_that_is_damaged_is_utf_8() -> None:
    whole = "Giá vàng hôm nay tăng mạnh"
    assert decode((whole * 20).encode() + b"\xff" + whole.encode()) == whole * 20 + "\ufffd" + whole
    assert decode("Giá v".encode() + "à".encode()[:1]) == "Giá v\ufffd"


def test_what_is_declared_counts_before_what_it_looks_like() -> None:
    page = '<meta charset="iso-8859-2">Příliš žluťoučký kůň'
    assert decode(page.encode("iso8859-2")) == page
    assert decode("Łódź".encode("cp1250"), "windows-1250") == "Łódź"


@given(st.binary(max_size=6000), st.sampled_from(["", "utf-8", "utf-16", "shift_jis", "big5", "zlib", "idna", "\x00"]))
def test_any_bytes_become_text(body: bytes, declared: str) -> None:
    assert isinstance(decode(body, declared), str)
