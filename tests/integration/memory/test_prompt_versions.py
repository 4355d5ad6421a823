"""Prompts replaced at run time, on every store."""

from __future__ import annotations

import asyncio

import pytest
from langgraph.store.base import BaseStore

from react_mem.errors import PromptError
from react_mem.memory.store.prompt_versions import FILE, PromptVersions
from react_mem.prompts import load_prompt

NAME = "chat_summary_first"
TEXT = "Sum up in {summary_length} characters, ask in {question_length}."


@pytest.fixture
def prompts(store: BaseStore) -> PromptVersions:
    return PromptVersions(store)


async def test_without_a_version_the_file_is_used(prompts: PromptVersions) -> None:
    current = await prompts.current(NAME)
    assert (current.text, current.version, current.problem) == (load_prompt(NAME), FILE, "")
    [file] = await prompts.list(NAME)
    assert (file.version, file.active, file.text) == (FILE, True, load_prompt(NAME))


async def test_a_new_version_is_used_at_once_and_a_rollback_goes_back_step_by_step(prompts: PromptVersions) -> None:
    await prompts.current(NAME)
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


async def test_a_version_can_be_stored_without_being_used(prompts: PromptVersions) -> None:
    stored = await prompts.put(NAME, TEXT, activate=False)
    assert not stored.active
    assert (await prompts.current(NAME)).version == FILE
    assert (await prompts.get(NAME, 1)).text == TEXT


async def test_each_prompt_has_versions_of_its_own(prompts: PromptVersions) -> None:
    await prompts.put(NAME, TEXT)
    assert (await prompts.current("chat_summary_next")).version == FILE
    assert len(await prompts.list("chat_summary_next")) == 1


async def test_versions_are_no_users_and_no_users_memory(prompts: PromptVersions, store: BaseStore) -> None:
    await prompts.put(NAME, TEXT)
    assert await store.alist_namespaces() == [("prompts", NAME)]


async def test_two_who_put_at_once_both_get_a_version(store: BaseStore) -> None:
    """As two processes do: each has its own object."""
    count = 4
    versions = await asyncio.gather(*(PromptVersions(store).put(NAME, f"{TEXT} {n}") for n in range(count)))
    assert sorted(version.version for version in versions) == list(range(1, count + 1))
    assert {one.text for one in await PromptVersions(store).list(NAME)} >= {f"{TEXT} {n}" for n in range(count)}


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
