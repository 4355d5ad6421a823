"""`langgraph dev` as a client sees it: both managers over HTTP, and what is remembered from thread to thread."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from react_mem.agents.models import DEFAULT_OPENAI_MODEL
from tests.support.dev_server import DevServer, database_for_a_server, dev_server
from tests.support.documents import blocks
from tests.support.labels import NOTHING, Says, labelled
from tests.support.openai_server import Match, OpenAIServer, Reply, Request, ToolCall

pytestmark = pytest.mark.e2e

TOOLS = [f"tests.support.user_tools:{name}" for name in ("weather", "broken", "book")]
SUMS_UP = "You sum up a stretch of a conversation"
"""How the prompt of a summary begins."""


@dataclass(frozen=True)
class Target:
    """What a client runs: a graph, and for the graph `agent` the agent."""

    graph: str
    agent: str | None = None

    @property
    def remembers(self) -> bool:
        return (self.agent or self.graph) in {"react_mem", "assistant", "traveller"}

    def context(self, **more: Any) -> dict[str, Any]:
        return {**({"agent": self.agent} if self.agent else {}), **more}


REACT, REACT_MEM = Target("react"), Target("react_mem")
SHIPPED = [REACT, REACT_MEM, Target("agent", "plain"), Target("agent", "assistant")]
WITH_OWN_TOOLS = [Target("agent", "tourist"), Target("agent", "traveller")]


def named(target: Target) -> str:
    return target.agent or target.graph


def agents_folder(folder: Path) -> str:
    """Write agents of the user's own: both managers, with tools of the user's own."""
    folder.mkdir()
    for name, manager in {"tourist": "react", "traveller": "react_mem"}.items():
        memory = {"recall": {"timeout": 1}, "extraction": {"mode": "inline"}}
        config = {"manager": manager, "tools": TOOLS, "max_iterations": 3, "memory": memory}
        (folder / f"{name}.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    return str(folder)


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServer]:
    """The model, for all tests of the module: each tells it what to answer to its own words."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="module")
def server(database_server: str, model: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server with a model."""
    folder = tmp_path_factory.mktemp("server")
    with database_for_a_server(database_server) as url:
        environment = {
            "DATABASE_URL": url,
            "OPENAI_BASE_URL": model.base_url,
            "EMBEDDING_MODEL": "local",
            "REACT_MEM_AGENTS": agents_folder(folder / "agents"),
            # who names nobody is nobody, as in a deployment
            "REACT_MEM_DEV_USER": "",
        }
        with dev_server(folder, environment) as running:
            yield running


@pytest.fixture
def client(server: DevServer) -> LangGraphClient:
    return server.client()


@dataclass(frozen=True)
class Script:
    """What the model says in one test: to requests that contain the test's own mark."""

    model: OpenAIServer
    mark: str

    def say(self, *replies: Reply, learn: Callable[[Request], Any] | None = None) -> None:
        """Answer with these replies, in order; extraction proposes what `learn` returns, or else nothing."""

        def extraction(request: Request) -> Reply:
            return Reply(json=learn(request) if learn else NOTHING)

        # the first rule that matches wins: a summary takes no reply that is meant for the chat
        self.model.add(Reply(text="They spoke."), when=Match(contains=SUMS_UP), repeat=True)
        self.model.add(extraction, when=Match(schema=True, contains=self.mark), repeat=True)
        self.model.add(*replies, when=Match(schema=False, contains=self.mark))

    def prompts(self) -> list[Request]:
        """Return what the model was asked, extraction and summaries aside."""
        asked = [request for request in self.model.chats() if self.mark in request.text and not request.schema]
        return [request for request in asked if SUMS_UP not in request.text]


@pytest.fixture
def script(model: OpenAIServer) -> Script:
    return Script(model, f"#{uuid.uuid4().hex[:8]}")


def says(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def shape(values: Any) -> list[tuple[str, str]]:
    return [(message["type"], message["content"]) for message in values["messages"]]


async def new_thread(client: LangGraphClient) -> str:
    return str((await client.threads.create())["thread_id"])


async def ask(client: LangGraphClient, target: Target, text: str, thread: str | None = None, **context: Any) -> Any:
    """Run a turn, in a new thread if none is given; return the state at its end."""
    thread = thread or await new_thread(client)
    return await client.runs.wait(thread, target.graph, input=says(text), context=target.context(**context))


async def events_of(
    client: LangGraphClient, target: Target, text: str, thread: str | None = None, **context: Any
) -> list[dict[str, Any]]:
    """Run a turn; return its custom events."""
    stream = client.runs.stream(
        thread or await new_thread(client),
        target.graph,
        input=says(text),
        context=target.context(**context),
        stream_mode="custom",
    )
    return [part.data async for part in stream if part.event == "custom"]


def memory_event(events: list[dict[str, Any]], operation: str) -> dict[str, Any]:
    [event] = [event for event in events if event["type"] == "memory" and event["operation"] == operation]
    return event


# --- the loop ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [REACT, REACT_MEM], ids=named)
async def test_parallel_tools_and_a_failing_one_are_observed_and_answered(
    target: Target, client: LangGraphClient, script: Script
) -> None:
    sums = [ToolCall("calculator", {"expression": expression}) for expression in ("6*7", "1/0")]
    script.say(Reply(text="let me see", tool_calls=sums), Reply(text="42, and no answer"))
    state = await ask(client, target, f"6*7 and 1/0? {script.mark}", user_id=script.mark)
    tools = [message for message in state["messages"] if message["type"] == "tool"]
    assert [message["type"] for message in state["messages"]] == ["human", "ai", "tool", "tool", "ai"]
    assert [(message["content"], message["status"]) for message in tools[:1]] == [("42", "success")]
    assert "zero" in tools[1]["content"]
    assert tools[1]["status"] == "error"
    assert state["messages"][-1]["content"] == "42, and no answer"
    assert set(state) == {"messages"}
    assert [message["role"] for message in script.prompts()[1].messages][-4:] == ["user", "assistant", "tool", "tool"]


async def streamed(client: LangGraphClient, target: Target, script: Script) -> list[tuple[str, Any]]:
    """Run one turn with a tool call; return everything that was streamed."""
    script.say(
        Reply(text="let me see", tool_calls=[ToolCall("calculator", {"expression": "6*7"})]), Reply(text="it is 42")
    )
    stream = client.runs.stream(
        await new_thread(client),
        target.graph,
        input=says(f"6*7? {script.mark}"),
        context=target.context(user_id=script.mark),
        stream_mode=["messages-tuple", "updates", "custom", "values"],
    )
    return [(part.event, part.data) async for part in stream]


async def test_both_managers_stream_the_same_but_for_memory(client: LangGraphClient, model: OpenAIServer) -> None:
    shapes = []
    for target in SHIPPED:
        parts = await streamed(client, target, Script(model, f"#{uuid.uuid4().hex[:8]}"))
        tokens = [chunk for event, (chunk, *_) in ((e, d) for e, d in parts if e == "messages")]
        customs = [data for event, data in parts if event == "custom"]
        updates = [name for event, data in parts if event == "updates" for name in data]
        values = [data for event, data in parts if event == "values"]
        assert any(event["type"] == "memory" for event in customs) is target.remembers
        shapes.append(
            {
                "tokens": [c["content"] for c in tokens if c["type"] == "AIMessageChunk" and c["content"]],
                "custom": [event for event in customs if event["type"] not in {"memory", "context"}],
                "updates": [name for name in updates if name in {"reason", "act"}],
                "keys": {key for data in values for key in data},
                "last": [message["type"] for message in values[-1]["messages"]],
            }
        )
    assert shapes[0] == {
        "tokens": ["let me ", "see", "it is 4", "2"],
        "custom": [
            {"type": "thought", "text": "let me see"},
            {"type": "action", "id": "call_1", "name": "calculator", "args": {"expression": "6*7"}},
            {"type": "observation", "id": "call_1", "name": "calculator", "content": "42", "error": False},
            {"type": "answer", "text": "it is 42"},
        ],
        "updates": ["reason", "act", "reason"],
        "keys": {"messages"},
        "last": ["human", "ai", "tool", "ai"],
    }
    assert all(shape == shapes[0] for shape in shapes)


@pytest.mark.parametrize("target", WITH_OWN_TOOLS, ids=named)
async def test_an_interrupt_of_a_users_own_tool_waits_for_a_person(
    target: Target, client: LangGraphClient, script: Script
) -> None:
    calls = [ToolCall("book", {"city": "Huế"}), ToolCall("weather", {"city": "Huế"}), ToolCall("broken", {"city": "X"})]
    script.say(Reply(tool_calls=calls), Reply(text="booked"))
    thread = await new_thread(client)
    paused = await ask(client, target, f"book Huế {script.mark}", thread, user_id=script.mark)
    assert [interrupt["value"] for interrupt in paused["__interrupt__"]] == ["book Huế?"]
    state = await client.threads.get_state(thread)
    assert state["next"] == ["act"]
    done: Any = await client.runs.wait(
        thread, target.graph, command={"resume": "yes"}, context=target.context(user_id=script.mark)
    )
    [booked, weather, broken] = [message for message in done["messages"] if message["type"] == "tool"]
    assert (booked["content"], weather["content"]) == ("Huế: yes", "sunny in Huế")
    assert "no station in X" in broken["content"]
    assert done["messages"][-1]["content"] == "booked"


async def test_an_unknown_agent_is_named_with_those_there_are(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    with pytest.raises(Exception, match="unknown agent 'asistant'") as raised:
        await ask(client, Target("agent", "asistant"), "hello", thread)
    for name in ("assistant", "plain", "tourist", "traveller", "did you mean 'assistant'"):
        assert name in str(raised.value)
    assert (await client.threads.get(thread))["status"] == "error"


async def schemas_of(client: LangGraphClient, graph: str) -> dict[str, Any]:
    [assistant] = await client.assistants.search(graph_id=graph)
    schemas: Any = await client.assistants.get_schemas(assistant["assistant_id"])
    return schemas  # type: ignore[no-any-return]


@pytest.mark.parametrize("graph", ["react_mem", "agent"])
async def test_the_form_that_studio_shows(graph: str, client: LangGraphClient) -> None:
    schemas = await schemas_of(client, graph)
    assert set(schemas["input_schema"]["properties"]) == {"messages"}
    assert set(schemas["output_schema"]["properties"]) == {"messages", "structured_response"}
    fields = schemas["context_schema"]["properties"]
    left = {"model", "max_iterations", "use_memory", "max_memories"}
    picked = {"agent"} if graph == "agent" else set()
    # what no agent leaves to callers is not offered; a run that chooses it is refused all the same
    assert set(fields) == {"user_id"} | left | picked
    thread = await new_thread(client)
    with pytest.raises(Exception, match="system_prompt"):
        await ask(client, Target(graph, None), "hello", thread, system_prompt="Obey")
    [assistant] = await client.assistants.search(graph_id=graph)
    assert assistant["description"]
    assert all(field["title"] and field["description"] for field in fields.values())
    assert "Args:" not in schemas["context_schema"]["description"]
    named, free, nothing = fields["model"]["anyOf"]
    assert named["enum"] == ["extractive", f"openai:{DEFAULT_OPENAI_MODEL}"]
    assert named["enum"] == fields["model"]["examples"]
    assert (free, nothing) == ({"type": "string"}, {"type": "null"})
    assert fields["model"]["langgraph_nodes"] == ["reason"]
    assert fields["max_iterations"]["anyOf"][0]["maximum"] == 10
    assert fields["max_memories"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 16}
    # clients of before LangGraph 0.6 read the other one
    assert schemas["config_schema"]["properties"] == fields


@pytest.mark.parametrize("graph", ["planner_worker", "smart_buyer"])
async def test_an_example_is_served(graph: str, client: LangGraphClient, script: Script) -> None:
    schemas = await schemas_of(client, graph)
    assert set(schemas["input_schema"]["properties"]) == {"messages"}
    script.say(Reply(text="search_products, compare_prices, check_stock, place_order"), Reply(text="done"))
    said = {"messages": [{"role": "user", "content": f"buy me a lamp {script.mark}"}]}
    result: Any = await client.runs.wait(None, graph, input=said, context={"user_id": uuid.uuid4().hex})
    assert result["messages"][-1]["content"] in ("Ordered: lamp-2 for 35 euros.", "done")


async def test_maintenance_takes_nothing_and_reports(client: LangGraphClient) -> None:
    schemas = await schemas_of(client, "maintenance")
    assert not schemas["input_schema"]["properties"]
    assert set(schemas["output_schema"]["properties"]) == {"stored", "retired", "waiting", "problems"}
    done: Any = await client.runs.wait(None, "maintenance", input={}, context={"user_id": "nobody-yet"})
    assert done == {"stored": 0, "retired": 0, "waiting": 0, "problems": []}


async def test_a_run_that_goes_without_memory_leaves_none(client: LangGraphClient, script: Script) -> None:
    user = uuid.uuid4().hex
    script.say(Reply(text="a fine city"), Reply(text="you told me nothing"))
    thread = await new_thread(client)
    said = {"messages": [{"role": "user", "content": f"I live in Hue {script.mark}"}]}
    # as a client of before LangGraph 0.6 sends it
    config = {"configurable": {"user_id": user, "use_memory": False}}
    result: Any = await client.runs.wait(thread, "react_mem", input=said, config=config)
    assert result["messages"][-1]["content"] == "a fine city"
    asked = {"messages": [{"role": "user", "content": f"Where do I live? {script.mark}"}]}
    await client.runs.wait(await new_thread(client), "react_mem", input=asked, context={"user_id": user})
    assert "Hue" not in script.prompts()[-1].text


# --- the thread -------------------------------------------------------------------------------------------------------


async def test_a_thread_has_a_history_that_can_be_copied_forked_and_edited(
    client: LangGraphClient, script: Script
) -> None:
    script.say(*(Reply(text=text) for text in ("one", "two", "other", "copied")))
    thread, mark = await new_thread(client), script.mark
    await ask(client, REACT_MEM, f"first {mark}", thread, user_id=mark)
    before = await client.threads.get_state(thread)
    await ask(client, REACT_MEM, f"second {mark}", thread, user_id=mark)
    told = [("human", f"first {mark}"), ("ai", "one"), ("human", f"second {mark}"), ("ai", "two")]
    state = await client.threads.get_state(thread)
    assert shape(state["values"]) == told

    history: Any = await client.threads.get_history(thread, limit=100)
    lengths = [len(snapshot["values"].get("messages", [])) for snapshot in history]
    assert lengths == sorted(lengths, reverse=True)
    assert all(shape(s["values"]) == told[: len(s["values"]["messages"])] for s in history if s["values"])

    copy: Any = await client.threads.copy(thread)  # type: ignore[func-returns-value]  # it does return one
    assert (await client.threads.get_state(copy["thread_id"]))["values"] == state["values"]

    forked: Any = await client.runs.wait(
        thread,
        REACT_MEM.graph,
        input=says(f"instead {mark}"),
        checkpoint=before["checkpoint"],
        context=REACT_MEM.context(user_id=mark),
    )
    assert shape(forked) == [*told[:2], ("human", f"instead {mark}"), ("ai", "other")]

    # the copy knows nothing of the fork, and goes on by itself
    goes_on = await ask(client, REACT_MEM, f"third {mark}", copy["thread_id"], user_id=mark)
    assert shape(goes_on) == [*told, ("human", f"third {mark}"), ("ai", "copied")]

    first = forked["messages"][0]
    await client.threads.update_state(thread, {"messages": [{"role": "remove", "id": first["id"], "content": ""}]})
    edited = (await client.threads.get_state(thread))["values"]
    assert shape(edited) == [("ai", "one"), ("human", f"instead {mark}"), ("ai", "other")]


async def test_a_long_thread_is_shown_whole(client: LangGraphClient, script: Script) -> None:
    script.say(Reply(text="hello"))
    thread = await new_thread(client)
    done = await ask(client, REACT_MEM, f"hi {script.mark}", thread, user_id=script.mark)
    # beyond the hundredth change, after which the channel's history starts from a snapshot
    for number in range(105):
        await client.threads.update_state(thread, says(str(number)))
    values: Any = (await client.threads.get_state(thread))["values"]
    assert values["messages"][:2] == done["messages"]
    assert [text for _, text in shape(values)[2:]] == [str(number) for number in range(105)]


async def test_an_interrupted_thread_survives_a_restart_and_nothing_in_it_is_worth_a_warning(
    client: LangGraphClient, script: Script, server: DevServer
) -> None:
    script.say(*(Reply(tool_calls=[ToolCall("book", {"city": "Huế"})]) for _ in WITH_OWN_TOOLS))
    context = {"user_id": script.mark}
    threads = {target: await new_thread(client) for target in WITH_OWN_TOOLS}
    for target, thread in threads.items():
        await ask(client, target, f"book Huế {script.mark}", thread, **context)
    before = {thread: (await client.threads.get_state(thread))["values"] for thread in threads.values()}

    logged = len(server.log())
    server.restart()
    for target, thread in threads.items():
        assert (await client.threads.get_state(thread))["values"] == before[thread]
        script.say(Reply(text="booked"))
        done: Any = await client.runs.wait(
            thread, target.graph, command={"resume": "yes"}, context=target.context(**context)
        )
        assert shape(done)[-2:] == [("tool", "Huế: yes"), ("ai", "booked")]

    # from its end to its next turns; a blocking call on the event loop would be reported here, too
    lines = [json.loads(line) for line in server.log()[logged:].splitlines() if line.startswith("{")]
    ended = [line["thread_id"] for line in lines if line["event"] == "Background run succeeded"]
    assert sorted(ended) == sorted(threads.values())
    # how long something takes to load is up to how busy the machine is
    worrying = [line for line in lines if line["level"] not in {"debug", "info"} and not is_about_time(line)]
    assert worrying == []


def is_about_time(line: dict[str, Any]) -> bool:
    """Return whether a line of the log says that the server's start, or an agent's first use, took long."""
    return line.get("logger") == "langgraph_api.timing.timer" or line["event"].startswith("Slow graph load")


# --- memory -----------------------------------------------------------------------------------------------------------


def lives_in(city: str) -> Callable[[Request], Any]:
    """Label as a fact what says that the user lives in a city."""
    return lambda request: labelled(request.text, Says(f"I live in {city}"))


async def until_read(server: DevServer, user_id: str, thread: str) -> None:
    """Wait until what was said in a thread has been drawn from, behind the turn."""
    async with asyncio.timeout(60):
        while await server.work_left(user_id, thread):  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.2)  # the interval of a poll


async def test_what_a_model_learnt_in_one_thread_is_used_in_another_by_the_same_user_only(
    client: LangGraphClient, server: DevServer, script: Script
) -> None:
    ann, mark = f"ann{script.mark}", script.mark
    script.say(*(Reply(text=text) for text in ("nice", "in Nam Định", "a", "b", "c")), learn=lives_in("Nam Định"))
    thread = await new_thread(client)
    taught = await events_of(client, REACT_MEM, f"I live in Nam Định. {mark}", thread, user_id=ann)
    assert memory_event(taught, "extract")["status"] == "ok"
    await until_read(server, ann, thread)

    asked = await events_of(client, REACT_MEM, f"Where do I live? {mark}", user_id=ann)
    recalled = [item for item in memory_event(asked, "retrieve")["items"] if item["scope"] == "semantic"]
    assert [item["text"] for item in recalled] == ["I live in Nam Định."]
    assert "I live in Nam Định." in script.prompts()[1].text
    assert asked[-2] == {"type": "answer", "text": "in Nam Định"}

    other = await events_of(client, REACT_MEM, f"Where do I live? {mark}", user_id=f"bob{mark}")
    assert memory_event(other, "retrieve")["items"] == []
    nobody = await events_of(client, REACT_MEM, f"Where do I live? {mark}")
    assert memory_event(nobody, "retrieve")["status"] == "off"
    assert "no user is named (user_id)" in memory_event(nobody, "retrieve")["message"]
    assert [event["type"] for event in nobody] == ["memory", "context", "answer"]
    plain = await events_of(client, REACT, f"Where do I live? {mark}", user_id=ann)
    assert [event["type"] for event in plain] == ["answer"]
    for prompt in script.prompts()[2:]:
        assert "Nam Định" not in prompt.text


@pytest.fixture(scope="module")
def database(database_server: str) -> Iterator[str]:
    """The database of the server without a model."""
    with database_for_a_server(database_server) as url:
        yield url


@pytest.fixture(scope="module")
def bare_server(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server without any model: it quotes."""
    folder = tmp_path_factory.mktemp("bare")
    with dev_server(
        folder, {"DATABASE_URL": database, "REACT_MEM_AGENTS": agents_folder(folder / "agents")}
    ) as running:
        yield running


@asynccontextmanager
async def outage(database: str) -> AsyncIterator[None]:
    """Take a database away from all who use it, and give it back."""
    name = urlsplit(database).path.removeprefix("/")
    elsewhere = urlunsplit(urlsplit(database)._replace(path="/postgres"))
    allow = SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format
    async with await AsyncConnection.connect(elsewhere, autocommit=True) as conn:
        await conn.execute(allow(Identifier(name), SQL("false")))
        await conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        try:
            yield
        finally:
            await conn.execute(allow(Identifier(name), SQL("true")))


async def test_the_client_of_the_documentation_gets_an_answer(
    bare_server: DevServer, capsys: pytest.CaptureFixture[str]
) -> None:
    [block] = [block for block in blocks("python") if "get_client(" in block.text]
    code = block.text.replace("http://127.0.0.1:2024", bare_server.url)
    assert code != block.text
    await asyncio.to_thread(exec, compile(code, str(block), "exec"), {})
    assert capsys.readouterr().out.strip()


async def test_without_its_database_it_answers_says_so_and_remembers_later(
    bare_server: DevServer, database: str
) -> None:
    client, target = bare_server.client(), Target("agent", "traveller")
    thread = await new_thread(client)
    async with outage(database):
        events = await events_of(client, target, "My cat is called Miu.", thread, user_id="dan")
        for operation in ("retrieve", "extract"):
            event = memory_event(events, operation)
            assert event["status"] == "degraded"
            assert "Memory could not be reached" in event["message"]
        [answer] = [event for event in events if event["type"] == "answer"]
        assert "My cat is called Miu." in answer["text"]
    events = await events_of(client, target, "Thanks!", thread, user_id="dan")
    assert memory_event(events, "extract")["status"] == "ok"
    answer = await ask(client, target, "What is my cat called?", user_id="dan")
    assert "My cat is called Miu." in answer["messages"][-1]["content"]


async def test_the_servers_store_is_not_open_to_whoever_asks(bare_server: DevServer) -> None:
    async with httpx.AsyncClient(base_url=bare_server.url) as http:
        found = await http.post("/store/items/search", json={"namespace_prefix": ["memory"]})
        assert found.status_code == 404
