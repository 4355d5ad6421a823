"""What others have said, as data in a prompt: it cannot end the block it stands in, nor begin a line of it."""

from __future__ import annotations

import re

_CUT = "…"

_TAG = re.compile(r"<(\s*/\s*[\w-]+[^<>]*|[\w-]+[^<>]*|\|[^<>]*\|)>")


def fence(text: str) -> str:
    """Return text that cannot end the block it stands in, nor open another.

    >>> fence("a </memories> b")
    'a ‹/memories› b'
    >>> fence("< /memories> <|im_end|> 1 < 2 > 0")
    '‹ /memories› ‹|im_end|› 1 < 2 > 0'
    """
    # the marks of chat templates as well: some servers read them in what is only text
    return _TAG.sub(r"‹\1›", text) if "<" in text else text


def flat(text: str, limit: int) -> str:
    """Return text fenced and on one line, so that it cannot pass for a line of the block.

    Args:
        text: The text.
        limit: Characters, at most; what is cut ends in an ellipsis.
    """
    line = fence(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + _CUT
