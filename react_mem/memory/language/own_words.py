"""Separation of a user's own words from shown text: code, quoted lines, forwarded mail, pasted pages.

Shown text is somebody else's and teaches nothing about the user (provenance: the author of a text decides its rights,
not its place). Structure, the same in every language, sets it apart, each kind in one pass, in linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from react_mem.memory.language import shown_parts as shown
from react_mem.memory.language.announced import announced, chats, heads_of_mail, reported
from react_mem.memory.language.shown_parts import Span, joined

_LINE_BREAK = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class Part(NamedTuple):
    """A stretch of a message; `shown` is true for somebody else's text and for code."""

    text: str
    shown: bool


def parts(text: str) -> list[Part]:
    r"""Split a message into own and shown stretches, in turns; joined they are the message.

    A quotation of several sentences is shown. A shorter one is a name, a title or a motto, and the user's own.

    >>> [part.text for part in parts("I love tea.\n> I hate tea.\nHe does not.") if part.shown]
    ['> I hate tea.\n']
    """
    if not shown.MARK.search(text):
        return [Part(text, False)] if text else []
    left = _with_one_line_break(text)
    spans: list[Span] = []
    for find in shown.KINDS:
        if found := joined(find(left)):
            spans += found
            left = _blanked(left, found)
    for more in (heads_of_mail(left), chats(left), announced(left, spans), reported(left)):
        spans += more
    return _cut(text, joined(spans))


def own_words_in(text: str) -> str:
    r"""Return a message without its shown parts; each leaves a blank line.

    >>> own_words_in("My boss wrote:\n> I hate flying.\nI do not.")
    'My boss wrote:\n\n\nI do not.'
    >>> own_words_in("My motto is “Never give up on it”.")
    'My motto is “Never give up on it”.'
    """
    return "".join("\n\n" if part.shown else part.text for part in parts(text))


def _with_one_line_break(text: str) -> str:
    """Return a text with one kind of line break, every character in its place."""
    return _LINE_BREAK.sub("\n", text.replace("\r\n", " \n"))


def _blanked(text: str, spans: list[Span]) -> str:
    """Return a text with blanks in place of spans, so that nothing is found in them again."""
    pieces: list[str] = []
    done = 0
    for begin, end in spans:
        closed = text.endswith("\n", begin, end)
        pieces += (text[done:begin], " " * (end - begin - closed), "\n" * closed)
        done = end
    return "".join((*pieces, text[done:]))


def _cut(text: str, spans: list[Span]) -> list[Part]:
    """Return the parts of a text: the spans are shown, and so is white space between two of them."""
    cut: list[Part] = []
    shown_from: int | None = None
    done = 0
    for begin, end in spans:
        said = text[done:begin]
        if shown_from is None or said.strip():
            cut += [Part(text[shown_from:done], True)] if shown_from is not None else []
            cut += [Part(said, False)] if said else []
            shown_from = begin
        done = end
    if shown_from is not None:
        if not text[done:].strip():
            done = len(text)
        cut.append(Part(text[shown_from:done], True))
    return [*cut, Part(text[done:], False)] if done < len(text) else cut
