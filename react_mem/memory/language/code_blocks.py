"""Telling program text that stands without a fence from what people say: lines that no sentence looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LOOKED_AT = 300
"""Characters of a line that are looked at: code shows itself at its beginning."""

_CODE_SHARE = 3
"""One line of so many in a paragraph that can only be code makes all of it code, from two lines on."""

_CODE = re.compile(
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
_QUERY = re.compile(
    r"^\s*(?:SELECT\b.*\bFROM|INSERT\s+INTO|UPDATE\b.*\bSET|DELETE\s+FROM|(?:CREATE|ALTER|DROP)\s+\w+)\b"
)


def lines_without_code(text: str) -> Iterator[str]:
    """Yield the lines of a text that are not program text, in their order; blank ones in the place of what is.

    Blank are lines that only code looks like, and whole paragraphs of which many lines do.

    Args:
        text: Any text; fenced blocks are set apart before, by `memory.language.own_words`.

    >>> list(lines_without_code("I like tea.\\nprint(x)\\nHow about you?"))
    ['I like tea.', '', 'How about you?']
    """
    paragraph: list[str] = []
    for line in text.splitlines():
        if line.strip():
            paragraph.append(line)
        else:
            yield from (*_prose(paragraph), "")
            paragraph = []
    yield from _prose(paragraph)


def is_code(line: str) -> bool:
    """Return whether a line is program text.

    >>> is_code("const x = 5;"), is_code("I have a car (a red one); it is new.")
    (True, False)
    >>> is_code("print(area(2))"), is_code("请帮我看看：IndexError: list index out of range")
    (True, True)
    """
    head = line[:_LOOKED_AT].rstrip() if len(line) > _LOOKED_AT else line.rstrip()
    return bool(_CODE.search(head) or _QUERY.match(head))


def _prose(paragraph: list[str]) -> list[str]:
    prose: list[str] = []
    in_block = False
    for line in paragraph:
        # what is indented below a line of code is its body
        in_block = is_code(line) or (in_block and line[:1].isspace())
        prose.append("" if in_block else line)
    code = prose.count("")
    return [""] if code > 1 and code * _CODE_SHARE >= len(paragraph) else prose
