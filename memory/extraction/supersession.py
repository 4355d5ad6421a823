"""Whether what the user said ends or replaces something known: to overwrite what is still true is the worst error."""

from __future__ import annotations

import re
import unicodedata

from memory.canonical import holders
from memory.extraction.contract import Operation
from memory.extraction.grounding import content_words, is_grounded, is_negative, objection, shares_words

# Attributes of which a person has one at a time: a new value ends the old one without any word of change. A group
# must match alike: a favourite colour does not end a favourite dish.
_SINGLE_VALUED = tuple(
    re.compile(rf"\b(?:{words})\b")
    for words in (
        r"liv(?:e|es|ing)|resid\w+|mov(?:e|ed|ing) (?:to|from)|relocat\w+|home|based in|located"
        r"|sống|cư trú|chuyển (?:đến|tới|vào|ra|về|sang)|dọn|(?:tôi|mình|dùng|đang) ở",
        r"nam(?:e|ed)|called|tên",
        r"years old|aged?|tuổi|birthday|born|sinh (?:nhật|ngày|năm)",
        r"work(?:s|ed|ing)? (?:at|as|for|in)|job|occupation|profession|employ\w+|làm (?:việc|ở|tại|cho|nghề)|nghề",
        r"married|single|divorced|engaged|kết hôn|cưới|độc thân|ly hôn",
        r"(e-?mail|phone|address|điện thoại|địa chỉ)",
        r"favou?rite (\w+)|(\w+) yêu thích",
    )
)
_CHANGE = re.compile(
    r"\b(?:now|moved|no longer|any ?more|instead|chang\w+|switch\w+|actually|became|become|new|used to|correction"
    r"|mistake|wrong|rather than|bây giờ|giờ|hiện|chuyển|đổi|thay|không còn|hết|mới|nhầm|sai|thực ra|thật ra)\b"
)
_FORGET = re.compile(
    r"\b(?:forget|delete|remove|erase|scratch|take back|not true|wrong|mistake|ignore"
    r"|quên|xoá|xóa|bỏ|sai|nhầm|không đúng)\b"
)


def supersedes(target: str, operation: Operation, said: str) -> bool:
    """Tell whether a statement may replace a known fact.

    Args:
        target: The known fact's text.
        operation: The statement, already found to be said.
        said: What the cited messages say.

    Returns:
        True when both are about one single-valued attribute, or when they share words and the user's message speaks of
        a change or mentions the old value, or the statement denies what was known.
    """
    statement = f"{operation.predicate} {operation.text}".replace("_", " ")
    old, new = _plain(target), _plain(statement)
    if holders(old) == holders(new) and _share_topic(old, new):
        return True
    if not shares_words(target, statement):
        return False
    replaced = [word for word in content_words(target) if not is_grounded(word, statement)]
    return (
        bool(_CHANGE.search(_plain(said)))
        or is_negative(target) is not is_negative(operation.text)
        or any(is_grounded(word, said) for word in replaced)
    )


def takes_back(target: str, said: str) -> bool:
    """Tell whether what the user said ends a known fact.

    >>> takes_back("User likes tea", "Forget that I like tea"), takes_back("User likes tea", "I like tea a lot")
    (True, False)
    """
    if not shares_words(target, said):
        return False
    if _FORGET.search(_plain(said)):
        return True
    words = content_words(target)
    common = " ".join(word for word in words if is_grounded(word, said))
    # the first word is as a rule the verb: "I don't like coffee" takes back nothing about tea
    if not any(is_grounded(word, said) for word in words[1:]):
        return False
    return objection(common, is_negative(target), said) == "says the opposite of its source"


def _share_topic(old: str, new: str) -> bool:
    pairs = ((topic.search(old), topic.search(new)) for topic in _SINGLE_VALUED)
    return any(a is not None and b is not None and a.groups() == b.groups() for a, b in pairs)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold().replace("’", "'")
