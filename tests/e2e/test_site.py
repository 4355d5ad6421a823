"""The site of docs/: it builds without a warning, loads nothing from elsewhere, and its pictures are true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
import yaml

from docs.site import pages
from docs.site.__main__ import main as build
from docs.site.addresses import UNKNOWN
from docs.site.docstrings import fenced
from docs.site.navigation import HOME, decisions, entries
from docs.site.pages import REFERENCE, BrokenLinkError, published, write_pages
from react_mem.memory import MemoryScope
from react_mem.memory.model.interface import ALL_ARMS
from tests.contract.conftest import build_manager
from tests.support.documents import PAGES, ROOT, prose_of

pytestmark = pytest.mark.e2e

OURS = "https://memory.example/docs/"
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"

LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
    "use": "href",
}
"""Elements whose address a browser loads by itself, beside `link`."""


class Loads(HTMLParser):
    """Collects the addresses that a browser loads to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element loads."""
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and not {"canonical", "alternate", "prev", "next"} & set(given.get("rel", "").split()):
            self.addresses.append(given.get("href", ""))
        elif tag in LOADED:
            self.addresses.append(given.get(LOADED[tag], ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once as `make site` builds it."""
    out = tmp_path_factory.mktemp("docs")
    done = subprocess.run(
        [sys.executable, "-m", "docs.site", "--out", out],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "No issues found\n"
    assert re.findall(r"(?i).*(?:warning|griffe:).*", done.stdout + done.stderr) == []
    assert f"-m http.server 8000 --bind 127.0.0.1 --directory {out / 'site'}" in done.stdout
    return out / "site"


def test_every_page_is_built_and_every_door_documented(site: Path) -> None:
    for page in [HOME, *entries()]:
        folder = page.page.removesuffix(".md").removesuffix("index").removesuffix("README")
        assert "<h1" in (site / folder / "index.html").read_text(encoding="utf-8"), page
    shown = "".join((site / "reference" / door / "index.html").read_text(encoding="utf-8") for door in REFERENCE)
    names = {name for door in REFERENCE for name in getattr(import_module(door), "__all__", [])}
    assert {name for name in names if not re.search(rf'id="react_mem\.[a-z_.]*{name}"', shown)} == set()
    # a doctest is code, not a quotation in a quotation
    assert "<blockquote>" not in shown


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    files = list(site.rglob("*.html"))
    assert len(files) > 40
    for file in files:
        found = Loads()
        found.feed(file.read_text(encoding="utf-8"))
        assert found.addresses
        assert [one for one in found.addresses if urlsplit(one).netloc] == [], file
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*", text) == [], sheet


def test_language_models_are_told_of_every_page(site: Path) -> None:
    short = (site / "llms.txt").read_text(encoding="utf-8")
    assert short.startswith("# react-mem\n\n> ")
    listed = re.findall(r"^- \[.*?\]\(<?(.*?)>?\): .+$", short, re.MULTILINE)
    assert len(listed) == len(set(listed)) == len(entries()) + len(decisions()) + 1
    assert len(listed) == len({*published().values(), *(f"reference/{door}.md" for door in REFERENCE)})
    for address in listed:
        assert (site / address).is_file(), address
    full = (site / "llms-full.txt").read_text(encoding="utf-8")
    for text in ("Tutorial: an agent that remembers", "Open the memory of every scope", "MEMORY_ENCRYPTION_KEY"):
        assert text in full


def test_a_site_without_an_address_names_none(site: Path) -> None:
    files = [file for file in site.rglob("*") if file.suffix in {".html", ".md", ".txt", ".xml"}]
    assert not (site / "sitemap.xml").exists()
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert UNKNOWN not in text, file
        assert 'rel="canonical"' not in text, file
    for file in (site / "llms-full.txt", *(file for file in files if file.suffix == ".md")):
        for link in re.findall(r"\]\(<([^>]+)>\)", file.read_text(encoding="utf-8")):
            path = link.partition("#")[0]
            assert urlsplit(link).netloc or not path or (file.parent / path).exists(), (file, link)


def test_an_address_that_is_given_is_the_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["docs.site", "--out", str(tmp_path), "--url", OURS])
    monkeypatch.setattr(
        "docs.site.__main__.subprocess.run", lambda command, **_: subprocess.CompletedProcess(command, 0)
    )
    assert build() == 0
    assert yaml.safe_load((tmp_path / "site.yml").read_text(encoding="utf-8"))["site_url"] == OURS


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("sealing master key", "encryption/"),
        ("rotating keys", "encryption/"),
        ("install extras", "installation/"),
        ("legal hold", "rights/"),
        ("pytest asyncio", "testing_your_agent/"),
        ("import chatgpt", "importing/"),
    ],
)
def test_the_search_finds_the_page_that_is_about_it(site: Path, asked: str, page: str) -> None:
    """A part of a page is found by all the words of a question, as they stand or begin."""
    items = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    found = {
        item["location"].partition("#")[0]
        for item in items
        if all(re.search(rf"\b{word}", f"{item['title']} {item['text']}", re.IGNORECASE) for word in asked.split())
    }
    assert page in found


def test_every_page_of_the_docs_is_in_the_navigation() -> None:
    listed = [entry.page for entry in entries()]
    assert len(listed) == len(set(listed))
    assert [entry.section for entry in entries() if not entry.section or not entry.about] == []
    # the decisions are reached from their own table
    rest = {page for name, page in published().items() if not re.match(r"docs/decisions/\d", name)}
    assert rest - set(listed) == {"index.md"}


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    for name in pages.TOP:
        (tmp_path / name).write_text("`[code](gone.md)` [a page](docs/page.md#top) [a folder](docs)", encoding="utf-8")
    page = tmp_path / "docs" / "page.md"
    page.write_text("[home](../README.md) [its file](../README.md)", encoding="utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    write_pages(tmp_path / "out")
    assert (tmp_path / "out" / "index.md").read_text() == "`[code](gone.md)` [a page](page.md#top) a folder (`docs/`)"
    write_pages(tmp_path / "out", source="https://host.example/main/")
    assert "[a folder](https://host.example/main/docs)" in (tmp_path / "out" / "index.md").read_text()
    page.write_text("[gone](gone.md)", encoding="utf-8")
    with pytest.raises(BrokenLinkError, match=re.escape("docs/page.md links to gone.md")):
        write_pages(tmp_path / "out")


def test_examples_of_docstrings_are_set_as_code() -> None:
    assert fenced("Add.\n\n>>> 1 + 1\n2\n\nSo.") == "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nSo."


def test_the_workflow_builds_the_site() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["site"]["steps"]
    assert any(step.get("run", "").startswith("make site") for step in steps)


# --- the pictures ---


def elements(name: str) -> list[ElementTree.Element]:
    """Return all that a picture is made of."""
    text = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    return list(ElementTree.fromstring(text).iter())  # noqa: S314 - our own


def drawn(name: str) -> list[dict[str, str]]:
    """Return the attributes of all that is drawn in a picture."""
    return [dict(element.attrib) for element in elements(name)]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_told_in_words_fits_the_dark_and_loads_nothing(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    [root, title, description, *_] = elements(picture.stem)
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    assert title.text
    assert description.text
    assert "prefers-color-scheme: dark" in text
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "style", "defs", "marker", "path", "rect", "text")
    }
    assert set(re.findall(r"https?://[^\"'\s]+", text)) == {"http://www.w3.org/2000/svg"}
    assert any(f"pictures/{picture.name})" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_picture_has_words_for_who_does_not_see_it(page: Path) -> None:
    assert [link for alt, link in re.findall(r"!\[(.*?)\]\((.*?)\)", prose_of(page)) if len(alt) < 20] == []


def test_the_picture_is_the_graph() -> None:
    lines = [one for one in drawn("graph") if "data-from" in one]
    graph = build_manager("react_mem", ["x"]).get_graph()
    assert {(one["data-from"], one["data-to"], "maybe" in one["class"]) for one in lines} == {
        (edge.source, edge.target, edge.conditional) for edge in graph.edges
    }


def test_the_pictures_of_the_floors_and_rooms_are_what_is_enforced() -> None:
    [house, rooms, *_] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    floors = [floor.removeprefix("react_mem.") for floor in house["layers"]]
    assert [one["data-floor"] for one in drawn("floors") if "data-floor" in one] == floors
    assert [(one["data-from"], one["data-to"]) for one in drawn("floors") if "data-from" in one] == list(
        pairwise(floors)
    )
    # doors and the opening of the memory are no rooms
    known = {room for layer in rooms["layers"] for room in layer.split(" | ")} - {
        "runtime",
        "records",
        "turns",
        "opening",
    }
    assert {one["data-room"] for one in drawn("rooms") if "data-room" in one} == known


def test_the_pictures_name_the_scopes_and_the_arms() -> None:
    scopes = {element.text for element in elements("scopes")}
    assert {scope.value for scope in MemoryScope} <= scopes
    assert {one["data-arm"] for one in drawn("retrieval") if "data-arm" in one} == ALL_ARMS
