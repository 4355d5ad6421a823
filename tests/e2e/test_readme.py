"""README and docs tell the truth: their pictures, commands, code, settings and links."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from langgraph_cli.config import validate_config

from react_mem.agents.config import AgentConfig, load_agent_config_file
from react_mem.agents.terminal.arguments import command_line
from react_mem.graphs.mcp_route import PATH
from tests.support.documents import BLOCKS, PAGES, ROOT, Block, blocks, name_of, prose_of
from tests.support.labels import NOTHING
from tests.support.openai_server import Match, OpenAIServer, Reply
from tests.support.settings_tables import PAGE, models_of, nested, written

README = ROOT / "README.md"
MOST_LINES = 220

RECIPES, TUTORIAL = "docs/recipes.md", "docs/tutorial.md"
"""Their blocks are steps, which test_recipes.py and test_tutorial.py take."""

RUN_WITH_A_SERVER = re.compile(r"get_client\(|MemoryClient\(")
"""What the code needs that test_server.py and test_python_client.py run."""

MEMORY_COMMANDS = (ROOT / "tests" / "e2e" / "test_memory_cli.py").read_text(encoding="utf-8")
OTHER_COMMANDS = {
    name: (ROOT / "tests" / folder / f"test_{file}.py").read_text(encoding="utf-8")
    for name, folder, file in (
        ("context", "integration", "context"),
        ("doctor", "integration", "whose_memories"),
        ("mcp", "e2e", "mcp_cli"),
        ("new", "unit/agents", "new_project"),
        ("skills", "e2e", "skills_cli"),
        ("worker", "e2e", "worker_cli"),
        ("maintain", "e2e", "worker_cli"),
        ("import", "e2e", "import_cli"),
        ("hold", "e2e", "hold_cli"),
        ("retention", "e2e", "hold_cli"),
        ("keys", "integration/storage", "keys"),
        ("audit", "integration/storage", "audit_log"),
        ("receipt", "integration/storage", "proof"),
    )
}

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
TARGETS = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_every_block_is_of_a_language_that_is_checked() -> None:
    assert {block.language for block in BLOCKS} <= {"bash", "javascript", "json", "python", "text", "yaml"}
    # run in test_typescript_client.py
    assert {block.page for block in blocks("javascript")} == {"docs/clients.md"}


@pytest.mark.parametrize("block", [one for one in blocks("bash") if one.page != TUTORIAL], ids=str)
def test_every_command_is_a_target_that_exists_or_is_run_elsewhere(block: Block) -> None:
    for command in filter(None, block.text.splitlines()):
        match command.split():
            case ["make", target]:
                assert target in TARGETS
            case [".venv/bin/react-mem", "memory", command, *_]:
                # run with their options in test_memory_cli.py
                assert f'"{command}"' in MEMORY_COMMANDS
            case [".venv/bin/react-mem" | "react-mem", command, *arguments] if command in OTHER_COMMANDS:
                run = OTHER_COMMANDS[command]
                assert f'"{command}"' in run
                verb = next(iter(arguments), "-")
                assert verb.startswith("-") or f'"{verb}"' in run
            case [".venv/bin/react-mem", "database", "distribute"]:
                # run in test_distribution.py: refused where there is no cluster, done where CITUS_URL names one
                assert (ROOT / "tests" / "integration" / "storage" / "test_distribution.py").is_file()
            case ["export", setting]:
                assert setting.startswith(("DATABASE_URL=", "MEMORY_ENCRYPTION_KEY="))
            case ["pip", "install", "./react-mem/conformance"]:
                # its wheel is built in tests/integration/conformance
                assert (ROOT / "conformance" / "pyproject.toml").is_file()
            case ["pip", "install", path]:
                # installed for real, as wheel, sdist and editable, in test_packaging.py
                extras = re.fullmatch(r'"\./react-mem\[(.+)\]"', path)
                assert extras is not None
                assert extras[1] in PROJECT["optional-dependencies"]
            case ["pip", "install", "pytest", "pytest-asyncio"]:
                # followed with both in tests/unit/testing/test_page.py
                assert block.page == "docs/testing_your_agent.md"
            case ["curl", "-s", *_]:
                # sent to our routes in test_rest_docs.py
                assert block.page == "docs/rest.md"
            case [".venv/bin/react-mem", "database", "reembed", "--to", _]:
                # run in test_stopped_work.py
                assert (ROOT / "tests" / "e2e" / "test_stopped_work.py").is_file()
            case ["pipx", "run", *what] | ["uvx", *what]:
                # run without a network, from the wheel, in test_packaging.py
                assert what[-2:] == ["react-mem", "demo"]
                assert set(re.findall(r"\[(\w+)\]", command)) <= set(PROJECT["optional-dependencies"])
            case ["docker", "build", "-f", file, *_]:
                # its lines are run in test_container.py
                assert (ROOT / file).is_file()
            case ["docker", "run", *_]:
                assert "react-mem-worker" in command
            case [".venv/bin/python", "-m", "pytest", folder, *_]:
                assert (ROOT / folder).is_dir()
            case ["pre-commit", "install"]:
                assert (ROOT / ".pre-commit-config.yaml").is_file()
            case _:
                pytest.fail(f"nothing runs {command!r}")


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?://)([^)]+)\)", prose_of(page)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_is_named_exists(page: Path) -> None:
    prose = re.sub(r"^New file .*$", "", prose_of(page), flags=re.MULTILINE)
    named = re.findall(
        r"`((?:agents|benchmarks|docs|graphs|memory|prompts|react_mem|tests|tools)/[\w./-]*|\.[a-z][\w./-]*/\w+)`",
        prose,
    )
    assert [path for path in named if not (ROOT / path).exists() and not path.startswith(".react-mem")] == []


def test_everything_in_the_docs_is_reached_from_the_readme() -> None:
    reached, left = set(), [README]
    while left:
        page = left.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            links = re.findall(r"\]\((?!https?://)([^)#]+)", prose_of(page))
            left += [(page.parent / link).resolve() for link in links]
    assert {page for page in PAGES if ".github" not in page.parts} <= reached


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_is_valid(block: Block, tmp_path: Path) -> None:
    data = yaml.safe_load(block.text)
    if block.page == RECIPES and "writes" in data:
        return  # a language, which test_recipes.py loads
    # an agent, or some keys of one
    path = tmp_path / "mine.yaml"
    path.write_text("" if "manager" in data else "manager: react_mem\n", encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write(block.text)
    assert isinstance(load_agent_config_file(path), AgentConfig)


SAME = ("store", "checkpointer", "auth", "http")
"""Keys of a server's configuration that a project of one's own has as they are here."""


CLIENTS = "docs/mcp.md"
"""Its JSON configures clients that start us, or call our server."""


HOOKS = "docs/coding_agents.md"
"""Its JSON is compared with the plugins in test_plugins.py."""


@pytest.mark.parametrize("block", blocks("json", CLIENTS), ids=str)
def test_a_client_that_is_configured_so_starts_our_command_or_calls_our_route(block: Block) -> None:
    config: dict[str, Any] = json.loads(block.text)
    [servers] = config.values()
    [server] = servers.values()
    if "url" in server:
        assert server["url"].endswith(PATH)
        assert server["headers"] == {"Authorization": "Bearer TOKEN"}
    else:
        assert server["command"] in PROJECT["scripts"]
        assert command_line().parse_args(server["args"]).command == "mcp"


@pytest.mark.parametrize("block", [one for one in blocks("json") if one.page not in {CLIENTS, HOOKS}], ids=str)
def test_json_is_a_config_of_langgraph_with_what_the_projects_own_names(block: Block) -> None:
    theirs: dict[str, Any] = json.loads(block.text)
    ours = json.loads((ROOT / "langgraph.deploy.json").read_text(encoding="utf-8"))
    assert validate_config(json.loads(block.text))["graphs"] == theirs["graphs"]
    assert theirs["graphs"].items() <= ours["graphs"].items()
    assert {key: theirs[key] for key in SAME} == {key: ours[key] for key in SAME}


async def test_the_agent_in_the_readme_runs_with_nothing_set_up(tmp_path: Path) -> None:
    middleware, agent = (block.text for block in blocks("python", "README.md"))
    assert len([line for line in middleware.splitlines() if line.strip()]) == 10
    script = tmp_path / "example.py"
    script.write_text(agent, encoding="utf-8")
    hidden = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL", "DATABASE_URL", "EMBEDDING_MODEL"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, script],
        cwd=tmp_path,
        env={**environment, "REACT_MEM_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Mimi" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "block",
    [one for one in blocks("python") if one.page not in {RECIPES, TUTORIAL} and not RUN_WITH_A_SERVER.search(one.text)],
    ids=str,
)
async def test_python_runs(
    block: Block,
    database_url: str,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With a database and a model, which the environment names; each script has an event loop of its own."""
    openai_server.add(Reply(json=NOTHING), when=Match(schema=True), repeat=True)
    openai_server.add(Reply(text="Your cat is called Mimi."), when=Match(schema=False), repeat=True)
    for name in ("CHAT_MODEL", "OPENAI_MODEL", "REACT_MEM_AGENTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")
    code = compile(block.text, str(block), "exec")
    await asyncio.to_thread(exec, code, {"__name__": "__main__"})
    # a memory that fails fails no turn, but says so
    assert [record.getMessage() for record in caplog.records if record.name.startswith("react_mem")] == []
    assert bool(capsys.readouterr().out.strip()) == ("print(" in block.text)


def test_the_tables_of_settings_are_complete() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "python -m tests.support.settings_tables writes them again"
    assert {model.__name__ for model in nested(AgentConfig)} == set(models_of(page))


def test_every_variable_of_the_environment_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    template = (ROOT / ".env.example").read_text(encoding="utf-8")
    variables = re.findall(r"^#([A-Z_]+)=", template, re.MULTILINE)
    assert len(variables) > 20
    assert [name for name in variables if f"`{name}`" not in page] == []
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \|", page.partition("## The environment")[2], re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"[A-Z_]+", row)}
    assert explained - set(variables) == {
        # the platform sets these
        *("POSTGRES_URI", "DATABASE_URI"),
        # and the package these, which are no setting of its own
        *("LANGGRAPH_CLI_NO_ANALYTICS", "LANGGRAPH_NO_VERSION_CHECK", "ORT_DISABLE_TELEMETRY"),
    }


def test_the_workflow_runs_what_ci_runs_and_the_forms_can_be_read() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["test"]["steps"]
    assert steps[-1] == {"run": ".ci/run"}
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    versions = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == versions
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"):
        data = yaml.safe_load(form.read_text(encoding="utf-8"))
        assert data["name"]
        assert data["description"]
        assert all(part["type"] in {"markdown", "textarea"} for part in data["body"])


def test_commits_are_checked_by_the_projects_own_tools() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    entries = [hook["entry"].split() for hook in config["repos"][0]["hooks"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for program, *_ in entries:
        name = program.removeprefix(".venv/bin/")
        assert f"$(BIN)/{name}" in makefile
        assert Path(sys.executable).with_name(name).is_file()
