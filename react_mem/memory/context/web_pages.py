"""Web pages as the prompt shows them: a dated line each, with its address, under a token budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from react_mem.memory.llm.fencing import fence, flat
from react_mem.memory.llm.tokens import count_lines, cut_to
from react_mem.memory.model.external import WebPage
from react_mem.memory.model.origins import LABELS, Origin

MAX_PAGE_CHARS = 8_000
"""Some 2,000 tokens: what a page says first; three of them take a third of the window of a small model."""

_MAX_HEAD_CHARS = 300
"""Of an address, and of a title: longer ones are there to be long."""

_MIN_TOKENS = 40
"""A page that has less room than this, beside its address and its title, says nothing."""

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

    Each has its address, its title and a few words; what room is left is shared equally, and what a short one does not
    need goes to the next. Where not even the few words fit, the least relevant is left out first.

    Args:
        pages: The best first.
        max_tokens: The budget, in tokens.

    Returns:
        The block.
    """
    heads = [_head(page) for page in pages]
    # once more as a whole: what is not a mark in one part may end in another
    lines = [fence(head + flat(page.text, MAX_PAGE_CHARS)) for head, page in zip(heads, pages, strict=True)]
    needs = [min(count_lines(line), count_lines(head) + _MIN_TOKENS) for line, head in zip(lines, heads, strict=True)]
    count = sum(needed <= max_tokens for needed in accumulate(needs))
    spare, kept = max_tokens - sum(needs[:count]), []
    for place, (line, need) in enumerate(zip(lines[:count], needs, strict=False)):
        cut = cut_to(line, need + spare // (count - place) - 1)
        spare -= count_lines(cut) - need
        kept.append(cut)
    return PageBlock("\n".join(reversed(kept)), tuple(pages[:count]), len(pages) - count)


def _head(page: WebPage) -> str:
    date = page.published if _DAY.fullmatch(page.published) else f"read {page.fetched_at.date().isoformat()}"
    title = flat(page.title, _MAX_HEAD_CHARS)
    return f"- [web page {date}, {flat(page.url, _MAX_HEAD_CHARS)}] {LABELS[Origin.WEB]}{f'{title}: ' if title else ''}"
