"""The benchmark of a long conversation runs, and counts what it says it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.long_conversation import __main__ as benchmark
from benchmarks.long_conversation.__main__ import PEER
from benchmarks.long_conversation.conversation import DETAILS, conversation
from benchmarks.long_conversation.model import SMALL, UNKNOWN, Counter, serve
from tests.support.openai_server import OpenAIServer


def test_it_runs_beside_its_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "long.json"

    benchmark.main(["--json", str(out), "--turns", "8"])

    result = json.loads(out.read_text(encoding="utf-8"))
    ours, peer = result["metrics"], result["peers"][PEER]
    assert [ours[f"{name}.turn_3_recovered"] for name in ("react", "react_mem")] == [1, 1]
    assert peer["turn_3_recovered"] == 1
    # short of its window, the peer is the whole history
    assert ours["react.prompt_tokens.turn_8"] == peer["prompt_tokens.turn_8"]
    assert ours["react.calls"] == ours["react_mem.calls"] == peer["calls"]
    assert (ours["react.small_calls"], ours["react_mem.waited_for"], ours["react_mem.degraded"]) == (0, 0, 0)
    assert ours["react_mem.small_calls"] >= 8
    assert "Prompt tokens of a turn" in capsys.readouterr().out


def test_each_detail_is_said_once_and_asked_for_at_the_end() -> None:
    said = list(conversation(500))
    for detail in DETAILS:
        assert [turn.turn for turn in said if detail.said in turn.text] == [detail.turn]
        assert [turn.turn for turn in said if detail.value in turn.text] == [detail.turn]
    assert [turn.asks_for for turn in said[-4:]] == list(reversed(DETAILS))
    assert len({turn.text for turn in said}) == 500


async def test_the_model_answers_from_its_prompt_alone_and_sums_up_as_much_as_it_may() -> None:
    from langchain_openai import ChatOpenAI

    counter = Counter()
    with OpenAIServer() as server:
        serve(server, counter)
        chat = ChatOpenAI(model="long-chat", base_url=server.base_url, api_key="none")
        detail = DETAILS[0]
        assert (await chat.ainvoke(detail.question)).text == UNKNOWN
        assert detail.value in (await chat.ainvoke([("user", detail.said), ("user", detail.question)])).text
        small = chat.model_copy(update={"model_name": SMALL})
        rows = "\n".join(json.dumps({"text": f"{n}: {'word ' * 80}"}) for n in range(3))
        summary = await small.ainvoke([("system", "At most 300 characters."), ("user", f"<turns>\n{rows}\n</turns>")])
    assert 200 < len(summary.text) <= 300
    assert [part in summary.text for part in ("0: ", "1: ", "2: ")] == [True] * 3
    assert [detail in call.verbatim for call in counter.take()][:2] == [False, True]
