"""`react-mem skills`, as somebody types it, on a real database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from react_mem.agents.cli import main

pytestmark = pytest.mark.e2e

SKILL = "---\nname: tea\ndescription: Brew tea. Use when somebody wants tea.\n---\n\nHeat the water to 80 degrees.\n"


@pytest.fixture(autouse=True)
def on_a_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")


def test_skills_go_out_are_forgotten_and_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    (theirs / "tea").mkdir(parents=True)
    (theirs / "tea" / "SKILL.md").write_text(SKILL, encoding="utf-8")
    assert main(["skills", "import", str(theirs), "--user", "ann", "--dry-run"]) == 0
    assert "1 skill would be added, on probation, 0 were there already" in capsys.readouterr().out
    assert main(["skills", "import", str(theirs), "--user", "ann", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["added"] == ["Brew tea. Use when somebody wants tea."]

    assert main(["skills", "export", str(ours), "--user", "ann"]) == 0
    assert "1 skill written" in capsys.readouterr().out
    assert (ours / "tea" / "SKILL.md").is_file()
    assert main(["skills", "export", str(tmp_path / "bobs"), "--user", "bob"]) == 0
    assert list((tmp_path / "bobs").iterdir()) == []

    assert main(["memory", "forget", "--user", "ann", "--yes"]) == 0
    assert main(["skills", "import", str(ours), "--user", "ann"]) == 0
    assert main(["skills", "import", str(ours), "--user", "ann"]) == 0
    assert "0 skills added, on probation, 1 were there already" in capsys.readouterr().out


def test_what_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skills", "import", str(tmp_path / "nowhere"), "--user", "ann"]) == 2
    assert "no such file or folder; nothing was imported" in capsys.readouterr().err
    (tmp_path / "SKILL.md").write_text("Do it.", encoding="utf-8")
    assert main(["skills", "import", str(tmp_path), "--user", "ann"]) == 1
    assert "skipped: SKILL.md: says nowhere when it applies" in capsys.readouterr().out
