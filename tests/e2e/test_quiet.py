"""Nothing is reported to anybody: whom the processes of a default install look up or call, where nothing can leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.unheard import ENTRIES, SECONDS, namespace, unavailable

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(290)]


def test_no_entry_looks_up_or_calls_anybody(tmp_path: Path) -> None:
    if reason := unavailable():
        pytest.skip(f"no network namespace can be made here: {reason}")
    command = [*namespace(), sys.executable, "-m", "tests.support.unheard", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=280)
    logs = "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')}" for log in sorted(tmp_path.glob("*.log")))
    assert done.returncode == 0, done.stderr + logs
    told = json.loads(done.stdout)
    assert {"heard.example", "192.0.2.1:80"} <= set(told["control"])
    assert told["heard"] == [], f"in {SECONDS} seconds"
    assert told["embedded"] == sorted(ENTRIES), logs
