"""Addresses of a site that does not know its own: links are relative, and nothing names a host."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

UNKNOWN = "https://unknown.invalid/"
"""Stands for the address while the site is built: its generator writes no texts for language models without one."""

_TEXTS = {".md", ".txt"}


def forget_address(site: Path) -> None:
    """Take the unknown address out of a site.

    The texts for language models link from file to file. Canonical links and the sitemap have to be absolute, and go.

    Args:
        site: The folder of the site.
    """
    canonical = re.compile(rf'<link\b[^>]*\bhref="?{re.escape(UNKNOWN)}[^>]*>\s*')
    (site / "sitemap.xml").unlink(missing_ok=True)
    for file in site.rglob("*"):
        if file.suffix == ".html":
            _rewrite(file, canonical.sub("", file.read_text(encoding="utf-8")))
        elif file.suffix in _TEXTS:
            _rewrite(file, _relative(file.read_text(encoding="utf-8"), file.parent.relative_to(site).as_posix()))


def _relative(text: str, folder: str) -> str:
    def link(address: re.Match[str]) -> str:
        path, mark, anchor = address[1].partition("#")
        return posixpath.relpath(path or ".", folder) + ("/" if path.endswith("/") else "") + mark + anchor

    return re.sub(rf"{re.escape(UNKNOWN)}([^\s<>()\"']*)", link, text)


def _rewrite(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
