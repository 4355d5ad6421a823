"""The navigation of the site and the sections of `llms.txt`: both are the README's table of pages."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Any

from docs.site.pages import REFERENCE, ROOT, published

HEADING = "## Where to read on"

DECISIONS = "docs/decisions/README.md"

_ENTRY = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)\)")


@dataclass(frozen=True)
class Entry:
    """One page in the navigation.

    Args:
        section: The section it stands in.
        title: What it is called there.
        page: Its path on the site.
        about: What is in it.
    """

    section: str
    title: str
    page: str
    about: str


HOME = Entry("Start", "Home", "index.md", "what it is, how to try it, how to use it, what it does not do")


def entries() -> list[Entry]:
    """Return the pages in the order of the README's table, the API reference at the end of the section `Reference`."""
    pages = published()
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition(HEADING)[2]
    found: list[Entry] = []
    section = ""
    for row in re.findall(r"^\|(.+)\|$", table, re.MULTILINE):
        cells = [cell.strip() for cell in row.split(" | ")]
        if name := re.fullmatch(r"\*\*(.+)\*\*", cells[0]):
            if section == "Reference":
                found += _doors(section)
            section = name[1]
        for title, link in _ENTRY.findall(row):
            page = pages[posixpath.normpath(link)]
            found.append(Entry(section, title[0].upper() + title[1:], page, cells[-1].replace("`", "")))
    return [*found, *(_doors(section) if section == "Reference" else [])]


def _doors(section: str) -> list[Entry]:
    return [Entry(section, door, f"reference/{door}.md", about.replace("`", "")) for door, about in REFERENCE.items()]


def decisions() -> list[Entry]:
    """Return the records of decisions, from their own table, as the section that a short reading may leave out."""
    pages = published()
    table = (ROOT / DECISIONS).read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d+)\]\(([^)]+)\) \| (.+) \|$", table, re.MULTILINE)
    folder = posixpath.dirname(DECISIONS)
    return [
        Entry("Optional", f"Decision {number}", pages[posixpath.join(folder, link)], decided.replace("`", ""))
        for number, link, decided in rows
    ]


def settings_of_the_navigation() -> dict[str, Any]:
    """Return what the generator is told of the navigation, and of the texts for language models.

    The navigation names the table of decisions; language models are told of each record.
    """
    sections: dict[str, list[Entry]] = {}
    for entry in [HOME, *entries()]:
        sections.setdefault(entry.section, []).append(entry)
    told = {**sections, "Optional": decisions()}
    return {
        "nav": [{name: [{one.title: one.page} for one in listed]} for name, listed in sections.items()],
        "llmstxt": {
            "full_output": "llms-full.txt",
            "sections": {name: [{one.page: one.about} for one in listed] for name, listed in told.items()},
        },
    }
