"""Whether what the user said ends or replaces something known: to overwrite what is still true is the worst error."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memory.canonical import holders, subject_key
from memory.extraction.contract import Operation
from memory.extraction.grounding import content_words, is_grounded, is_negative, objection, shares_words
from memory.extraction.mood import allowed_moods, moods
from memory.statements import is_question, sentences, speaks_of_self

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
    r"\b(?:now|moved|no longer|any ?more|instead|chang\w+|switch\w+|actually|became|become|new|used to|rather than"
    r"|sold|gave (?:up|away)|quit|stopped|died|dead|passed away|broke up"
    r"|bây giờ|giờ|hiện|chuyển|đổi|thay|không còn|hết|mới|thực ra|thật ra|bán|chết|mất rồi|qua đời|chia tay)\b"
)
_CORRECTION = re.compile(
    r"\b(?:i mean|i meant|correction|mistake|mistaken|wrong|misspoke|scratch that|oops|rather"
    r"|(?<!can't )(?<!cannot )wait(?! (?:to|for|until|till|in)\b)"
    r"|nhầm|sai|ý (?:tôi|mình|em) là|nói lại|đính chính)\b|^(?:oh )?no[,.!]|^à không\b"
)
# Words at the start of what corrects what was said just before.
_SELF_CORRECTION = re.compile(
    r"^(?:(?:oh|ah|uh|um|à|ơ|ối|ấy)[,.! ]+)*(?:(?:no|sorry|không|xin lỗi)[,.! ]+)?"
    r"(?:wait|no|sorry|oops|scratch that|correction|i mean(?:t)?|rather|make that|my mistake"
    r"|(?:tôi |mình )?(?:nói |viết |ghi )?nhầm(?: rồi)?|ý (?:tôi|mình|em) là|(?:à )?không|nói lại|xin lỗi|đính chính)"
    r"(?:[,.!: ]+|$)(?:no|wait|i mean(?:t)?)?[,.!: ]*"
)
_SEGMENT = re.compile(r"[,;–—]\s+|\s-\s|(?<![.!?…])[.!?…]++\s+")
_MAX_CORRECTED_WORDS = 3
"""Content words of a correction that names only what is right: "no wait, Haiphong"."""

_ADDITION = re.compile(
    r"\b(?:also|as well|besides|in addition|cũng|ngoài ra|nữa)\b|\bthêm\b(?! bớt)|\btoo\b(?=\s*(?:[.,;!]|now\b|$))"
)
_FORGET = re.compile(
    r"\b(?:forget|delete|remove|erase|scratch|take back|not true|wrong|mistake|ignore"
    r"|quên|xoá|xóa|bỏ|sai|nhầm|không đúng)\b"
)
# Not to be forgotten is the opposite of forgotten, and who forgets something asks for nothing.
_NOT_FORGET = re.compile(
    r"\b(?:don't|do not|dont|never|mustn't|must not|shouldn't|should not)(?: \w+)?"
    r" (?:forget|delete|remove|erase|ignore)\b"
    r"|\b(?:i|we)(?: (?:always|often|sometimes|usually|keep|tend to|might|may))? (?:forget|delete|remove|ignore)\b"
    r"|\b(?:đừng|chớ|không được|không nên|khỏi)(?: \w+)? (?:quên|xoá|xóa|bỏ)\b"
    r"|\b(?:tôi|mình|tớ|em)(?: (?:hay|đã|vừa|cũng|lại|suýt))? quên\b"
)
# Verbs that many facts share do not name one of them.
_COMMON_WORDS = """
    like likes love loves enjoy enjoys hate hates dislike dislikes live lives work works eat eats drink drinks speak
    speaks play plays want wants own owns use uses
    thich yeu ghet song lam an uong noi choi nuoi muon dung
"""
_COMMON = frozenset(_COMMON_WORDS.split())
# As the leading words of a statement: whose it is about.
_BEARER = re.compile(r"^(?:(?:the )?user's|my) (?P<en>.*)|^(?P<vi>.*?) (?:của )?(?:người dùng|tôi|mình)\b")


def supersedes(target: str, operation: Operation, said: str) -> bool:
    """Tell whether a statement may replace a known fact.

    Args:
        target: The known fact's text.
        operation: The statement, already found to be said.
        said: What the cited messages say.

    Returns:
        True when both are about one single-valued attribute, or when they share words and the user's message speaks of
        a change or mentions the old value, or the statement denies what was known. False when it is about somebody
        else, when it is a plan or long over, and when the user adds it to what was known.
    """
    statement = f"{operation.predicate} {operation.text}".replace("_", " ")
    if not _same_bearer(target, operation) or _at_another_time(target, statement):
        return False
    old, new = _plain(target), _plain(statement)
    if holders(old) == holders(new) and _share_topic(old, new):
        return True
    if not shares_words(target, statement):
        return False
    corrected = bool(_CORRECTION.search(_plain(said)))
    if is_negative(target) is not is_negative(operation.text):
        # who dislikes coffee ice cream may like coffee
        return corrected or _is_part(operation.object, target)
    about = _plain(" ".join(_sentences_about(operation.object, said)) or said)
    if corrected:
        return True
    if _ADDITION.search(about):
        return False
    replaced = [word for word in content_words(target) if not is_grounded(word, statement)]
    return bool(_CHANGE.search(about)) or any(is_grounded(word, said) for word in replaced)


def takes_back(target: str, said: str) -> bool:
    """Tell whether what the user said ends a known fact.

    >>> takes_back("User likes tea", "Forget that I like tea"), takes_back("User likes tea", "I like tea a lot")
    (True, False)
    >>> takes_back("User likes tea", "Don't forget that I like tea")
    False
    """
    if not shares_words(target, said):
        return False
    if is_named(target, asked_to_forget(said)):
        return True
    words = content_words(target)
    common = " ".join(word for word in words if is_grounded(word, said))
    # the first word is as a rule the verb: "I don't like coffee" takes back nothing about tea
    if not any(is_grounded(word, said) for word in words[1:]):
        return False
    return objection(common, is_negative(target), said) == "says the opposite of its source"


def asked_to_forget(said: str) -> str:
    """Return the sentences in which the user asks to forget something; all, where what is meant stands in others.

    >>> asked_to_forget("I live in Hue. Forget that I like tea."), asked_to_forget("I like tea. Forget that!")
    ('Forget that I like tea.', 'I like tea. Forget that!')
    >>> asked_to_forget("Don't forget that I like tea!")
    ''
    """
    asking = [sentence for sentence in sentences(said) if _FORGET.search(_NOT_FORGET.sub(" ", _plain(sentence)))]
    names = [sentence for sentence in asking if len(content_words(_FORGET.sub(" ", _plain(sentence)))) > 1]
    return " ".join(names) or (said if asking else "")


def named_best(targets: dict[str, str], proposed: str, said: str) -> str:
    """Return the known fact that the user asks to forget, where their words name it and not the proposed one.

    Args:
        targets: The texts of the known facts, by alias.
        proposed: The alias of the fact that the model would take back.
        said: What the cited messages say.

    Returns:
        The alias of the one fact all of whose words the user says and that says more than the others; the proposed one
        where the user's words name it as well, and where no fact is clearly meant.
    """
    asked = asked_to_forget(said)
    words = {alias: frozenset(content_words(text)) for alias, text in targets.items()}
    whole = [alias for alias, text in targets.items() if asked and is_grounded(text, asked) and is_named(text, asked)]
    best = [one for one in whole if not any(words[one] < words[other] for other in whole)]
    if len(best) != 1:
        return proposed
    said_of_proposed = {word for word in words[proposed] if is_grounded(word, asked)}
    misses = not is_named(targets[proposed], asked) or said_of_proposed < words[best[0]]
    return best[0] if misses else proposed


def is_corrected(object_: str, said: str) -> bool:
    """Tell whether the user corrects this in the same breath.

    >>> is_corrected("Hanoi", "I live in Hanoi. No wait, I live in Haiphong.")
    True
    >>> is_corrected("tea", "I like tea. Wait, I like coffee too."), is_corrected("tea", "I like tea. No, I love tea.")
    (False, False)
    """
    parts = _segments(said)
    last = 0
    for place in range(len(parts) - 1, 0, -1):
        start = _SELF_CORRECTION.match(parts[place])
        if not start or not is_grounded(object_, parts[place - 1]):
            continue
        if last > place + 1:
            # it is said again before the last correction: this one and those before it do not stand
            return False
        last = last or place
        # "no wait, Haiphong": what is right may stand behind a comma
        after = parts[place + 1 :]
        right = parts[place][start.end() :] or next((p for p in after if not _SELF_CORRECTION.fullmatch(p)), "")
        again = is_grounded(object_, " ".join([right, *after]))
        if right and not again and not _ADDITION.search(right) and _replaces(parts[place - 1], right):
            return True
    return False


@lru_cache(maxsize=16)
def _segments(said: str) -> tuple[str, ...]:
    return tuple(part for sentence in sentences(said) for part in _SEGMENT.split(_plain(sentence)) if part.strip())


def _replaces(wrong: str, right: str) -> bool:
    if is_question(right) or is_negative(right):
        return False
    named = not speaks_of_self(right) and len(content_words(right)) <= _MAX_CORRECTED_WORDS
    return named or _share_topic(wrong, right) or wrong.split()[:2] == right.split()[:2]


def is_named(target: str, said: str) -> bool:
    """Tell whether what was said names what a known fact is about, by a word that few other facts have."""
    words = content_words(target)
    own = [word for word in words if word not in _COMMON] or words
    return bool(said) and any(is_grounded(word, said) for word in own)


def _same_bearer(target: str, operation: Operation) -> bool:
    """Tell whether both are about the same person or thing: "User has a dog" and "User's dog died" are."""
    subject = operation.subject
    if subject_key(subject) != "user" and not is_grounded(subject.replace("_", " "), target):
        return False
    of_new, of_old = _bearer(operation.text), _bearer(target)
    return of_new <= set(holders(target)) and of_old <= set(holders(operation.text))


def _bearer(text: str) -> set[str]:
    found = _BEARER.search(_plain(text))
    first = next(iter(holders(" ".join(((found["en"] or found["vi"] or "") if found else "").split()[:3]))), None)
    return {first} if first else set()


def _at_another_time(target: str, statement: str) -> bool:
    """Tell whether a statement is a plan or over, and what is known is so now: neither ends it."""
    if moods(statement) & {"planned", "unsure"} and not allowed_moods(target) & {"planned", "unsure"}:
        return True
    # "I used to live in Hanoi" does end "User lives in Hanoi"
    return "over" in moods(statement) and not is_grounded(target, statement)


def _is_part(object_: str, target: str) -> bool:
    words = [
        word for word in content_words(object_) if word not in {"more", "anymore", "longer", "again", "nua", "all"}
    ]
    return all(is_grounded(word, target) for word in words)


def _sentences_about(words: str, said: str) -> list[str]:
    return [sentence for sentence in sentences(said) if shares_words(words, sentence)]


def _share_topic(old: str, new: str) -> bool:
    pairs = ((topic.search(old), topic.search(new)) for topic in _SINGLE_VALUED)
    return any(a is not None and b is not None and a.groups() == b.groups() for a, b in pairs)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold().replace("’", "'")
