"""The benchmark of layers: its data is what it says, and its metrics tell a right choice from a wrong one."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from benchmarks.layers.__main__ import filled, metrics, read, show
from benchmarks.layers.data import LayerRequest, load_layer_requests, load_memory
from benchmarks.routing.data import load_requests
from react_mem.tools.routing.layers import layer_routes
from tests.support.databases import WordEmbeddings

MEMORY, REQUESTS = load_memory(), load_layer_requests()
SCOPES = {row.id: str(row.scope) for row in MEMORY}


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_there_are_as_many_requests_in_each_language_and_some_for_each_layer() -> None:
    assert Counter(request.lang for request in REQUESTS) == {"en": 75, "vi": 75}
    assert {id_ for request in REQUESTS for id_ in request.needs} <= SCOPES.keys()
    needed = Counter((one.lang, SCOPES[id_]) for one in REQUESTS for id_ in one.needs)
    assert len(needed) == 8
    assert min(needed.values()) >= 9


def test_no_request_chose_the_routers_constants_or_is_one_of_its_examples() -> None:
    known = [request.text for half in ("tune", "test") for request in load_requests(half)]
    known += [example for route in layer_routes() for example in route.examples]
    assert not {plain(text) for text in known} & {plain(request.text) for request in REQUESTS}


async def test_a_right_choice_keeps_what_is_needed_in_fewer_tokens_and_a_wrong_one_shows() -> None:
    store = await filled(MEMORY, WordEmbeddings(128), 128)
    text = "Who sells mostly espresso cups and bowls, and runs a small pottery studio?"
    request = LayerRequest(lang="en", text=text, needs=("f24", "f05"))
    frame, results = await read(store, request)
    needed = {request.text: ("semantic",)}
    base = show(request, frame, results, ())
    right, wrong = (show(request, frame, results, [layer], limited=True) for layer in ("semantic", "procedural"))
    assert base.recall == right.recall == 1
    assert base.tokens > right.tokens
    told = metrics([right], needed, [base])
    assert (told["layer_right"], told["difference.recall"], told["all_needed"]) == (1, 0, 1)
    assert told["difference.prompt_tokens"] == pytest.approx(right.tokens - base.tokens)
    assert metrics([wrong], needed, [base])["layer_right"] == 0
