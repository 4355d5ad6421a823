"""Misspelt variables: one that guards memory is refused, any other is warned of."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.errors import EncryptionKeyError, StorageError
from react_mem.memory import StorageSettings, open_memory
from react_mem.memory.store.storage_settings import VARIABLES

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


@pytest.mark.parametrize(
    "name", ["MEMORY_ENCRYPTON_KEY", "MEMORY_ENCRYPTION_KYE", "MEMORY_ENCRYPTIONKEY", "memory_encryption_key"]
)
async def test_a_misspelt_key_does_not_start_unencrypted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EncryptionKeyError, match="is MEMORY_ENCRYPTION_KEY meant") as caught:
        StorageSettings.from_env({name: KEY})
    assert KEY not in str(caught.value)
    monkeypatch.setenv(name, KEY)
    with pytest.raises(EncryptionKeyError, match=name):
        async with open_memory(store=InMemoryStore()):
            pass


def test_other_guards_are_refused_and_the_rest_is_warned_of() -> None:
    with pytest.raises(StorageError, match="is MEMORY_AUDIT meant"):
        StorageSettings.from_env({"MEMORY_AUDITS": "1"})
    with pytest.warns(UserWarning, match="is EMBEDDING_MODEL meant"):
        StorageSettings.from_env({"EMBEDING_MODEL": "local"})


def test_names_of_other_programs_are_left_alone() -> None:
    others = {"DATABASE_USER", "DATABASE_URI", "POSTGRES_URL", "MEMORY_LIMIT", "AUTH_SECRET", "MODEL_NAME", "PATH"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StorageSettings.from_env({**dict.fromkeys(others, "1"), **dict.fromkeys(VARIABLES & {"CHAT_MODEL"}, "x")})


def test_every_documented_variable_is_known() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
    ours = {
        name
        for row in re.findall(r"^\| (`[A-Z].*?) \|", page, re.MULTILINE)
        for name in re.findall(r"`([A-Z][A-Z_]+)`", row)
        if not name.startswith(("OPENAI", "POSTGRES", "LANG", "TAVILY", "GOOGLE", "ORT_", "SEARXNG"))
        and name != "DATABASE_URI"
    }
    assert ours == VARIABLES
