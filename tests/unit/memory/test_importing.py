"""An import makes each memory of another system one memory of its owner, and changes nothing that is there."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.integrations import ImportOwners, import_memories
from react_mem.integrations.importers import as_records
from react_mem.integrations.importers.as_records import ForeignEntry, UnusableEntry
from react_mem.integrations.importers.importer import import_from
from react_mem.memory import MemoryFacade, MemoryPolicy, MemoryScope
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.operations import put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, Message
from react_mem.memory.rights.readable_export import markdown_export
from react_mem.memory.store.capabilities import everything
from react_mem.memory.write.remembering import remember
from react_mem.memory.write.turns import Turns
from tests.support.importing import Told, all_items, mem0_file, mem0_memories
from tests.unit.adapters.imports.test_import_sources import CLAUDE, GRAPH, chat

LONG_AGO = datetime(2024, 5, 1, 12, tzinfo=UTC)
ALWAYS = "Always name the currency when I ask about budgets."
ANN = ImportOwners(user="ann")


@pytest.fixture
def memory() -> MemoryFacade:
    return MemoryFacade(InMemoryStore())


def fact(id_: str, text: str, **more: Any) -> ForeignEntry:
    return ForeignEntry(id=id_, text=text, at=more.pop("at", LONG_AGO), **more)


async def facts(memory: MemoryFacade, user: str = "ann") -> dict[str, Fact]:
    return {found.text: found for found in await memory.semantic.history(user_id=user)}


async def test_dates_origin_and_where_it_is_from_are_kept(memory: MemoryFacade) -> None:
    later = LONG_AGO + timedelta(days=3)
    held = fact("1", "Lives in Huế", updated_at=later, valid_from=LONG_AGO, notes={"categories": ["places"]})
    over = fact("2", "Works at the library", about="Ann", valid_to=later, expired_at=later)
    outcome = await import_from(memory, Told(held, over), ANN)
    assert outcome.to_data()["owners"] == {"ann": {"added": 2, "updated": 0, "known": 0}}
    found = await facts(memory)
    lives, works = found["Lives in Huế"], found["Works at the library"]
    assert (lives.created_at, lives.said_at, lives.valid_from) == (LONG_AGO, later, LONG_AGO)
    assert (lives.origin, lives.current, lives.meta) == (
        Origin.IMPORT,
        True,
        {"categories": ["places"], "source": "told", "id": "1"},
    )
    assert (works.about, works.current, works.valid_to, works.retired_at) == ("Ann", False, later, later)


async def test_what_stands_beside_an_entry_and_is_too_large_is_counted_and_the_memory_kept(
    memory: MemoryFacade, tmp_path: Path
) -> None:
    file = tmp_path / "own.jsonl"
    large = {"page": "x" * 5_000}
    entries: list[dict[str, Any]] = [
        {"id": "1", "text": "Likes tea", "meta": large},
        {"id": "2", "text": "Likes jazz", "meta": {"page": "x"}},
        {"id": "3", "text": "Likes figs", "meta": "a label"},
    ]
    lines = "\n".join(map(json.dumps, entries))
    file.write_text(lines, encoding="utf-8")
    for dry_run in (True, False):
        outcome = await import_memories(memory, "jsonl", str(file), "ann", dry_run=dry_run)
        assert (outcome.added["ann"], outcome.to_data()["unnoted"]) == (3, 1)
    assert outcome.unnoted_in_words().startswith("1 is kept without what the source has beside the memory")
    kept = {text: one.meta for text, one in (await facts(memory)).items()}
    here = {"source": "jsonl"}
    assert kept["Likes tea"] == here | {"id": "1"}
    assert kept["Likes jazz"] == here | {"id": "2", "page": "x"}
    assert kept["Likes figs"] == here | {"id": "3", "meta": "a label"}
    assert (await import_memories(memory, "jsonl", str(file), "ann")).unnoted == 0
    await import_from(memory, Told(fact("4", "Likes chess", notes={"score": float("nan"), "of": [1.5]})), ANN)
    assert (await facts(memory))["Likes chess"].meta == {"source": "told", "id": "4", "score": None, "of": [1.5]}
    file.write_text(json.dumps({"id": "2", "text": "Likes opera", "meta": large}), encoding="utf-8")
    outcome = await import_memories(memory, "jsonl", str(file), "ann")
    assert (outcome.updated["ann"], outcome.unnoted) == (1, 1)


async def test_what_is_known_in_the_same_words_is_not_remembered_twice(memory: MemoryFacade) -> None:
    await memory.semantic.add(["I live in Huế."], user_id="ann", session_id="s", agent_id="a")
    before = await facts(memory)
    outcome = await import_from(memory, Told(fact("1", "i live in  huế"), fact("2", "Tea"), fact("3", "tea!")), ANN)
    assert (outcome.added["ann"], outcome.known["ann"]) == (1, 2)
    after = await facts(memory)
    assert after.keys() == {"I live in Huế.", "Tea"}
    assert after["I live in Huế."] == before["I live in Huế."]


async def test_what_was_forgotten_does_not_come_back_and_is_told(memory: MemoryFacade) -> None:
    said = {"kind": "message", "conversation": "c"}
    entries = [fact("1", "Likes tea"), fact("2", "Likes jazz"), fact("m1", "Hello there", **said)]
    source = Told(*entries)
    await import_from(memory, source, ANN)
    await memory.forget("ann", (await facts(memory))["Likes tea"].id)
    await memory.delete_session("ann", "told:c")
    outcome = await import_from(memory, source, ANN)
    assert (outcome.added.total(), outcome.known["ann"]) == (0, 1)
    [skipped] = outcome.to_data()["skipped"]
    assert (skipped["count"], skipped["such_as"]) == (2, ["fact 1", "message m1"])
    assert "has been forgotten" in skipped["reason"]
    assert (await facts(memory)).keys() == {"Likes jazz"}
    # nothing is left by which anybody could tell what it was
    left = str(await all_items(memory.store))
    assert "tea" not in left
    assert "Hello" not in left


async def test_once_erased_altogether_it_can_be_imported_anew(memory: MemoryFacade) -> None:
    source = Told(fact("1", "Likes tea"))
    await import_from(memory, source, ANN)
    await memory.forget_user("ann")
    assert await all_items(memory.store) == []
    assert (await import_from(memory, source, ANN)).added["ann"] == 1


async def test_what_was_corrected_stays_corrected(memory: MemoryFacade) -> None:
    source = Told(fact("1", "Lives in Huế"))
    await import_from(memory, source, ANN)
    await memory.correct("ann", (await facts(memory))["Lives in Huế"].id, "I live in Hội An")
    before = await all_items(memory.store)
    # from elsewhere too, and later
    for entry in (fact("1", "Lives in Huế"), fact("9", "Lives in Huế", at=None)):
        assert (await import_from(memory, Told(entry), ANN)).known["ann"] == 1
    found = await facts(memory)
    assert [text for text, one in found.items() if one.current] == ["I live in Hội An"]
    assert [line for line in await all_items(memory.store) if line[0][2] == "semantic"] == [
        line for line in before if line[0][2] == "semantic"
    ]


async def test_a_dry_run_counts_the_same_and_writes_nothing(memory: MemoryFacade) -> None:
    entries = [fact(str(n), f"Likes tea number {n % 7}", owner=f"user {n % 2}") for n in range(30)]
    odd = [UnusableEntry("line 3", "is broken"), fact("e", " "), fact("long", "x" * 1_000_001)]
    source = Told(*entries, *odd, batch=4)
    before = await all_items(memory.store)
    dry = await import_from(memory, source, ImportOwners(nobodys="ann"), dry_run=True)
    assert await all_items(memory.store) == before
    wet = await import_from(memory, source, ImportOwners(nobodys="ann"))
    assert dry.to_data() == {**wet.to_data(), "dry_run": True}
    assert wet.added == {"user 0": 7, "user 1": 7}
    assert [(one["reason"], one["such_as"]) for one in wet.to_data()["skipped"]] == [
        ("is broken", ["line 3"]),
        ("says nothing", ["fact e"]),
        ("has more than 1,000,000 characters", ["fact long"]),
    ]


async def test_whose_it_becomes_is_said_where_it_is_of_no_person_and_by_either_name(memory: MemoryFacade) -> None:
    of_the_bot = fact("1", "Likes tea", owner="agent bot", is_persons=False)
    bots = Told(of_the_bot)
    with pytest.raises(ValueError, match=r"of no user, but of 'agent bot': say whose .*--map NAME=USER"):
        await import_from(memory, bots, ImportOwners(nobodys="eve"))
    with pytest.raises(ValueError, match=r"anybody's who was named: they are those of 'agent bot'"):
        await import_from(memory, bots, ImportOwners(mapped={"bot": "eve"}))
    assert await all_items(memory.store) == []
    # beside a person's it keeps nothing out
    bots = Told(of_the_bot, fact("2", "Sings", owner="bob"))
    done = await import_from(memory, bots, ImportOwners(nobodys="eve"))
    assert (done.added, done.skipped.total()) == ({"bob": 1}, 1)
    for owners, added in ((ImportOwners(mapped={"agent bot": "eve"}), {"eve": 1}), (ANN, {"ann": 2})):
        assert (await import_from(memory, bots, owners)).added == added
    account = Told(fact("1", "Likes tea", owner="a@example.com", owner_also="acc-1"), personal=True)
    for name, user in (("a@example.com", "dan"), ("acc-1", "kim")):
        assert (await import_from(memory, account, ImportOwners(mapped={name: user}))).added == {user: 1}


@pytest.mark.parametrize(
    ("system", "other", "content"),
    [
        ("claude", "chatgpt", {"conversations.json": [chat()]}),
        ("chatgpt", "claude", {"conversations.json": [CLAUDE]}),
        ("mem0", "zep", {"graph.json": GRAPH}),
        ("jsonl", "mem0", {"memories.json": {"results": mem0_memories(2)}}),
        ("mem0", "", {"notes.txt": "no list"}),
    ],
)
async def test_another_systems_archive_is_refused_and_told(
    memory: MemoryFacade, system: str, other: str, content: dict[str, Any], tmp_path: Path
) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, value in content.items():
            zipped.writestr(name, value if isinstance(value, str) else json.dumps(value))
    with pytest.raises(ValueError, match=f"it looks like what --from {other} imports" if other else "no file of JSON"):
        await import_memories(memory, system, str(archive), "ann")
    assert await all_items(memory.store) == []
    if other:
        assert (await import_memories(memory, other, str(archive), "ann")).added["ann"]


async def test_messages_documents_and_episodes_are_found_as_what_they_are(memory: MemoryFacade) -> None:
    said = {"conversation": "c", "kind": "message"}
    entries = [
        fact("m1", "My cat is Miu\x00 🐱", speaker="Ann", turn=0, **said),
        fact("m2", "Hello Miu", role="assistant", turn=1, **said),
        fact("d", "A long text", kind="document", title="Diary"),
        fact("f", "word " * 600),
        fact("e", "Tree", kind="episode", steps=("Drew it",), outcome="Understood"),
    ]
    outcome = await import_from(memory, Told(*entries), ANN)
    assert outcome.kinds == {"message": 2, "document": 2, "episode": 1}
    context = await memory.dialog.get_context("ann", "told:c")
    assert [(m.role, m.text, m.created_at, m.origin) for m in context.messages] == [
        ("user", "My cat is Miu\ufffd 🐱", LONG_AGO, Origin.IMPORT),
        ("assistant", "Hello Miu", LONG_AGO, Origin.IMPORT),
    ]
    assert context.messages[0].speaker == "Ann"
    [episode] = await memory.list_records("ann", [MemoryScope.EPISODIC])
    assert (episode.payload["goal"], episode.payload["outcome"]) == ("Tree", "Understood")


async def test_what_cannot_be_read_to_its_end_leaves_nothing_behind(memory: MemoryFacade, tmp_path: Path) -> None:
    file = mem0_file(tmp_path, 300)
    file.write_text(file.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 1: is not JSON .*was it downloaded whole\?"):
        await import_memories(memory, "mem0", str(file), "ann")
    assert await all_items(memory.store) == []
    with pytest.raises(ValueError, match="there is no import from 'memo'; there are mem0, zep"):
        await import_memories(memory, "memo", str(file), "ann")


async def test_an_export_comes_back_by_the_same_call(memory: MemoryFacade, tmp_path: Path) -> None:
    await import_memories(memory, "mem0", str(mem0_file(tmp_path, 20)), "ann")
    lines = [line async for line in memory.export_user("ann")]
    file = tmp_path / "ann.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    before = await all_items(memory.store)
    dry = await import_memories(memory, "jsonl", str(file), "bob", dry_run=True)
    assert await all_items(memory.store) == before
    done = await import_memories(memory, "jsonl", str(file), "bob")
    assert dry.added == done.added == {"bob": len(lines) - 1}
    assert [item.value["text"] for item in await everything(memory.store, "bob")] == [
        item.value["text"] for item in await everything(memory.store, "ann")
    ]
    with pytest.raises(ValueError, match="say whose memory it becomes"):
        await import_memories(memory, "jsonl", str(file), ImportOwners())
    file.write_text("\n".join(lines[1:]), encoding="utf-8")
    with pytest.raises(ValueError, match="of which the first line is missing"):
        await import_memories(memory, "jsonl", str(file), "eve")


async def test_of_records_of_one_id_in_an_export_the_first_counts_and_the_others_are_told(
    memory: MemoryFacade, tmp_path: Path
) -> None:
    await import_from(memory, Told(fact("1", "Likes tea")), ANN)
    lines = [line async for line in memory.export_user("ann")]
    others = [lines[-1].replace("Likes tea", f"Likes tea number {n}") for n in range(300)]
    file = tmp_path / "ann.jsonl"
    file.write_text("\n".join([*lines, *others, lines[-1]]), encoding="utf-8")
    for dry_run, added, known in ((True, 1, 1), (False, 1, 1), (False, 0, 2)):
        outcome = await import_memories(memory, "jsonl", str(file), "bob", dry_run=dry_run)
        assert (outcome.added["bob"], outcome.known["bob"], [*outcome.skipped.values()]) == (added, known, [300])
    assert [*outcome.places.values()] == [["line 3", "line 4", "line 5"]]
    assert "under the id of a record before it" in next(iter(outcome.skipped))
    assert [*await facts(memory, "bob")] == ["Likes tea"]


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
async def test_a_backup_is_restored_as_it_was(form: str, memory: MemoryFacade, tmp_path: Path) -> None:
    asked = Message(
        id=MESSAGE.id("talk", "1"),
        role="user",
        content=ALWAYS,
        text=ALWAYS,
        session_id="talk",
        agent_id="assistant",
        turn=0,
        standing="instruction",
    )
    tea = await remember(memory, "ann", "I am allergic to peanuts.", agent_id="assistant")
    proposed = Fact(id="boat", text="I have a boat.", origin=Origin.ASSENT, session_id="talk", agent_id="assistant")
    await memory.apply([put("ann", asked), put("ann", proposed)])
    before = [line async for line in memory.export_user("ann")]
    file = tmp_path / "backup"
    written = before if form == "jsonl" else list(markdown_export(before))
    file.write_text("\n".join(written), encoding="utf-8")
    await memory.forget_user("ann")
    restored = await import_memories(memory, form, str(file), "ann", restore=True)
    assert restored.added == {"ann": len(before) - 1}
    assert [line async for line in memory.export_user("ann")] == before
    assert [one.text for one in await memory.dialog.standing("ann")] == [ALWAYS]
    again = await remember(memory, "ann", "I am allergic to peanuts.", agent_id="assistant")
    assert [one.id for one in again.memories] == [one.id for one in tea.memories]
    # without being told so, it is what a file says
    await memory.forget_user("ann")
    await import_memories(memory, form, str(file), "ann")
    assert {item.value["origin"] for item in await everything(memory.store, "ann")} == {"import"}
    assert await memory.dialog.standing("ann") == []


async def test_only_an_export_of_this_system_is_restored(memory: MemoryFacade, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only one can be restored"):
        await import_memories(memory, "mem0", str(mem0_file(tmp_path, 2)), "ann", restore=True)
    own_words = tmp_path / "own.jsonl"
    own_words.write_text('{"text": "I like tea."}', encoding="utf-8")
    with pytest.raises(ValueError, match="only one can be restored"):
        await import_memories(memory, "jsonl", str(own_words), "ann", restore=True)
    assert await all_items(memory.store) == []


@pytest.mark.parametrize("how", ["told", "said in a conversation"])
async def test_what_the_user_says_after_an_import_is_theirs_and_still_one_fact(how: str, memory: MemoryFacade) -> None:
    await import_from(memory, Told(fact("1", "I am allergic to peanuts.")), ANN)
    text = "I am allergic to peanuts!"
    for number in range(2):
        if how == "told":
            said = await remember(memory, "ann", text, agent_id="assistant")
            assert (said.new, [one.origin for one in said.memories]) == (frozenset(), [Origin.USER])
        else:
            turns = Turns(memory, None, "ann", f"talk{number}", "assistant")
            await turns.close([HumanMessage(text, id="q"), AIMessage("Noted.", id="a")], None)
            await turns.extract()
        [known] = (await facts(memory)).values()
        assert (known.text, known.origin, known.current) == ("I am allergic to peanuts.", Origin.USER, True)
    # told again it is the same message; in another conversation it is another
    assert len(known.source_ids) == (1 if how == "told" else 2)
    await import_from(memory, Told(fact("2", "I am allergic to peanuts.", expired_at=LONG_AGO)), ANN)
    assert list((await facts(memory)).values()) == [known]


async def test_what_the_quotas_have_no_room_for_is_skipped_until_there_is() -> None:
    store = InMemoryStore()
    full = MemoryFacade(store, MemoryPolicy.model_validate({"quotas": {"memories": 25}}))
    source = Told(*(fact(str(n), f"Likes tea number {n}", owner="ann") for n in range(50)), batch=10)
    outcome = await import_from(full, source, ImportOwners(nobodys="ann"))
    assert (outcome.added["ann"], [*outcome.skipped.values()]) == (20, [30])
    assert "does not fit" in next(iter(outcome.skipped))
    roomy = MemoryFacade(store)
    assert (await import_from(roomy, source, ImportOwners(nobodys="ann"))).added["ann"] == 30


async def test_what_its_source_says_by_now_takes_the_place_of_what_it_said(memory: MemoryFacade) -> None:
    later = LONG_AGO + timedelta(days=9)
    await import_from(memory, Told(fact("1", "Lives in Huế"), fact("2", "Likes jazz")), ANN)
    source = Told(fact("1", "Lives in Hội An", updated_at=later), fact("2", "Likes jazz"))
    before = await all_items(memory.store)
    dry = await import_from(memory, source, ANN, dry_run=True)
    assert await all_items(memory.store) == before
    outcome = await import_from(memory, source, ANN)
    assert dry.to_data() == {**outcome.to_data(), "dry_run": True}
    assert outcome.to_data()["owners"] == {"ann": {"added": 0, "updated": 1, "known": 1}}
    assert outcome.skipped == {}
    found = await facts(memory)
    old, new = found["Lives in Huế"], found["Lives in Hội An"]
    assert (old.current, old.superseded_by, old.valid_to) == (False, new.id, later)
    assert (new.current, new.origin, new.created_at, new.said_at) == (True, Origin.IMPORT, LONG_AGO, later)
    # the same again, the version before, and back to it at a later time
    before = await all_items(memory.store)
    assert (await import_from(memory, source, ANN)).known["ann"] == 2
    assert (await import_from(memory, Told(fact("1", "Lives in Huế")), ANN)).known["ann"] == 1
    assert [*(await import_from(memory, Told(fact("1", "Lived in Huế")), ANN)).skipped] == [as_records.OLDER]
    assert await all_items(memory.store) == before
    back = fact("1", "Lives in Huế", updated_at=later + timedelta(days=1))
    assert (await import_from(memory, Told(back), ANN)).updated["ann"] == 1
    assert [text for text, one in (await facts(memory)).items() if one.current] == ["Likes jazz", "Lives in Huế"]


@pytest.mark.parametrize("how", ["corrected", "said again"])
async def test_what_the_user_said_of_it_here_stays_and_is_told(memory: MemoryFacade, how: str) -> None:
    await import_from(memory, Told(fact("1", "I live in Huế")), ANN)
    mine = (await facts(memory))["I live in Huế"]
    if how == "corrected":
        await memory.correct("ann", mine.id, "I live in Đà Lạt")
    else:
        again = {"text": "I live in Huế", "source_ids": ["m1"]}
        await memory.semantic.add([again], user_id="ann", session_id="s", agent_id="a")
    changed = Told(fact("1", "I live in Hội An", updated_at=LONG_AGO + timedelta(days=9)))
    before = await all_items(memory.store)
    outcome = await import_from(memory, changed, ANN)
    assert outcome.skipped == {as_records.KEPT: 1}
    assert await all_items(memory.store) == before


async def test_what_was_forgotten_stays_so_when_its_source_says_something_else(memory: MemoryFacade) -> None:
    await import_from(memory, Told(fact("1", "Lives in Huế")), ANN)
    await import_from(memory, Told(fact("1", "Lives in Hội An", updated_at=LONG_AGO + timedelta(days=9))), ANN)
    await memory.forget("ann", (await facts(memory))["Lives in Hội An"].id)
    for text, days in (("Lives in Hội An", 9), ("Lives in Vinh", 12)):
        entry = fact("1", text, updated_at=LONG_AGO + timedelta(days=days))
        outcome = await import_from(memory, Told(entry), ANN)
        assert (outcome.added.total(), outcome.updated.total()) == (0, 0)
    assert not any(one.current for one in (await facts(memory)).values())


async def test_what_its_source_ends_or_words_as_what_is_known_ends_here(memory: MemoryFacade) -> None:
    later = LONG_AGO + timedelta(days=9)
    await memory.semantic.add(["I play chess"], user_id="ann", session_id="s", agent_id="a")
    await import_from(memory, Told(fact("1", "Works at the library"), fact("2", "Plays go")), ANN)
    over = fact("1", "Works at the library", updated_at=later, valid_to=later, expired_at=later)
    same = fact("2", "I play chess", updated_at=later)
    outcome = await import_from(memory, Told(over, same), ANN)
    assert outcome.updated["ann"] == 2
    found = await facts(memory)
    assert (found["Works at the library"].current, found["Works at the library"].valid_to) == (False, later)
    assert (found["Plays go"].superseded_by, found["I play chess"].session_id) == (found["I play chess"].id, "s")
    before = await all_items(memory.store)
    assert (await import_from(memory, Told(over, same), ANN)).known["ann"] == 2
    assert await all_items(memory.store) == before


async def test_what_its_source_ended_and_says_again_is_believed_again(memory: MemoryFacade) -> None:
    ended = fact("1", "Works at the library", valid_to=LONG_AGO, expired_at=LONG_AGO)
    again = fact("2", "Works at the library", at=LONG_AGO + timedelta(days=9))
    await import_from(memory, Told(ended, again), ANN)
    assert (await facts(memory))["Works at the library"].current
    await import_from(memory, Told(ended), ANN)
    assert (await facts(memory))["Works at the library"].current


async def test_documents_and_episodes_are_replaced_and_messages_stay(memory: MemoryFacade) -> None:
    def entries(version: str) -> list[ForeignEntry]:
        return [
            fact("d", f"A diary, {version}", kind="document"),
            fact("e", f"Draw a tree, {version}", kind="episode"),
            fact("m", f"Hello, {version}", kind="message", conversation="c"),
            fact("f", f"{version} " * (1 if version == "one" else 900)),
        ]

    await import_from(memory, Told(*entries("one")), ANN)
    for updated in (3, 0):
        outcome = await import_from(memory, Told(*entries("two")), ANN)
        assert (outcome.added["ann"], outcome.updated["ann"], outcome.skipped) == (0, updated, {as_records.SAID: 1})
    held = [item.value for item in await everything(memory.store, "ann")]
    assert sorted((one["kind"], one["text"][:20], one.get("current")) for one in held) == [
        ("document", "A diary, two", True),
        ("document", "two two two two two ", True),
        ("episode", "Draw a tree, two", None),
        ("fact", "one", False),
        ("message", "Hello, one", None),
    ]


@pytest.mark.parametrize(("kind", "dated"), [("document", "alike"), ("episode", "later"), ("fact", "not at all")])
async def test_two_texts_of_one_id_come_to_the_same_each_time(memory: MemoryFacade, kind: str, dated: str) -> None:
    first, second = {
        "alike": (LONG_AGO, LONG_AGO),
        "later": (LONG_AGO, LONG_AGO + timedelta(days=1)),
        "not at all": (None, None),
    }[dated]
    # a fact of several pages is a document too
    pages = " and so on" * (400 if kind == "fact" else 1)
    said: dict[str, Any] = {"kind": kind}
    source = Told(fact("1", f"One{pages}", at=first, **said), fact("1", f"Two{pages}", at=second, **said), batch=1)
    dry = await import_from(memory, source, ANN, dry_run=True)
    outcome = await import_from(memory, source, ANN)
    if dated == "later":
        assert (outcome.added["ann"], outcome.updated["ann"], outcome.skipped) == (1, 1, {})
    else:
        assert (outcome.added["ann"], outcome.updated["ann"], [*outcome.skipped.values()]) == (1, 0, [1])
        assert "has the id of an earlier entry of this import" in next(iter(outcome.skipped))
        assert dry.to_data() == {**outcome.to_data(), "dry_run": True}
    before = await all_items(memory.store)
    for _ in range(2):
        again = await import_from(memory, source, ANN)
        assert (again.added["ann"], again.updated["ann"], again.known["ann"]) == (0, 0, 1)
        assert [*again.skipped.values()] == [1]
        assert await all_items(memory.store) == before
