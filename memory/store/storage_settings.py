"""Settings of storage and its embedding model, read from the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator, model_validator

from react_mem.errors import StorageNotConfigured

DEFAULT_DATA_DIR = Path(".react-mem") / "postgres"
"""Beside the project, as `.langgraph_api` is: two projects do not share memories, and deleting a clone deletes them."""

PLATFORM_SCHEMA = "react_mem"
"""The platform's database has a `store` table of its own, with migrations of its own: ours live in another schema."""

INDEX_BYTES = 256 * 2**20
"""Bytes of the owners' indexes that a process keeps: some 250,000 texts."""

INDEX_LIMIT = 100_000
"""Texts of a namespace up to which a process keeps its index and compares every one: 100 MB, and 10 ms a search."""

_FIELDS_BY_VARIABLE = {
    "REACT_MEM_DATA_DIR": "data_dir",
    "EMBEDDING_MODEL": "embedding",
    "DATABASE_POOL_MIN": "pool_min",
    "DATABASE_POOL_MAX": "pool_max",
    "VECTOR_STORE": "vector_store",
    "INDEX_FIELDS": "index_fields",
    "STORE_FULL_VECTORS": "full_vectors",
    "MEMORY_INDEX_BYTES": "index_bytes",
    "MEMORY_INDEX_LIMIT": "index_limit",
}


class StorageSettings(BaseModel, extra="forbid", frozen=True):
    """Settings to open storage with.

    Args:
        database_url: PostgreSQL with pgvector; without it the embedded server is used.
        db_schema: The schema of the tables; the database's default without it.
        data_dir: The folder of the embedded server; a relative one is taken from the current directory.
        embedding: `auto`, `local`, or an `init_embeddings` string such as `openai:text-embedding-3-small`.
        vector_store: Which LangChain vector store memory is searched in, in place of the database: the path
            `package.module:attribute` of what makes it, or the fields of `memory.adapters.VectorIndexSettings`.
        index_fields: Paths of what is searchable of values that an application keeps beside memory, such as `title` or
            `parts[*].text`; by default their `text`, or all of a value that has none. In the environment with commas.
        full_vectors: Whether vectors are stored whole too, beside those in half precision that memory is searched by.
            Without, a memory takes 1.5 of 3.3 kB less, and LangGraph's own store finds it by no query.
        index_bytes: Bytes of the owners' indexes that a process keeps at hand; the least recently used go first.
        index_limit: Texts of a namespace from which on its candidates come from the database.
        pool_min: Connections kept open.
        pool_max: Connections at most. A statement of the store takes milliseconds and no connection is held while
            a model is called, so that 10 serve hundreds of conversations; the embedded server accepts 100.
    """

    database_url: SecretStr | None = None
    db_schema: str | None = None
    data_dir: Path = DEFAULT_DATA_DIR
    embedding: str = Field("auto", min_length=1)
    # an address may hold a password
    vector_store: dict[str, Any] | str | None = Field(None, repr=False)
    index_fields: tuple[str, ...] = ()
    full_vectors: bool = True
    index_bytes: int = Field(INDEX_BYTES, ge=0)
    index_limit: int = Field(INDEX_LIMIT, ge=0)
    pool_min: int = Field(1, ge=0)
    pool_max: int = Field(10, ge=1)

    @field_validator("vector_store", mode="before")
    @classmethod
    def _fields_as_json(cls, value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith("{"):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError('is neither a path nor JSON such as {"factory": "langchain_milvus:Milvus"}') from None

    @field_validator("index_fields", mode="before")
    @classmethod
    def _with_commas(cls, value: Any) -> Any:
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _pool_is_a_range(self) -> Self:
        if self.pool_min > self.pool_max:
            raise ValueError(f"pool_min ({self.pool_min}) must not exceed pool_max ({self.pool_max})")
        return self

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the settings from `DATABASE_URL`, `REACT_MEM_DATA_DIR`, `EMBEDDING_MODEL`, `DATABASE_POOL_MIN`, `_MAX`,
        `VECTOR_STORE`, `INDEX_FIELDS`, `STORE_FULL_VECTORS`, `MEMORY_INDEX_BYTES`, `_LIMIT`.

        In a deployment the platform's `POSTGRES_URI` or `DATABASE_URI` stands in for a missing `DATABASE_URL`, and
        there is no embedded database: a container's disk does not outlive the container.

        Args:
            environ: The environment to read.

        Returns:
            The settings.

        Raises:
            StorageNotConfigured: In a deployment without a database.
            ValueError: If a variable has a value that cannot be used; the message names the variable.
        """
        values: dict[str, Any] = {
            field: environ[variable].strip()
            for variable, field in _FIELDS_BY_VARIABLE.items()
            if environ.get(variable, "").strip()
        }
        url = environ.get("DATABASE_URL", "").strip()
        if not url and _is_deployment(environ):
            url = environ.get("POSTGRES_URI", "").strip() or environ.get("DATABASE_URI", "").strip()
            values["db_schema"] = PLATFORM_SCHEMA
            if not url:
                raise StorageNotConfigured(
                    "This deployment has no database for memories. Set DATABASE_URL to a PostgreSQL database with "
                    "pgvector; the platform's own POSTGRES_URI or DATABASE_URI is used where it is set. The embedded "
                    "database is for development only: what it stores would be lost with the container."
                )
        if url:
            values["database_url"] = url
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            variables = {field: variable for variable, field in _FIELDS_BY_VARIABLE.items()}
            problems = "; ".join(
                f"{variables.get(str(problem['loc'][0]), problem['loc'][0]) if problem['loc'] else 'DATABASE_POOL_*'}: "
                f"{problem['msg']}"
                for problem in error.errors()
            )
            raise ValueError(f"The storage settings in the environment cannot be used: {problems}") from None


def _is_deployment(environ: Mapping[str, str]) -> bool:
    # Every LangGraph server has LANGSERVE_GRAPHS (an image by its Dockerfile); only `langgraph dev` is `local_dev`.
    return "LANGSERVE_GRAPHS" in environ and environ.get("LANGSMITH_LANGGRAPH_API_VARIANT") != "local_dev"
