"""`react-mem import` and `react-mem memory export`, as somebody types them, on a real database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from react_mem.agents.cli import main
from tests.support.importing import mem0_file, mem0_memories

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def on_a_database(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")
    monkeypatch.setenv("LOGNAME", "kim")
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(arguments) == code, capsys.readouterr().err
    done = capsys.readouterr()
    return done.out, done.err


def test_memories_are_brought_along_looked_at_taken_out_and_brought_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = mem0_file(tmp_path, 12).name
    dry, _ = run(capsys, "import", "--from", "mem0", file, "--dry-run")
    assert dry.startswith("12 memories would be added (12 facts), 0 were there already")
    assert json.loads(run(capsys, "memory", "list", "--user", "ann", "--json")[0]) == []
    done, _ = run(capsys, "import", "--from", "mem0", file)
    assert done.startswith("12 memories added (12 facts), 0 were there already")
    again = json.loads(run(capsys, "import", "--from", "mem0", file, "--json")[0])
    assert (again["added"], again["owners"]) == (0, {"ann": {"added": 0, "updated": 0, "known": 12}})
    newer = [*mem0_memories(11), {**mem0_memories(12)[11], "memory": "On Monday number 11 likes figs"}]
    (tmp_path / "newer.json").write_text(json.dumps(newer), encoding="utf-8")
    dry, _ = run(capsys, "import", "--from", "mem0", "newer.json", "--dry-run")
    assert dry.startswith("0 memories would be added, 1 would be updated to what their source says by now, 11 were")
    found, _ = run(capsys, "memory", "search", "likes jazz with friend number 0", "--user", "ann")
    assert "number 3 likes jazz" in found
    for name, form in (("ann.jsonl", "jsonl"), ("ann.md", "markdown")):
        run(capsys, "memory", "export", "--user", "ann", "--format", form, name)
        data = json.loads(run(capsys, "import", "--from", form, name, "--user", form, "--json")[0])
        assert data["added"] == 12
        listed = json.loads(run(capsys, "memory", "list", "--user", form, "--json")[0])
        assert {one["payload"]["text"] for one in listed} == {one["memory"] for one in mem0_memories(12)}
        assert {one["payload"]["origin"] for one in listed} == {"import"}
    backup = (tmp_path / "ann.jsonl").read_text(encoding="utf-8").replace('"origin":"import"', '"origin":"user"')
    (tmp_path / "own.jsonl").write_text(backup, encoding="utf-8")
    for name, flags, origin in (("other", (), "import"), ("own", ("--restore",), "user")):
        run(capsys, "import", "--user", name, "own.jsonl", *flags)
        listed = json.loads(run(capsys, "memory", "list", "--user", name, "--json")[0])
        assert {one["payload"]["origin"] for one in listed} == {origin}
    assert "- On Monday number 0 likes green tea" in (tmp_path / "ann.md").read_text(encoding="utf-8")
    page, _ = run(capsys, "memory", "export", "--user", "ann", "--format", "html")
    assert page.startswith("<!DOCTYPE html>")
    assert not list(tmp_path.glob("*.part"))


def test_owners_are_given_by_name_and_what_is_wrong_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    both: list[dict[str, Any]] = [*mem0_memories(2, "ann"), *mem0_memories(3, "bob")[2:], {"id": "9", "memory": "Tea"}]
    Path("both.json").write_text(json.dumps(both), encoding="utf-8")
    _, told = run(capsys, "import", "--from", "mem0", "both.json", "--user", "eve", code=2)
    assert "both.json: it has the memories of 2 owners ('ann', 'bob')" in told
    assert "nothing was imported" in told
    mapped, _ = run(capsys, "import", "--from", "mem0", "both.json", "--map", "bob=eve", "--map", "=eve")
    assert mapped.splitlines()[:3] == [
        "2 memories added (2 facts), 0 were there already",
        "  eve: 2 added, 0 there already",
        "2 skipped: belongs to nobody who was named (fact 00000000-0000-4000-8000-000000000000, "
        "fact 00000000-0000-4000-8000-000000000001)",
    ]
    kept = json.loads(run(capsys, "import", "--from", "mem0", "both.json", "--json")[0])
    assert kept["owners"] == {
        name: {"added": n, "updated": 0, "known": 0} for name, n in (("ann", 2), ("bob", 1), ("kim", 1))
    }
    Path("broken.json").write_text('[\n{"id": "1", "memory": "x"},\n{"id": }]', encoding="utf-8")
    _, told = run(capsys, "import", "--from", "mem0", "broken.json", code=2)
    assert told.startswith("broken.json, line 3: is not JSON that can be read (expecting value)")
    _, told = run(capsys, "import", "--from", "mem0", "none.json", code=2)
    assert "there is no such file" in told
    for content, why in (("", "has nothing in it"), ('{"colour": "red"}\n' * 2, "2 skipped: has a field 'colour'")):
        Path("nothing.jsonl").write_text(content, encoding="utf-8")
        _, told = run(capsys, "import", "--user", "eve", "nothing.jsonl", code=2)
        assert why in told
    Path("unprintable.json").write_text(json.dumps(mem0_memories(1, "a\nb")), encoding="utf-8")
    skipped, _ = run(capsys, "import", "--from", "mem0", "unprintable.json", code=1)
    assert skipped.startswith("all of it was skipped\n0 memories added")
    odd = {"memory": "Likes figs", "created_at": "2100-01-01T00:00:00Z", "metadata": {"page": "x" * 5_000}}
    Path("odd.json").write_text(json.dumps([{"id": "o1", **odd}, {"id": "o2", "memory": " "}]), encoding="utf-8")
    told, _ = run(capsys, "import", "--from", "mem0", "odd.json", "--user", "eve")
    assert "1 skipped: has no `id` or no `memory` (odd.json, line 1, entry 2 (o2))" in told
    assert "1 gives a time that cannot be: dated as what stands beside that has one, or now" in told
    assert "1 is kept without what the source has beside the memory (`meta`, `metadata`): more than 4,000 bytes" in told
    address = "postgresql://ann:secret@127.0.0.1:1/x"
    _, told = run(capsys, "import", "--from", "langmem", address, "--prefix", "memories", code=2)
    assert "cannot be read" in told
    assert "secret" not in told
    with pytest.raises(SystemExit):
        main(["import", "--from", "mem0", "both.json", "--user", "eve", "--map", "ann=bob"])


def test_what_is_said_is_read_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    said = [
        {"text": "My cat is called Miu", "kind": "message", "conversation": "c", "id": "1"},
        {"text": "Noted", "kind": "message", "role": "assistant", "conversation": "c", "id": "2"},
    ]
    Path("said.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    done, _ = run(capsys, "import", "--from", "jsonl", "said.jsonl", "--user", "ann")
    assert "no facts were drawn from it (--read has the agent's worker do so)" in done
    done, _ = run(capsys, "import", "--from", "jsonl", "said.jsonl", "--user", "bob", "--read")
    assert "1 turn queued" in done
    waiting = json.loads(run(capsys, "memory", "pending", "--user", "bob", "--json")[0])
    assert [turn["session_id"] for turn in waiting] == ["jsonl:c"]
    Path("list.md").write_text("- Likes tea\n- Likes tea!\n", encoding="utf-8")
    done, _ = run(capsys, "import", "--from", "markdown", "list.md", "--user", "eve")
    assert done == "1 memory added (1 fact), 1 says the same as another entry or as what is remembered\n"
    done, _ = run(capsys, "import", "--from", "markdown", "list.md", "--user", "eve")
    assert done == "0 memories added, 2 were there already\n"
