"""Ends of sentences within a line, and beginnings of statements: by punctuation, and a few words of each language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from react_mem.memory.language import FILES, languages_of, pattern_of, words_under
from react_mem.memory.language.folding import MAX_INDEXED_CHARS

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
