"""The pictures of the page in its documentation."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import opened_browser
from tests.support.page_pictures import FOLDER, SHOTS, fill, take
from tests.support.page_server import PageServer, page_server


@pytest.fixture(scope="module")
def pictured(database_server: str) -> Iterator[PageServer]:
    """A server of what is in the pictures."""
    with page_server(database_server) as server:
        server.run(fill)
        yield server


@pytest.fixture(scope="module")
def photographer(pictured: PageServer) -> Iterator[Browser]:
    """A browser."""
    expect.set_options(timeout=20_000)
    with opened_browser() as browser:
        yield browser


def size_of(picture: Path) -> tuple[int, int]:
    """The width and height of a PNG, from its header."""
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    return width, height


def test_they_are_taken_of_the_page_as_it_is(pictured: PageServer, photographer: Browser, tmp_path: Path) -> None:
    taken = take(photographer, pictured.url, tmp_path)
    assert [size_of(picture) for picture in taken] == [(shot.width, shot.height) for shot in SHOTS]


def test_the_page_of_the_documentation_shows_them() -> None:
    text = (FOLDER.parent / "page.md").read_text(encoding="utf-8")
    for shot in SHOTS:
        assert f"(pictures/page-{shot.name}.png)" in text
        assert size_of(FOLDER / f"page-{shot.name}.png") == (shot.width, shot.height)
