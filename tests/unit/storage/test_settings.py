"""The storage settings in the environment."""

from __future__ import annotations

import pytest

from react_mem.errors import StorageNotConfigured
from react_mem.memory.store.storage_settings import DEFAULT_DATA_DIR, PLATFORM_SCHEMA, StorageSettings

IMAGE = {"LANGSERVE_GRAPHS": '{"agent": "./graphs"}'}
DEVELOPMENT = {**IMAGE, "LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev", "DATABASE_URI": ":memory:"}


def url(environ: dict[str, str]) -> str | None:
    secret = StorageSettings.from_env(environ).database_url
    return secret.get_secret_value() if secret else None


@pytest.mark.parametrize("environ", [{}, DEVELOPMENT, {"POSTGRES_URI": "postgresql://x/y"}, {"DATABASE_URL": " "}])
def test_the_embedded_database_is_the_default_outside_a_deployment(environ: dict[str, str]) -> None:
    settings = StorageSettings.from_env(environ)
    assert settings.database_url is None
    assert settings.data_dir == DEFAULT_DATA_DIR


def test_a_deployment_without_a_database_is_refused() -> None:
    with pytest.raises(StorageNotConfigured, match=r"Set DATABASE_URL .*POSTGRES_URI or DATABASE_URI"):
        StorageSettings.from_env({**IMAGE, "REACT_MEM_DATA_DIR": "/data"})


def test_a_deployment_uses_its_own_database_in_a_schema_of_ours() -> None:
    for variable in ("POSTGRES_URI", "DATABASE_URI"):
        environ = {**IMAGE, variable: "postgresql://platform/db"}
        assert url(environ) == "postgresql://platform/db"
        assert StorageSettings.from_env(environ).db_schema == PLATFORM_SCHEMA


@pytest.mark.parametrize(("said", "full"), [("0", False), ("false", False), ("1", True), ("", True)])
def test_vectors_are_stored_whole_unless_that_is_switched_off(said: str, full: bool) -> None:
    assert StorageSettings.from_env({"STORE_FULL_VECTORS": said}).full_vectors is full


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


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"DATABASE_POOL_MAX": "many"}, "DATABASE_POOL_MAX: .*integer"),
        ({"DATABASE_POOL_MAX": "0"}, "DATABASE_POOL_MAX: .*greater than or equal to 1"),
        ({"DATABASE_POOL_MIN": "20"}, r"pool_min \(20\) must not exceed pool_max \(10\)"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(environ: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StorageSettings.from_env(environ)
