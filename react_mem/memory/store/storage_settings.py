"""Settings of storage and its embedding model, read from the environment."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator, model_validator

from react_mem.errors import ConfigError, EncryptionKeyError, StorageError, StorageNotConfigured
from react_mem.memory.model.external import in_place
from react_mem.memory.store.attachments import ATTACHMENT_BYTES
from react_mem.memory.store.master_key import MasterKey, make_master_key, make_receipt_key

# Names of the environment variables, and detection of misspelt ones: a misnamed key would encrypt nothing.

_GUARDS = {
    "MEMORY_AUDIT": "audit",
    "MEMORY_ROW_SECURITY": "row_security",
    "MEMORY_RECEIPT_KEY": "receipt_key",
    "MEMORY_RECEIPT_KEY_FILE": "receipt_key_file",
    "MEMORY_ENCRYPTION_KEY": "encryption_key",
    "MEMORY_ENCRYPTION_KEY_FILE": "encryption_key_file",
    "MEMORY_ENCRYPTION_KEY_FUNCTION": "encryption_key_function",
    "MEMORY_ENCRYPTION_KEY_FORMER": "encryption_key_former",
}
"""Variables that protect memory, with their settings."""

_FIELDS_BY_VARIABLE = {
    "REACT_MEM_DATA_DIR": "data_dir",
    "EMBEDDING_MODEL": "embedding",
    "DATABASE_POOL_MAX": "pool_max",
    "VECTOR_STORE": "vector_store",
    "INDEX_FIELDS": "index_fields",
    "MEMORY_INDEX_BYTES": "index_bytes",
    "MEMORY_ATTACHMENT_BYTES": "attachment_bytes",
    **_GUARDS,
}

_MORE = """
    AUTH_ADMINS AUTH_API_KEYS_FILE AUTH_JWT_ALGORITHMS AUTH_JWT_AUDIENCE AUTH_JWT_IDENTITY_CLAIM AUTH_JWT_ISSUER
    AUTH_JWT_JWKS_URL AUTH_JWT_SECRET CHAT_MODEL DATABASE_URL METRICS_TOKEN REACT_MEM_AGENTS
    REACT_MEM_ALLOW_ANONYMOUS REACT_MEM_CUSTOMER_LOOKUP REACT_MEM_DEV_USER
"""

VARIABLES = frozenset((*_FIELDS_BY_VARIABLE, *_MORE.split()))
"""All variables of this project alone, as listed in docs/configuration.md."""

_OTHERS = frozenset({"DATABASE_URI"})
"""Similar names that others read."""

_NEAR = 0.9
"""Least similarity of a misspelt name: one or two letters differ. `MEMORY_LIMIT` is below."""


def misspelt(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with nearly the name of one of ours, with that name.

    >>> misspelt({"MEMORY_ENCRYPTON_KEY": "k", "memory_audit": "1", "DATABASE_URI": "ann", "MEMORY_LIMIT": "1"})
    {'MEMORY_ENCRYPTON_KEY': 'MEMORY_ENCRYPTION_KEY', 'memory_audit': 'MEMORY_AUDIT'}
    """
    return {
        name: near[0]
        for name, value in environ.items()
        if name not in VARIABLES | _OTHERS and value.strip() and len(name) < 2 * max(map(len, VARIABLES))
        if (near := difflib.get_close_matches(name.upper(), sorted(VARIABLES), n=1, cutoff=_NEAR))
    }


def check_names(environ: Mapping[str, str]) -> None:
    """Raise StorageError for a misspelt variable that protects memory without the correct one; warn of any other."""
    for name, meant in misspelt(environ).items():
        if meant in _GUARDS and not environ.get(meant, "").strip():
            kind = EncryptionKeyError if "ENCRYPTION" in meant else StorageError
            raise kind(
                f"{name} is set, and nothing reads it: is {meant} meant? Memory would be kept without it. Rename the "
                "variable, or unset it."
            )
        warnings.warn(f"{name} is set, and nothing reads it: is {meant} meant?", stacklevel=4)


DATA_DIR_OF_BEFORE = Path(".react-mem") / "postgres"
"""Former data folder in the project, where `langgraph dev` watches every file that the server writes."""

PLATFORM_SCHEMA = "react_mem"
"""Schema on the platform, where the default schema has another table `store` with migrations of its own."""

INDEX_BYTES = 256 * 2**20
"""Bytes of owner indexes in a process: some 250,000 texts."""

INDEX_LIMIT = 100_000
"""Most texts of a namespace that a process indexes and compares exhaustively: 100 MB, and 10 ms a search."""

CACHE_BYTES = 4 * 2**20
"""Bytes of each cache of a process: vectors of some 1,300 questions."""

_VECTOR_STORE = frozenset({"factory", "options", "scopes"})
"""Keys of `vector_store`, validated by `VectorIndexSettings` when it is opened."""


class StorageSettings(BaseModel, extra="forbid", frozen=True, hide_input_in_errors=True):
    """Settings to open storage with.

    `vector_db_config` says the same in one mapping: `url` for `database_url`, the other fields by their names, and
    those of a vector store beside them:

        StorageSettings(vector_db_config={"url": "postgresql://localhost/memory", "pool_max": 20})
        StorageSettings(vector_db_config={"factory": "langchain_milvus:Milvus", "options": {...}})

    Args:
        database_url: PostgreSQL with pgvector; without it the embedded server is used.
        db_schema: The schema of the tables; the database's default without it.
        data_dir: The folder of the embedded server; a relative one is taken from the current directory. Without one,
            `embedded_folder` says which.
        embedding: `auto`, `local`, or an `init_embeddings` string such as `openai:text-embedding-3-small`.
        vector_store: Which LangChain vector store memory is searched in, in place of the database: the path
            `package.module:attribute` of what makes it, or the fields of `memory.adapters.VectorIndexSettings`.
        index_fields: Paths of what is searchable of values that an application keeps beside memory, such as `title` or
            `parts[*].text`; by default their `text`, or all of a value that has none. In the environment with commas.
        index_bytes: Bytes of the owners' indexes that a process keeps at hand; the least recently used go first.
        attachment_bytes: Bytes that the images, sounds and files of an owner's messages may take; 0 keeps none.
        audit: Whether an audit log says who did what with whose memory, without a word of it.
        encryption_key: The master key that memory is encrypted under, 32 bytes in base64 or hex; without one, or one of
            the next two, memory is not encrypted.
        encryption_key_file: A file with such a key in its first line, and those before it in the next.
        encryption_key_function: The path `package.module:function` of what returns a key service (KMS).
        encryption_key_former: Master keys of before, or paths of functions, with commas: they still open.
        receipt_key: The Ed25519 private key that receipts are signed with, in PEM, or its 32 bytes in base64 or hex;
            without it, or the next, it is derived from the master key, else made once and kept in the database.
        receipt_key_file: A file with such a key.
        row_security: Whether the database shows a statement the rows of the owners alone that it is about: `auto`
            where it can be told to, `on` or else nothing is opened, `off`.
        pool_max: Connections at most. A statement of the store takes milliseconds and no connection is held while
            a model is called, so that 10 serve hundreds of conversations; the embedded server accepts 100.
    """

    database_url: SecretStr | None = None
    db_schema: str | None = None
    data_dir: Path | None = None
    embedding: str = Field("auto", min_length=1)
    # an address may hold a password
    vector_store: dict[str, Any] | str | None = Field(None, repr=False)
    index_fields: tuple[str, ...] = ()
    index_bytes: int = Field(INDEX_BYTES, ge=0)
    attachment_bytes: int = Field(ATTACHMENT_BYTES, ge=0)
    audit: bool = False
    encryption_key: SecretStr | None = None
    encryption_key_file: Path | None = None
    encryption_key_function: str | None = None
    encryption_key_former: SecretStr | None = None
    receipt_key: SecretStr | None = None
    receipt_key_file: Path | None = None
    row_security: Literal["auto", "on", "off"] = "auto"
    pool_max: int = Field(10, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _by_the_authors_name(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or "vector_db_config" not in data:
            return data
        rest = {name: value for name, value in data.items() if name != "vector_db_config"}
        config = data["vector_db_config"]
        if not isinstance(config, Mapping):
            return in_place({**rest, "vector_db_config": config}, {"vector_db_config": "vector_store"})
        places = {"url": "database_url", **{name: f"vector_store.{name}" for name in _VECTOR_STORE}}
        if unknown := config.keys() - places.keys() - cls.model_fields.keys():
            raise ValueError(
                f"vector_db_config has no {', '.join(sorted(map(str, unknown)))}; it has "
                f"{', '.join(sorted({*places, *cls.model_fields}))}"
            )
        given = in_place(config, places)
        if twice := given.keys() & rest.keys():
            raise ValueError(f"vector_db_config and {', '.join(sorted(twice))} say the same; keep one of them")
        return {**rest, **given}

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

    def embedded_folder(self) -> Path:
        """Return the folder of the embedded server. Blocking: it looks at the disk.

        Without `data_dir` it is in the user's data folder, named after the current directory and a hash of its path:
        two projects do not share memories. An existing former folder in the project is still used.
        """
        here = Path.cwd()
        if self.data_dir is not None or (here / DATA_DIR_OF_BEFORE).is_dir():
            return here / (self.data_dir or DATA_DIR_OF_BEFORE).expanduser()
        shared = os.environ.get("XDG_DATA_HOME", "")
        if not os.path.isabs(shared):
            shared = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
        told = hashlib.sha256(os.fsencode(here)).hexdigest()[:8]
        return Path(os.path.expanduser(shared), "react-mem", f"{here.name[:40]}-{told}")

    def has_cluster(self) -> bool:
        """Return true if that folder has a database; nothing is created. Blocking likewise."""
        return any(self.embedded_folder().glob("pg*/cluster"))

    def master_key(self) -> MasterKey | None:
        """Return the master key, or None if memory is not encrypted. Blocking: see `make_master_key`."""
        given = (self.encryption_key, self.encryption_key_former)
        key, former = (value.get_secret_value() if value is not None else None for value in given)
        return make_master_key(key, self.encryption_key_file, self.encryption_key_function, former)

    def signing_key(self) -> Ed25519PrivateKey | None:
        """Return the operator's signing key for receipts, or None. Blocking: see `make_receipt_key`."""
        text = self.receipt_key.get_secret_value() if self.receipt_key is not None else None
        return make_receipt_key(text, self.receipt_key_file)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the settings from the environment: `DATABASE_URL` and the variables of `docs/configuration.md`.

        In a deployment the platform's `POSTGRES_URI` or `DATABASE_URI` stands in for a missing `DATABASE_URL`, and
        there is no embedded database: a container's disk does not outlive the container.

        Raises:
            StorageNotConfigured: In a deployment without a database.
            StorageError: If a variable that guards memory, such as its key, is misspelt.
            ConfigError: If a variable has a value that cannot be used; the message names the variable.
        """
        check_names(environ)
        values: dict[str, Any] = {
            field: environ[variable].strip()
            for variable, field in _FIELDS_BY_VARIABLE.items()
            if environ.get(variable, "").strip()
        }
        url = environ.get("DATABASE_URL", "").strip()
        # Every LangGraph server has LANGSERVE_GRAPHS (an image by its Dockerfile); only `langgraph dev` is `local_dev`.
        in_development = environ.get("LANGSMITH_LANGGRAPH_API_VARIANT") == "local_dev"
        if not url and "LANGSERVE_GRAPHS" in environ and not in_development:
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
                f"{variables.get(str(problem['loc'][0]), problem['loc'][0])}: {problem['msg']}"
                for problem in error.errors()
            )
            raise ConfigError(f"The storage settings in the environment cannot be used: {problems}") from None
