"""Searching the web over real HTTP: Tavily's own client, real sockets, pages of all kinds."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from react_mem.memory.model.external import WebAnswer, WebSettings
from react_mem.tools.web import reader
from react_mem.tools.web.engines import Engine, WebHit, engine_named
from react_mem.tools.web.fetch import Network, PageError, PageFetcher, PageRefused
from react_mem.tools.web.search import WebSearch
from tests.support.scripted_model import ScriptedModel
from tests.support.web_server import GOLD, INJECTION, Page, WebServer, never

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
QUESTION = "What is the price of gold in Hanoi today?"
KEY = "tvly-not-a-real-key"

_connected: list[Any] | None = None


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _connected is not None:
        _connected.append(arguments[1])


sys.addaudithook(_hear)


@pytest.fixture
def connected() -> Iterator[list[Any]]:
    """Every address that a socket of this process connects to in the test, whatever opens it."""
    global _connected
    _connected = []
    yield _connected
    _connected = None


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """The web, and a key for its engine."""
    with WebServer() as server:
        monkeypatch.setenv("TAVILY_BASE_URL", server.base_url)
        monkeypatch.setenv("TAVILY_API_KEY", KEY)
        yield server


def settings(**changed: Any) -> WebSettings:
    return WebSettings.model_validate({"enabled": True, "engines": ("tavily",), **changed})


def searching(
    web: WebServer, *, engines: list[Engine] | None = None, clock: Any = time.monotonic, **changed: Any
) -> WebSearch:
    return WebSearch(settings(**changed), engines=engines, fetcher=PageFetcher(web.network()), clock=clock)


async def search(web: WebServer, question: str = QUESTION, **changed: Any) -> WebAnswer:
    return await searching(web, **changed).search(question, now=NOW)


async def test_a_page_comes_back_as_text_with_its_date_and_address(web: WebServer) -> None:
    body = (
        '<html><head><title>Gold today</title><meta property="article:published_time" content="2026-05-03T08:00:00Z">'
        f"</head><body><nav><a href=/>Home</a></nav><article><h1>Gold today</h1>{GOLD}</article></body></html>"
    )
    web.finds(web.page("/gold", body) + "?utm_source=tavily#top")
    answer = await search(web)
    assert (answer.trigger, answer.query, answer.missing) == ("keywords", QUESTION, {})
    (page,) = answer.pages
    assert "rose to 150 million dong" in page.text
    assert "<" not in page.text
    assert (page.title, page.published, page.url) == ("Gold today", "2026-05-03", web.url("/gold"))
    assert (page.engine, page.fetched_at, page.score) == ("tavily", NOW, 1.0)
    assert web.queries[0]["authorization"] == f"Bearer {KEY}"
    ((_, headers),) = web.asked
    assert not {"cookie", "authorization", "referer"} & headers.keys()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("script", "rose to 150 million dong"),
        ("injection", "rose to 150 million dong"),
        ("hidden", "rose to 150 million dong"),
        ("charset", "Giá vàng ở Hà Nội hôm nay"),
        ("utf16", "Giá vàng ở Hà Nội hôm nay"),
        ("undeclared", "цены на золото выросли"),
        ("broken", "rose to 150 million dong"),
    ],
)
async def test_a_hostile_page_with_something_to_say_is_clean_text(web: WebServer, kind: str, said: str) -> None:
    web.finds(web.hostile(kind))
    (page,) = (await search(web)).pages
    assert said in page.text
    assert not any(trace in page.text for trace in ("steal", "evil", "color:red", "<p", "onerror"))
    if kind == "hidden":
        assert "IGNORE" not in page.text
    if kind == "injection":
        assert INJECTION[:40] in page.text, "it is data, and whoever shows it fences it"


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("endless", "larger than 2 MB"),
        ("slow", "took longer than"),
        ("redirect", "not an address of the public internet"),
        ("loop", "redirects more than 3 times"),
        ("scheme", "file is not a scheme"),
        ("bomb", "larger than 2 MB"),
        ("brotli", "not asked for"),
        ("nothing", "no text"),
        ("image", "image/png"),
        ("gone", "404"),
    ],
)
async def test_a_page_that_cannot_be_read_is_refused_with_the_cause(
    web: WebServer, connected: list[Any], kind: str, cause: str
) -> None:
    url = web.hostile(kind)
    web.finds(url, web.page("/good", GOLD))
    started = time.monotonic()
    answer = await search(web, timeout=1.5)
    assert time.monotonic() - started < 1.6
    assert cause in answer.missing[url]
    assert [page.url for page in answer.pages] == [web.url("/good")], "the others are read all the same"
    assert {address for address, *_ in connected} == {"127.0.0.1"}
    assert web.sent_bytes < 15_000_000, "no more is taken than is looked at, and what the sockets hold"


@pytest.mark.parametrize("kind", ["gone", "redirect"])
async def test_what_the_engine_shows_stands_in_for_a_page_that_is_only_broken(web: WebServer, kind: str) -> None:
    web.finds({"url": web.hostile(kind), "content": "<b>Gold</b> is at 150.", "title": "Gold"})
    answer = await search(web, timeout=20.0)
    # one that leads inside is not trusted at all
    assert [page.text for page in answer.pages] == (["Gold is at 150."] if kind == "gone" else [])
    assert answer.missing


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://168.63.129.16/",
        "http://[::1]/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://127.2/",
        "http://93.184.215.14:22/",
        "http://user:password@93.184.215.14/",
        "not an address",
    ],
)
async def test_nothing_inside_is_ever_connected_to(connected: list[Any], url: str) -> None:
    with pytest.raises(PageError):
        await PageFetcher().fetch(url, seconds=2)
    assert connected == []


async def test_a_redirect_inside_is_refused_wherever_it_comes(web: WebServer, connected: list[Any]) -> None:
    with WebServer("127.0.0.2") as inside:
        web.page("/1", b"", status=302, headers={"location": "/2"})
        web.page("/2", b"", status=307, headers={"location": inside.url("/secret", inside.address)})
        fetcher = PageFetcher(web.network())
        with pytest.raises(PageRefused):
            await fetcher.fetch(web.url("/1"), seconds=2)
        with pytest.raises(PageRefused):
            await fetcher.fetch(inside.url("/secret", inside.address), seconds=2)
        assert inside.asked == []
    assert {address for address, *_ in connected} == {"127.0.0.1"}


async def test_a_name_that_changes_its_mind_leads_nowhere(web: WebServer, connected: list[Any]) -> None:
    """The address that was checked is the one connected to, and each connection is checked anew."""
    web.page("/first", b"", status=302, headers={"location": web.url("/second", "rebind.test")})
    answers = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "127.0.0.2"]])
    network = web.network()

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    fetcher = PageFetcher(Network(resolve, network.allows_address, network.allows_port))
    with pytest.raises(PageRefused):
        await fetcher.fetch(web.url("/first", "rebind.test"), seconds=2)
    with pytest.raises(PageRefused):
        await fetcher.fetch(web.url("/first", "rebind.test"), seconds=2)
    assert [address for address, *_ in connected] == ["127.0.0.1"]
    assert web.paths() == ["/first"]


async def test_the_next_engine_answers_for_one_that_fails(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    web.answers(Page(b'{"detail": {"error": "quota"}}', "application/json", 429))
    with WebServer() as other:
        monkeypatch.setenv("SEARXNG_URL", other.base_url + "/")
        other.finds({"url": web.page("/gold", GOLD), "publishedDate": "2026-05-02T00:00:00"})
        answer = await search(web, engines=[engine_named("tavily"), engine_named("searxng")])
        assert [page.engine for page in answer.pages] == ["searxng"]
        assert answer.pages[0].published == "2026-05-02"
        assert answer.missing == {"tavily": "it has been asked too often (429)"}
        assert other.queries == [{"path": "/search", "q": QUESTION, "format": "json"}]


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Page(b"{}", "application/json", 401), "it refuses TAVILY_API_KEY"),
        (Page(b"oops", "text/plain", 500), "it failed (HTTPStatusError)"),
        (Page(b'{"results": 7}', "application/json"), "not of the form"),
        (Page(b'{"results": []}', "application/json"), "it found nothing"),
        (Page(never, "application/json"), "took longer than 0.5 s"),
    ],
)
async def test_an_engine_that_answers_nonsense_fails_no_turn(
    web: WebServer, caplog: pytest.LogCaptureFixture, reply: Page, cause: str
) -> None:
    caplog.set_level(logging.INFO)
    web.answers(reply)
    answer = await search(web, timeout=1.0)
    assert answer.pages == ()
    assert (answer.trigger, answer.query) == ("keywords", QUESTION)
    assert cause in answer.missing["tavily"]
    assert KEY not in str(answer) + caplog.text
    assert QUESTION not in caplog.text, "no content in the logs"


async def test_what_is_not_set_up_is_said_and_passed_over(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TAVILY_API_KEY", "GOOGLE_API_KEY", "SEARXNG_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "ddgs", None)
    answer = await search(
        web, engines=[engine_named(name) for name in ("tavily", "duckduckgo", "google", "searxng", "no_such_module:it")]
    )
    assert answer.pages == ()
    assert answer.missing["tavily"] == "TAVILY_API_KEY is not set"
    assert "pip install 'react-mem[search]'" in answer.missing["duckduckgo"]
    assert answer.missing["google"] == "GOOGLE_API_KEY is not set"
    assert answer.missing["searxng"] == "SEARXNG_URL is not set"
    assert "no_such_module" in answer.missing["no_such_module:it"]


async def test_without_the_parser_an_engines_own_words_are_used(
    web: WebServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # pages are read in processes of their own, which import what this one would
    (tmp_path / "trafilatura.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(reader, "_own", threading.local())
    web.finds({"url": web.page("/gold", GOLD), "content": "Gold is at 150."})
    answer = await search(web)
    assert [page.text for page in answer.pages] == ["Gold is at 150."]
    assert "pip install 'react-mem[search]'" in answer.missing["pages"]


async def test_google_and_retrievers(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "google-key")
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine-id")
    monkeypatch.setattr("react_mem.tools.web.engines._GOOGLE_URL", web.base_url + "/customsearch/v1")
    item = {
        "link": web.page("/gold", GOLD),
        "title": "Gold",
        "snippet": "Gold is at <b>150</b> &amp; rising",
        "pagemap": {"metatags": [{"article:published_time": "2026-04-30T01:02:03Z"}]},
    }
    web.answers(Page(json.dumps({"items": [item]}).encode(), "application/json"))
    answer = await search(web, engines=[engine_named("google")])
    assert [(page.engine, page.published) for page in answer.pages] == [("google", "2026-04-30")]
    (asked,) = web.queries
    assert (asked["q"], asked["cx"], asked["key"]) == (QUESTION, "engine-id", "google-key")

    searches = searching(web, engines=[engine_named(f"{__name__}:retriever")])
    retrieved.clear()
    answer = await searches.search(QUESTION, now=NOW)
    assert [(page.text, page.title, page.url) for page in answer.pages] == [
        ("Gold in the archive: 150.", "Archive", "archive/1"),
        ("More on gold.", "", f"{__name__}:retriever#2"),
    ]
    assert web.paths() == ["/gold"], "what a retriever returns is all there is"
    await searches.search(QUESTION, now=NOW)
    assert retrieved == [QUESTION, QUESTION], "it may answer each user otherwise, so nothing of it is kept"


retrieved: list[str] = []


def _retrieve(query: str) -> list[Document]:
    retrieved.append(query)
    archive = {"source": "archive/1", "title": "<i>Archive</i>"}
    return [Document("<p>Gold in the <b>archive</b>: 150.</p>", metadata=archive), Document("More on gold.<!-- ad -->")]


retriever = RunnableLambda(_retrieve)


class _Failing:
    """An engine that fails as long as it is told to."""

    def __init__(self) -> None:
        self.fails = True
        self.asked = 0

    async def find(self, query: str, limit: int) -> list[WebHit]:
        self.asked += 1
        if self.fails:
            raise ConnectionError("no route")
        return [WebHit("https://example.com/", "Gold", "Gold is at 150.", is_whole=True)]


async def test_an_engine_that_keeps_failing_is_left_alone_for_a_while(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("react_mem.tools.web.search.CACHE_SECONDS", 0)
    engine, now = _Failing(), [0.0]
    searches = searching(web, engines=[Engine("failing", engine.find)], clock=lambda: now[0])

    async def missing() -> str:
        return (await searches.search(QUESTION, now=NOW)).missing.get("failing", "")

    causes = [await missing() for _ in range(5)]
    assert causes == ["it failed (ConnectionError)"] * 3 + ["left alone for 60 s: it failed before"] * 2
    now[0] = 61.0
    assert await missing() == "it failed (ConnectionError)", "one try"
    assert "left alone for 60 s" in await missing(), "and closed again"
    now[0] = 122.0
    engine.fails = False
    assert [await missing(), await missing()] == ["", ""]
    assert engine.asked == 6


async def test_results_are_used_again_while_they_are_new(web: WebServer) -> None:
    now = [0.0]
    searches = searching(web, clock=lambda: now[0])
    web.finds(web.page("/gold", GOLD))
    first = await searches.search(QUESTION, now=NOW)
    again = await searches.search(f"  {QUESTION.upper()} ", now=datetime(2026, 5, 5, tzinfo=UTC))
    assert again.pages == first.pages
    assert len(web.queries) == 1
    now[0] = 900.0
    await searches.search(QUESTION, now=NOW)
    assert len(web.queries) == 2
    web.answers(Page(b"", "text/plain", 500))
    now[0] = 2_000.0
    failed = await searches.search(QUESTION, now=NOW)
    web.finds(web.page("/gold", GOLD))
    assert not failed.pages
    assert (await searches.search(QUESTION, now=NOW)).pages, "a failure is not kept"


async def test_what_is_private_is_neither_sent_nor_kept(web: WebServer) -> None:
    profile = {"name": "Nguyễn Văn An", "phone": "0901234567"}
    searches = searching(web)
    web.finds(web.page("/gold", GOLD))
    answer = await searches.search(
        "Tôi là Nguyễn Văn An (0901 234 567), giá vàng hôm nay bao nhiêu?", profile_values=profile, now=NOW
    )
    assert answer.query == web.queries[-1]["query"] == "giá vàng hôm nay bao nhiêu?"

    for _ in range(2):
        asked = await searches.search("latest news about Nguyen Van An", profile_values=profile, now=NOW)
        assert asked.query == web.queries[-1]["query"] == "latest news about Nguyen Van An"
    assert len(web.queries) == 3, "what names a user is searched for each time: it is not another's to find"

    nothing = await searches.search("Nguyen Van An, 0901234567, news today?", profile_values=profile, now=NOW)
    assert "Nguyen" not in nothing.query
    empty = await searches.look_up("Nguyen Van An 0901234567", profile_values=profile, now=NOW)
    assert (empty.query, empty.pages) == ("", ())
    assert "private" in empty.missing["query"]
    assert all("0901" not in str(query) for query in web.queries)


@pytest.mark.parametrize(
    ("said", "trigger"),
    [("Yes.", "model"), ("NO", "none"), ("yes, because", "none"), ("{}", "none")],
)
async def test_where_words_do_not_decide_the_model_does_and_nonsense_is_no(
    web: WebServer, said: str, trigger: str
) -> None:
    model = ScriptedModel(script=[said])
    web.finds(web.page("/gold", GOLD))
    answer = await searching(web).search("Who owns the Pixel brand?", models=[model], now=NOW)
    assert answer.trigger == trigger
    assert bool(answer.pages) == (trigger == "model")
    ((system, human),) = model.prompts
    assert "2026-05-04" in system.text
    assert "Who owns the Pixel brand?" in human.text


async def test_a_model_that_fails_or_hangs_is_a_no_that_says_so(web: WebServer) -> None:
    failing = ScriptedModel(script=[ConnectionError("secret")])
    answer = await searching(web).search("Who owns the Pixel brand?", models=[failing], now=NOW)
    assert answer == WebAnswer(missing={"decision": "the model could not be asked (ModelUnavailable)"})

    class Hanging(ScriptedModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            await asyncio.Event().wait()

    started = time.monotonic()
    answer = await searching(web, timeout=1.0).search("Who owns Pixel?", models=[Hanging(script=["yes"])], now=NOW)
    assert answer.missing == {"decision": "the model could not be asked (DeadlineExceeded)"}
    assert time.monotonic() - started < 0.6


async def test_nothing_is_asked_or_sent_where_it_must_not_be(web: WebServer) -> None:
    model = ScriptedModel(script=["yes"])
    cases: list[tuple[str, dict[str, Any]]] = [
        ("What is my name?", {}),
        ("Who owns the Pixel brand?", {"ask_model": False}),
        (QUESTION, {"enabled": False}),
    ]
    for question, changed in cases:
        assert await searching(web, **changed).search(question, models=[model], now=NOW) == WebAnswer()
    assert model.prompts == []
    assert web.queries == []


async def test_nothing_blocks_the_event_loop(web: WebServer) -> None:
    web.finds(*(web.hostile(kind) for kind in ("script", "bomb", "charset", "gone")), web.page("/gold", GOLD))
    with blockbuster_ctx():
        answer = await (await asyncio.to_thread(searching, web)).search(
            "Who owns the Pixel brand?", models=[ScriptedModel(script=["yes"])], now=NOW
        )
    assert answer.pages


def test_a_package_that_one_setting_needs_is_loaded_when_it_is_used() -> None:
    modules = "react_mem.agents.entry, react_mem.agents.agent_opening, react_mem.tools.web.search"
    packages = {"ddgs", "langmem", "tavily", "trafilatura", "lxml"}
    check = f"import sys, {modules}; print(sorted({packages} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "[]\n"
