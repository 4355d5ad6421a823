"""A model's answer -> a summary: without thoughts, labels, marks of layout and everything else that is no summary."""

from __future__ import annotations

import json
import re
from collections import Counter

from react_mem.memory.language.hallucination import Told
from react_mem.memory.language.statements import phrases

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHTS = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)
_TAG = re.compile(r"</?(?:summary|summaries|master|before|conversation)>", re.IGNORECASE)
_LABEL = re.compile(
    rf"\A\W*(?:{phrases('summary_preface')}[^\n]{{0,40}}?\W+)?"
    rf"(?:{phrases('summary_lead')}[^\n:：]{{0,80}}[:：]|{phrases('summary_name')}(?:[^\n:：]{{0,40}}[:：]|\s*\n))\W*",
    re.IGNORECASE,
)
_MARKS = re.compile(r"^\s*(?:[-*•+]|#{1,6}|\d{1,2}[.)])\s+")
_EMPHASIS = re.compile(r"\*\*|__|`")
_REFUSES = re.compile(rf"\A\W*{phrases('declines')}", re.IGNORECASE)

_MAX_DECLINING = 0.5
"""The share of its words that a refusal may have from what was said; what has more sums up somebody's apology."""

_PHRASE = 4
_MIN_WORDS = 12
"""A text of so many words, half of which are one phrase over and over, is of a model that got stuck."""


def read_summary(answer: str) -> str:
    """Return the summary in a model's answer, on one line; empty where there is none.

    >>> read_summary("<think>Hm.</think>Here is the summary:\\n- **An** has a cat\\n- It is called Mo.")
    'An has a cat. It is called Mo.'
    >>> read_summary('{"summary": "An has a cat."}'), read_summary("<think>I must")
    ('An has a cat.', '')
    """
    text = answer.encode("utf-8", "replace").decode().replace("\x00", "")
    text = _FENCE.sub("", _OPEN_THOUGHTS.sub("", _THOUGHTS.sub("", text))).strip()
    if text.startswith("{"):
        text = _from_json(text)
    text = _LABEL.sub("", _EMPHASIS.sub("", _TAG.sub("", text)))
    lines = [_MARKS.sub("", line).strip() for line in text.splitlines()]
    said = [line for line in lines if any(map(str.isalnum, line))]
    whole = " ".join(line if line[-1] in ".!?…:;,。！？" or line is said[-1] else f"{line}." for line in said)
    return " ".join(whole.split()).strip("\"“”' ")


def objection(summary: str, told: Told) -> str:
    """Return why a text is not a summary at all; empty where it may be one.

    Args:
        summary: What the model wrote.
        told: What it was to sum up.

    >>> told = Told(["I have a cat called Mo."])
    >>> objection("The user has a cat called Mo.", told), objection("I'm sorry, but I can't help with that.", told)
    ('', 'the model declined')
    """
    if not any(map(str.isalnum, summary)):
        return "the answer holds no summary"
    words = summary.casefold().split()
    phrases = Counter(zip(*(words[start:] for start in range(_PHRASE)), strict=False))
    if len(words) >= _MIN_WORDS and 2 * _PHRASE * max(phrases.values()) > len(words):
        return "the answer repeats itself"
    if _REFUSES.search(summary) and told.share(summary) < _MAX_DECLINING:
        return "the model declined"
    return ""


def _from_json(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    summary = value.get("summary") if isinstance(value, dict) else None
    return summary if isinstance(summary, str) else ""
