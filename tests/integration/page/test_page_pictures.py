"""The pictures of the page in its documentation."""

from __future__ import annotations

import struct
from pathlib import Path

from tests.support.page_pictures import FOLDER, SHOTS


def size_of(picture: Path) -> tuple[int, int]:
    """The width and height of a PNG, from its header."""
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    return width, height


def test_the_page_of_the_documentation_shows_them() -> None:
    text = (FOLDER.parent / "page.md").read_text(encoding="utf-8")
    for shot in SHOTS:
        assert f"(pictures/page-{shot.name}.png)" in text
        assert size_of(FOLDER / f"page-{shot.name}.png") == (shot.width, shot.height)
