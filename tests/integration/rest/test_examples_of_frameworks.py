"""The examples for other frameworks: each run as it stands, in an environment of its own, against a scripted model.

An environment is made with uv from the package index that pip is set to. Where that cannot be reached they are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.openai_server import OpenAIServer, Reply
from tests.support.page_server import PageServer, page_server

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
REQUIREMENTS = {
    "openai_agents_sdk.py": ["openai-agents>=0.24,<0.25", "httpx>=0.28,<1"],
    "pydantic_ai_agent.py": ["pydantic-ai-slim[openai]>=2.38,<3", "httpx>=0.28,<1"],
    "crewai_agent.py": ["crewai>=1.15,<2", "httpx>=0.28,<1"],
}
LARGE = {"crewai_agent.py": "REACT_MEM_LARGE_EXAMPLES"}
"""Examples whose framework takes 800 MB, and the variable that has it installed all the same."""


@pytest.fixture(scope="module")
def server(database_server: str) -> Iterator[PageServer]:
    with page_server(database_server) as running:
        yield running


@pytest.fixture(scope="module")
def python_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], Path]:
    """Make an environment with packages; return its Python."""

    def make(packages: list[str]) -> Path:
        uv = shutil.which("uv")
        if uv is None:
            pytest.skip("uv is not installed, which makes an environment with the framework")
        folder = tmp_path_factory.mktemp("framework") / "venv"
        subprocess.run([uv, "venv", "--quiet", folder], check=True)
        python = folder / "bin" / "python"
        done = subprocess.run(
            [uv, "pip", "install", "--quiet", "--python", python, *packages],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"{packages[0]} cannot be installed here: {done.stderr.strip().splitlines()[-1][:200]}")
        return python

    return make


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(REQUIREMENTS)


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_an_example_remembers_in_the_next_process(
    name: str,
    server: PageServer,
    openai_server: OpenAIServer,
    python_with: Callable[[list[str]], Path],
    tmp_path: Path,
) -> None:
    if name in LARGE and not os.environ.get(LARGE[name]):
        pytest.skip(f"its framework takes 800 MB; {LARGE[name]}=1 installs it")
    python = python_with(REQUIREMENTS[name])
    openai_server.add(Reply(text="That is noted."), Reply(text="You live in Hue."))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),  # frameworks keep files there
        "OPENAI_API_KEY": "unused",
        "OPENAI_BASE_URL": openai_server.base_url,
        "MEMORY_URL": f"{server.url}/memory/v1",
        "MEMORY_TOKEN": name.partition("_")[0],
        "NO_PROXY": "127.0.0.1",
    }

    def say(text: str) -> str:
        done = subprocess.run(
            [python, EXAMPLES / name, text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    assert say("I live in Hue.") == "That is noted."
    assert say("Where do I live?") == "You live in Hue."
    first, second = [request.text for request in openai_server.chats()]
    assert first.count("I live in Hue.") == 1
    assert "I live in Hue." in second
