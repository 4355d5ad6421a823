"""`react-mem new`: what it writes, and what it refuses."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from react_mem.agents.cli import main
from react_mem.agents.new_project import write_project
from react_mem.errors import ProjectError

ROOT = Path(__file__).resolve().parents[3]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OURS = PYPROJECT["project"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    write_project("Tea-shop", folder)
    return folder / "Tea-shop"


def files_of(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_the_command_names_what_it_has_written_and_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "my-agent"]) == 0
    said = capsys.readouterr().out
    written = files_of(tmp_path / "my-agent")
    assert len(written) == 11
    assert all(f"\n  {file}\n" in said for file in written)
    assert [path.name for path in tmp_path.iterdir()] == ["my-agent"]
    makefile = written["Makefile"]
    targets = re.findall(r"^  make (\w+)", said, re.MULTILINE)
    assert targets == ["install", "test", "chat", "dev"]
    assert all(f"\n{target}:\n" in makefile for target in targets)


def test_it_asks_for_this_version_and_for_tools_as_this_project_does(project: Path) -> None:
    theirs = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [needed] = map(Requirement, theirs["dependencies"])
    assert needed.name == "react-mem"
    assert needed.extras <= OURS["optional-dependencies"].keys()
    assert needed.specifier.contains(OURS["version"])
    assert not needed.specifier.contains("1.0")
    ours = {*OURS["optional-dependencies"]["dev"], *PYPROJECT["dependency-groups"]["clone"]}
    assert set(theirs["optional-dependencies"]["dev"]) <= ours


def test_its_server_is_set_up_as_this_projects(project: Path) -> None:
    theirs = json.loads((project / "langgraph.json").read_text(encoding="utf-8"))
    ours = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    assert {key: theirs[key] for key in ("store", "checkpointer", "http", "python_version", "image_distro")} == {
        key: ours[key] for key in ("store", "checkpointer", "http", "python_version", "image_distro")
    }
    deployed = json.loads((ROOT / "langgraph.deploy.json").read_text(encoding="utf-8"))
    [told] = re.findall(r"^\"auth\": (.+)$", (project / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert json.loads(told) == deployed["auth"]


def test_its_variables_are_ones_that_are_read(project: Path) -> None:
    def variables(text: str) -> set[str]:
        return set(re.findall(r"^#?([A-Z_]+)=", text, re.MULTILINE))

    theirs = variables((project / ".env.example").read_text(encoding="utf-8"))
    assert theirs <= variables((ROOT / ".env.example").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((name, "begins with a letter") for name in ("", "../x", "2go", "x-", "Ünï")),
        ("x" * 65, "at most 64"),
        ("a\n", "begins with a letter"),
        *((name, "could not be called") for name in ("class", "agents", "DIST")),
        *((name, "is installed") for name in ("json", "yaml", "react-mem", "pyyaml")),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(name: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=why):
        write_project(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "my-agent").mkdir()
    (tmp_path / "my-agent" / "README.md").write_text("mine", encoding="utf-8")
    (tmp_path / "other").write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, why in (("my-agent", "not empty"), ("other", "no folder"), ("link", "no folder")):
        with pytest.raises(ProjectError, match=why):
            write_project(name, tmp_path)
    assert files_of(tmp_path) == {"my-agent/README.md": "mine", "other": "mine"}
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write = Path.write_text

    def fails(self: Path, *args: str, **options: str) -> int:
        if self.name == "graph.py":
            raise OSError(28, "No space left on device")
        return write(self, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", fails)
        yield


@pytest.mark.usefixtures("full_disk")
def test_what_cannot_be_written_to_its_end_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="cannot be written: No space left on device; nothing was written"):
        write_project("my-agent", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_why_and_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "../x"]) == 2
    assert "'../x' cannot be a project's name" in capsys.readouterr().err
