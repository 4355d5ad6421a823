"""Questions about a whole conversation are told from questions about one thing, in each language with a file."""

from __future__ import annotations

import pytest

from react_mem.memory.language.statements import asks_whole

WHOLE = {
    "en": [
        "What have we talked about so far?",
        "In which order did I mention my jobs?",
        "List all the books I told you I've read.",
        "How has my thesis developed over the last months?",
    ],
    "vi": [
        "Tôi đã nhắc đến các công việc của mình theo thứ tự nào?",
        "tom tat cuoc tro chuyen nay giup toi",
    ],
    "zh": [
        "我是按什么顺序提到我的工作的？",
        "概括一下这次对话。",
    ],
    "ja": [
        "この会話を要約して。",
        "私が話した本を全部挙げて",
    ],
    "de": [
        "Wie oft habe ich mich über meinen Vermieter beschwert?",
    ],
    "es": [
        "Hazme un resumen de esta conversación.",
    ],
}
ONE_THING = {
    "en": [
        "Please summarise the following article for me.",
        "In what order should I install these packages?",
        "Give me a timeline of the French Revolution.",
    ],
    "vi": [
        "Tóm tắt bài báo sau giúp tôi.",
    ],
    "zh": ["我姐姐叫什么名字？", "请总结下面这篇文章。", "这些软件包应该按什么顺序安装？"],
    "ja": ["姉の名前は何ですか？", "次の記事を要約してください。", "どの順番でインストールすればいいですか？"],
    "de": [
        "Fasse den folgenden Artikel zusammen.",
    ],
    "es": ["¿Cómo se llama mi hermana?", "Resume el siguiente artículo.", "¿En qué orden debo instalar los paquetes?"],
}


@pytest.mark.parametrize("question", [one for questions in WHOLE.values() for one in questions])
def test_a_question_about_all_of_it_is_seen(question: str) -> None:
    assert asks_whole(question)


@pytest.mark.parametrize("question", [one for questions in ONE_THING.values() for one in questions])
def test_a_question_about_one_thing_is_none(question: str) -> None:
    assert not asks_whole(question)


def test_what_brings_its_own_text_along_is_none() -> None:
    assert not asks_whole(f"Summarise what I wrote: {'I like tea. ' * 100}")
    assert not asks_whole("> What have we talked about so far?\nI got this by mail.")
