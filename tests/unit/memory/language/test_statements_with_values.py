"""Statements with addresses, quotations, codes, numbers and names that look like words of grammar are statements."""

from __future__ import annotations

import pytest

from react_mem.memory.language.declarations import declares
from react_mem.memory.language.statements import before_question, may_state, sentences, statements_in

STATEMENTS = """\
My work address is lan.pham+news@mail.example.co.uk.
My blog lives at https://lan-writes.example/posts?id=7&x=y.
My door code is #4821*.
My IBAN is DE89 3704 0044 0532 0130 00.
My phone number is +84 (0)28 3822-1234.
I use `uv pip install` instead of plain pip.
My Git name is lan_pham-92.
The PIN of my bike lock is 0042.
My router's password is "Corr3ct-horse!".
My server is at 192.168.0.17:8080.
I drive a VW ID.3 from 2021.
My flight is VN-A321 on 3/4 at 07:45.
We meet in room B-12/3.
My C++ code runs on an RTX 4090.
My handle is @lan.pham on Mastodon.
My locker is "B7".
My son's school uses the slogan "Ad astra".
I always say "no worries" to my kids.
My favourite film is "Spirited Away".
Our motto at home is 'less is more'.
My notes are in ~/Documents/notes/2024.md.
My website runs on port 3000.
Email của tôi là lan@vidu.vn.
Trang web của tôi là https://vidu.vn/lan.
Mật khẩu wifi nhà tôi là "hoamai2020".
Số điện thoại của tôi là 0903-123-456.
Con mèo của tôi tên là "Mướp".
Biển số xe của tôi là 59-X1 123.45.
Tôi ở số 12/5B đường Nguyễn Trãi.
Tôi thích phim "Mắt biếc".
Nhóm máu của tôi là O+.
Tài khoản Zalo của tôi là @lanpham.
Con gái tôi học lớp 3A2.
我的邮箱是 lan@example.cn。
我的网站是 https://example.cn/lan。
我家的wifi密码是“abc123”。
我的手机号是138-0013-8000。
我最喜欢的书是《红楼梦》。
我的猫叫“咪咪”。
我住在3号楼1202室。
我的微信号是lan_2020。
我的车牌是京A·12345。
我的血型是AB。
私のメールはlan@example.jpです。
私のサイトは https://example.jp/lan です。
うちのWi-Fiのパスワードは「abc123」です。
私の電話番号は090-1234-5678です。
好きな映画は「千と千尋の神隠し」です。
猫の名前は「ミケ」です。
私はA棟の305号室に住んでいます。
私の血液型はO型です。
Meine E-Mail ist lan@beispiel.de.
Meine Seite ist https://beispiel.de/lan.
Mein WLAN-Passwort ist „abc123“.
Meine Kundennummer ist K-4711/08.
Mein Lieblingsfilm heißt »Der Himmel über Berlin«.
Meine Steuernummer lautet 12/345/67890.
Ich wohne in der Straße des 17. Juni 135.
Mi correo es lan@ejemplo.es.
Mi página es https://ejemplo.es/lan.
La contraseña de mi wifi es «abc123».
Mi gata se llama "Ñuña".
Mi matrícula es 1234-BCD.
Mi talla es la 38½.
I live in Hoi An.
My son is called An.
My daughter's name is La.
My blood type is A.
My cat is called "Of".
My grade is a B.
My password hint is the word "the".
My alias is ann+shop@example.org at work.
Our repo is git@github.com:lan/app.git.
My portfolio: www.lan-design.example.
My car's plate is 29A-123.45.
My size is 42 2/3.
My API key starts with sk-test_.
I work at C++ Labs.
My favourite song is 'Hey Jude'.
I was born on 1990-02-03.
My salary is $5,000.
I like the film 'Am Ende' a lot.
My shoe brand is "Ånd".
My teacher is Mr. Ô.
My keyboard layout is Dvorak.
My uncle lives at 12 Rue de l'Église.
My screen name is xX_lan_Xx.
Tên tôi là La.
Con trai tôi tên là Và.
Tôi sống ở Hội An.
Mã số thuế của tôi là 0312345678-001.
Kênh YouTube của tôi là https://youtube.com/@lan.
Tôi hay nói "trời ơi".
Số nhà tôi là 5B.
Ngày sinh của tôi là 3/2/1990.
Tôi dùng máy "ThinkPad X1".
我的GitHub是 https://github.com/lan。
我儿子叫“安”。
我的生日是1990年2月3日。
我的工号是A-1024。
我喜欢的歌是「月亮代表我的心」。
我的地址是上海市南京路100号。
我的QQ是12345678。
私のIDは lan_92 です。
娘の名前は「あん」です。
誕生日は1990年2月3日です。
私の好きな曲は『Lemon』です。
住所は東京都渋谷区1-2-3です。
私のブログは https://ex.jp です。
Mein Sohn heißt An.
Mein Passwort lautet "geheim!1".
Ich bin am 3. Februar 1990 geboren.
Meine Adresse ist Hauptstr. 5, 10115 Berlin.
Mein Kennzeichen ist B-AN 123.
Ich fahre einen VW ID.3.
Mein Nutzername ist @lan_92.
Mi hijo se llama "De".
Mi DNI es 12345678-Z.
Mi dirección es calle Mayor 5, 2.º B.
Mi usuario es @lan_92.
Mi cumpleaños es el 3/2/1990.
"""
"""In six languages; nobody's real address."""

NO_STATEMENTS = """\
Where do I live?
hello
???
Please tell me a joke.
Forget my tram.
🥟
https://example.com/x
ann@example.com
"Never give up."
Open https://example.com please.
See ann@example.com
What is "Mimi"?
good point
You're wrong.
'hello'
“你好”
「こんにちは」
www.example.org
Say "cheese"!
The door code is #4821*.
Bought a house in 2020.
`print(x)`
"""
"""What only shows, asks, greets or names something, or is not plainly about the user."""


@pytest.mark.parametrize("text", STATEMENTS.splitlines())
def test_a_statement_with_a_value_is_kept_word_for_word(text: str) -> None:
    assert statements_in(text) == sentences(text) == [text]


@pytest.mark.parametrize("text", NO_STATEMENTS.splitlines())
def test_a_value_alone_states_nothing(text: str) -> None:
    assert statements_in(text) == []


@pytest.mark.parametrize("text", ["My name is", "It is an", "Tên tôi là", "我叫", "I live in an", 'My motto is "'])
def test_what_waits_for_a_value_states_nothing_yet(text: str) -> None:
    assert not declares(text)


@pytest.mark.parametrize(
    "text",
    [
        "If I lived in Rome I would be happy.",
        "I would be happy if I lived in Rome.",
        "If I were rich I'd buy a boat",
        "Suppose I lived in Rome.",
        "Wenn ich in Rom wohnte, wäre ich glücklich.",
        "Si viviera en Roma, sería feliz.",
        "Giả sử tôi sống ở Rome.",
        "假如我住在罗马，我会很开心。",
        "もし私がローマに住んでいたとしたら、幸せでしょう。",
    ],
)
def test_what_would_be_in_a_case_that_is_only_thought_of_is_no_fact(text: str) -> None:
    assert statements_in(text) == []
    assert not may_state(text)


@pytest.mark.parametrize(
    "text",
    [
        "If it rains I take the bus.",
        "I would love to learn the cello.",
        "I couldn't walk for a year.",
        "I wish I had a boat.",
        "Wenn es regnet, nehme ich den Bus.",
        "Nếu ăn tôm tôi bị dị ứng.",
        "如果吃花生我会过敏。",
    ],
)
def test_what_holds_whenever_something_is_so_and_what_is_wished_is_told(text: str) -> None:
    assert statements_in(text) == [text]


def test_a_condition_before_a_question_states_nothing() -> None:
    assert before_question("If I lived in Rome, where would I eat?") == ""
