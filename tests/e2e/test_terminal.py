"""`react-mem` as people run it: as a process, at a terminal and in a pipe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from react_mem.agents.cli import main
from tests.support.labels import Says, labelled
from tests.support.openai_server import Match, OpenAIServer, Reply, Request, ToolCall
from tests.support.terminal import CTRL_C, CTRL_D, AtTerminal

pytestmark = pytest.mark.e2e

REACT_MEM = Path(sys.executable).with_name("react-mem")
UNSET = re.compile(r"OPENAI_|CHAT_MODEL|EMBEDDING_MODEL|DATABASE_|REACT_MEM_|LANGSMITH_|LANGCHAIN_|NO_COLOR|COLUMNS")

Environment = dict[str, str]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment of somebody who has configured nothing, with a data folder of its own."""
    kept = {name: value for name, value in os.environ.items() if not UNSET.match(name)}
    return {**kept, "REACT_MEM_DATA_DIR": str(tmp_path / "data")}


@pytest.fixture
def on_server(environment: Environment, database_url: str) -> Environment:
    """The same with a database that runs already, which starts faster."""
    return {**environment, "DATABASE_URL": database_url}


@pytest.fixture
def scripted(on_server: Environment, openai_server: OpenAIServer) -> Environment:
    """The same with the scripted model server; it learns nothing unless a test says so."""
    return {**on_server, **to(openai_server)}


def to(server: OpenAIServer) -> Environment:
    return {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "EMBEDDING_MODEL": "local"}


def learn(server: OpenAIServer, *facts: str) -> None:
    """Script the extraction: the words by which it knows what is a fact; nothing else is one."""

    def extract(request: Request) -> Reply:
        return Reply(json=labelled(request.text, *map(Says, facts)))

    server.add(extract, when=Match(schema=True), repeat=True)


def run(
    *arguments: str, environment: Environment, cwd: Path, said: str | bytes | None = None
) -> subprocess.CompletedProcess[str]:
    given = said.encode() if isinstance(said, str) else said or b""
    done = subprocess.run([REACT_MEM, *arguments], input=given, env=environment, cwd=cwd, capture_output=True)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def answers(output: str) -> list[str]:
    """Return what the agent said, turn by turn, as one line each."""
    found = re.findall(r"^agent {3,}(?=\S)(?!\w+ \(react)(.*(?:\n {8,}.*)*)", output, re.MULTILINE)
    return [" ".join(answer.split()) for answer in found]


def tables_with(url: str, marker: str) -> set[str]:
    """Return the tables in which some row contains a text, also within binary columns."""
    found = set()
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(
                f"SELECT 1 FROM {table} AS t WHERE t::text LIKE %s OR t::text LIKE %s LIMIT 1",
                (f"%{marker}%", f"%{marker.encode().hex()}%"),
            ).fetchall()
            if rows:
                found.add(table)
    return found


def database_is_closed(environment: Environment) -> bool:
    return not list(Path(environment["REACT_MEM_DATA_DIR"]).glob("pg*/cluster/postmaster.pid"))


def test_demo_without_any_model(environment: Environment, tmp_path: Path) -> None:
    done = run("demo", environment=environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split("Conversation 2")
    assert "retrieved" not in first.split("I am allergic")[0]
    assert re.search(r"^  stored +I am allergic to peanuts", first, re.MULTILINE)
    assert re.search(r"^  action +calculator\(expression='17 \* 23'\)\n  observation +391$", first, re.MULTILINE)
    assert "Noted: “My name is Lan and I live in Đà Nẵng.”" in first
    peanuts, coffee = answers(second)
    assert "I am allergic to peanuts" in peanuts
    assert "Tôi nhớ" in coffee
    assert "cà phê sữa đá" in coffee
    assert re.search(r"^ +and \d+ more$", second, re.MULTILINE)
    assert str(tmp_path / "data") in first
    assert "extractive" in first
    assert database_is_closed(environment)


def test_a_piped_conversation_goes_on_in_the_next_process(on_server: Environment, tmp_path: Path) -> None:
    said = b"I like jasmine tea.\r\n\r\n   \n\xff\xfe is no text\nWhat do I like to drink?"
    done = run("chat", "--user", "ann", environment=on_server, cwd=tmp_path, said=said)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\r" not in done.stdout
    assert "you     �� is no text\n" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("agent   [extractive")]
    assert "I like jasmine tea." in answers(done.stdout)[-1]
    assert "Going on" not in done.stdout

    said = "/new\n/bad\nWhat do I like to drink?\n/good just right\n/memory\n/nonsense\n/exit\nnever read\n"
    again = run("chat", "--user", "ann", environment=on_server, cwd=tmp_path, said=said)
    assert (again.returncode, again.stderr) == (0, "")
    assert "Going on where you left, at “What do I like to drink?”" in again.stdout
    [answer] = answers(again.stdout)
    assert "I like jasmine tea." in answer
    assert re.search(r"^  \d{4}-\d\d-\d\d fact +I like jasmine tea\.$", again.stdout, re.MULTILINE)
    assert "unknown command /nonsense" in again.stdout
    assert again.stdout.count("there is no answer yet that is remembered") == 1
    assert re.search(r"^noted: \d+ memories count more$", again.stdout, re.MULTILINE)
    assert "never read" not in again.stdout

    other = run("chat", "--user", "bob", environment=on_server, cwd=tmp_path, said="What do I like to drink?\n/memory")
    assert "jasmine" not in other.stdout
    assert "nothing yet" in other.stdout

    undone = run("chat", "--user", "bob", environment=on_server, cwd=tmp_path, said="I like figs.\n/undo\n/memory")
    assert "taken back: I like figs.\n" in undone.stdout
    assert "nothing yet" in undone.stdout


def test_forget_leaves_nothing_of_the_user_and_all_of_the_others(on_server: Environment, tmp_path: Path) -> None:
    url = on_server["DATABASE_URL"]

    def chat(user: str, said: str, agent: str = "assistant") -> str:
        done = run("chat", "--user", user, "--agent", agent, environment=on_server, cwd=tmp_path, said=said)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    chat("ann", "I keep a quokka.\n/new\nMy quokka is called Bo.\nWhat is 2 + 3?")
    chat("ann", "A quokka!\n/new\nAnother quokka.", agent="plain")
    chat("ann.b", "I keep a numbat.")
    before = tables_with(url, "quokka")
    assert any("checkpoint" in table for table in before)
    assert any("store" in table for table in before)
    assert "forgotten" in chat("ann", "/forget\n/memory")
    assert tables_with(url, "quokka") == set()
    assert {"public.store", "public.checkpoint_writes"} <= tables_with(url, "numbat")


def test_a_model_error_is_one_line_and_the_chat_goes_on(
    scripted: Environment, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    learn(openai_server)
    openai_server.add(Reply(status=401), when=Match(schema=False, last="first"))
    openai_server.add(Reply(text="Streamed and\nonly once."), when=Match(schema=False, last="second"))
    done = run("chat", "--user", "ann", environment=scripted, cwd=tmp_path, said="first\nsecond\n")
    assert done.stderr == ""
    assert [line for line in done.stdout.splitlines() if "401" in line] == [
        "The model 'openai:gpt-5.4-mini' refused the API key (401). Check OPENAI_API_KEY in .env."
    ]
    assert done.stdout.count("agent   Streamed and\n        only once.\n") == 1
    assert done.stdout.count("once") == 1
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("variable", "arguments", "expected"),
    [
        ("DATABASE_POOL_MAX=many", [], "DATABASE_POOL_MAX: Input should be a valid integer"),
        ("", ["--agent", "assistent"], "did you mean 'assistant'"),
        ("", ["--user", ""], "a user's id is 1 to 512 printable characters"),
        ("CHAT_MODEL=anthropic:claude-sonnet-4-5", [], "ANTHROPIC_API_KEY"),
    ],
    ids=["settings", "agent", "user", "model"],
)
def test_what_cannot_begin_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    arguments: list[str],
    expected: str,
) -> None:
    for name in filter(UNSET.match, os.environ):
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    if variable:
        monkeypatch.setenv(*variable.split("=", 1))
    try:
        code = main(["chat", *arguments])
    except SystemExit as left:  # argparse has its own way out
        code = int(left.code or 0)
    assert code == 2
    assert expected in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_ends_the_chat_without_a_trace(environment: Environment, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [REACT_MEM, "chat", "--user", "ann"],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline().startswith(b"agent")
    process.stdout.close()
    process.stdin.write(b"I like tea.\n" * 3)
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 1
    assert database_is_closed(environment)


def chat_at_terminal(environment: Environment, tmp_path: Path, *arguments: str) -> AtTerminal:
    return AtTerminal([REACT_MEM, "chat", "--user", "ann", *arguments], environment, tmp_path)


SLOW_TOOL = '''
import asyncio, pathlib

async def fetch(what: str) -> str:
    """Fetch something, slowly."""
    pathlib.Path("started").touch()
    await asyncio.sleep(600)
    return what
'''


def pasted(text: str) -> str:
    """Return what a terminal sends when this is pasted."""
    return f"\x1b[200~{text}\x1b[201~"


MARKDOWN = "Two **things**:\n\n- tea for <you>\n- milk\n\n```python\nprint('hi')\n\nx = 1\n```\n\nThat is\nall."


def test_a_conversation_at_a_terminal(scripted: Environment, openai_server: OpenAIServer, tmp_path: Path) -> None:
    learn(openai_server, "hike")
    (tmp_path / "slow_tools.py").write_text(SLOW_TOOL)
    agent = tmp_path / "fetcher.yaml"
    memory = "{extraction: {mode: background, debounce: 0}, summaries: {enabled: false}}"
    agent.write_text(f"manager: react_mem\ntools: [slow_tools:fetch]\nmemory: {memory}\n")
    never, asked = threading.Event(), threading.Event()

    def slow(_: Request) -> Reply:
        asked.set()
        return Reply(text="too late", hold=never)

    openai_server.add(slow, when=Match(schema=False, last="slow"))
    for last, reply in (
        ("hike", Reply(text=MARKDOWN)),
        ("third line", Reply(text="All three.")),
        ("fetch it", Reply(text="I will fetch it.", tool_calls=[ToolCall("fetch", {"what": "it"})])),
    ):
        openai_server.add(reply, when=Match(schema=False, last=last))
    openai_server.add(Reply(text="Never mind."), when=Match(schema=False, last="leave it"), repeat=True)
    given = {**scripted, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])}
    with chat_at_terminal(given, tmp_path, "--agent", str(agent)) as terminal:
        terminal.expect(r"/exit\n\s*you +")
        # an answer is drawn as Markdown, and facts are drawn while the user types
        terminal.enter("On Sundays I hike.")
        terminal.expect(r"agent   Two things:\n")
        terminal.expect(r" • tea for <you>\n +• milk\n")
        terminal.expect(r"print\('hi'\)")
        terminal.expect(r"        That is\n        all\.\n")
        terminal.expect("you +")
        openai_server.wait_for(2)
        # a paste of several lines is one message
        terminal.press(pasted("first line\r\nsecond line\rthird line\n"))
        terminal.expect("third line")
        terminal.press("\r")
        terminal.expect(r"agent   All three\.\n")
        terminal.expect("you +")
        assert "first line\nsecond line\nthird line" in [request.last for request in openai_server.requests]
        # commands are completed; only what is new on the line is drawn
        terminal.press("/thr")
        terminal.expect("/thr")
        terminal.press("\t")
        terminal.expect("eads")
        terminal.press("\r")
        terminal.expect("On Sundays I hike")
        terminal.expect("you +")
        # Ctrl-C stops the turn only
        terminal.enter("slow, my dog is called Mực")
        assert asked.wait(30)
        terminal.press(CTRL_C)
        terminal.expect("stopped; what you said is remembered\n")
        terminal.expect("you +")
        # and within a tool it leaves a thread that goes on
        terminal.enter("fetch it")
        terminal.expect(r"agent   I will fetch it\.\n")
        terminal.expect("fetch …")
        terminal.press(CTRL_C)
        terminal.expect("stopped")
        terminal.expect("you +")
        terminal.enter("leave it")
        terminal.expect(r"agent   Never mind\.\n")
        terminal.expect("you +")
        # what was said before comes back
        terminal.press("\x1b[A")
        terminal.expect("leave it")
        terminal.press("\r")
        terminal.expect(r"agent   Never mind\.\n")
        terminal.expect("you +")
        terminal.interrupt(until="")
        assert terminal.exit_code() == 0
    assert "Traceback" not in terminal.screen
    assert "too late" not in terminal.screen
    for said in ("called Mực", "On Sundays I hike."):
        assert "public.store" in tables_with(scripted["DATABASE_URL"], said)
    never.set()


def test_two_chats_at_once_on_one_data_folder_and_the_last_closes_the_database(
    environment: Environment, tmp_path: Path
) -> None:
    with chat_at_terminal(environment, tmp_path) as one:
        one.expect("you +")
        one.enter("My cat is called Miu.")
        one.expect("Noted: .*Miu")
        with chat_at_terminal(environment, tmp_path) as two:
            two.expect("Going on where you left")
            two.expect("you +")
            two.enter("What is my cat called?")
            two.expect("agent .*Miu")
            two.expect("you +")
            two.press(CTRL_D)
            assert two.exit_code() == 0
        assert not database_is_closed(environment)
        one.enter("/forget")
        one.expect(r"\(yes/no\)")
        one.interrupt(until="nothing was forgotten")
        one.expect("you +")
        one.press(CTRL_D)
        assert one.exit_code() == 0
    assert database_is_closed(environment)
    assert "Traceback" not in one.screen + two.screen
