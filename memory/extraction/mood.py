"""How a statement is meant: as so, as perhaps so, as planned, or as over. English and Vietnamese."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from memory.records import now

Mood = Literal["unsure", "planned", "over"]

_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|supposedly|not sure|no idea|thinking (?:of|about)|considering"
    # "may" is a month as well
    r"|(?:i|we|you|he|she|it|they|user|there) may(?! \d)"
    r"|có lẽ|có khi|hình như|dường như|không chừng|biết đâu|không chắc|phân vân|cân nhắc"
    # "có thể" before its subject is "perhaps", after it "can"
    r"|có thể (?:là|tôi|mình|tớ|em|anh|chị|con|người dùng|sẽ)|chắc (?:là|sẽ|tôi|mình))\b"
    r"|^\s*có thể\b"
)
_UNSURE_UNACCENTED = re.compile(r"\b(?:co le|hinh nhu|khong chac)\b")

# "I want to tell you that I live in Hue" says where I live
_TELLING = (
    r"(?! (?:tell|say|mention|ask|know|add|share|let|inform|remind|clarify|correct|be honest|never|always|make sure)\b)"
)
_TELLING_VI = r"(?! (?:bạn|hỏi|nói|kể|cho|biết|nhắc|thêm là|luôn|không bao giờ|chẳng bao giờ)\b)"
_PERIODS = r"(?:week|weekend|month|year|spring|summer|autumn|fall|winter|monday|tuesday|wednesday|thursday|friday)"
_PLANNED = re.compile(
    rf"\b(?:will|would (?:like|love) to|plan(?:s|ning)? (?:to|on)|intend(?:s|ing)? to|hop(?:e|es|ing) to"
    rf"|want(?:s|ing)? to|wish(?:es)? to|dream(?:s|ing)? of|going to(?! (?:the|a|an|my|our|his|her|school|work)\b)"
    rf"|gonna|about to){_TELLING}(?=\W|$)"
    rf"|'(?:ll|d (?:like|love) to)\b{_TELLING}|\b(?:tomorrow|next {_PERIODS}|coming {_PERIODS}|soon)\b"
    rf"|\b(?:sẽ|sắp|dự định|dự tính|muốn|mơ ước|có kế hoạch"
    # alone these are also "settle", "character" and "about"
    rf"|(?:tôi|mình|tớ|em|dùng|đang|cũng) (?:định|tính|ước|mong)){_TELLING_VI}(?=\W|$)"
    r"|\b(?:ngày mai|(?:tuần|tháng|năm|quý|mùa \w+) (?:sau|tới)|sang (?:năm|tháng|tuần))\b"
)
# "is moving to Hue" is said of what is to come as well
_COMING = re.compile(
    r"\b(?:plans?|upcoming|wants|intention|dream|goal|wish(?:es)?)\b"
    r"|\b(?:is|are|am) (?!liv|work|study|be|hav|resid|stay)\w{2,}ing\b|\bkế hoạch\b"
)

_STATES = r"(?:lived|worked|resided|studied)"
_OVER = re.compile(
    r"\b(?:used to|formerly|previously|before (?:that|then)|back then|in the past|as a (?:child|kid))\b"
    r"|(?<!chưa )(?<!bao giờ )\btừng\b|\btrước (?:đó|đây|kia|giờ)\b|\b(?:hồi|ngày|thời) (?:xưa|trước|nhỏ|bé|trẻ)\b"
)
_STATE_OVER = re.compile(rf"\b{_STATES}\b")
_PERFECT = re.compile(rf"(?:\b(?:have|has|had)|'ve|'s)(?: \w+)? {_STATES}\b")
_TOLD_AS_PAST = re.compile(r"\b(?:was|were|had|lived|worked|resided|studied|former|ex|once|trước|cũ)\b")
_END = re.compile(
    r"\b(?:until|till|up to)(?: \w+){0,2}? (?P<a>(?:19|20)\d\d)\b"
    r"|\b(?:from|between|in) (?:\w+ )??(?:19|20)\d\d (?:to|and|until|till) (?:\w+ )??(?P<b>(?:19|20)\d\d)\b"
    r"|\b(?:đến|tới|den|toi) (?:hết |cuối |het |cuoi )?(?:tháng \d+ |thang \d+ )?(?:năm |nam )(?P<c>(?:19|20)\d\d)\b"
    r"|\b(?:từ|tu) (?:năm |nam )?(?:19|20)\d\d (?:đến|tới|den|toi) (?:năm |nam )?(?P<d>(?:19|20)\d\d)\b"
)

_CONDITION = re.compile(r"\b(?:if|unless|supposing|provided that|nếu|giả sử|giả dụ|lỡ như|giá mà|giá như|phải chi)\b")
# "if you must know, I live in Hue" depends on nothing
_POLITE = re.compile(
    r"\bif (?:you (?:must|want to|need to|care to|have to|'d like to|would like to)? ?(?:know|ask|wonder)"
    r"|you (?:don't )?mind|i remember|i recall|i'm not mistaken|it (?:helps|matters)|that helps|possible|so)\b"
    r"|\bnếu (?:bạn|anh|chị|em) (?:muốn|cần) (?:biết|hỏi)\b|\bnếu (?:tôi|mình) (?:nhớ|không) (?:không )?(?:nhầm|lầm)\b"
)


def moods(text: str) -> frozenset[Mood]:
    """Return how what a user says is meant; nothing where it is meant as so.

    >>> sorted(moods("Maybe I'll buy a boat")), sorted(moods("Tôi sống ở Huế đến năm 2019")), moods("I live in Hue")
    (['planned', 'unsure'], ['over'], frozenset())
    """
    plain = _plain(text)
    found: set[Mood] = set()
    if _UNSURE.search(plain) or (plain.isascii() and _UNSURE_UNACCENTED.search(plain)):
        found.add("unsure")
    if _PLANNED.search(plain):
        found.add("planned")
    if _OVER.search(plain) or _has_ended(plain) or _STATE_OVER.search(_PERFECT.sub(" ", plain)):
        found.add("over")
    return frozenset(found)


def allowed_moods(claim: str) -> frozenset[Mood]:
    """Return how that may be meant of which this claim is made: a plan is claimed as a plan, the past as past.

    >>> sorted(allowed_moods("User wants to buy a boat")), sorted(allowed_moods("User was a nurse"))
    (['planned', 'unsure'], ['over'])
    """
    plain = _plain(claim)
    found = set(moods(claim))
    if found & {"unsure", "planned"} or _COMING.search(plain):
        found |= {"unsure", "planned"}
    if _TOLD_AS_PAST.search(plain):
        found.add("over")
    return frozenset(found)


def is_conditional(text: str) -> bool:
    """Tell whether a text states a condition, on which what follows depends.

    >>> is_conditional("If I lived in Berlin"), is_conditional("If you must know")
    (True, False)
    """
    return bool(_CONDITION.search(_POLITE.sub(" ", _plain(text))))


def _has_ended(plain: str) -> bool:
    return any(int(next(filter(None, end.groups()))) < now().year for end in _END.finditer(plain))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().replace("’", "'").replace("_", " ").split())
