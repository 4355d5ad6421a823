"""Searching the web: engines, pages as text, what may leave the house."""

from react_mem.tools.web.search import WebSearch, web_search

__all__ = ["WebSearch", "web_search"]
