"""Reading through the facade and within a turn, on a real database: who finds what, and what a failure leaves."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from psycopg import AsyncConnection, AsyncCursor
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.model.interface import Arm, MemoryQuery, MemoryResultItem, MemoryResults, MemoryScope
from react_mem.memory.model.operations import put
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from tests.support.recalling import DIMS, SenseEmbeddings, open_recalling, shared_database
from tests.support.scripted_model import ScriptedModel
from tests.support.telling import tell

WHO = {"session_id": "now", "agent_id": "tester"}
DIALOG, SEMANTIC = MemoryScope.DIALOG, MemoryScope.SEMANTIC
SCOPES = [MemoryScope.PROFILE, SEMANTIC, MemoryScope.EPISODIC, MemoryScope.PROCEDURAL, DIALOG]
AT = {"said_at": "2024-05-08T09:00:00+00:00"}


@pytest.fixture(scope="module")
def shared_url(database_server: str) -> Iterator[str]:
    with shared_database(database_server) as url:
        yield url


@pytest.fixture
def embeddings() -> SenseEmbeddings:
    return SenseEmbeddings()


@pytest.fixture
async def store(shared_url: str, embeddings: SenseEmbeddings) -> AsyncIterator[MemoryStore]:
    async with open_recalling(shared_url, EmbeddingModel("test:senses", DIMS, embeddings)) as opened:
        yield opened


def query(text: str, *scopes: MemoryScope, user: str = "ann", **extra: Any) -> MemoryQuery:
    return MemoryQuery(user_id=user, **WHO, scopes=list(scopes or SCOPES), query=text, extra=extra)


async def said(memory: MemoryFacade, *texts: str | tuple[str, str], user: str = "ann", session: str = "then") -> None:
    """Store a conversation: a text is the user's; a pair has the name of whoever said it."""
    turns = [
        HumanMessage(text, id=text, additional_kwargs=AT)
        if isinstance(text, str)
        else HumanMessage(text[1], id=text[1], name=text[0], additional_kwargs=AT)
        for text in texts
    ]
    await memory.dialog.append(user, session, turns, agent_id="tester")


async def known(memory: MemoryFacade, *facts: str, user: str = "ann") -> None:
    await memory.semantic.add(list(facts), user_id=user, session_id="then", agent_id="tester")


def texts(results: list[MemoryResultItem]) -> list[str]:
    return [str(item.payload["text"]) for item in results]


class TestReading:
    async def test_a_message_comes_with_its_other_half_and_with_what_each_arm_says(self, store: MemoryStore) -> None:
        memory = MemoryFacade(store)
        conversation = [
            HumanMessage("Which zebra did you draw?", id="1"),
            AIMessage("The one in the yard.", id="2"),
        ]
        await memory.dialog.append("ann", "then", conversation, agent_id="tester")
        first, second = await memory.read(query("zebra", DIALOG))
        for item in (first, second):
            assert [(part.role, part.content) for part in item.fragments] == [
                ("user", "Which zebra did you draw?"),
                ("assistant", "The one in the yard."),
            ]
            assert item.score == pytest.approx(sum(item.arms.values()))
        assert (first.payload["role"], first.arms[Arm.LEXICAL] > second.arms[Arm.LEXICAL]) == ("user", True)

    async def test_documents_stand_beside_facts_and_what_is_over_is_left_out(self, store: MemoryStore) -> None:
        memory = MemoryFacade(store)
        await tell(store, "I live in Lisbon", source_ids=["1"])
        await tell(store, "I live in Paris", "changes", "I live in Lisbon", source_ids=["2"])
        await memory.semantic.add_documents([Document("Where one lives in Lisbon")], user_id="ann")
        await memory.procedural.add_skill({"use_when": "somebody lives in Lisbon"}, user_id="ann")
        archived = {"use_when": "nobody lives in Lisbon", "status": "archived"}
        await memory.procedural.add_skill(archived, user_id="ann")
        found = texts(await memory.read(query("Who lives in Lisbon?")))
        assert set(found) == {"I live in Paris", "Where one lives in Lisbon", "somebody lives in Lisbon"}
        history = texts(await memory.read(query("Who lives in Lisbon?", SEMANTIC, history=True)))
        assert "I live in Lisbon" in history

    async def test_filters_of_every_kind(self, store: MemoryStore) -> None:
        memory = MemoryFacade(store)
        await known(memory, "a zebra")
        await memory.semantic.add_documents([Document("a zebra of paper")], user_id="ann")
        cases: list[tuple[dict[str, Any], list[str]]] = [
            ({"kind": "document"}, ["a zebra of paper"]),
            ({"kind": {"$eq": "document"}}, ["a zebra of paper"]),
            ({"kind": {"$ne": "document"}}, ["a zebra"]),
            ({"about": "user"}, ["a zebra"]),
            ({"kind": None}, []),
        ]
        for filters, expected in cases:
            assert texts(await memory.semantic.search("zebra", filters, user_id="ann")) == expected, filters


class TestRoundTrips:
    async def test_five_scopes_are_two_round_trips_and_one_embedding(
        self, shared_url: str, embeddings: SenseEmbeddings
    ) -> None:
        class Listening(AsyncCursor[Any]):
            said: ClassVar[list[str]] = []

            async def execute(self, *args: Any, **kwargs: Any) -> Any:
                self.said.append(str(args[0]))
                return await super().execute(*args, **kwargs)

        options = {
            "autocommit": True,
            "row_factory": dict_row,
            "prepare_threshold": None,
            "cursor_factory": Listening,
        }
        pool: Any = AsyncConnectionPool(shared_url, kwargs=options, open=False)
        store = MemoryStore(pool, EmbeddingModel("test:senses", DIMS, embeddings))
        async with pool, store:
            await store.setup()
            memory = MemoryFacade(store)
            await known(memory, "a zebra")
            await said(memory, "my zebra")
            await memory.read(query("puppy"))  # learns who speaks and what cosines mean
            await store.scale.settle()
            embeddings.questions.clear()
            Listening.said.clear()
            assert await memory.read(query("zebra"))
            assert embeddings.questions == ["zebra"]
            # in one pipeline the profile is looked up, the unread turns are listed, and what changed is asked for
            looked_up, listed, changed, read = Listening.said
            assert "memory_owners" in changed
            assert "memory_owners" not in looked_up + listed + read


GARBAGE = {
    "a megabyte": "zebra " * 175_000,
    "ten thousand words": " ".join(f"word{number}" for number in range(10_000)),
    "blank": " \n\t\u3000",
    "emoji": "🦓🦓🦓",
    "NUL and lone surrogates": "zebra\x00 \ud800 \udfff",
    "SQL": "zebra'; DROP TABLE store; -- %s %(p0)s {} $1 \\",
    "marks of the index": "\x1frole=user \x1fkind=fact \x1fspeaker=bob",
    "combining": "e" + "\u0301" * 5000,
    "dates": "on 2024-13-45 and 99/99/9999 and year 0 last last last week " * 40,
}


class TestGarbage:
    @pytest.fixture
    async def memory(self, store: MemoryStore) -> MemoryFacade:
        memory = MemoryFacade(store)
        await known(memory, "a zebra")
        await said(memory, "my zebra", ("Tom", "a lion"))
        await known(memory, "bob's zebra", user="bob")
        return memory

    @pytest.mark.parametrize("name", GARBAGE)
    async def test_any_question_is_answered_with_ones_own_and_any_text_hides_no_other(
        self, memory: MemoryFacade, name: str
    ) -> None:
        text = GARBAGE[name]
        results = await memory.read(query(text, cut=False))
        assert isinstance(results, MemoryResults)
        assert results.missing == {}
        assert not any("bob" in one for one in texts(results))
        if "zebra" in text:
            assert {"a zebra", "my zebra"} <= set(texts(results))
        if not text.strip():
            # where nothing is asked, nothing that was said elsewhere is nearer than the rest
            assert texts(results) == ["a zebra"]
        if text.strip():
            await memory.dialog.append("ann", "x", [HumanMessage(text, id="1")], agent_id="tester")
            await known(memory, text.encode(errors="replace").decode())
        found = texts(await memory.read(query("zebra")))
        assert {"a zebra", "my zebra"} <= set(found)

    async def test_what_the_caller_says_it_has_is_a_list_of_anything(self, memory: MemoryFacade) -> None:
        for seen in (None, (), ["\x00", "\ud800"], ["x"] * 5000):
            assert len(await memory.read(query("zebra", SEMANTIC, seen=seen))) == 1
        for seen in ("abc", {"a": 1}, 5):
            with pytest.raises(ValueError, match=r"extra\['seen'\] must be a list of ids"):
                await memory.read(query("zebra", SEMANTIC, seen=seen))

    async def test_keywords_without_end(self, memory: MemoryFacade) -> None:
        words = " ".join(f"word{number}" for number in range(30_000))
        conversation = await memory.dialog.append("ann", "k", [HumanMessage("hm", id="1")], agent_id="tester")
        with_words = conversation[0].model_copy(update={"keywords": f"giraffe {words}"})
        await memory.apply([put("ann", with_words)])
        assert "hm" in texts(await memory.read(query("giraffe", DIALOG)))


async def test_a_read_that_is_cancelled_leaves_the_pool_whole(store: MemoryStore) -> None:
    memory = MemoryFacade(store)
    await known(memory, "a zebra")
    await memory.read(query("zebra", SEMANTIC))
    async with store.pool.connection() as blocking, store.pool.connection() as watching, blocking.transaction():
        # readers wait for it in the middle of their statement
        await blocking.execute("LOCK TABLE store_vectors IN ACCESS EXCLUSIVE MODE")
        reads = [asyncio.create_task(memory.read(query("zebra", SEMANTIC))) for _ in range(3)]
        waiting = 0
        while waiting < 2 and not any(read.done() for read in reads):
            cursor = await watching.execute(
                "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            waiting = len(await cursor.fetchall())
        for read in reads:
            read.cancel()
        ended = await asyncio.gather(*reads, return_exceptions=True)
        assert [type(one) for one in ended] == [asyncio.CancelledError] * 3
    many = await asyncio.gather(*(memory.read(query("zebra", SEMANTIC)) for _ in range(20)))
    assert [texts(one) for one in many] == [["a zebra"]] * 20


@asynccontextmanager
async def down(url: str) -> AsyncIterator[None]:
    """Make a database refuse everybody: what is open is closed, and nothing new is let in."""
    name = str(conninfo_to_dict(url)["dbname"])
    server = url.replace(f"/{name}", "/postgres")

    async def let(allowed: str) -> None:
        async with await AsyncConnection.connect(server, autocommit=True) as conn:
            await conn.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}".encode())
            await conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))

    await let("false")
    try:
        yield
    finally:
        await let("true")


class TestTurns:
    """What a turn of an agent shows of it."""

    ASK = "What is my zebra called?"

    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel(script=["fine"])

    @pytest.fixture
    def turn(self, store: MemoryStore, model: ScriptedModel) -> Any:
        policy = MemoryPolicy(extraction={"mode": "off"}, recall={"timeout": 1.0})
        config = AgentConfig(name="tester", manager="react_mem", system_prompt="You help.", memory=policy)
        agent = resolve_agent(config, model=model, small_model=model, tools=[])
        graph = build_agent(agent, store=store, checkpointer=InMemorySaver())

        async def run(text: str, user: str = "ann", thread: str = "now") -> dict[str, dict[str, Any]]:
            """Run a turn; return its memory events by operation, and check that it was answered."""
            stream = graph.astream(
                {"messages": [("user", text)]},
                {"configurable": {"thread_id": f"{user} {thread}"}},
                context={"user_id": user},
                stream_mode="custom",
            )
            events = [event async for event in stream]
            assert {"type": "answer", "text": "fine"} in events
            await drain(20)
            return {event["operation"]: event for event in events if event["type"] == "memory"}

        return run

    async def test_without_the_embedder_it_is_found_by_words_and_said(
        self, store: MemoryStore, turn: Any, model: ScriptedModel, embeddings: SenseEmbeddings
    ) -> None:
        await known(MemoryFacade(store), "The zebra is called Zed")
        embeddings.error = ConnectionError("no route to the provider")
        event = (await turn(self.ASK))["retrieve"]
        assert event["status"] == "degraded"
        assert "vector: the question cannot be embedded (ConnectionError: no route to the provider)" in event["message"]
        assert "The zebra is called Zed" in str(model.prompts[-1][0].content)
        embeddings.error = None
        assert (await turn(self.ASK))["retrieve"]["status"] == "ok"

    async def test_while_the_database_is_down_what_was_last_known_stands_in(
        self, shared_url: str, store: MemoryStore, turn: Any, model: ScriptedModel
    ) -> None:
        memory = MemoryFacade(store)
        await known(memory, "The zebra is called Zed")
        await known(memory, "Bob's zebra is called Zoe", user="bob")
        await turn(self.ASK)
        await turn(self.ASK, user="bob")
        async with down(shared_url):
            event = (await turn("And what does it eat?", thread="other"))["retrieve"]
            assert event["status"] == "degraded"
            assert "database: could not be read; this was read" in event["message"]
            assert re.search(r"\((DatabaseUnavailable|\w+Error)\b", event["message"]), "the cause"
            prompt = str(model.prompts[-1][0].content)
            assert "The zebra is called Zed" in prompt
            assert "Zoe" not in prompt
            # who has read nothing has nothing
            nobody = (await turn(self.ASK, user="eve"))["retrieve"]
            assert (nobody["status"], nobody.get("items")) == ("degraded", None)
            assert "Zed" not in str(model.prompts[-1])
        again: Counter[str] = Counter()
        async with asyncio.timeout(30):
            while not again["ok"]:  # the pool makes new connections at its own pace
                again[(await turn(self.ASK))["retrieve"]["status"]] += 1

    async def test_words_that_are_not_indexed_yet(self, store: MemoryStore, turn: Any) -> None:
        await known(MemoryFacade(store), "The zebra is called Zed")
        async with store.pool.connection() as conn:
            await conn.execute("UPDATE store_vectors SET words = NULL")
        event = (await turn(self.ASK))["retrieve"]
        assert event["status"] == "ok"
        assert [item["text"] for item in event["items"]] == ["The zebra is called Zed"]
