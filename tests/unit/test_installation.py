"""An extra is installed from where the package itself was installed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from react_mem import installation


class _Installed:
    def __init__(self, noted: str | None) -> None:
        self._noted = noted

    def read_text(self, filename: str) -> str | None:
        assert filename == "direct_url.json"
        return self._noted


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'react-mem[local]'"),
        (
            {"url": "file:///home/lan/react%20mem", "dir_info": {"editable": True}},
            "pip install -e '/home/lan/react mem[local]'",
        ),
        (
            {"url": "https://example.com/react-mem.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'react-mem[local] @ git+https://example.com/react-mem.git@abc'",
        ),
    ],
)
def test_the_command_is_that_of_the_form_in_which_it_was_installed(
    origin: dict[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "distribution", lambda _: _Installed(json.dumps(origin) if origin else None))
    assert installation.pip_install("local") == command
    assert installation.with_extra("local") in command
