"""Every error that the project raises for its users, in one tree.

Each message names the cause and the cure, and holds no key and nothing that a user said. What it is for the operator to
mend may name a host or a file: of these, the clients of a server are told `for_clients` instead.

    ReactMemError (RuntimeError)
    ├── InvalidArgument (ValueError)     a call was given what it cannot do anything with
    │   └── WrongType (TypeError)        an object of another kind than it takes
    ├── ConfigError (ValueError)         something named in a setting, a file or the environment cannot be used
    │   ├── AgentConfigError             an agent config
    │   │   └── UnknownAgent
    │   ├── ModelConfigError             a chat model
    │   ├── ToolConfigError              a tool
    │   ├── PromptError                  a prompt
    │   ├── ExtraMissing (ImportError)   a package of an extra that is not installed
    │   ├── CustomerLookupError          the lookup of a customer
    │   ├── ServerAuthError              the authentication of a server
    │   └── ExposedServerError           a server that would serve everybody's memories to anybody
    ├── StorageError                     memories cannot be stored or read
    │   ├── StorageNotConfigured
    │   ├── DatabaseUnavailable
    │   │   ├── DatabaseFull
    │   │   └── DatabaseReadOnly
    │   ├── EmbeddedDatabaseError
    │   ├── EmbeddingUnavailable
    │   ├── EmbeddingMismatch
    │   ├── InvalidVector
    │   ├── CheckpointRefused
    │   ├── AuditBroken
    │   ├── EncryptionKeyError
    │   └── SealError
    ├── ExtractionError                  a model that was asked behind a turn gave nothing
    │   ├── ModelUnavailable
    │   ├── ModelRejected
    │   ├── InvalidOutput
    │   └── DeadlineExceeded
    ├── AgentError                       a turn that could not be answered
    │   ├── InvalidInputError (ValueError)
    │   ├── ChoiceRefused (ValueError)
    │   ├── ModelCallError
    │   ├── QuotaExceeded
    │   ├── RunFailed
    │   └── StateSchemaError (ValueError)
    ├── MemoryFull (ValueError)          a write beyond what may be stored of a user
    ├── NotThere (LookupError)           an attachment, or a hidden memory, that is not there
    ├── LegalHoldError                   a removal of what is under a legal hold
    ├── MemoryChanged                    a change of what somebody else has changed since it was looked at
    ├── ProjectError                     a new project that cannot be written
    └── MemoryCommandError               a command of the terminal that cannot be carried out
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar


class ReactMemError(RuntimeError):
    """The base of every error of this project.

    Attributes:
        for_clients: What the clients of a server are told in place of the message; None where that is for them.
    """

    # a RuntimeError: a LangGraph server tells its clients what errors of a few built-in kinds say, of others nothing
    for_clients: ClassVar[str | None] = None


class InvalidArgument(ReactMemError, ValueError):
    """A call was given what it cannot do anything with; the message names the argument and the cure."""


class WrongType(InvalidArgument, TypeError):
    """A call was given an object of another kind than it takes."""


class ConfigError(ReactMemError, ValueError):
    """Something that a setting, a file or the environment names cannot be used."""

    for_clients: ClassVar[str | None] = (
        "The server is not set up for this. Its log says what is wrong; its operator can mend it."
    )


class AgentConfigError(ConfigError):
    """An agent config cannot be used; the message names the file, the key and the fix."""


class UnknownAgent(AgentConfigError):
    """There is no agent of the name that was asked for; the message lists those there are."""

    for_clients = None


class ModelConfigError(ConfigError):
    """A model cannot be loaded; the message names the cause and the fix."""


class ToolConfigError(ConfigError):
    """A tool that an agent names cannot be loaded; the message says which, why and what to do."""


class PromptError(ConfigError):
    """A prompt that cannot be used; the message names what is wrong and the fix."""


class ExtraMissing(ConfigError, ImportError):
    """A package that an extra brings is not installed; the message says how to install it."""


class CustomerLookupError(ConfigError):
    """The lookup that the deployment names cannot be used; the message names the cause and the fix."""


class ServerAuthError(ConfigError):
    """The authentication of a server cannot be used as configured; the message names the setting and the fix."""


class ExposedServerError(ConfigError):
    """A server does not start, because anybody could read and change everybody's memories on it."""


class StorageError(ReactMemError):
    """Storage cannot be used as configured; the message says why and what to change."""

    for_clients = "Memory cannot be stored or read as the server is set up. Its log says why; its operator can mend it."


class StorageNotConfigured(StorageError):
    """A deployment has no database."""


class DatabaseUnavailable(StorageError):
    """The database does not answer or refuses us."""

    for_clients = "The database of the memories cannot be reached. Try again later; the server's log says why."


class DatabaseFull(DatabaseUnavailable):
    """The disk of the database is full: it answers, but stores nothing."""

    for_clients = "The database of the memories is full, and stores nothing. Its operator can mend it."


class DatabaseReadOnly(DatabaseUnavailable):
    """The database answers, but takes no writes."""

    for_clients = "The database of the memories takes no writes for now. Try again later; the server's log says why."


class EmbeddedDatabaseError(StorageError):
    """The embedded PostgreSQL cannot be started here."""


class EmbeddingUnavailable(StorageError):
    """The requested embedding model cannot be loaded."""


class InvalidVector(StorageError):
    """An embedding model returned what is no vector of its length, or none that anything is near to."""


class CheckpointRefused(StorageError):
    """A thread holds a value in a form that is not read; the message says why and what to do."""


class AuditBroken(StorageError):
    """The audit log is not as it was written, or cannot be verified here; the message names the entry."""


class EmbeddingMismatch(StorageError):
    """The database holds vectors of another embedding model."""


class EncryptionKeyError(StorageError):
    """The key that memory is encrypted under is missing, or wrong, or cannot be used."""


class SealError(StorageError):
    """A sealed value does not open; nothing of it is in the message.

    Args:
        message: The cause.
        version: The data key that sealed it, where that is not known here: it may be in the database by now.
    """

    def __init__(self, message: str, *, version: int | None = None) -> None:
        super().__init__(message)
        self.version = version


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


class ChoiceRefused(AgentError, ValueError):
    """The caller chose for a run what the agent's config leaves to nobody; the message names what it does leave."""


class ModelCallError(AgentError):
    """The chat model failed."""


class RunFailed(AgentError):
    """A run ended in an error that is none of ours, of which a client is told nothing more."""

    def __init__(self) -> None:
        super().__init__(
            "The run has failed on the server's side. Its log says why, under the id of this run; send it again later."
        )


class QuotaExceeded(AgentError):
    """A user has used up a quota of the day; no model was asked.

    Args:
        quota: The setting, such as `messages_a_day`.
        limit: What it allows.
        free_at: When it is free again.
    """

    def __init__(self, quota: str, limit: int, free_at: datetime) -> None:
        super().__init__(
            f"The quota {quota} of this user is used up: {limit}. It is free again at {free_at:%Y-%m-%d %H:%M} UTC."
        )
        self.quota = quota
        self.limit = limit
        self.free_at = free_at


class StateSchemaError(AgentError, ValueError):
    """The state schema of a caller does not go with the agent's own."""


class MemoryChanged(ReactMemError):
    """A memory is not as it was when it was looked at; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("the memory has changed since you looked at it; look at it again, and nothing was changed now")


class MemoryFull(ReactMemError, ValueError):
    """A user has as much stored as the quotas allow; nothing of what was to be added is stored.

    Args:
        quota: The setting, `memories` or `bytes`.
        limit: What it allows.
        stored: How much there is.
    """

    def __init__(self, quota: str, limit: int, stored: int) -> None:
        super().__init__(
            f"the memory of this user is full: {stored:,} {quota} are stored of the {limit:,} that the quota allows; "
            f"forget what is not needed, or have the operator raise `memory.quotas.{quota}` or set a `memory.retention`"
        )
        self.quota = quota
        self.limit = limit
        self.stored = stored


class NotThere(ReactMemError, LookupError):
    """The user has nothing of this name: no attachment, or nothing that is hidden."""


class LegalHoldError(ReactMemError):
    """Refusal to remove what is under a legal hold; nothing of it was removed.

    Args:
        message: Which hold, and who may lift it.
        reference: What the hold is known by.
    """

    def __init__(self, message: str, *, reference: str) -> None:
        super().__init__(message)
        self.reference = reference


class ProjectError(ReactMemError):
    """A new project cannot be written as it is called, or not there; nothing is, and the message names the fix."""


class MemoryCommandError(ReactMemError):
    """A command cannot be carried out; the message names the cause and the fix."""
