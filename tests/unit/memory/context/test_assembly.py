"""One context in one window: what fits, what does not, and that nothing is lost without being told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from react_mem.memory.context import Assembled, Frame, Section, Window, assemble, count_tokens, lay_out
from react_mem.memory.llm.budget import message_tokens
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.external import WebPage
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import Fragment, MemoryResultItem, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy, SummarySettings
from react_mem.memory.model.records import Message, Summary
from react_mem.memory.retrieval.results import INSTRUCTION
from react_mem.memory.summaries.sources import applied, next_fold, shown

AT = datetime(2026, 11, 20, tzinfo=UTC)
ANN = Identity("ann", "s")
WORDS = "the quick brown fox jumps over the lazy dog "


def policy(**fields: Any) -> MemoryPolicy:
    return MemoryPolicy(context=fields)


def thread(turns: int, size: int = 100, question: str = "and now?") -> list[AnyMessage]:
    """Return a conversation of turns with answers of so many characters."""
    earlier: list[AnyMessage] = []
    for number in range(turns):
        answer = f"answer {number} " + (WORDS * (size // 40 + 1))[:size]
        earlier += [HumanMessage(f"question {number}", id=f"q{number}"), AIMessage(answer, id=f"a{number}")]
    return [*earlier, HumanMessage(question, id="now")]


def found(text: str, scope: MemoryScope = MemoryScope.SEMANTIC, id_: str = "", **payload: Any) -> MemoryResultItem:
    payload = {"text": text, "created_at": "2026-01-02", "session_id": "other", **payload}
    return MemoryResultItem(scope=scope, id=id_ or text, payload=payload, source="fact", score=1.0)


def facts(count: int, size: int = 200) -> list[MemoryResultItem]:
    return [found(f"fact {n} " + (WORDS * 20)[:size]) for n in range(count)]


def profile(**fields: str) -> MemoryResultItem:
    values = {name: {"value": value} for name, value in fields.items()}
    return MemoryResultItem(scope=MemoryScope.PROFILE, id="profile", payload={"fields": values}, source="profile")


def pages(count: int, size: int = 3_000) -> list[WebPage]:
    return [
        WebPage(url=f"https://example.org/{n}", text=(WORDS * 100)[:size], fetched_at=AT, engine="tavily")
        for n in range(count)
    ]


def chain(*spans: tuple[int, int], session_id: str = "s") -> MemoryResultItem:
    entries = tuple(
        ChainEntry(
            id=f"sum{first}",
            kind="summary",
            level="1",
            text=f"summary of {first} to {last}",
            at=AT,
            first_turn=first,
            last_turn=last,
            covers=last - first + 1,
        )
        for first, last in spans
    )
    record = ContextChain(id="c", session_id=session_id, agent_id="a", entries=entries)
    return MemoryResultItem(scope=MemoryScope.DIALOG, id="c", payload=record.to_value(), source="chain")


def context(
    messages: list[AnyMessage], *results: MemoryResultItem, window: int | None = None, recalls: bool = True, **more: Any
) -> tuple[Frame, Assembled]:
    web = more.pop("web", ())
    tools = more.pop("tools", 0)
    known = Window(window or 16_000, window is not None)
    frame = Frame(messages, policy(**more), known, "You help.", tools)
    return frame, assemble(frame, results, web, session_id="s", recalls=recalls)


def prompt(frame: Frame, assembled: Assembled) -> list[Any]:
    return lay_out(frame.thread, assembled.layout, frame.instructions)


def test_a_short_conversation_is_the_instructions_the_memories_and_the_thread() -> None:
    messages = thread(3)
    frame, assembled = context(messages, found("likes tea"))
    system, *rest = prompt(frame, assembled)
    assert system.text.startswith("You help.\n\nBetween the marks is what you remember")
    assert system.text.endswith("<memories>\n# Facts\n- [fact 2026-01-02] likes tea\n</memories>")
    assert rest == messages
    assert not any(assembled.dropped.values())


def test_with_nothing_found_it_is_what_react_would_send() -> None:
    messages = thread(3)
    assert prompt(*context(messages)) == [SystemMessage("You help."), *messages]


def test_a_summary_of_another_conversation_is_never_shown() -> None:
    frame, assembled = context(thread(30), chain((0, 9), session_id="other"), dialog_turns=2)
    assert "summary of" not in prompt(frame, assembled)[0].text


def test_a_memory_that_the_prompt_shows_anyhow_is_not_shown_twice() -> None:
    messages = thread(3)
    repeated = found("question 1", MemoryScope.DIALOG, message_record_id("s", messages[2]), session_id="s", role="user")
    shown_as_summary = found("what it came to", MemoryScope.DIALOG, "sum0", session_id="s")
    _, assembled = context(messages, repeated, shown_as_summary, chain((0, 1)))
    assert "question 1" not in assembled.layout["retrieved"]
    assert "what it came to" in assembled.layout["retrieved"]
    _, assembled = context(thread(30), shown_as_summary, chain((0, 1)), dialog_turns=2)
    assert "what it came to" not in assembled.layout["retrieved"]


@pytest.mark.parametrize("level", ["1", "master"])
def test_a_summary_of_any_level_is_of_what_the_prompt_does_not_show(level: str) -> None:
    def summary(first: int, session_id: str = "s") -> MemoryResultItem:
        id_ = f"{session_id}{first}"
        place = {"first_turn": first, "last_turn": first}
        fields = {"session_id": session_id, "level": level, "source_ids": [f"below {id_}"], **place}
        return found(id_, MemoryScope.DIALOG, id_, **fields).model_copy(update={"source": "summary"})

    # the prompt shows the thread from its place 56 on
    told = [summary(10), summary(55), summary(56), summary(58), summary(58, "other")]
    _, assembled = context(thread(30), *told, dialog_turns=3)
    assert {item.id for item in assembled.memories.items} == {"s10", "s55", "other58"}


def test_what_memory_is_not_asked_for_is_in_the_prompt_whatever_is_found() -> None:
    # a message that neither the search returns nor the prompt shows would be lost
    messages = thread(40, size=900)
    frame = Frame(messages, policy(dialog_turns=40), Window(8_000, known=True), "You help.", 300)
    seen = set(frame.query(ANN, "a").extra["seen"])
    assembled = assemble(
        frame, [*facts(30), chain((0, 20)), profile(name="Lan")], pages(3), session_id="s", recalls=True
    )
    shown = {message_record_id("s", message) for message in prompt(frame, assembled)[1:]}
    assert seen <= shown
    assert len(seen) > 2


def test_what_does_not_fit_is_told() -> None:
    _, assembled = context(thread(40, 900), *facts(30), chain((0, 9)), web=pages(20), window=4_000)
    assert assembled.dropped[Section.WEB_PAGES] > 0
    assert assembled.dropped[Section.MEMORIES] > 0
    assert assembled.dropped[Section.CONVERSATION] > 0
    kept = 30 - assembled.dropped[Section.MEMORIES]
    assert len(assembled.memories.items) == kept > 0


@given(
    st.lists(st.tuples(st.sampled_from(list(MemoryScope)[:5]), st.integers(1, 800)), max_size=24),
    st.integers(250, 3_000),
)
def test_no_scope_starves_another(given_: list[tuple[MemoryScope, int]], tokens: int) -> None:
    crowd = [found(f"{scope} {n} " + (WORDS * 20)[:size], scope) for n, (scope, size) in enumerate(given_)]
    _, assembled = context(thread(2), *crowd, memory_tokens=tokens)
    assert {item.scope for item in assembled.memories.items} == {scope for scope, _ in given_}


@pytest.mark.parametrize("known", [True, False])
def test_a_question_is_cut_only_where_the_window_is_known(known: bool) -> None:
    messages = thread(3, question="Read: " + "dữ liệu " * 70_000 + " What is it about?")
    frame, assembled = context(messages, found("likes tea"), window=16_000 if known else None)
    system, *rest = prompt(frame, assembled)
    assert (assembled.cut > 400_000) is known
    assert (rest[-1].text == messages[-1].text) is not known
    assert rest[-1].text.endswith("What is it about?")
    # and either way it does not cost the rest
    assert "likes tea" in system.text
    assert [message.id for message in rest[:-1]] == [message.id for message in messages[:-1]]


def test_without_recall_the_whole_thread_is_shown_unless_it_is_known_not_to_fit() -> None:
    messages = thread(60, 2_000)
    frame, assembled = context(messages, recalls=False)
    assert prompt(frame, assembled)[1:] == messages
    frame, assembled = context(messages, recalls=False, window=16_000)
    shown = prompt(frame, assembled)[1:]
    assert 10 < len(shown) < 120
    assert assembled.dropped[Section.CONVERSATION] == 121 - len(shown)


def test_the_steps_of_a_turn_only_add_to_the_end() -> None:
    messages = thread(40, 900)
    frame, assembled = context(messages, found("likes tea"), window=8_000, tools=300)
    before = prompt(frame, assembled)
    call = {"name": "t", "args": {}, "id": "c"}
    steps: list[AnyMessage] = [AIMessage("", tool_calls=[call], id="s"), ToolMessage("r" * 100_000, tool_call_id="c")]
    after = lay_out([*messages, *steps], assembled.layout, "You help.")
    assert after[: len(before)] == before
    assert message_tokens(after[-1]) <= assembled.layout["step_tokens"]
    assert "characters are left out" in after[-1].text


def test_what_was_laid_out_outlives_a_message_that_is_removed() -> None:
    messages = thread(5)
    _, assembled = context(messages, dialog_turns=3)
    left = [message for message in messages if message.id != assembled.layout["first"]]
    laid_out = lay_out(left, assembled.layout, "You help.")
    assert {"q4", "a4", "now"} <= {message.id for message in laid_out}


def folded(messages: list[AnyMessage], settings: SummarySettings) -> list[ContextChain]:
    """Return the chain of a conversation after each of its turns, summed up as it goes behind them."""
    chain, chains = ContextChain.begin("s", "a"), []
    where = {"session_id": "s", "agent_id": "a"}
    for place, message in enumerate(messages[:-1]):
        role: Any = "user" if message.type == "human" else "assistant"
        record = Message(
            id=f"m{place}", text=message.text, role=role, content=message.text, turn=place, created_at=AT, **where
        )
        chain = chain.append([record])
        while fold := next_fold(chain, settings):
            text = (f"what was said from {fold.parts[0].first_turn} on, " * 20)[: settings.summary_length]
            summary = Summary(id=fold.summary_id("s"), text=text, level=fold.level, created_at=AT, **where)
            chain = applied(chain, fold, summary)
        if role == "assistant":
            chains.append(chain)
    return chains


@pytest.mark.parametrize("window", ["newest", "oldest"])
def test_the_prompt_of_turn_400_takes_what_that_of_turn_50_took_and_covers_all_of_the_conversation(window: Any) -> None:
    messages = thread(400, 400)
    chains = folded(messages, SummarySettings(window=window))
    taken = []
    for turn in range(50, 401, 50):
        chain_item = MemoryResultItem(
            scope=MemoryScope.DIALOG, id="c", payload=chains[turn - 1].to_value(), source="chain"
        )
        until = [*messages[: 2 * turn], messages[-1]]
        frame, assembled = context(until, *facts(30), chain_item, window=8_000)
        taken.append(sum(assembled.tokens.values()))
        assert assembled.dropped[Section.SUMMARIES] == 0
        first = next(i for i, message in enumerate(until) if message.id == assembled.layout["first"])
        entries = shown(chains[turn - 1], first)
        covered = {place for entry in entries for place in range(entry.first_turn, entry.last_turn + 1)}
        assert covered >= set(range(first))
        text = prompt(frame, assembled)[0].text
        assert all(entry.text[:30] in text for entry in entries)
    # it breathes with what waits to be summed up, and does not grow
    assert max(taken) < 1.2 * min(taken)
    assert max(taken[4:]) < 1.05 * max(taken[:4])


texts = st.text("abc dễ 数 1,.<>\n", max_size=1_500)
turns = st.lists(st.tuples(texts, texts), max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    turns,
    st.lists(st.tuples(texts, st.sampled_from(list(MemoryScope)[:5])), max_size=20),
    st.lists(texts, max_size=4),
    st.integers(0, 10),
    st.integers(4_000, 20_000),
    st.integers(0, 600),
    st.booleans(),
)
def test_the_prompt_fits_the_window_whatever_comes(
    said: list[tuple[str, str]],
    remembered: list[tuple[str, MemoryScope]],
    web: list[str],
    summaries: int,
    window: int,
    tools: int,
    recalls: bool,
) -> None:
    messages: list[AnyMessage] = []
    for number, (question, answer) in enumerate(said):
        messages += [HumanMessage(question, id=f"q{number}"), AIMessage(answer, id=f"a{number}")]
    messages.append(HumanMessage(WORDS, id="now"))
    results = [found(text, scope, str(n)) for n, (text, scope) in enumerate(remembered)]
    results += [profile(name="Lan", home="Huế"), chain(*((n * 2, n * 2 + 1) for n in range(summaries)))]
    found_pages = [WebPage(url=f"https://x.org/{n}", text=t, fetched_at=AT, engine="e") for n, t in enumerate(web)]
    frame, assembled = context(messages, *results, web=found_pages, window=window, tools=tools, recalls=recalls)
    laid_out = prompt(frame, assembled)
    used = sum(map(message_tokens, laid_out)) + tools
    assert used <= window - frame.policy.context.answer_tokens
    # a line that is counted alone takes up to two tokens more than within its block
    lines = assembled.layout["retrieved"].count("\n")
    assert used <= sum(assembled.tokens.values()) <= used + 2 * lines + 10
    for section, tokens in assembled.tokens.items():
        assert tokens <= assembled.budget[section]
    assert laid_out[-1] is messages[-1]
    assert "- [profile] name: Lan" in laid_out[0].text
    assert count_tokens(assembled.layout["retrieved"]) <= window


def test_a_fact_of_a_message_that_only_instructs_is_not_shown_beside_the_instruction() -> None:
    said = "I prefer a cool climate."
    instruction = found(said, MemoryScope.DIALOG, "m1", role="user", kind="message").model_copy(
        update={"source": INSTRUCTION, "fragments": (Fragment(id="m1", role="user", content=said),)}
    )
    drawn = found("I prefer a cool climate.", id_="f1", kind="fact", source_ids=["m1"])
    other = found("I live in a cool climate.", id_="f2", kind="fact", source_ids=["m1", "m2"])
    frame, assembled = context(thread(0), instruction, drawn, other)
    assert prompt(frame, assembled)[0].text.count(said) == 1
    assert other.payload["text"] in prompt(frame, assembled)[0].text


def test_an_instruction_in_the_thread_is_counted_once_and_stays() -> None:
    messages: list[AnyMessage] = [SystemMessage("Answer in French. " * 20, id="sys"), *thread(30, 900)]
    frame, assembled = context(messages, window=6_000)
    laid_out = prompt(frame, assembled)
    assert laid_out[1] is messages[0]
    assert assembled.tokens[Section.SYSTEM] > count_tokens(messages[0].text)
    assert sum(map(message_tokens, laid_out)) <= frame.available
