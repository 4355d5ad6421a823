"""What the extractive model says, in the languages it speaks."""

from __future__ import annotations

import re
import unicodedata

ENGLISH = {
    "banner": "[extractive: no language model is configured, so I quote what I remember. "
    "Set OPENAI_API_KEY or models.chat to use one.]",
    "noted": "Noted: {quotes}",
    "more": " and more",
    "said": "You said{date}: {quote}",
    "fact": "I remember{date}: {quote}",
    "closest": "The closest I remember{date}: {quote}",
    "unknown": "I do not remember anything about that.",
    "small_talk": "I only quote what you have told me. Tell me something to remember, or ask me about it.",
    "empty": "Your message is empty. Tell me something to remember, or ask me about it.",
    "unseen": "I cannot see images or read files; I only read text.",
    "looking": "What was retrieved does not answer this, so I search memory.",
    "time": "It is {result}.",
    "sum": "{asked} = {result}",
    "failed": "The tool {tool} failed: {result}",
}
VIETNAMESE = {
    "banner": "[extractive: chưa có mô hình ngôn ngữ nào, nên tôi chỉ trích lại những gì tôi nhớ. "
    "Đặt OPENAI_API_KEY hoặc models.chat để dùng một mô hình.]",
    "noted": "Đã ghi nhận: {quotes}",
    "more": " và nữa",
    "said": "Bạn đã nói{date}: {quote}",
    "fact": "Tôi nhớ{date}: {quote}",
    "closest": "Điều gần nhất tôi nhớ{date}: {quote}",
    "unknown": "Tôi không nhớ gì về điều đó.",
    "small_talk": "Tôi chỉ trích lại những gì bạn đã nói. Hãy kể một điều để tôi nhớ, hoặc hỏi tôi về nó.",
    "empty": "Tin nhắn của bạn trống. Hãy kể một điều để tôi nhớ, hoặc hỏi tôi về nó.",
    "unseen": "Tôi không xem được hình ảnh hay đọc tệp; tôi chỉ đọc văn bản.",
    "looking": "Những gì tìm được chưa trả lời câu hỏi này, nên tôi tìm trong bộ nhớ.",
    "time": "Bây giờ là {result}.",
    "sum": "{asked} = {result}",
    "failed": "Công cụ {tool} gặp lỗi: {result}",
}

OWN_ANSWER = re.compile(
    "|".join(
        re.escape(phrases[key].partition("{")[0])
        for phrases in (ENGLISH, VIETNAMESE)
        for key in ("noted", "said", "fact", "closest", "unknown", "small_talk", "empty", "unseen", "time", "failed")
    )
    + r"|\[extractive: "
)
"""How its own answers begin: what is remembered of them from an earlier conversation is no memory of the user."""

_VIETNAMESE_LETTER = re.compile(r"[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹĩũ]", re.IGNORECASE)
_VIETNAMESE_WORD = re.compile(
    r"\b(?:tôi|mình|là gì|gì|không|và|của|tên|toi|khong|la gi|o dau|cua|ten toi)\b", re.IGNORECASE
)


def wording_for(text: str) -> dict[str, str]:
    """Return the phrases in the language of a text: Vietnamese, or else English.

    >>> wording_for("Tôi sống ở đâu?")["unknown"]
    'Tôi không nhớ gì về điều đó.'
    """
    folded = unicodedata.normalize("NFC", text)
    vietnamese = _VIETNAMESE_LETTER.search(folded) or _VIETNAMESE_WORD.search(folded)
    return VIETNAMESE if vietnamese else ENGLISH
