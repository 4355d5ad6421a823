"""Errors about optional packages that are not installed."""

from __future__ import annotations


class MissingPackage(ImportError):  # noqa: N818 - it says what is missing
    """Error for a missing package of web search.

    >>> str(MissingPackage("ddgs"))
    "the package ddgs is not installed; run: pip install 'react-mem[search]'"
    """

    def __init__(self, package: str) -> None:
        self.package = package
        super().__init__(f"the package {package} is not installed; run: pip install 'react-mem[search]'")
