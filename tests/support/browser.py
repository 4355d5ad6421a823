"""A browser to look at pages with: Debian's Chromium or another of its family, never one that is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

_NONE = f"no browser to look at the page with: none of {', '.join(NAMES)} is there (apt install chromium)"


def browser_path() -> str:
    """Return where the browser is.

    A test that asks is skipped where there is none, and fails where `REACT_MEM_BROWSER_TESTS` is `required`, which
    `.ci/run` sets once it has installed one.
    """
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None and os.environ.get("REACT_MEM_BROWSER_TESTS") == "required":
        pytest.fail(_NONE)
    if path is None:
        pytest.skip(_NONE)
    return path


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Run a browser for the length of a context, in which no event loop may run."""
    path = browser_path()
    with sync_playwright() as playwright:
        # without a sandbox: tests run as root in CI's container, and open nothing but their own pages
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
