"""A coding agent, as far as its hooks go: it starts the real command with the events that are documented."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

COMMAND = [str(Path(sys.executable).with_name("react-mem")), "hook"]


class CodingAgent:
    """Claude Code or Codex in a home folder of its own."""

    def __init__(self, home: Path, settings: Mapping[str, str]) -> None:
        self.home = home
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "TEST_SEALED") if name in os.environ}
        self.environment = {**kept, **settings, "HOME": str(home), "OMP_NUM_THREADS": "1"}
        self.project = home / "project"
        self.project.mkdir(parents=True, exist_ok=True)

    def run(self, told: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run the hook with what stands on its standard input."""
        # a test is about what is answered, and the machine may be busy
        patient = [] if "--seconds" in arguments else ["--seconds", "60"]
        return subprocess.run(
            [*COMMAND, *patient, *arguments],
            input=told,
            capture_output=True,
            check=False,
            env=self.environment,
            cwd=self.project,
        )

    def hook(self, name: str, session: str = "abc123", user: str = "ann", **fields: Any) -> str:
        """Fire a hook that has to succeed; return the context that it brings, if any."""
        event = {
            "session_id": session,
            "transcript_path": str(self.transcript(session)),
            "cwd": str(self.project),
            "permission_mode": "default",
            "hook_event_name": name,
            **fields,
        }
        done = self.run(json.dumps(event).encode(), "--user", user)
        assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()
        if not done.stdout:
            return ""
        told = json.loads(done.stdout)["hookSpecificOutput"]
        assert told.keys() == {"hookEventName", "additionalContext"}
        assert told["hookEventName"] == name
        return str(told["additionalContext"])

    def turn(self, prompt: str, answer: str, session: str = "abc123", user: str = "ann") -> str:
        """Say something and have it answered; return what was recalled."""
        told = self.hook("UserPromptSubmit", session, user, prompt=prompt)
        self.hook("Stop", session, user, stop_hook_active=False, last_assistant_message=answer)
        return told

    def transcript(self, session: str) -> Path:
        """Return the path of a session's transcript."""
        return self.home / f"{session}.jsonl"

    def write(self, session: str, *entries: Mapping[str, Any]) -> None:
        """Add lines to a transcript."""
        with self.transcript(session).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)

    def residents(self) -> list[psutil.Process]:
        """Return the residents of this home that live."""
        found = []
        for lock in (self.home / ".react-mem" / "hooks").glob("*.lock"):
            if (told := lock.read_text().strip()) and psutil.pid_exists(int(told)):
                found.append(psutil.Process(int(told)))
        return found

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the residents, and see them end."""
        residents = self.residents()
        for resident in residents:
            resident.send_signal(how)
        psutil.wait_procs(residents, 30)


def said(text: str, **more: Any) -> dict[str, Any]:
    """Return the line of a transcript of Claude Code for a prompt."""
    message = {"role": "user", "content": text}
    return {"type": "user", "uuid": "u", "timestamp": "2026-03-03T20:00:00.000Z", "message": message, **more}


def answered(text: str, **more: Any) -> dict[str, Any]:
    """Return its line for an answer."""
    message = {"id": f"msg_{text[:8]}", "role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "uuid": "a", "timestamp": "2026-03-03T20:00:09.000Z", "message": message, **more}


def used(tool: str, **given: Any) -> list[dict[str, Any]]:
    """Return its lines for the use of a tool, and for what it returned."""
    call = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": given}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"{tool}: I live in Atlantis."}
    return [
        {"type": "assistant", "message": {"id": "msg_call", "role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": {"stdout": "x"}},
    ]
