"""Prompts replaced at run time: what is read is kept for a while, and a store that is down stops nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.errors import PromptError
from react_mem.memory.store.prompt_versions import FILE, PromptVersions
from react_mem.prompts import load_prompt

NAME = "chat_summary_first"
TEXT = "Sum up in {summary_length} characters, ask in {question_length}."


class FlakyStore(InMemoryStore):
    """A store that can be down."""

    down = False

    async def aget(self, *args: Any, **kwargs: Any) -> Any:
        if self.down:
            raise ConnectionError("postgresql://user:secret@host is down")
        return await super().aget(*args, **kwargs)


class SlowStore(InMemoryStore):
    """A store that lets others go on while it reads."""

    async def aget(self, *args: Any, **kwargs: Any) -> Any:
        item = await super().aget(*args, **kwargs)
        await asyncio.sleep(0)
        return item


async def test_in_one_process_no_put_overwrites_another_on_a_store_without_guarded_writes() -> None:
    store = SlowStore()
    put = await asyncio.gather(*(PromptVersions(store).put(NAME, f"{TEXT} {n}") for n in range(4)))
    assert sorted(one.version for one in put) == [1, 2, 3, 4]
    assert len({one.text for one in await PromptVersions(store).list(NAME)}) == 5


@pytest.mark.parametrize(("ttl", "version"), [(1000.0, FILE), (0.0, 1)], ids=["kept", "no longer kept"])
async def test_what_another_process_changes_is_seen_after_a_while(ttl: float, version: int) -> None:
    store = InMemoryStore()
    prompts = PromptVersions(store, ttl=ttl)
    assert (await prompts.current(NAME)).version == FILE
    # as another process does it
    await store.aput(("prompts", NAME), "00000001", {"version": 1, "text": TEXT}, index=False)
    await store.aput(("prompts", NAME), "head", {"latest": 1, "active": 1, "before": [FILE]}, index=False)
    assert (await prompts.current(NAME)).version == version


async def test_while_the_store_is_down_the_file_stands_in_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    store = FlakyStore()
    store.down = True
    current = await PromptVersions(store).current(NAME)
    assert current.text == load_prompt(NAME)
    assert current.problem == "the active version of the prompt 'chat_summary_first' cannot be read (ConnectionError)"
    assert "secret" not in caplog.text


async def test_what_was_read_before_the_store_went_down_goes_on() -> None:
    store = FlakyStore()
    prompts = PromptVersions(store, ttl=0)
    await prompts.put(NAME, TEXT)
    assert (await prompts.current(NAME)).problem == ""
    store.down = True
    current = await prompts.current(NAME)
    assert (current.text, current.version) == (TEXT, 1)
    assert "cannot be read" in current.problem
    store.down = False
    assert (await prompts.current(NAME)).problem == ""


REFUSED = {
    "empty": (" ", "it is empty"),
    "a placeholder less": ("In {summary_length} characters.", r"lacks the placeholder \{question_length\}"),
    "one too many": (f"{TEXT} {{name}}", r"it has \{name\}, which nothing fills in"),
    "an attribute": (f"{TEXT} {{summary_length.__class__}}", "which nothing fills in"),
    "a conversion": ("{summary_length!r} {question_length}", r"lacks the placeholder \{summary_length\}"),
    "an open brace": (f"{TEXT} {{", "its braces do not match"),
    "too long": (f"{TEXT}{'x' * 60_000}", "50000 are allowed"),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
async def test_a_text_that_cannot_stand_in_for_the_file_is_refused(text: str, why: str) -> None:
    prompts = PromptVersions(InMemoryStore())
    with pytest.raises(PromptError, match=why):
        await prompts.put(NAME, text)
    assert len(await prompts.list(NAME)) == 1


async def test_a_prompt_that_nothing_is_filled_into_may_hold_braces() -> None:
    prompts = PromptVersions(InMemoryStore())
    await prompts.put("extract_memories", 'Answer {"ops": []}.')
    assert (await prompts.current("extract_memories")).text == 'Answer {"ops": []}.'
