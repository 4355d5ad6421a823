"""`react-mem new` to its end: the project is installed, linted, tested and served, and remembers."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from react_mem.agents.cli import main
from tests.support.dev_server import DevServer, database_for_a_server

pytestmark = pytest.mark.e2e

NAME = "my-agent"


class ProjectServer(DevServer):
    """`langgraph dev` in a project, with the project's own langgraph.json.

    Args:
        folder: The project.
        python: The Python that it is installed into.
        environment: What it is configured with.
    """

    def __init__(self, folder: Path, python: Path, environment: Mapping[str, str]) -> None:
        own = (folder / "langgraph.json").read_text(encoding="utf-8")
        super().__init__(folder, {"PYTHONPATH": "", **environment})
        (folder / "langgraph.json").write_text(own, encoding="utf-8")
        self._python = python

    def command(self) -> list[str]:
        """Return the command of the project's Makefile."""
        return [str(self._python), "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects")
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main(["new", NAME]) == 0
    finally:
        os.chdir(before)
    return folder / NAME


@pytest.fixture(scope="module")
def python(project: Path) -> Path:
    """A Python with what is installed here, this checkout included, into which the project has been installed."""
    environment = project.parent / "venv"
    venv.create(environment, with_pip=False)
    [packages] = environment.glob("lib/python*/site-packages")
    here = sysconfig.get_path("purelib")
    (packages / "beside.pth").write_text(f"import site; site.addsitedir({here!r})\n", encoding="utf-8")
    installed = environment / "bin" / "python"
    # pip resolves what the project asks for against what is here, and downloads nothing
    run_in(project, [installed, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "-e", ".[dev]"])
    return installed


def run_in(project: Path, command: list[str | Path]) -> str:
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    done = subprocess.run(
        command,
        cwd=project,
        env={name: os.environ[name] for name in kept if name in os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_tests_pass_and_its_files_are_as_ruff_would_have_them(project: Path, python: Path) -> None:
    assert "2 passed" in run_in(project, ["make", f"PYTHON={python}", "test"])
    run_in(project, ["make", f"PYTHON={python}", "check"])


@pytest.fixture(scope="module")
def server(project: Path, python: Path, database_server: str) -> Iterator[DevServer]:
    """The project's server, with a database and without a key."""
    with database_for_a_server(database_server) as url:
        running = ProjectServer(project, python, {"DATABASE_URL": url}).start()
        try:
            yield running
        finally:
            running.stop()
            sys.stdout.write(running.log())


async def test_its_server_remembers_from_one_conversation_to_the_next(server: DevServer) -> None:
    client = server.client()
    answers = []
    for text in ("My favourite tea is oolong.", "What is my favourite tea?"):
        thread = await client.threads.create()
        result = await client.runs.wait(
            thread["thread_id"],
            NAME,
            input={"messages": [{"role": "user", "content": text}]},
            context={"user_id": "ann"},
        )
        answers.append(result["messages"][-1]["content"])
    assert "“My favourite tea is oolong.”" in answers[1]


async def test_its_routes_know_the_agent_though_no_variable_says_where_it_is(server: DevServer) -> None:
    asked = {"agent": NAME, "message": "What is my favourite tea?", "user_id": "ann"}
    async with httpx.AsyncClient(base_url=server.url) as client:
        answer = await client.post("/memory/v1/context", json=asked)
    assert answer.status_code == 200, answer.text
    assert "You work in a tea shop." in answer.text
    assert "cannot run" not in server.log()
