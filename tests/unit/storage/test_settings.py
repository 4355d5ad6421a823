"""The storage settings in the environment."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from react_mem.errors import StorageError, StorageNotConfigured
from react_mem.memory.store.storage_settings import PLATFORM_SCHEMA, StorageSettings

IMAGE = {"LANGSERVE_GRAPHS": '{"agent": "./graphs"}'}
DEVELOPMENT = {**IMAGE, "LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev", "DATABASE_URI": ":memory:"}


def url(environ: dict[str, str]) -> str | None:
    secret = StorageSettings.from_env(environ).database_url
    return secret.get_secret_value() if secret else None


@pytest.mark.parametrize("environ", [{}, DEVELOPMENT, {"POSTGRES_URI": "postgresql://x/y"}, {"DATABASE_URL": " "}])
def test_the_embedded_database_is_the_default_outside_a_deployment(environ: dict[str, str]) -> None:
    settings = StorageSettings.from_env(environ)
    assert settings.database_url is None
    assert settings.data_dir is None


def test_the_embedded_database_is_among_the_users_data_one_for_each_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used_in(project: str) -> Path:
        (tmp_path / project).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / project)
        return StorageSettings.from_env({}).embedded_folder()

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    # the standard has what is not absolute ignored
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    shop = used_in("tea/shop")
    assert shop.parent == tmp_path / "home/.local/share/react-mem"
    assert shop.name.startswith("shop-")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    places = [used_in(project) for project in ("tea/shop", "coffee/shop", "tea/shop")]
    assert places[0] == places[2] != places[1]
    assert {place.parent for place in places} == {tmp_path / "data/react-mem"}
    assert not (tmp_path / "data").exists()


def test_an_embedded_database_that_a_project_has_already_goes_on_being_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".react-mem" / "hooks").mkdir(parents=True)
    assert StorageSettings.from_env({}).embedded_folder() != tmp_path / ".react-mem/postgres"
    (tmp_path / ".react-mem" / "postgres").mkdir()
    assert StorageSettings.from_env({}).embedded_folder() == tmp_path / ".react-mem/postgres"
    assert StorageSettings.from_env({"REACT_MEM_DATA_DIR": "mine"}).embedded_folder() == tmp_path / "mine"


def test_a_deployment_without_a_database_is_refused() -> None:
    with pytest.raises(StorageNotConfigured, match=r"Set DATABASE_URL .*POSTGRES_URI or DATABASE_URI"):
        StorageSettings.from_env({**IMAGE, "REACT_MEM_DATA_DIR": "/data"})


def test_a_deployment_uses_its_own_database_in_a_schema_of_ours() -> None:
    for variable in ("POSTGRES_URI", "DATABASE_URI"):
        environ = {**IMAGE, variable: "postgresql://platform/db"}
        assert url(environ) == "postgresql://platform/db"
        assert StorageSettings.from_env(environ).db_schema == PLATFORM_SCHEMA


def test_database_url_comes_first_and_is_used_as_it_is() -> None:
    environ = {**IMAGE, "DATABASE_URL": "postgresql://ours/db", "POSTGRES_URI": "postgresql://platform/db"}
    assert url(environ) == "postgresql://ours/db"
    assert StorageSettings.from_env(environ).db_schema is None


def test_fields_to_index_are_written_with_commas() -> None:
    assert StorageSettings.from_env({}).index_fields == ()
    assert StorageSettings.from_env({"INDEX_FIELDS": "title, parts[*].text ,"}).index_fields == (
        "title",
        "parts[*].text",
    )


def test_the_password_is_not_shown() -> None:
    assert "s3cret" not in repr(StorageSettings.from_env({"DATABASE_URL": "postgresql://ann:s3cret@host/db"}))


def test_the_master_keys_are_not_shown() -> None:
    key, former = bytes(range(32)).hex(), bytes(range(1, 33)).hex()
    settings = StorageSettings.from_env({"MEMORY_ENCRYPTION_KEY": key, "MEMORY_ENCRYPTION_KEY_FORMER": former})
    assert settings.master_key() is not None
    assert key not in repr(settings)
    assert former not in repr(settings)


SEED = bytes(range(32))
PEM = (
    Ed25519PrivateKey.from_private_bytes(SEED).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
)


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        PEM.strip().replace("\n", "\\n"),
        f" {SEED.hex()}\n",
        base64.b64encode(SEED).decode(),
        f"{SEED.hex().upper()}",
    ],
)
@pytest.mark.parametrize("way", ["MEMORY_RECEIPT_KEY", "MEMORY_RECEIPT_KEY_FILE"])
def test_the_key_of_receipts_is_read_and_not_shown(text: str, way: str, tmp_path: Path) -> None:
    file = tmp_path / "receipts.pem"
    file.write_text(text, encoding="ascii")
    settings = StorageSettings.from_env({way: text if way == "MEMORY_RECEIPT_KEY" else str(file)})
    key = settings.signing_key()
    assert key is not None
    assert key.private_bytes_raw() == SEED
    assert text.strip() not in repr(settings)
    assert StorageSettings.from_env({}).signing_key() is None


def _pem(key: Any, encryption: Any = None) -> str:
    made: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())
    return made.decode()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("hunter2 is no key", "holds no key that can be used"),
        (SEED.hex()[:-2], "holds no key that can be used"),
        (PEM[:-40], "holds no key that can be used"),
        (_pem(ec.generate_private_key(ec.SECP256R1())), "of another kind"),
        (_pem(Ed25519PrivateKey.generate(), BestAvailableEncryption(b"pass")), "holds no key that can be used"),
        ("\u00ff" * 32, "."),
    ],
)
def test_a_key_of_receipts_that_cannot_be_used_is_refused_without_its_text(
    text: str, cause: str, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(text, encoding="utf-8")
    for way, value in (("MEMORY_RECEIPT_KEY", text), ("MEMORY_RECEIPT_KEY_FILE", str(file))):
        with pytest.raises(StorageError, match=rf"{way}.*{cause}.*openssl genpkey") as refused:
            StorageSettings.from_env({way: value}).signing_key()
        assert text not in str(refused.value)
    with pytest.raises(StorageError, match="cannot be read"):
        StorageSettings.from_env({"MEMORY_RECEIPT_KEY_FILE": str(tmp_path / "none")}).signing_key()
    with pytest.raises(StorageError, match="keep one of them"):
        StorageSettings.from_env({"MEMORY_RECEIPT_KEY": PEM, "MEMORY_RECEIPT_KEY_FILE": str(file)}).signing_key()
