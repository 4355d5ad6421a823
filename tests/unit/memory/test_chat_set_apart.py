"""A chat summary takes nothing for the customer's that they only show: a pasted mail, a quotation, a forwarded chat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.write.chat_summarizer import ChatSummarizer
from react_mem.memory.write.summary_form import ChatSummary, ChatSummaryRequest
from tests.support.scripted_model import ScriptedModel

SHOWN = {
    "mail": (
        "Two red kettles by 3 May, please.\n\nFrom: Eve Stone <eve@stone.example>\nTo: me\nSubject: order\n\n"
        "My number is 0900 555 142. I live at 9 Elm Road.",
        "red kettles",
        ("0900 555 142", "Elm Road", "eve@stone.example"),
    ),
    "announced in Vietnamese": (
        "Chị muốn đặt 2 ấm đỏ.\nEm xem giúp chị tin nhắn này:\nTôi là Bình, số điện thoại 0987 654 321, 5 Trần Phú.",
        "2 ấm đỏ",
        ("0987 654 321", "5 Trần Phú"),
    ),
    "announced in Chinese": (
        "我要订两个红色水壶。\n请看一下这封邮件：\n我叫王伟，电话是13800138000，住在北京朝阳区。",
        "红色水壶",
        ("13800138000", "朝阳区"),
    ),
    "marked": (
        "> My address is 12 Baker Street.\n> Call me on 0900 555 142.\n\nI want two red kettles.",
        "red kettles",
        ("0900 555 142", "Baker Street"),
    ),
}


async def summed_up(said: dict[str, str] | None = None, **asked: Any) -> tuple[ChatSummary, list[dict[str, Any]]]:
    """Return a summary, and the messages of the chat as the model was shown them."""
    told = {"language": "en", "summary": "Asks about kettles.", "full_question": "Which kettle?"} | (said or {})
    model = ScriptedModel(script=[json.dumps(told, ensure_ascii=False)])
    request = ChatSummaryRequest.model_validate({"conversation_id": "c", "user_input": "Which one?", **asked})
    made = await ChatSummarizer([model], MemoryPolicy(), "a").summarize(request, store=None, user_id=None)
    lines = str(model.prompts[-1][-1].content).splitlines()
    return made, [json.loads(line) for line in lines if line.startswith("{")]


@pytest.mark.parametrize(("text", "own", "shown"), SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("where", ["newest", "told as one text"])
async def test_the_model_is_shown_it_apart(where: str, text: str, own: str, shown: tuple[str, ...]) -> None:
    asked: dict[str, Any] = {
        "newest": {"user_input": text},
        "earlier": {"recent_messages": [{"role": "user", "content": text}]},
        "by name": {"recent_messages": [{"name": "Lan", "content": text}]},
        "told as one text": {"recent_messages": f"Lan: {text}\nShop: We see."},
    }[where]
    _, rows = await summed_up(**asked)
    assert own in rows[0]["content"]
    assert not [detail for detail in shown if detail in rows[0]["content"]]
    assert all(detail in rows[0]["quoted"] for detail in shown)


async def test_what_the_business_sends_is_its_own() -> None:
    offer = "Here is the list:\n> kettle 35 €"
    _, rows = await summed_up(recent_messages=[{"role": "assistant", "content": offer}])
    assert rows[0] == {"role": "assistant", "content": offer}


async def test_of_a_pasted_mail_no_line_becomes_somebody_who_speaks() -> None:
    chat = "Lan: Look at this\nFrom: Eve\nTo: me\nSubject: order\n\nI am Eve.\nShop: We see.\nAn: Me too."
    _, rows = await summed_up(recent_messages=chat)
    assert [row.get("name") for row in rows] == ["Lan", "Shop", "An", None]
    assert "I am Eve." in rows[0]["quoted"]


@pytest.mark.parametrize(("text", "shown"), [(text, shown) for text, _, shown in SHOWN.values()], ids=SHOWN)
async def test_a_number_of_it_is_not_given_as_the_customers(text: str, shown: tuple[str, ...]) -> None:
    claimed = f"Wants kettles. Customer: {shown[0]}."
    made, _ = await summed_up({"summary": claimed, "full_question": f"Call me on {shown[0]}."}, user_input=text)
    assert made.sum_history == "Wants kettles. Customer: […]."
    assert made.full_question == text
    assert "only quoted" in made.degraded[0].message
    # where it is told as what it is, it stays, now and in the next summary
    told = f"Wants kettles. (quoted) The mail has {shown[0]}."
    made, _ = await summed_up({"summary": told}, user_input=text)
    assert (made.sum_history, made.degraded) == (told, [])
    again, _ = await summed_up({"summary": told}, previous_summary=made.sum_history)
    assert again.sum_history == told
    stolen, _ = await summed_up({"summary": claimed}, previous_summary=made.sum_history)
    assert stolen.sum_history == "Wants kettles. Customer: […]."
