"""A deployment: what langgraph.deploy.json says can be validated, built into an image, installed there and imported."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import venv
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from react_mem.agents.config import available_agents
from tests.support.dev_server import EXAMPLE_GRAPHS
from tests.support.installing import ROOT, copy_build_context, link_packages

DEPLOYED = "langgraph.deploy.json"

pytestmark = pytest.mark.e2e

# The way the server does it: first the store, then each graph, by the names of their modules.
OPEN_STORE = """
import asyncio, importlib, json, os

async def main():
    module, function = json.loads(os.environ["LANGGRAPH_STORE"])["path"].rsplit(".", 1)
    async with getattr(importlib.import_module(module), function)():
        print("open")

asyncio.run(main())
"""

BUILD_GRAPHS = """
import asyncio, importlib, inspect, json, os, sys

async def build(name, variable):
    module = importlib.import_module(name)
    graph = getattr(module, variable)
    if inspect.iscoroutinefunction(graph):
        graph = await graph(*[{} for _ in inspect.signature(graph).parameters])
    # a served graph is one that notes the names of choices
    return next(kind.__name__ for kind in type(graph).__mro__ if not kind.__name__.startswith("_"))

async def main():
    graphs = json.loads(os.environ["LANGSERVE_GRAPHS"])
    built = {name: await build(*spec["path"].rsplit(":", 1)) for name, spec in graphs.items()}
    files = [module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "react_mem"]
    print(json.dumps({"built": built, "files": files}))

asyncio.run(main())
"""


BUILD_AGENTS = """
import importlib, json, os

from langgraph.graph.state import CompiledStateGraph

from react_mem.agents.config import available_agents, load_agent_config
from react_mem.agents.resolve import build_agent, resolve_agent

def searching(name):
    config = load_agent_config(name)
    search = config.memory.web.model_copy(update={"enabled": True})
    memory = config.memory.model_copy(update={"web": search})
    return config.model_copy(update={"memory": memory, "tools": (*config.tools, "web_search")})

graphs = {name: build_agent(resolve_agent(searching(name))) for name in available_agents()}
built = {name: isinstance(graph, CompiledStateGraph) for name, graph in graphs.items()}
for module in json.loads(os.environ["NEEDED_MODULES"]):
    importlib.import_module(module)
print(json.dumps(built))
"""


@dataclass(frozen=True)
class Image:
    """What a Dockerfile makes, in a folder instead of a container."""

    project: Path
    python: Path
    environment: dict[str, str]

    def run(self, script: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, "-c", script],
            cwd=cwd,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )


def langgraph(*arguments: str | Path, cwd: Path = ROOT) -> str:
    command = [Path(sys.executable).with_name("langgraph"), *arguments]
    environment = {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.mark.parametrize("file", ["langgraph.json", DEPLOYED])
def test_the_configuration_is_valid_and_draws_no_warning(file: str) -> None:
    said = langgraph("validate", "-c", file)
    assert "is valid" in said
    assert "warn" not in said.lower()
    assert "unknown" not in said.lower()


def test_a_deployment_differs_from_development_in_whom_it_lets_in_alone() -> None:
    def configured(file: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((ROOT / file).read_text(encoding="utf-8"))
        return found

    developed, deployed = configured("langgraph.json"), configured(DEPLOYED)
    of_its_own = {"disable_ui": True, "disable_webhooks": True, "disable_meta": True}
    assert deployed.pop("auth") == {"path": "react_mem.graphs.auth.by_jwt:auth", "disable_studio_auth": True}
    assert developed.pop("env") == ".env"
    assert deployed["http"].pop("cors")["allow_origins"] == []
    assert developed["http"].pop("cors")["allow_origins"] == []
    assert deployed == {**developed, "http": {**developed["http"], **of_its_own}}
    # the examples and maintenance are for who asks for them
    assert set(deployed["graphs"]) == {"react", "react_mem", "agent"}
    asked = subprocess.run(["make", "-n", "dev", "EXAMPLES=1"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "langgraph dev --no-browser --config langgraph.examples.json" in asked.stdout
    assert all(name in asked.stdout for name in EXAMPLE_GRAPHS)


def asked_for(dockerfile: str) -> list[Requirement]:
    """Return what a Dockerfile has installed: the packages that it names, and what the project depends on."""
    [line] = re.findall(r"^RUN .*-c /api/constraints.txt (.*)$", dockerfile.split("# -- Adding local")[0], re.MULTILINE)
    # a shell would take an unquoted < or > for the name of a file
    assert not re.search(r"[<>|&;]", line), line
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [Requirement(part) for part in (*shlex.split(line), *project["dependencies"])]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Do what the Dockerfile says, step by step, with `/` moved to a folder.

    Only where packages come from differs: those that are installed here stand for the downloads, so that nothing is
    fetched; whether they satisfy the project is checked all the same. What the Dockerfile does not ask for, and what it
    asks for does not need, is not there.
    """
    folder = tmp_path_factory.mktemp("image")
    dockerfile = folder / "Dockerfile"
    langgraph("dockerfile", dockerfile, "-c", DEPLOYED)
    text = dockerfile.read_text(encoding="utf-8")

    environment = folder / "python"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    [packages] = environment.glob("lib/python*/site-packages")
    link_packages([*asked_for(text), "setuptools"], packages)

    def moved(line: str) -> str:
        install = f"{shlex.quote(sys.executable)} -m pip --python {shlex.quote(str(python))} install"
        return (
            line.replace("uv pip install --system", f"{install} --no-index --no-build-isolation")
            .replace("/deps/", f"{folder}/deps/")
            .replace("/api/constraints.txt", str(folder / "constraints.txt"))
        )

    (folder / "constraints.txt").touch()
    [project] = re.findall(r"^ADD \. (/deps/\S+)$", text, re.MULTILINE)
    copy_build_context(Path(moved(project)))
    installs = [line for line in re.findall(r"^RUN (.*)$", text, re.MULTILINE) if "-c /api/constraints.txt" in line]
    assert any("-e ." in line for line in installs)
    for line in installs:
        step = subprocess.run(["sh", "-ec", moved(line)], cwd=folder, capture_output=True, text=True, check=False)
        assert step.returncode == 0, step.stdout + step.stderr

    variables = dict(re.findall(r"^ENV (\w+)='(.*)'$", text, re.MULTILINE))
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return Image(
        project=Path(moved(project)),
        python=python,
        environment={
            **inherited,
            **{name: moved(value) for name, value in variables.items()},
        },
    )


def test_an_image_installs_by_hashes_before_anything_else(image: Image) -> None:
    lines = (image.project.parents[1] / "Dockerfile").read_text(encoding="utf-8").splitlines()
    steps = [line for line in lines if line.startswith(("ADD ", "RUN "))]
    added, installed = steps[:2]
    _, source, target = added.split()
    assert (image.project / source).read_text(encoding="utf-8") == (ROOT / source).read_text(encoding="utf-8")
    assert "--require-hashes --no-deps" in installed
    assert installed.endswith(f"-r {target}")


def test_secrets_and_memories_stay_out_of_the_image(image: Image) -> None:
    for name in (".env", ".git", ".venv", ".react-mem", ".langgraph_api", "tests"):
        assert not (image.project / name).exists()


def test_every_graph_is_built_from_the_installed_copy(image: Image, tmp_path: Path) -> None:
    result = image.run(BUILD_GRAPHS, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    graphs = json.loads(result.stdout.splitlines()[-1])
    declared = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    assert graphs["built"] == dict.fromkeys(declared["graphs"], "CompiledStateGraph")
    assert len(graphs["files"]) > 100
    assert [file for file in graphs["files"] if not Path(file).is_relative_to(image.project)] == []


def test_every_agent_that_searches_the_web_finds_its_engines_installed(image: Image, tmp_path: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    needed = {Requirement(line).name for line in extras["search"]}
    modules = [module for module, owners in packages_distributions().items() if needed & set(owners)]
    assert len(modules) >= len(needed)
    result = image.run(BUILD_AGENTS, cwd=tmp_path, NEEDED_MODULES=json.dumps(modules))
    assert result.returncode == 0, result.stderr
    built = json.loads(result.stdout.splitlines()[-1])
    assert built == dict.fromkeys(available_agents(), True)


def test_without_a_database_the_store_of_the_installed_copy_says_so(image: Image, tmp_path: Path) -> None:
    result = image.run(OPEN_STORE, cwd=tmp_path)
    assert result.returncode != 0
    assert f'File "{image.project}/react_mem/memory/opening.py' in result.stderr
    assert "This deployment has no database for memories. Set DATABASE_URL" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_folders_of_the_same_names_change_nothing(image: Image, tmp_path: Path) -> None:
    for name in ("agents", "graphs", "memory", "prompts", "tools"):
        foreign = tmp_path / name / "__init__.py"
        foreign.parent.mkdir()
        foreign.write_text("raise ImportError('somebody else')")
    result = image.run(BUILD_GRAPHS, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.returncode == 0, result.stderr
