"""What a user says in their own words, apart from what they show: code, quoted lines, forwarded mail, pasted pages.

What is shown is somebody else's text inside a user's message. It teaches nothing about the user, so it is set apart by
structure, which is the same in every language. The idea is that of provenance: who vouches for a text decides what it
may do, not where it stands.
"""

from __future__ import annotations

import re

_CODE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,}).*?(?:^[ \t]{0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED_LINES = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_FORWARDED = re.compile(
    # a rule, with or without a title, then at least two header lines: all that follows was forwarded
    r"^[ \t]*[-_=*]{3}[^\n]*\n(?:[ \t]*\n)?(?:[^\s:][^:\n]{0,30}:[ \t]+\S[^\n]*(?:\n|\Z)){2,}(?s:.*)",
    re.MULTILINE,
)
# Each begins with its mark, so that a long text is searched for marks only.
_QUOTATION = re.compile(
    r"“[^“”]{10,}”|«[^«»]{20,}»|„[^„“”]{20,}[“”]|「[^「」]{10,}」|『[^『』]{10,}』|\"(?<![\w\"]\")[^\"]{20,}\"(?![\w\"])"
)
_SEVERAL_SENTENCES = re.compile(r"[.!?…]\s+\S|[。！？]\S|\n\s*\S")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_MIN_TAGS = 3
"""Mark-up from so many tags on is a pasted page; one or two are an aside."""


def own_words(text: str) -> str:
    """Return a message without what the user only shows; each piece of it leaves a line break.

    A quotation of several sentences is somebody's text. A shorter one is a name, a title or a motto, and stays.

    Args:
        text: What the user wrote.

    >>> own_words("My boss wrote:\\n> I hate flying.\\nI do not.")
    'My boss wrote:\\n\\n\\nI do not.'
    >>> own_words("My motto is “Never give up on it”.")
    'My motto is “Never give up on it”.'
    """
    for pattern in (_CODE, _FORWARDED, _QUOTED_LINES):
        text = pattern.sub("\n", text)
    text = _QUOTATION.sub(lambda quoted: "\n" if _SEVERAL_SENTENCES.search(quoted[0]) else quoted[0], text)
    tags = [tag.span() for tag in _TAG.finditer(text)]
    if len(tags) >= _MIN_TAGS:
        text = f"{text[: tags[0][0]]}\n{text[tags[-1][1] :]}"
    return text
