"""Pages are cleaned in a process of their own: bounded in time and memory, without this process's secrets."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from react_mem.tools.web.clean import clean
from react_mem.tools.web.cleaner import CleanerStopped, PageCleaner

PAGE = "<title>Gold</title><p>Vàng hôm nay 150 triệu 🪙.</p><script>no()</script>"
LARGE = "<p>hi <b>there</p>" * 500_000


@pytest.fixture(scope="module")
def cleaner() -> Iterator[PageCleaner]:
    opened = PageCleaner()
    yield opened
    opened.close()


def test_a_page_says_the_same_as_in_this_process(cleaner: PageCleaner) -> None:
    for page in (PAGE, "", "no markup", "\ud800<p>half</p>"):
        assert cleaner.clean(page, 60) == clean(page.encode("utf-8", "replace").decode())


def test_a_page_that_takes_too_long_is_stopped_and_the_next_one_is_read(cleaner: PageCleaner) -> None:
    before = cleaner.start()
    with pytest.raises(TimeoutError):
        cleaner.clean(LARGE, 0.001)
    assert before.poll() is not None
    assert "Vàng" in cleaner.clean(PAGE, 60).text


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound addresses")
def test_a_page_that_takes_too_much_memory_is_stopped_and_the_next_one_is_read() -> None:
    cleaner = PageCleaner(memory_bytes=72 * 1024 * 1024)
    try:
        assert "Vàng" in cleaner.clean(PAGE, 60).text
        with pytest.raises(CleanerStopped, match=r"memory|MemoryError"):
            cleaner.clean(LARGE, 60)
        assert "Vàng" in cleaner.clean(PAGE, 60).text
    finally:
        cleaner.close()


def test_a_process_that_was_killed_is_replaced(cleaner: PageCleaner) -> None:
    process = cleaner.start()
    process.kill()
    process.wait()
    assert "Vàng" in cleaner.clean(PAGE, 60).text


@pytest.mark.skipif(sys.platform != "linux", reason="only there /proc shows a process's environment")
def test_it_has_no_secret(cleaner: PageCleaner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    cleaner.close()
    process = cleaner.start()
    assert "Vàng" in cleaner.clean(PAGE, 60).text
    environment = Path(f"/proc/{process.pid}/environ").read_bytes()
    assert b"PYTHONPATH" in environment
    assert b"canary" not in environment
