"""What the extractive model says, in the languages it speaks."""

from __future__ import annotations

import re
import unicodedata

ENGLISH = {
    "banner": "[extractive: no language model is configured, so I quote what I remember. "
    "Set OPENAI_API_KEY or models.chat to use one.]",
    "stands_in": "[extractive: the language model cannot be reached at the moment, so I only quote what I remember.]",
    "noted": "Noted: {quotes}",
    "more": " and more",
    "said": "You said{date}: {quote}",
    "fact": "I remember{date}: {quote}",
    "closest": "The closest I remember{date}: {quote}",
    "unknown": "I do not remember anything about that.",
    "off": "Memory is off for this conversation, so I keep nothing of what you tell me.",
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
    "stands_in": "[extractive: hiện không kết nối được với mô hình ngôn ngữ, nên tôi chỉ trích lại những gì tôi nhớ.]",
    "noted": "Đã ghi nhận: {quotes}",
    "more": " và nữa",
    "said": "Bạn đã nói{date}: {quote}",
    "fact": "Tôi nhớ{date}: {quote}",
    "closest": "Điều gần nhất tôi nhớ{date}: {quote}",
    "unknown": "Tôi không nhớ gì về điều đó.",
    "off": "Bộ nhớ đang tắt trong cuộc trò chuyện này, nên tôi không giữ lại điều gì bạn kể.",
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
        for key in (
            "noted",
            "said",
            "fact",
            "closest",
            "unknown",
            "off",
            "small_talk",
            "empty",
            "unseen",
            "time",
            "failed",
        )
    )
    + r"|\[extractive: "
)
"""How its own answers begin: what is remembered of them from an earlier conversation is no memory of the user."""

_VIETNAMESE_LETTER = re.compile(r"[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹĩũ]", re.IGNORECASE)
# Words that hold sentences together, and so tell their language where names do not. Of the Vietnamese ones also the
# forms without diacritics, as far as they are no English words.
_VIETNAMESE_WORD = re.compile(
    r"""\b(?:tôi|mình|em|bạn|là|gì|không|và|của|có|được|ở|đâu|nào|ai|sao|khi|thích|tên|thì|cho|với|những|này|đã|đang|sẽ
        |rất|cũng|nhưng|hay|bao|nhiêu|mấy|đi|ngày|mai|hôm|nay|ơi|ạ|nhé|vậy|thế
        |toi|minh|khong|duoc|nhung|thich|dau|nao|gi|nhieu|cua|ngay)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ENGLISH_WORD = re.compile(
    r"""\b(?:i|my|me|you|your|we|our|he|she|it|its|they|is|am|are|was|were|be|the|a|an|in|on|at|to|of|for|from|with|and
        |or|but|not|no|do|does|did|have|has|had|what|where|when|who|which|how|why|can|could|will|would|should|please
        |like|love|live|that|this|there|hi|hello|thanks)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def wording_for(text: str) -> dict[str, str]:
    """Return the phrases in the language of a text: Vietnamese, or else English.

    Its small words decide; where they do not, whether a third of its words look Vietnamese.

    >>> wording_for("Tôi sống ở đâu?")["unknown"]
    'Tôi không nhớ gì về điều đó.'
    >>> wording_for("My name is Lan and I live in Đà Nẵng.")["unknown"]
    'I do not remember anything about that.'
    """
    folded = unicodedata.normalize("NFC", text)
    vietnamese, english = len(_VIETNAMESE_WORD.findall(folded)), len(_ENGLISH_WORD.findall(folded))
    if vietnamese == english:
        words = folded.split()
        looks = sum(bool(_VIETNAMESE_LETTER.search(word)) for word in words)
        return VIETNAMESE if looks and 3 * looks >= len(words) else ENGLISH
    return VIETNAMESE if vietnamese > english else ENGLISH
