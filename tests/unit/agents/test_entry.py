"""Ctrl-C while the command is being loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_ctrl_c_during_the_loading_is_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    # as Ctrl-C is, which comes between two lines of a module
    (tmp_path / "dotenv.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from react_mem.agents.entry import main\nsys.exit(main())"
    stopped = subprocess.run(
        [sys.executable, "-c", script, "keys", "new"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert stopped.stderr == "Stopped before anything was done.\n"
