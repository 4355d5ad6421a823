"""The pages of the site: the project's Markdown as it stands, with links that hold there, and an API reference.

Nothing is written twice: the README is the home page. A link to a file that is not on the site becomes the file's path.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

TOP = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
}
"""Pages that stand beside `docs/`, and what they are called on the site."""

PACKAGES = {"conformance/README.md": "conformance.md"}
"""Pages of packages of their own, which a source distribution does not have."""

REFERENCE = {
    "react_mem": "The first door: what most programs need.",
    "react_mem.memory": "The memory layer: beside what `react_mem` offers, its records.",
    "react_mem.integrations": "Memory behind the interfaces of others: LangChain, Deep Agents, Acontext, files.",
    "react_mem.memory.adapters": "Memory as middleware, and searched in a vector store.",
    "react_mem.graphs.hooks": "Memory before and after a node of a graph of your own.",
    "react_mem.errors": "Every error that react-mem raises.",
}
"""The doors that the API reference shows, each a page."""

_IMAGES = {".png", ".svg", ".webp"}
_CODE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)`*$|(?P<ticks>`+)[^`].*?(?P=ticks)(?!`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]\[]*)\]\((?P<target>[^)\s]+)\)")


class BrokenLinkError(Exception):
    """A page links to what is not in the project."""


def published() -> dict[str, str]:
    """Return the pages that the site has: the path in the project, and the path on the site."""
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    packages = {page: name for page, name in PACKAGES.items() if (ROOT / page).is_file()}
    return {**TOP, **packages, **{page: page.removeprefix("docs/") for page in sorted(pages)}}


def write_pages(folder: Path, *, source: str = "") -> None:
    """Write all pages of the site, with their pictures.

    Args:
        folder: Where to; what was there before goes.
        source: The address under which the project's files can be read, such as that of a branch on its host. Without
            it a link to a file becomes the file's path.

    Raises:
        BrokenLinkError: If a page links to what is not there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    pages = published()
    for page, name in pages.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        _put(folder / name, _relinked(text, partial(_link, page=page, pages=pages, folder=folder, source=source)))
    for door, about in REFERENCE.items():
        _put(folder / "reference" / f"{door}.md", "\n".join(_reference(door, about)))


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _relinked(text: str, relink: Callable[[re.Match[str]], str]) -> str:
    """Return a page with its links replaced; what stands in code is not a link."""
    kept: list[str] = []

    def keep(code: re.Match[str]) -> str:
        kept.append(code[0])
        return f"\0{len(kept) - 1}\0"

    # a link's own text may be code, so that links are looked for with the code taken out
    bare = _LINK.sub(relink, _CODE.sub(keep, text))
    return re.sub(r"\0(\d+)\0", lambda mark: kept[int(mark[1])], bare)


def _link(link: re.Match[str], *, page: str, pages: dict[str, str], folder: Path, source: str) -> str:
    target, _, anchor = link["target"].partition("#")
    if not target or re.match(r"[a-z]+:", target):
        return link[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    if not (ROOT / path).exists():
        raise BrokenLinkError(f"{page} links to {target}, which is not there")
    here = posixpath.dirname(pages[page])
    fragment = f"#{anchor}" if anchor else ""
    if path in pages:
        return f"[{link['text']}]({posixpath.relpath(pages[path], here or '.')}{fragment})"
    if Path(path).suffix in _IMAGES:
        name = path.removeprefix("docs/")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / name)
        return f"{link['image']}[{link['text']}]({posixpath.relpath(name, here or '.')})"
    if source:
        return f"[{link['text']}]({source.rstrip('/')}/{path}{fragment})"
    shown = f"`{path}/`" if (ROOT / path).is_dir() else f"`{path}`"
    return shown if path.rstrip("/").endswith(link["text"].strip("`/")) else f"{link['text']} ({shown})"


def _reference(door: str, about: str) -> Iterator[str]:
    """Yield the lines of a page of the API reference: each public name of a door once."""
    above = [other for other in REFERENCE if door.startswith(f"{other}.")]
    elsewhere = {name for other in above for name in _names(other)}
    yield f"# `{door}`\n\n{about}\n"
    for name in _names(door):
        if name not in elsewhere:
            # its parts are no classes of the door
            options = "    options: {inherited_members: true}\n" if name == "MemoryFacade" else ""
            yield f"::: {door}.{name}\n{options}"


def _names(door: str) -> list[str]:
    """Return the public names of a door, or what a module without one defines."""
    room = import_module(door)
    if "__all__" in vars(room):
        return sorted(room.__all__)
    own = {name for name, value in vars(room).items() if callable(value) and value.__module__ == door}
    return sorted(name for name in own if not name.startswith("_"))
