"""Skills out to folders of SKILL.md files and back in, and in from what others have written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from react_mem.integrations import export_skills, import_skills, skill_folders
from react_mem.integrations.skill_files import read_agent_skill
from react_mem.memory import MemoryFacade, MemoryScope
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.states import Skill
from tests.contract.conftest import memory_store

REFUND = {
    "task_type": "refunds",
    "use_when": "a customer wants their money <back>: đổi trả hàng",
    "tool_sops": [
        {"tool": "find_order", "action": "look the order up by its number"},
        {"tool": "refund", "action": "refund what was paid:\nthe whole amount, `once`"},
    ],
    "preferences": ["never promise a date", "- be brief", "---"],
}
LONG = {"use_when": "x" * 3_000 + " 退款", "preferences": ["mind it"]}
FOREIGN = {"use_when": "退款", "tool_sops": [{"tool": "refund", "action": "all of it"}]}

FREE = """---
name: pdf-forms
description: Fill PDF forms. Use when a form is to be filled.
license: MIT
allowed-tools: Bash Read
---

# Filling forms

1. Look at the fields with `fields.py`.
2. Fill them.

Never overwrite the original.
"""


async def with_skills(*skills: dict[str, Any]) -> MemoryFacade:
    memory = MemoryFacade(memory_store())
    for skill in skills:
        await memory.procedural.add_skill(skill, user_id="ann", agent_id="a")
    return memory


async def skills_of(memory: MemoryFacade, user: str = "ann") -> dict[str, Skill]:
    found = await memory.list_records(user, [MemoryScope.PROCEDURAL])
    return {item.id: Skill.from_value(item.payload) for item in found}


def said(skill: Skill) -> tuple[Any, ...]:
    return skill.id, skill.task_type, skill.use_when, skill.tool_sops, skill.preferences, skill.text


def files_in(folder: Path) -> dict[str, str]:
    return {file.parent.name: file.read_text(encoding="utf-8") for file in folder.glob("*/SKILL.md")}


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return file


async def test_what_is_exported_and_forgotten_comes_back_the_same(tmp_path: Path) -> None:
    memory = await with_skills(REFUND, LONG, FOREIGN)
    # one that was learnt is known by its task and tools, and not by its words
    learnt = (await memory.procedural.add_skill({"use_when": "learnt"}, user_id="ann")).model_copy(
        update={"id": "0f0e0d0c-0000-5000-8000-000000000001", "use_when": "deploy it", "text": "deploy it"}
    )
    await memory.procedural.add_skill(learnt, user_id="ann")
    before = await skills_of(memory)
    done = await export_skills(memory, "ann", tmp_path / "skills")
    assert (len(done.written), done.kept, done.skipped) == (5, 0, {})

    await memory.forget_user("ann")
    assert await skills_of(memory) == {}
    back = await import_skills(memory, "ann", tmp_path / "skills")
    assert (len(back.added), back.kept, back.skipped, back.cut) == (5, 0, {}, [])
    after = await skills_of(memory)
    assert {id_: said(skill) for id_, skill in after.items()} == {id_: said(skill) for id_, skill in before.items()}
    assert {(skill.origin, skill.status, skill.trials) for skill in after.values()} == {(Origin.IMPORT, "probation", 0)}

    again = await import_skills(memory, "ann", tmp_path / "skills")
    assert (again.added, again.kept) == ([], 5)
    assert await skills_of(memory) == after
    assert (await export_skills(memory, "ann", tmp_path / "skills")).kept == 5


async def test_the_files_are_in_the_format_of_agent_skills(tmp_path: Path) -> None:
    memory = await with_skills(REFUND, LONG, FOREIGN, {"use_when": "Deploy it!"}, {"use_when": "deploy: it"})
    archived = Skill.model_validate(
        {"id": "old", "text": "old", "use_when": "old", "status": "archived", "session_id": "", "agent_id": "a"}
    )
    await memory.procedural.add_skill(archived, user_id="ann")
    done = await export_skills(memory, "ann", tmp_path)
    assert len(done.written) == 5
    for name, text in files_in(tmp_path).items():
        _, head, body = text.split("---\n", 2)
        front = yaml.safe_load(head)
        # https://agentskills.io/specification: other keys are refused
        assert front.keys() <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
        assert front["name"] == name
        assert re.fullmatch(r"(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*", name)
        assert 0 < len(front["description"]) <= 1_024
        assert not set("<>\n") & set(front["description"])
        assert all(isinstance(value, str) for value in front["metadata"].values())
        assert "- When to Apply: " in body
    assert "a-customer-wants-their-money-back-doi-tra-hang" in done.written
    assert "deploy-it" not in done.written
    assert len([name for name in done.written if re.fullmatch(r"deploy-it-[0-9a-f]{8}", name)]) == 2
    assert len([name for name in done.written if re.fullmatch(r"skill-[0-9a-f]{8}", name)]) == 1


async def test_what_others_have_written_comes_in_as_what_is_to_be_minded(tmp_path: Path) -> None:
    write(tmp_path, "pdf-forms", FREE)
    memory = await with_skills()
    tried = await import_skills(memory, "ann", tmp_path, dry_run=True)
    assert len(tried.added) == 1
    assert await skills_of(memory) == {}
    await import_skills(memory, "ann", tmp_path)
    [skill] = (await skills_of(memory)).values()
    assert skill.use_when == "Fill PDF forms. Use when a form is to be filled."
    assert skill.preferences == (
        "# Filling forms",
        "1. Look at the fields with `fields.py`.\n2. Fill them.",
        "Never overwrite the original.",
    )
    assert (skill.origin, skill.tool_sops) == (Origin.IMPORT, ())
    [found] = await memory.procedural.search_skills("", "fill a form", user_id="ann")
    assert found.id == skill.id
    assert (await import_skills(memory, "ann", tmp_path / "pdf-forms" / "SKILL.md")).kept == 1


BODIES = [
    "Run this:\n\n```python\ndef f():\n\n    return 1\n\n\n\nf()  \n```\n\nThen that.\n",
    '~~~\n```\n\n\n~~~\n\n\n\nFar below.\n   \n    indented\n\n- [ ] <b>markup</b> & "quotes"\n',
    "- Steps: none of ours\n- Other: neither\n\n````md\n```\n\n```\n````\n",
]


@pytest.mark.parametrize("body", BODIES)
async def test_a_file_of_others_keeps_its_name_its_front_matter_and_its_lines(tmp_path: Path, body: str) -> None:
    front = {
        "name": "pdf-processing",
        "description": "Extract text and tables from PDF files.",
        "license": "MIT",
        "allowed-tools": "Bash Read",
        "metadata": {"author": "somebody", "version": "1.0"},
    }
    write(tmp_path / "in", "pdf-processing", f"---\n{yaml.safe_dump(front)}---\n\n{body}")
    memory = await with_skills()
    assert (await import_skills(memory, "ann", tmp_path / "in")).skipped == {}
    before = {id_: said(skill) for id_, skill in (await skills_of(memory)).items()}
    assert (await export_skills(memory, "ann", tmp_path / "out")).written == ["pdf-processing"]
    text = files_in(tmp_path / "out")["pdf-processing"]
    _, head, after = text.split("---\n", 2)
    told = yaml.safe_load(head)
    assert after == f"\n{body}"
    assert told["metadata"].pop("react-mem")
    assert told == front
    # and so once more, by way of what was exported
    await memory.forget_user("ann")
    assert (await import_skills(memory, "ann", tmp_path / "out")).skipped == {}
    assert {id_: said(skill) for id_, skill in (await skills_of(memory)).items()} == before
    assert (await export_skills(memory, "ann", tmp_path / "out")).kept == 1


@pytest.mark.parametrize("name", ["../../etc", "PDF Processing", ""])
async def test_a_name_that_is_none_of_the_format_is_not_taken_for_a_folders(tmp_path: Path, name: str) -> None:
    write(tmp_path / "in", "x", FREE.replace("name: pdf-forms", f"name: {name!r}"))
    memory = await with_skills()
    await import_skills(memory, "ann", tmp_path / "in")
    done = await export_skills(memory, "ann", tmp_path / "out")
    assert done.written == ["fill-pdf-forms-use-when-a-form-is-to-be-filled"]


async def test_an_edited_file_is_read_as_it_was_edited_and_not_overwritten(tmp_path: Path) -> None:
    memory = await with_skills({"use_when": "deploy", "preferences": ["use pnpm"]})
    await export_skills(memory, "ann", tmp_path)
    file = tmp_path / "deploy" / "SKILL.md"
    edited = file.read_text(encoding="utf-8").replace("- Preference: use pnpm", "- Preference: use bun")
    file.write_text(edited, encoding="utf-8")
    [[skill], _] = read_agent_skill(edited)
    assert skill["preferences"] == ["use bun"]
    done = await export_skills(memory, "ann", tmp_path)
    assert list(done.skipped) == ["deploy"]
    assert "edited" in done.skipped["deploy"]
    assert file.read_text(encoding="utf-8") == edited


async def test_a_skill_that_has_changed_is_written_again_and_others_files_are_left(tmp_path: Path) -> None:
    memory = await with_skills({"use_when": "deploy", "preferences": ["use pnpm"]}, {"use_when": "fill pdf"})
    theirs = write(tmp_path, "fill-pdf", FREE)
    await export_skills(memory, "ann", tmp_path)
    await memory.procedural.add_skill({"use_when": "deploy", "preferences": ["use bun"]}, user_id="ann")
    done = await export_skills(memory, "ann", tmp_path)
    assert done.written == ["deploy"]
    assert "use bun" in (tmp_path / "deploy" / "SKILL.md").read_text(encoding="utf-8")
    assert list(done.skipped) == ["fill-pdf"]
    assert theirs.read_text(encoding="utf-8") == FREE
    assert [file.name for file in (tmp_path / "deploy").iterdir()] == ["SKILL.md"]


async def test_links_lead_nowhere_in_and_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    secret = write(outside, "secret", FREE.replace("PDF", "secret"))
    folder = tmp_path / "skills"
    write(folder, "mine", FREE)
    (folder / "linked").symlink_to(secret.parent)
    (folder / "collection").symlink_to(outside)
    (folder / "file").mkdir()
    (folder / "file" / "SKILL.md").symlink_to(secret)
    (folder / "deploy").symlink_to(outside)
    memory = await with_skills({"use_when": "deploy"})
    done = await import_skills(memory, "ann", folder)
    assert [skill.use_when for skill in done.added] == ["Fill PDF forms. Use when a form is to be filled."]
    assert done.skipped.keys() == {"linked", "collection", "deploy", "file/SKILL.md"}
    assert {"is a symbolic link, which is not followed"} == set(done.skipped.values())

    out = await export_skills(memory, "ann", folder)
    assert "symbolic link" in out.skipped["deploy"]
    assert [path.name for path in outside.iterdir()] == ["secret"]


async def test_what_cannot_be_read_is_named_and_stops_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "a-good", FREE)
    write(tmp_path, "b-yaml", "---\ndescription: Use when: now\n---\nDo it.\n")
    write(tmp_path, "c-silent", "# Nothing says when\n")
    write(tmp_path, "d-empty", "---\ndescription: never\n---\n")
    write(tmp_path, "e-huge", FREE + "x" * 900_000)
    write(tmp_path, "f-bytes", "").write_bytes(b"\xff\xfe\x00")
    write(tmp_path, "g-marked", "---\ndescription: x\nmetadata: {react-mem: '{}'}\n---\nDo it.\n")
    (tmp_path / "h-folder" / "SKILL.md").mkdir(parents=True)
    write(tmp_path, "y-same", FREE.replace("original", "copy"))
    write(tmp_path, "z-good", FREE.replace("PDF", "other"))
    memory = await with_skills()
    done = await import_skills(memory, "ann", tmp_path)
    assert (len(done.added), done.kept) == (2, 0)
    reasons = {place.partition("/")[0]: reason for place, reason in done.skipped.items()}
    for place, cause in {
        "b-yaml": "not YAML",
        "c-silent": "says nowhere when",
        "d-empty": "no instructions",
        "e-huge": "more than 200,000",
        "f-bytes": "not UTF-8",
        "g-marked": "not as it was written",
        "y-same": "same occasion as a-good/SKILL.md",
    }.items():
        assert cause in reasons.pop(place)
    assert reasons == {}


async def test_what_is_not_there_or_is_too_much_imports_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await with_skills()
    monkeypatch.setattr(skill_folders, "MAX_FILES", 2)
    with pytest.raises(ValueError, match="no such file"):
        await import_skills(memory, "ann", tmp_path / "nowhere")
    for number in range(3):
        write(tmp_path, f"skill-{number}", FREE)
    with pytest.raises(ValueError, match="more than 2 skill files"):
        await import_skills(memory, "ann", tmp_path)
    assert await skills_of(memory) == {}
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot be written"):
        await export_skills(memory, "ann", tmp_path / "file" / "below")


async def test_where_there_is_no_room_the_rest_is_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, name, FREE.replace("PDF", name))
    memory = MemoryFacade(memory_store(), MemoryPolicy.model_validate({"quotas": {"memories": 1}}))
    done = await import_skills(memory, "ann", tmp_path)
    assert len(done.added) == 1
    assert "full" in done.skipped["b/SKILL.md"]
