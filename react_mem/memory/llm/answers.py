"""Parsing of a model's JSON, whole, wrapped in prose or truncated; schemas; and fences around data in a prompt."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from react_mem.errors import InvalidOutput

_THOUGHT = "</think>"
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_SPACE = re.compile(r"[\s,]*")
_KEY = re.compile(r'[\s,]*"(\w+)"\s*:\s*')

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Answer:
    """The fields parsed from an answer, and the number of its unexpected or unreadable parts."""

    payload: dict[str, Any]
    leftovers: int = 0
    broken_off: bool = False


def read_answer(text: str, fields: Collection[str], *, broken_off: bool = False) -> Answer:
    """Return the JSON objects of a model's answer merged into one; a truncated answer keeps its whole items.

    Fields other than `fields` count as leftovers. Raises `InvalidOutput` if nothing can be read.

    >>> read_answer('Sure: {"summary": "ok"}', ["summary"]).payload
    {'summary': 'ok'}
    >>> read_answer('{"facts": [{"c": [1]}, {"c": [2', ["facts"])
    Answer(payload={'facts': [{'c': [1]}]}, leftovers=1, broken_off=True)
    """
    body = _without_thinking(text)
    payload: dict[str, Any] = {}
    leftovers = 0
    problem = "it holds no JSON object"
    for value, start in _objects(body):
        sent, rest, lost = (value, False, False) if value is not None else _salvage(body, start, fields)
        if (lost and not any(sent.values())) or sent.keys().isdisjoint(fields):
            problem = "its JSON is malformed" if lost else f"it has none of the fields {', '.join(fields)}"
            leftovers += lost and bool(payload)
            continue
        broken_off = lost if value is None else broken_off
        leftovers += rest
        for key, part in sent.items():
            if key in fields and not payload.get(key):
                payload[key] = part
            elif key in fields and isinstance(part, list) and isinstance(payload[key], list):
                payload[key] += part
            elif key not in fields or (part and part != payload[key]):
                leftovers += 1
    if not payload:
        raise InvalidOutput(f"the model's answer could not be used: {problem}", raw=text)
    return Answer(payload, leftovers, broken_off)


def first_object(text: str, fields: Collection[str] = ()) -> dict[str, Any] | None:
    """Return the first JSON object in an answer that has one of the fields, or the first of all; None for none.

    >>> first_object('<think>{}</think>Here: {"summary": "ok"}')
    {'summary': 'ok'}
    """
    found = (value for value, _ in _objects(_without_thinking(text)))
    return next((one for one in found if one is None or not fields or not one.keys().isdisjoint(fields)), None)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _objects(body: str) -> Iterator[tuple[dict[str, Any] | None, int]]:
    """Yield the JSON objects in a text, each with its start; None for a malformed one, which ends the search."""
    start = body.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(body, start)
        except (ValueError, RecursionError):
            yield None, start
            return
        yield value, start
        start = body.find("{", end)


def _without_thinking(text: str) -> str:
    # up to where the last thought ends, every one that begins ends: unfinished ones would each be looked for again
    head, end, rest = text.rpartition(_THOUGHT)
    return _THINKING.sub("", head + end) + rest


def _salvage(body: str, start: int, fields: Collection[str]) -> tuple[dict[str, Any], bool, bool]:
    """Read a truncated object; return its whole fields and items, and if something is left over, and lost."""
    payload: dict[str, Any] = {}
    torn = False
    at = start + 1
    while (key := _KEY.match(body, at)) and not torn:
        at = key.end()
        try:
            value, at = _DECODER.raw_decode(body, at)
        except (ValueError, RecursionError):
            torn = True
            if body[at : at + 1] != "[" or key[1] not in fields:
                break
            value, at = _items(body, at + 1)
        if key[1] in fields:
            payload[key[1]] = value
    left = bool(body[at:].strip("[]{} \n\t,"))
    # all that is missing of one that has every field is its last bracket
    return payload, left, torn or left or not payload.keys() >= set(fields)


def _items(body: str, at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while gap := _SPACE.match(body, at):
        try:
            item, at = _DECODER.raw_decode(body, gap.end())
        except (ValueError, RecursionError):
            break
        items.append(item)
    return items, at


# Schemas that a model's answer is to fit, in the strict form that providers ask for: every property, and no other.


def object_schema(properties: Mapping[str, Any], title: str = "", description: str = "") -> dict[str, Any]:
    """Return the strict schema of an object with these properties; the outermost object has a title too."""
    named = {"title": title, "description": description} if title else {}
    return {
        **named,
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def strict(node: Any) -> Any:
    """Return a schema in strict form, without the titles, defaults and descriptions that pydantic writes."""
    if isinstance(node, list):
        return [strict(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept = {key: strict(value) for key, value in node.items() if key not in ("title", "default", "description")}
    if isinstance(kept.get("properties"), dict):
        # a property may itself be called "title" or "default"
        return {**kept, **object_schema({name: strict(value) for name, value in node["properties"].items()})}
    return kept


# Data in a prompt: what others said can neither end the block it stands in, nor begin a line or a message of its own.

_CUT = "…"
_SPARE = 4  # characters read for each one shown: the rest may be white space and hidden characters

# control characters but white space, and what has no shape of its own: joiners, fillers, bidi, variations, tags
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_BREAKS = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_PLAIN = re.compile("[\t\n\r -;=-Z\\\\-~\u00c0-\u024f\u1e00-\u1eff]*+")
"""Texts in Latin letters, as most are, without a hidden character, a line break or the beginning of a mark."""

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
_OPENED = re.compile(r"[\[［﹇⁅⟦⟬⦋⦗❲〔【〖](?=\s*[|｜￨│∣ǀ❘¦])")
"""Beginning of such a token that ends behind the text, as with the bracket of a label around it."""

_TOKEN = re.compile(r"\s*(?:/?\s*[a-z]?[A-Z][A-Z0-9_]{2,}|\|.*\|)\s*")
"""Tokens between square brackets in chat templates: INST, /TOOL_RESULTS, gMASK, |user|."""


def fence(text: str) -> str:
    r"""Return text that cannot end its block, open another or pass for a mark of a chat template.

    >>> fence("a </memories> b"), fence("1 < 2 > 0"), fence("List<int>")
    ('a ‹/memories› b', '1 < 2 > 0', 'List‹int›')
    >>> fence("< /memories> <|im_\u200bend|> ＜/s＞ [INST]")
    '‹ /memories› ‹|im_end|› ‹/s› ‹INST›'
    """
    if _PLAIN.fullmatch(text):
        return text
    text = _HIDDEN.sub(_seen, _BREAKS.sub(" ", text))
    text = _ANGLE.sub(lambda match: "‹" if match[1] is None else f"‹{match[1]}›", text)
    return _OPENED.sub("‹", _SQUARE.sub(_square, text))


def flat(text: str, limit: int | None = None) -> str:
    """Return text fenced and on one line of at most `limit` characters, so that it cannot pass for another line."""
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
    return fence(as_json(value))


def block(tag: str, lines: Iterable[str]) -> str:
    """Return fenced lines between tags."""
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])


def _square(match: re.Match[str]) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKC", match[1]) if not unicodedata.combining(c))
    return f"‹{match[1]}›" if _TOKEN.fullmatch(plain) else match[0]


def _seen(match: re.Match[str]) -> str:
    """Return the visible effect of hidden characters: in emoji, flags and scripts with joined letters; else nothing."""
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
