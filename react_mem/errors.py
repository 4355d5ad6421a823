"""Every error that the project raises for its users, in one tree.

Each message names the cause and the cure, and holds no key and nothing that a user said.

    ReactMemError
    ├── ConfigError (ValueError)         something named in a setting, a file or the environment cannot be used
    │   ├── AgentConfigError             an agent config
    │   ├── ModelConfigError             a chat model
    │   ├── ToolConfigError              a tool
    │   ├── PriceError                   the file of prices
    │   ├── PromptError                  a prompt
    │   └── CustomerLookupError          the lookup of a customer
    ├── StorageError (RuntimeError)      memories cannot be stored or read
    │   ├── StorageNotConfigured
    │   ├── DatabaseUnavailable
    │   │   ├── DatabaseFull
    │   │   └── DatabaseReadOnly
    │   ├── EmbeddedDatabaseError
    │   ├── EmbeddingUnavailable
    │   ├── EmbeddingMismatch
    │   └── InvalidVector
    ├── ExtractionError                  a model that was asked behind a turn gave nothing
    │   ├── ModelUnavailable
    │   ├── ModelRejected
    │   ├── InvalidOutput
    │   └── DeadlineExceeded
    ├── AgentError                       a turn that could not be answered
    │   ├── InvalidInputError (ValueError)
    │   ├── ModelCallError
    │   └── StateSchemaError (ValueError)
    └── MemoryCommandError               a command of the terminal that cannot be carried out
"""

from __future__ import annotations


class ReactMemError(Exception):
    """The base of every error of this project."""


class ConfigError(ReactMemError, ValueError):
    """Something that a setting, a file or the environment names cannot be used."""


class AgentConfigError(ConfigError):
    """An agent config cannot be used; the message names the file, the key and the fix."""


class ModelConfigError(ConfigError):
    """A model cannot be loaded; the message names the cause and the fix."""


class ToolConfigError(ConfigError):
    """A tool that an agent names cannot be loaded; the message says which, why and what to do."""


class PriceError(ConfigError):
    """The prices cannot be read; the message names the cause and the fix."""


class PromptError(ConfigError):
    """A prompt that cannot be used; the message names what is wrong and the fix."""


class CustomerLookupError(ConfigError):
    """The lookup that the deployment names cannot be used; the message names the cause and the fix."""


class StorageError(ReactMemError, RuntimeError):
    """Storage cannot be used as configured; the message says why and what to change."""


class StorageNotConfigured(StorageError):
    """A deployment has no database."""


class DatabaseUnavailable(StorageError):
    """The database does not answer or refuses us."""


class DatabaseFull(DatabaseUnavailable):
    """The disk of the database is full: it answers, but stores nothing."""


class DatabaseReadOnly(DatabaseUnavailable):
    """The database answers, but takes no writes."""


class EmbeddedDatabaseError(StorageError):
    """The embedded PostgreSQL cannot be started here."""


class EmbeddingUnavailable(StorageError):
    """The requested embedding model cannot be loaded."""


class InvalidVector(StorageError):
    """An embedding model returned what is no vector of its length, or none that anything is near to."""


class EmbeddingMismatch(StorageError):
    """The database holds vectors of another embedding model."""


class ExtractionError(ReactMemError):
    """Extraction gave nothing; the message names the cause and is safe to show."""

    retryable = False
    """True where the same request may succeed later."""


class ModelUnavailable(ExtractionError):
    """The model cannot be reached or is overloaded.

    Args:
        message: The cause.
        retryable: Whether the same request may succeed later.
        retry_after: Seconds to wait first, when the service says.
    """

    def __init__(self, message: str, *, retryable: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


class ModelRejected(ExtractionError):
    """The model or its service refuses this request: a wrong key, an unknown model, a schema it cannot fill."""


class InvalidOutput(ExtractionError):
    """The model answered, and nothing in its answer can be read.

    Args:
        message: The cause.
        raw: What it answered.
    """

    def __init__(self, message: str, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class DeadlineExceeded(ExtractionError):
    """The deadline passed before the model had answered."""

    retryable = True


class AgentError(ReactMemError):
    """A turn that could not be answered; the message names the cause and the fix."""


class InvalidInputError(AgentError, ValueError):
    """The caller sent nothing that can be answered."""


class ModelCallError(AgentError):
    """The chat model failed."""


class StateSchemaError(AgentError, ValueError):
    """The state schema of a caller does not go with the agent's own."""


class MemoryCommandError(ReactMemError):
    """A command cannot be carried out; the message names the cause and the fix."""
