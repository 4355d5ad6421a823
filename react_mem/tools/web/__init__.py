"""Searching the web: engines, pages as text, what may leave the house."""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.tools.web.search import WebSearch as WebSearch
    from react_mem.tools.web.search import web_search as web_search
else:
    # the process that reads strangers' markup imports no more of this package than it needs
    __getattr__, __dir__, __all__ = door(__name__)
