"""Structures of shown text in a message, each found by its own marks, without words of a language.

Every function takes a text with line feeds as line ends, and is linear in its length. A search at every character
of a megabyte would hold up the other threads for a tenth of a second: it begins at a mark instead.

Text behind a mark without an end (an open fence, a forwarded mail) is shown to the end: it is better to learn too
little from somebody else's text than too much.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

from react_mem.memory.language import FILES, languages_of, pattern_of, words_under
from react_mem.memory.language.folding import MAX_INDEXED_CHARS

Span = tuple[int, int]  # start and end of a stretch of a text
MARK = pattern_of('[`@:：\n\r\u2028<>＞“”„«»‹›「」『』‘’"]|~~~|([-_=*—–─━－])\\1\\1')
"""The marks of all kinds below: a text without any of them, as most are, shows nothing."""


_Cutting = TypeVar("_Cutting", bound=Callable[..., Any])

log = logging.getLogger(__name__)


def or_else(otherwise: Callable[[str], Any]) -> Callable[[_Cutting], _Cutting]:
    """Return a decorator for functions that cut a message: an error in one costs that message's facts, not the turn."""

    def guard(cut: _Cutting) -> _Cutting:
        @wraps(cut)
        def guarded(text: str, *args: Any, **options: Any) -> Any:
            try:
                return cut(text, *args, **options)
            except Exception as error:  # a mistake of ours; the message stays in the conversation
                log.warning("a message could not be cut, and teaches nothing (%s)", type(error).__name__)
                return otherwise(text)

        return cast("_Cutting", guarded)

    return guard


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, overlapping ones merged.

    >>> joined([(5, 9), (0, 2), (6, 12)])
    [(0, 2), (5, 12)]
    """
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


_INLINE_CODE = pattern_of(r"(`(?<!``)`{2,})(?!`)[^\n`]+(?<!`)\1(?!`)")
_FENCE = pattern_of(
    r"(?P<leads>^[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?)?"
    r"(?P<fence>(?<!`)`{3,}+|(?(leads)~{3,}+|(?!)))(?P<info>[^\n`]*+)$",
    re.MULTILINE,
)


_FENCE_MARK = pattern_of("```|~~~")


def inline_code(text: str) -> Iterator[Span]:
    """Yield code on one line between three backticks or more."""
    return (code.span() for code in _INLINE_CODE.finditer(text))


def fenced_code(text: str) -> Iterator[Span]:
    """Yield blocks of code between fences.

    A fence with a language inside a block opens a nested block, as in a page pasted between fences.
    """
    begin = 0
    open_: list[str] = []
    for line in _fences(text):
        fence, info = line["fence"], line["info"].split()
        leads = line["leads"] is not None
        if not open_:
            # "look: ```" begins a block as well, "use ``` for code" does not
            if leads or not info:
                begin = line.start()
                open_.append(fence)
        elif fence.startswith(open_[-1]):
            if not info:
                open_.pop()
                if not open_:
                    yield begin, line.end()
            elif leads and len(info) == 1:
                open_.append(fence)
    if open_:
        yield begin, len(text)


def _fences(text: str) -> Iterator[re.Match[str]]:
    """Yield the fences of a text, at most one a line."""
    end = 0
    while mark := _FENCE_MARK.search(text, end):
        begin = max(end, text.rfind("\n", end, mark.start()) + 1)
        end = text.find("\n", mark.end())
        end = end if end >= 0 else len(text)
        if fence := _FENCE.search(text, begin, end):
            yield fence


# Possessive: what is folded under one header is no other header's.
_LINE = r"\S[^\n]*+(?:\n|\Z)"
_HEADER = rf"\*{{0,2}}[^\s:：*][^:：\n]{{0,30}}(?::\*{{0,2}}[ \t]++|：\*{{0,2}}[ \t]*+){_LINE}(?:[ \t]++{_LINE})*+"
_UNDER_A_RULE = pattern_of(rf"^[ \t]*+([-_=*—–─━－])\1\1[^\n]*+\n(?:[ \t]*+\n)?(?:{_HEADER}){{2}}", re.MULTILINE)
_HEADERS = pattern_of(rf"^(?:{_HEADER}){{3,}}+", re.MULTILINE)
_ADDRESS = r"[<(\[](?:mailto:)?[^<>()\[\]\s@]{1,64}@[^<>()\[\]\s@]{1,255}[>)\]]"
_HAS_ADDRESS = pattern_of(_ADDRESS)
_ATTRIBUTION = pattern_of(rf"{_ADDRESS}[^\n]{{0,60}}[:：][ \t]*$", re.MULTILINE)
_QUOTES_FOLLOW = pattern_of(r"[ \t]*\n(?:[ \t]*\n)?[ \t]*[>＞]")


def mail(text: str) -> Iterator[Span]:
    """Yield forwarded and answered mail: the text behind its headers, and the lines that name its sender."""
    end = len(text)
    has_headers, has_address = ":" in text or "：" in text, "@" in text
    ruled = _UNDER_A_RULE.search(text) if has_headers else None
    blocks = _HEADERS.finditer(text) if has_headers and has_address else ()
    headers = next((block for block in blocks if _HAS_ADDRESS.search(block[0])), None)
    begin = min((found.start() for found in (ruled, headers) if found), default=end)
    for sender in _ATTRIBUTION.finditer(text, 0, begin):
        line = text.rfind("\n", 0, sender.start()) + 1
        if not text[line : sender.start()].strip() and line:
            # the line was wrapped before the address
            line = text.rfind("\n", 0, line - 1) + 1
        if not any(char.isdigit() for char in text[line : sender.end()]):
            continue
        if not _QUOTES_FOLLOW.match(text, sender.end()):
            begin = line
            break
        yield line, sender.end()
    if begin < end:
        yield begin, end


_QUOTED_LINES = pattern_of(r"(?:^[ \t]*[>＞][^\n]*(?:\n|\Z))+", re.MULTILINE)
_WRAPPED_AT = 60
"""A quoted line of so many characters without an end of a sentence was wrapped: the next line is its rest."""
_ENDS = tuple('.!?…:;。！？：；"”»」)')


def quoted_lines(text: str) -> Iterator[Span]:
    """Yield quoted lines, with the rest of a wrapped one on a line without a mark."""
    for block in _QUOTED_LINES.finditer(text) if ">" in text or "＞" in text else ():
        begin, end = block.span()
        line = block[0].rstrip().rpartition("\n")[2]
        while len(line) >= _WRAPPED_AT and not line.endswith(_ENDS):
            after = text.find("\n", end) + 1 or len(text)
            line = text[end:after].rstrip()
            if not line[:1].isalnum() or line[:1].isupper():
                break
            end = after
        yield begin, end


_TAG = pattern_of(r"<(?:/|(?<!\w<))([A-Za-z][\w:-]*)(?:\s[^<>]*|/)?>")
_FORMATTING = {"a", "b", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong", "sub", "sup", "u"}
_BLOCKS = {"article", "blockquote", "body", "div", "form", "html", "main", "ol", "pre", "script", "section", "style"}
_BLOCKS |= {"table", "ul"}
_MIN_TAGS = 3  # tags that make a pasted page; one or two are an aside


def pages(text: str) -> Iterator[Span]:
    """Yield pasted mark-up, from its first tag to its last, or to the end where a block of it is not closed."""
    tags = [tag for tag in _TAG.finditer(text) if tag[1].lower() not in _FORMATTING]
    if len(tags) < _MIN_TAGS:
        return
    open_: Counter[str] = Counter()
    for tag in tags:
        open_[tag[1].lower()] += -1 if tag[0].startswith("</") else 1
    unclosed = any(open_[name] > 0 for name in _BLOCKS)
    yield tags[0].start(), len(text) if unclosed else tags[-1].end()


_MARKS = pattern_of(r"([“”„«»‹›「」『』‘’\"])\1*")
_CLOSES = {"”": "“„”", "“": "„", "»": "«", "«": "»", "›": "‹", "‹": "›", "」": "「", "』": "『", "’": "‘"}
_OPENS = frozenset("“„«»‹›「『‘")
_CODE_SPAN = pattern_of(r"(`(?<!``)`?)(?!`)[^\n`]+(?<!`)\1(?!`)")
_UNSPACED = pattern_of("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_SEVERAL = pattern_of(r"[.!?…؟۔।]\s+\S|\n\s*\S")
_SEVERAL_UNSPACED = pattern_of(r"[。！？]\S")
_MIN_CHARS = 20
_MIN_CHARS_UNSPACED = 10
_LONG = 200  # a quotation of so many characters is somebody's text, however few sentences it has


def quotations(text: str) -> Iterator[Span]:
    """Yield text between quotation marks of any kind, or backticks, that is longer than a name or a title."""
    spans = [code.span() for code in _CODE_SPAN.finditer(text)]
    for begin, end in joined((*spans, *_between_marks(text))):
        if _is_a_text(text[begin:end]):
            yield begin, end


def _is_a_text(quoted: str) -> bool:
    if len(quoted) >= _LONG:
        return True
    return (len(quoted) >= _MIN_CHARS and bool(_SEVERAL.search(quoted, 0, len(quoted) - 1))) or (
        len(quoted) >= _MIN_CHARS_UNSPACED and bool(_SEVERAL_UNSPACED.search(quoted, 0, len(quoted) - 1))
    )


def _between_marks(text: str) -> Iterator[Span]:
    """Yield text between an opening mark and the next that closes it; nested quotations too."""
    open_: defaultdict[str, list[int]] = defaultdict(list)
    for mark in _MARKS.finditer(text):
        char = mark[1]
        opens, closes = _sides(text, mark, bool(open_['"'])) if char == '"' else (char in _OPENS, char in _CLOSES)
        if closes and char == "’":
            # else it is an apostrophe
            closes = text[mark.start() - 1] in ".!?…,。！？" and not text[mark.end() : mark.end() + 1].isalnum()
        if opens and char == "‘":
            opens = not text[mark.end() : mark.end() + 1].isdigit()
        openers = '"' if char == '"' else _CLOSES.get(char, "")
        opener = max((each for each in openers if open_[each]), key=lambda each: open_[each][-1], default="")
        if closes and opener:
            yield open_[opener].pop(), mark.end()
        elif opens and not (
            open_[char] and _begins_a_line(text, mark.start()) and _begins_a_line(text, open_[char][-1])
        ):
            # a quotation of several paragraphs opens at each, and closes once
            open_[char].append(mark.start())


def _sides(text: str, mark: re.Match[str], is_open: bool) -> tuple[bool, bool]:
    """Return true for a straight mark that may open a quotation, and true for one that may close it."""
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    opens = not _is_of_a_word(before) and bool(after.strip())
    closes = not _is_of_a_word(after) and bool(before.strip())
    return opens and not (closes and is_open), closes and (is_open or not opens)


def _is_of_a_word(char: str) -> bool:
    return char.isalnum() and not _UNSPACED.match(char)


def _begins_a_line(text: str, place: int) -> bool:
    return place == 0 or text[place - 1] == "\n"


KINDS = (inline_code, fenced_code, mail, quoted_lines, pages, quotations)
"""The functions above in order; each is to see the text without the finds of those before it."""


# Ends of sentences within a line, and beginnings of statements: by punctuation, and a few words of each language.

# From the first sign of a run on and without looking back: a line may be a megabyte of dots.
_END = pattern_of(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$)|[。！？]++[”’」』)）]*+")
# A full stop after one of these does not end a sentence, nor does one after a single letter ("U.S.", "p.m.",
# "J. Smith"), unless a statement begins there.


def _listed(name: str) -> str:
    """Return the source of a pattern for the words that the files list under a name."""
    return "|".join(sorted(words_under(name))) or "(?!)"


_ABBREVIATED, _BEFORE_NUMBERS = _listed("abbreviations"), _listed("abbreviations_before_numbers")
_ABBREVIATION = pattern_of(
    rf"(?:^|[\s(\"'“‘.])(?:(?P<letter>[^\W\d])|{_ABBREVIATED}|(?P<before_number>{_BEFORE_NUMBERS}))$", re.IGNORECASE
)
_INITIALS = pattern_of(r"(?:^|[^\w.])[^\W\d]\.\s+[^\W\d]$|\.[a-z]$|^\W*[^\W\d]$")
"""Several initials, or one at the beginning: a name, or an item of a list."""
_BEGINS = pattern_of(
    "|".join(
        f"(?:{pattern})" if data.get("unspaced") else rf"(?:{pattern})(?![\w.])"
        for data in FILES.values()
        for pattern in data.get("begins", ())
    ),
    re.IGNORECASE,
)
_ORDINAL = pattern_of(rf"(?:^|\s)(?:{_listed('before_ordinals')})\s\d{{1,2}}$", re.IGNORECASE)
"""A number with a full stop that is no end: "am 17. Juni"."""

_LOOK_AHEAD = 40  # characters behind a full stop that show the beginning of a statement
_SOMETHING = pattern_of(r"\S")
_LIST_NUMBER = pattern_of(r"\s*\d{1,3}$")


def begins_anew(text: str) -> bool:
    """Return true for a text that begins as statements do, in a language with a file: "I", "mein", "但".

    >>> begins_anew("I love it here"), begins_anew("is called Mimi"), begins_anew("我很喜欢")
    (True, False, True)
    """
    return bool(_BEGINS.match(text))


def split_line(line: str) -> Iterator[str]:
    """Yield the sentences of a line, word for word and in order."""
    start = 0
    for match in _END.finditer(line):
        # Looked at from a bounded distance: a line may be a megabyte.
        before = line[max(start, match.start() - 20) : match.start()]
        if match[0] == "." and (
            is_abbreviated(before, line[match.end() : match.end() + _LOOK_AHEAD])
            or _LIST_NUMBER.fullmatch(line[start : match.start()][:10])
        ):
            continue
        if sentence := line[start : match.end()].strip():
            yield sentence
        start = match.end()
    if rest := line[start:].strip():
        yield rest


def ends_sentence(line: str, after: str) -> bool:
    """Return true if a sentence ends at the end of a line; the text `after` it tells an abbreviation from an end."""
    bare = line.rstrip()
    for match in _END.finditer(bare, max(0, len(bare) - _LOOK_AHEAD)):
        if match.end() == len(bare):
            before = bare[max(0, match.start() - 20) : match.start()]
            following = after.strip()[:_LOOK_AHEAD]
            return match[0] != "." or not following or not is_abbreviated(before, f" {following}")
    return False


def is_abbreviated(before: str, after: str) -> bool:
    """Return true for the full stop of an abbreviation: "Dr. Lan", "No. 5"; not "flat 5. I" or "I said no."."""
    if _ORDINAL.search(before) and after.lstrip()[:1].isalpha():
        return True
    found = _ABBREVIATION.search(before)
    if found is None:
        return False
    if found["before_number"]:
        return after.lstrip()[:1].isdecimal()
    if not found["letter"] or _INITIALS.search(before):
        return True
    # "vitamin C. I swim" ends, "George W. Bush" and "Susan B. the second" do not
    following = unicodedata.normalize("NFC", after).lstrip(" \"'“‘(")
    own = any(language.first_person.match(following) for language in languages_of(following))
    return not begins_anew(following) or (following[:1].islower() and not own)


def bounded(sentence: str, limit: int = MAX_INDEXED_CHARS) -> Iterator[str]:
    """Yield a text in pieces of at most `limit` characters, cut where a word ends."""
    start = 0
    # by places, not by cutting off the beginning: what is left of ten megabytes is not to be copied for each piece
    while len(sentence) - start > limit:
        space = sentence.rfind(" ", start + limit // 2, start + limit)
        cut = space if space > 0 else start + limit
        yield sentence[start:cut].strip()
        following = _SOMETHING.search(sentence, cut)
        start = following.start() if following else len(sentence)
    if rest := sentence[start:].strip():
        yield rest


# Telling program text that stands without a fence from what people say: lines that no sentence looks like.

_LOOKED_AT = 300  # characters read of a line: code shows at its beginning

_CODE = pattern_of(
    r"""^\s*(?:
        (?:async\s+)?def\s+\w+\s*\(|class\s+\w+\s*[:({]|import\s+[\w.*{][\w.*{}, ]*(?:\s+(?:as|from)\s+\S+)?;?$
        |from\s+[\w.]+\s+import\s|\#include\b|\#!|package\s+[\w.]+;|use\s+[\w:]+;|using\s+[\w.]+;
        |(?:const|let|var|final|static|public|private)\s+[\w<>\[\]]+.*[=;({]|fn\s+\w+|func\s+\w+\s*\(|function\s*\w*\s*\(
        |>>>\s|\$\s+[a-z]+\s|(?:sudo|npm|pip|git|docker|curl)\s+(?:-|\w+\s+-|install\b|run\b|commit\b|clone\b|push\b)
        |(?:for|while|if|elif|else|try|except|with|switch|catch)\b[^.!?]*[:{]$
        |return\b[^.!?]*;$
        |</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<\?|<!
        |[\w.\]\[>-]+\((?:[^()]|\([^()]*\))*\)[;{]?$
        |[\w.\[\]"']+\s*(?:[-+*/|&]?=|:=)\s*(?:["'\[{(]|\w+[.(\[]|lambda\b|new\s)
        |"[^"]*"\s*:\s*["\d\[{tfn]
        |[{\[].*[}\]][,;]?$
        |[{}()\[\];]+[,;]?$
        |(?:-{3}|\+{3})\s\S+|@@\s|Traceback\s\(|File\s"[^"]*",\sline\s\d
    )|\b[A-Z]\w*(?:Error|Exception):\s|\{$|[=(].*;$|\w\([^()]*\)[;,]$|(?:&&|\|\||=>|===?|!==?|::|\+=)""",
    re.VERBOSE,
)
# The words of a database are code where they are written as such: "Select a book from the shelf" is not.
_QUERY = pattern_of(
    r"^\s*(?:SELECT\b.*\bFROM|INSERT\s+INTO|UPDATE\b.*\bSET|DELETE\s+FROM|(?:CREATE|ALTER|DROP)\s+\w+)\b"
)


def is_code(line: str) -> bool:
    """Return true for a line that nothing but program text looks like. Fenced blocks are set apart before.

    >>> is_code("const x = 5;"), is_code("I have a car (a red one); it is new.")
    (True, False)
    """
    head = line[:_LOOKED_AT].rstrip() if len(line) > _LOOKED_AT else line.rstrip()
    return bool(_CODE.search(head) or _QUERY.match(head))
