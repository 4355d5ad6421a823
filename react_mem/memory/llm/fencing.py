"""Data in a prompt: what others said can neither end the block it stands in, nor begin a line or a message of its own.

Every text from outside that a prompt shows goes through here: what was retrieved, found on the web, returned by a tool
or said before. What nobody sees is taken out, and marks that a model or its server may take for structure are written
with ‹ and ›, so that people and models still read them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

_CUT = "…"
_SPARE = 4
"""Characters read for each that is shown: white space and what nobody sees take the others."""

# control characters but white space, and what has no shape of its own: joiners, fillers, bidi, variations, tags
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_BREAKS = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_PLAIN = re.compile("[\t\n\r -;=-Z\\\\-~\u00c0-\u024f\u1e00-\u1eff]*+")
"""Texts in Latin letters, as most are, with nothing in them that hides, breaks a line or begins a mark."""

_PICTURE = re.compile(
    "[©®‼⁉™ℹ〰〽㊗㊙Ⓜ▪▫▶◀\u2190-\u21ff\u2300-\u2328\u232b-\u23ff\u25fb-\u25fe"
    "\u2600-\u2767\u2776-\u27bf\u2934\u2935\u2b00-\u2bff\U0001f000-\U0001faff]"
)
_JOINING = re.compile("[\u0600-\u1cff]")
"""Scripts whose letters change by a joiner between them: Arabic, Indic and others."""

_FLAGS = tuple("".join(chr(0xE0000 + ord(c)) for c in name) + "\U000e007f" for name in ("gbeng", "gbsct", "gbwls"))

# what normalisation makes < and >, and what only looks like it; the same for / and |
_LESS, _MORE = "<＜﹤", ">＞﹥"
_LIKE_LESS = "‹«\u2329〈《⟨⟪⦑⧼❬❮❰˂ᐸᚲ≺⋖"
_STROKE = "/／⁄∕⧸╱|｜￨│∣ǀ❘¦￤"
_NO_MARK = r"""[-=<>‹›()"'.,;:{}+*&#@~$^`]"""
"""Characters after < in "a <= b", "<-" and "<3", and in no tag and no token."""

_ANGLE = re.compile(
    rf"[{_LESS}{_LIKE_LESS}](?:(?<=[{_LIKE_LESS}])(?=\s*[{_STROKE}])|"
    rf"(?<=[{_LESS}])(?!{_NO_MARK}|\d(?!(?:\w|[^\0-\x7f]){{0,20}}[{_MORE}])|\s+(?:\w|{_NO_MARK})|\s*\Z))"
    rf"(?:([^{_LESS}{_LIKE_LESS}{_MORE}›\n]{{0,200}})[{_MORE}])?"
)
_SQUARE = re.compile(r"[\[［﹇⁅⟦⟬⦋⦗❲〔【〖]([^\]\[［］﹇﹈]{1,60})[\]］﹈⁆⟧⟭⦌⦘❳〕】〗]")
_TOKEN = re.compile(r"\s*(?:/?\s*[a-z]?[A-Z][A-Z0-9_]{2,}|\|.*\|)\s*")
"""Tokens between square brackets in chat templates: INST, /TOOL_RESULTS, gMASK, |user|."""


def fence(text: str) -> str:
    """Return text that cannot end the block it stands in, open another or pass for a mark of a chat template.

    >>> fence("a </memories> b"), fence("1 < 2 > 0"), fence("List<int>")
    ('a ‹/memories› b', '1 < 2 > 0', 'List‹int›')
    >>> fence("< /memories> <|im_\u200bend|> ＜/s＞ [INST]")
    '‹ /memories› ‹|im_end|› ‹/s› ‹INST›'
    """
    if _PLAIN.fullmatch(text):
        return text
    text = _HIDDEN.sub(_seen, _BREAKS.sub(" ", text))
    return _SQUARE.sub(_square, _ANGLE.sub(_angle, text))


def flat(text: str, limit: int | None = None) -> str:
    """Return text fenced and on one line, so that it cannot pass for a line of the block.

    Args:
        text: The text.
        limit: Characters, at most; what is cut ends in an ellipsis.
    """
    head = text if limit is None else text[: _SPARE * limit]
    line = " ".join(fence(head).split())
    if limit is None or (len(line) <= limit and len(head) == len(text)):
        return line
    return line[: limit - 1] + _CUT


def row(value: Mapping[str, Any]) -> str:
    """Return an object as a line of JSON, fenced.

    >>> row({"text": "a </facts>"})
    '{"text": "a ‹/facts›"}'
    """
    return fence(json.dumps(value, ensure_ascii=False, default=str))


def block(tag: str, lines: Iterable[str]) -> str:
    """Return lines between tags; each is to be fenced."""
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])


def _angle(match: re.Match[str]) -> str:
    return "‹" if match[1] is None else f"‹{match[1]}›"


def _square(match: re.Match[str]) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKC", match[1]) if not unicodedata.combining(c))
    return f"‹{match[1]}›" if _TOKEN.fullmatch(plain) else match[0]


def _seen(match: re.Match[str]) -> str:
    """Return what of a run of hidden characters changes what people see: in emoji, flags and scripts that join."""
    run, text = match[0], match.string
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if before == "🏴" and run in _FLAGS:
        return run
    if run[0] in "\u200c\u200d" and _JOINING.match(before):
        return run[0]
    picture = _PICTURE.match(before) is not None
    style = run[0] if run[0] in "\ufe0e\ufe0f" and (picture or (after == "\u20e3" and before in "0123456789#*")) else ""
    joined = picture and run[len(style) : len(style) + 1] == "\u200d" and _PICTURE.match(after) is not None
    return style + "\u200d" * joined
