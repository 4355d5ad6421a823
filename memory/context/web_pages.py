"""What the web was found to say, as the prompt shows it: a dated line a page with its address, under a token budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.context.fencing import fence, flat
from memory.context.tokens import count_lines, cut_to
from memory.external import WebPage

MAX_PAGE_CHARS = 8_000
"""Some 2,000 tokens: what a page says first; three of them take a third of the window of a small model."""

_MAX_HEAD_CHARS = 300
"""Of an address, and of a title: longer ones are there to be long."""

_MIN_TOKENS = 60
"""A page that has less room than this says nothing beyond its title."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class PageBlock:
    """The pages that fit, rendered.

    Args:
        text: One page a line, the most relevant last; empty where there is none.
        pages: The pages in it, the best first.
        dropped: How many did not fit.
    """

    text: str = ""
    pages: tuple[WebPage, ...] = ()
    dropped: int = 0


def render_pages(pages: Sequence[WebPage], max_tokens: int) -> PageBlock:
    """Render pages of the web for the prompt.

    Each has an equal share of the room, and what a short one leaves. A page that does not fit is cut; what is cut to
    nothing is left out, the least relevant first.

    Args:
        pages: The best first.
        max_tokens: The budget, in tokens.

    Returns:
        The block.
    """
    count = min(len(pages), max(max_tokens, 0) // _MIN_TOKENS)
    room, kept = max_tokens, []
    for place, page in enumerate(pages[:count]):
        line = cut_to(_line(page), room // (count - place) - 1)
        room -= count_lines(line)
        kept.append(line)
    return PageBlock("\n".join(reversed(kept)), tuple(pages[:count]), len(pages) - count)


def _line(page: WebPage) -> str:
    date = page.published if _DAY.fullmatch(page.published) else f"read {page.fetched_at.date().isoformat()}"
    title = flat(page.title, _MAX_HEAD_CHARS)
    head = f"- [web page {date}, {flat(page.url, _MAX_HEAD_CHARS)}] {f'{title}: ' if title else ''}"
    # once more as a whole: what is no mark in one part may end in another
    return fence(head + flat(page.text, MAX_PAGE_CHARS))
