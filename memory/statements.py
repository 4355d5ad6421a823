"""What a text says, sentence by sentence and word for word: what is kept when no model can read it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

from memory.records import MAX_INDEXED_CHARS

_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+[”’」』)）]*")
# A full stop after one of these, or after a single letter ("U.S.", "p.m.", "J. Smith"), does not end a sentence.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'“‘.])(?:\w|mr|mrs|ms|dr|prof|st|vs|no|fig|approx|ths|ts|gs|pgs|bs|tp)$", re.IGNORECASE
)
_LIST_NUMBER = re.compile(r"\s*\d{1,3}$")

_PLEASANTRY_WORDS = """
hi hello hey yo dear there good morning afternoon evening night day thanks thank thx ty you so very much a lot ok okay k
yes yeah yep no nope sure great nice cool fine got it bye goodbye see later please welcome sorry
chào xin cảm cám ơn vâng dạ ừ ừm rồi được tốt tạm biệt bạn anh chị em ạ nhé nha nhiều lắm không sao chúc ngủ ngon
buổi sáng trưa chiều tối
"""
_PLEASANTRIES = frozenset(_PLEASANTRY_WORDS.split())
_MAX_PLEASANTRY_WORDS = 6

_ASKS_EN = re.compile(
    r"""^(?:(?:and|so|but|then|also|well|please|hey|hi|hello|ok|okay)[\s,]+)*(?:
        (?:what|who|where|when|why|how|which|whose|whom)(?:'s|’s|s)?\s+(?:exactly\s+)?
            (?:is|are|am|was|were|do|does|did|can|could|will|would|should|shall|has|have|had|much|many|long|old|far|often
              |about|kind|sort|type)\b
        |(?:what|who|where|how)(?:'s|’s)\s
        |(?:what|which|whose)\s+\w+\s+(?:is|are|am|was|were|do|does|did|can|could|will|would|should|has|have|had)\s
        |(?:do|does|did|is|are|am|was|were|can|could|will|would|should|shall|has|have|had|may)(?:n't|n’t)?\s+
            (?:i|you|we|they|he|she|it|there|this|that|my|your|our|his|her|their|the|anyone|someone)\b
        |(?:tell|remind)\s+me\s+(?:again\s+)?(?:what|who|where|when|why|how|which|whose|about|my\s+\w+\s*$)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKS_VI = re.compile(
    r"""^(?:tại\ sao|vì\ sao|sao|khi\ nào|bao\ giờ|ai\ (?!cũng|đó)|ở\ đâu|làm\ sao|làm\ thế\ nào|thế\ nào)\b
        |\b(?:là\ gì|là\ ai|ở\ đâu|đi\ đâu|mấy\ giờ|bao\ nhiêu|bao\ lâu|như\ thế\ nào|thế\ nào|khi\ nào|bao\ giờ
            |cái\ gì|món\ gì|làm\ gì|tên\ gì|gì|đâu|nào|ai|mấy)\s*(?:vậy|thế|nhỉ|hả|ạ|đó|rồi|tuổi|người)?$
        |\b(?:phải|đúng|được)\ không$
        |^(?=.*\bcó\b).*\b(?:không|chưa)$
        |\b(?:nhỉ|hả)$
        |\b(?:la\ gi|la\ ai|o\ dau|may\ gio|bao\ nhieu|khi\ nao|the\ nao|(?:mau|ten|cai|mon|lam)\ gi)(?:\ tuoi)?$""",
    re.IGNORECASE | re.VERBOSE,
)
# "I do not know anybody": a Vietnamese question word after a negation, or before "cũng", says "none" or "any".
_INDEFINITE_VI = re.compile(
    r"\b(?:không|chẳng|chả|chưa)\b.*\b(?:gì|ai|đâu|nào|mấy)\b|\b(?:gì|ai|đâu|nào)\s+cũng\b", re.I
)
_FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i’m|my|me|mine|we|our|us|tôi|mình|tớ|tao|em|anh|chị|con|cháu|chúng)\b", re.IGNORECASE
)

_ASKING_CHARS = 200
"""A question shows itself at its beginning or its end; looking further costs time on long text."""


def sentences(text: str) -> list[str]:
    """Split text into sentences, word for word and in order; nothing but white space is left out.

    Args:
        text: Any text, in any script.

    Returns:
        The sentences, each at most `MAX_INDEXED_CHARS` characters: a longer one is split, not cut.

    >>> sentences("I paid 3.5 dollars to Dr. Lan, e.g. on example.com. Tôi vui!\\nYes")
    ['I paid 3.5 dollars to Dr. Lan, e.g. on example.com.', 'Tôi vui!', 'Yes']
    """
    return list(_sentences(text))


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks something, in English or Vietnamese, with or without a question mark.

    >>> is_question("where do I live"), is_question("Tôi sống ở đâu"), is_question("When I was young, I lived in Hue.")
    (True, True, False)
    """
    folded = unicodedata.normalize("NFC", sentence).strip()
    bare = folded.rstrip("\"'”’»)]」』） ")
    if bare.endswith(("?", "？")) or re.search(r"[?？][!?！？]*$", bare):
        return True
    bare = bare.rstrip(" .!…。！")
    if len(bare) > 2 * _ASKING_CHARS:
        bare = f"{bare[:_ASKING_CHARS]} {bare[-_ASKING_CHARS:]}"
    return bool(_ASKS_EN.search(bare)) or bool(_ASKS_VI.search(bare) and not _INDEFINITE_VI.search(bare))


def is_pleasantry(sentence: str) -> bool:
    """Return whether a sentence is only a greeting, thanks or assent, and so nothing to remember.

    >>> is_pleasantry("Thanks!"), is_pleasantry("cảm ơn bạn nhiều"), is_pleasantry("Thanks, I live in Hue")
    (True, True, False)
    """
    words = re.findall(r"\w+", unicodedata.normalize("NFC", sentence).casefold())
    return len(words) <= _MAX_PLEASANTRY_WORDS and all(word in _PLEASANTRIES for word in words)


def speaks_of_self(text: str) -> bool:
    """Return whether a text is about the one who writes it, in English or Vietnamese.

    >>> speaks_of_self("Where do I live?"), speaks_of_self("What is the capital of France?")
    (True, False)
    """
    return bool(_FIRST_PERSON.search(unicodedata.normalize("NFC", text)))


def statements(text: str, limit: int | None = None) -> list[str]:
    """Return what a user states, word for word: their sentences without questions and pleasantries.

    What is said on the way to a question is kept: "I am vegetarian, what can I eat?" states "I am vegetarian".

    Args:
        text: What the user wrote.
        limit: How many, the first; what comes after them is not looked at, since a megabyte takes a second.

    Returns:
        The statements, in order, each at most `MAX_INDEXED_CHARS` characters.

    >>> statements("Hi! I live in Da Nang. Where should I eat?")
    ['I live in Da Nang.']
    >>> statements("I am allergic to peanuts, what can I eat?")
    ['I am allergic to peanuts']
    """
    return list(islice(_statements(text), limit))


def _sentences(text: str) -> Iterator[str]:
    return (part for line in text.splitlines() for sentence in _split_line(line) for part in _bounded(sentence))


def _statements(text: str) -> Iterator[str]:
    for sentence in _sentences(text):
        said = _before_question(sentence) if is_question(sentence) else sentence
        if said and not is_pleasantry(said):
            yield said


def _before_question(question: str) -> str:
    """Return the clauses before the one that asks, when they tell something about the user; else nothing."""
    commas = [match.start() for match in re.finditer(r"[,;:–—]\s|\s-\s", question)]
    head = question[: commas[-1]].strip() if commas else ""
    # Three words are the least that says something: "I am vegetarian". "In 2019" and "Hi An" say nothing alone.
    told = len(head.split()) >= 3 and speaks_of_self(head) and not is_question(head)
    return head if told else ""


def _split_line(line: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(line):
        # Looked at from a bounded distance: a line may be a megabyte.
        before = line[max(start, match.start() - 20) : match.start()]
        if match[0] == "." and (
            _ABBREVIATION.search(before) or _LIST_NUMBER.fullmatch(line[start : match.start()][:10])
        ):
            continue
        if sentence := line[start : match.end()].strip():
            yield sentence
        start = match.end()
    if rest := line[start:].strip():
        yield rest


def _bounded(sentence: str) -> Iterator[str]:
    while len(sentence) > MAX_INDEXED_CHARS:
        space = sentence.rfind(" ", MAX_INDEXED_CHARS // 2, MAX_INDEXED_CHARS)
        cut = space if space > 0 else MAX_INDEXED_CHARS
        yield sentence[:cut].strip()
        sentence = sentence[cut:].strip()
    if sentence:
        yield sentence
