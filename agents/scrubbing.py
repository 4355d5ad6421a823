"""What errors may say to people and to logs: nothing secret, and not too much."""

from __future__ import annotations

import os
import re

_MAX_CHARS = 300


def scrub(error: BaseException) -> str:
    """Return an error's text on one bounded line, without anything secret.

    >>> scrub(ValueError("no answer from https://ann:pw@host/v1, Bearer xyz"))
    'no answer from https://[hidden]@host/v1, Bearer [hidden]'
    """
    text = " ".join(str(error).split())
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search(r"KEY|TOKEN|SECRET|PASSWORD", name):
            text = text.replace(value, "[hidden]")
    text = re.sub(r"://[^/\s@]*@", "://[hidden]@", text)
    text = re.sub(r"(?i)\bbearer\s+\S+", "Bearer [hidden]", text)
    # Providers repeat a refused key in part: the rest of it is not for logs either.
    text = re.sub(r"\b(sk|pk|gsk|xai|key)[-_][\w*.-]{4,}", "[hidden]", text)
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"
