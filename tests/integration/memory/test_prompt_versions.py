"""Prompts replaced at run time: versions, rollback, refusals, and what stands in while a store is down."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.errors import PromptError
from react_mem.memory.store.prompt_versions import FILE, PromptVersions
from react_mem.prompts import load_prompt

NAME = "chat_summary_first"
TEXT = "Sum up in {summary_length} characters, ask in {question_length}."


class FlakyStore(InMemoryStore):
    """A store that can be down, and lets others go on while it reads."""

    down = False

    async def aget(self, *args: Any, **kwargs: Any) -> Any:
        if self.down:
            raise ConnectionError("postgresql://user:secret@host is down")
        item = await super().aget(*args, **kwargs)
        await asyncio.sleep(0)
        return item


@pytest.fixture
def prompts(store: BaseStore) -> PromptVersions:
    return PromptVersions(store)


async def test_a_new_version_is_used_at_once_and_a_rollback_goes_back_step_by_step(
    prompts: PromptVersions, store: BaseStore
) -> None:
    current = await prompts.current(NAME)
    assert (current.text, current.version, current.problem) == (load_prompt(NAME), FILE, "")
    first = await prompts.put(NAME, TEXT, note="shorter")
    second = await prompts.put(NAME, f"{TEXT} Please.")
    assert (first.version, second.version, second.active) == (1, 2, True)
    assert (await prompts.current(NAME)).text == f"{TEXT} Please."
    assert [(one.version, one.active, one.note) for one in await prompts.list(NAME)] == [
        (2, True, ""),
        (1, False, "shorter"),
        (FILE, False, "the file"),
    ]
    assert (await prompts.rollback(NAME)).version == 1
    assert (await prompts.current(NAME)).text == TEXT
    assert (await prompts.rollback(NAME)).version == FILE
    assert (await prompts.current(NAME)).text == load_prompt(NAME)
    with pytest.raises(PromptError, match="no version of the prompt 'chat_summary_first' was active before"):
        await prompts.rollback(NAME)
    assert (await prompts.activate(NAME, 2)).active
    assert (await prompts.get(NAME)).version == 2
    # none is a user's memory, and another prompt has versions of its own
    assert await store.alist_namespaces() == [("prompts", NAME)]
    assert (await prompts.current("chat_summary_next")).version == FILE


async def test_a_version_can_be_stored_without_being_used(prompts: PromptVersions) -> None:
    stored = await prompts.put(NAME, TEXT, activate=False)
    assert not stored.active
    assert (await prompts.current(NAME)).version == FILE
    assert (await prompts.get(NAME, 1)).text == TEXT


async def test_those_who_put_at_once_all_get_a_version(store: BaseStore) -> None:
    """As processes do: each has its own object."""
    for kept in (store, FlakyStore()):
        versions = await asyncio.gather(*(PromptVersions(kept).put(NAME, f"{TEXT} {n}") for n in range(4)))
        assert sorted(version.version for version in versions) == [1, 2, 3, 4]
        assert {one.text for one in await PromptVersions(kept).list(NAME)} >= {f"{TEXT} {n}" for n in range(4)}


async def test_an_unknown_prompt_or_version_is_named(prompts: PromptVersions) -> None:
    with pytest.raises(ValueError, match="Did you mean 'chat_summary_first'"):
        await prompts.put("chat_summary_frist", TEXT)
    with pytest.raises(PromptError, match="has no version 7; the latest is 0, 0 is the file"):
        await prompts.activate(NAME, 7)


async def test_a_stored_version_that_the_file_has_outgrown_is_not_used(
    prompts: PromptVersions, store: BaseStore
) -> None:
    await prompts.put(NAME, TEXT)
    await store.aput(("prompts", NAME), "00000001", {"version": 1, "text": "no placeholders"}, index=False)
    current = await prompts.current(NAME)
    assert current.text == load_prompt(NAME)
    assert "version 1 of the prompt 'chat_summary_first' is not used: it lacks" in current.problem
    with pytest.raises(PromptError, match="version 1 of the prompt 'chat_summary_first' cannot be used"):
        await prompts.activate(NAME, 1)


@pytest.mark.parametrize(("ttl", "version"), [(1000.0, FILE), (0.0, 1)], ids=["kept", "no longer kept"])
async def test_what_another_process_changes_is_seen_after_a_while(ttl: float, version: int) -> None:
    store = InMemoryStore()
    prompts = PromptVersions(store, ttl=ttl)
    assert (await prompts.current(NAME)).version == FILE
    # as another process does it
    await store.aput(("prompts", NAME), "00000001", {"version": 1, "text": TEXT}, index=False)
    await store.aput(("prompts", NAME), "head", {"latest": 1, "active": 1, "before": [FILE]}, index=False)
    assert (await prompts.current(NAME)).version == version


async def test_while_the_store_is_down_what_was_read_goes_on_else_the_file(caplog: pytest.LogCaptureFixture) -> None:
    store = FlakyStore()
    prompts = PromptVersions(store, ttl=0)
    await prompts.put(NAME, TEXT)
    assert (await prompts.current(NAME)).problem == ""
    store.down = True
    current = await prompts.current(NAME)
    assert (current.text, current.version) == (TEXT, 1)
    unread = FlakyStore()
    unread.down = True
    file = await PromptVersions(unread).current(NAME)
    assert file.text == load_prompt(NAME)
    said = "the active version of the prompt 'chat_summary_first' cannot be read (ConnectionError)"
    assert file.problem == current.problem == said
    assert "secret" not in caplog.text
    store.down = False
    assert (await prompts.current(NAME)).problem == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" ", "it is empty"),
        ("In {summary_length} characters.", r"lacks the placeholder \{question_length\}"),
        (f"{TEXT} {{summary_length.__class__}}", "which nothing fills in"),
        (f"{TEXT} {{", "its braces do not match"),
        (f"{TEXT}{'x' * 60_000}", "50000 are allowed"),
    ],
    ids=["empty", "a placeholder less", "an attribute", "an open brace", "too long"],
)
async def test_a_text_that_cannot_stand_in_for_the_file_is_refused(text: str, why: str) -> None:
    prompts = PromptVersions(InMemoryStore())
    with pytest.raises(PromptError, match=why):
        await prompts.put(NAME, text)
    assert len(await prompts.list(NAME)) == 1
    # one that nothing is filled into may hold braces
    await prompts.put("extract_memories", 'Answer {"ops": []}.')
    assert (await prompts.current("extract_memories")).text == 'Answer {"ops": []}.'
