"""A deployment on this machine: the server that an image runs, with what `langgraph build` puts into its environment.

It keeps threads and runs in memory instead of PostgreSQL and Redis, and listens on the loopback interface alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.dev_server import ROOT, DevServer

_KEYS = {
    "store": "LANGGRAPH_STORE",
    "auth": "LANGGRAPH_AUTH",
    "http": "LANGGRAPH_HTTP",
    "graphs": "LANGSERVE_GRAPHS",
    "checkpointer": "LANGGRAPH_CHECKPOINTER",
}


class DeployedServer(DevServer):
    """A server as a deployment runs it."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        config: Mapping[str, Any] | None = None,
        file: str = "langgraph.deploy.json",
    ) -> None:
        built = json.loads((ROOT / file).read_text(encoding="utf-8")) | (config or {})
        platform = {
            "LANGGRAPH_RUNTIME_EDITION": "inmem",
            "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
            "MIGRATIONS_PATH": "__inmem",
            "DATABASE_URI": ":memory:",
            "REDIS_URI": "fake",
        }
        said = {variable: json.dumps(built[key]) for key, variable in _KEYS.items() if built.get(key)}
        super().__init__(folder, {**platform, **said, **environment}, config)

    def command(self) -> list[str]:
        """Return the command that an image runs."""
        return [sys.executable, "-m", "uvicorn", "langgraph_api.server:app", "--host", "127.0.0.1"]

    def refusal(self) -> str:
        """Start it, and return what it says when it does not run."""
        done = subprocess.run(
            [*self.command(), "--port", "0"],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0, done.stdout + done.stderr
        return done.stdout + done.stderr
