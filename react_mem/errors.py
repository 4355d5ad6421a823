"""Errors of the project, in one tree.

Each message names the cause and the cure, and holds no key and no words of a user. A message for the operator
may name a host or a file: the clients of a server get `for_clients` instead.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar


class ReactMemError(RuntimeError):
    """The base of every error of this project.

    Attributes:
        for_clients: Text for the clients of a server in place of the message; None to show them the message.
    """

    # a RuntimeError: a LangGraph server tells its clients what errors of a few built-in kinds say, of others nothing
    for_clients: ClassVar[str | None] = None


class InvalidArgument(ReactMemError, ValueError):
    """A call has an unusable argument; the message names the argument and the cure."""


class WrongType(InvalidArgument, TypeError):
    """A call has an object of another kind than it takes."""


class ConfigError(ReactMemError, ValueError):
    """Something in a setting, a file or the environment cannot be used."""

    for_clients: ClassVar[str | None] = (
        "The server is not set up for this. Its log says what is wrong; its operator can mend it."
    )


class AgentConfigError(ConfigError):
    """An agent config cannot be used; the message names the file, the key and the fix."""


class UnknownAgent(AgentConfigError):
    """There is no agent of the requested name; the message lists the agents."""

    for_clients = None


class ModelConfigError(ConfigError):
    """A model cannot be loaded; the message names the cause and the fix."""


class ToolConfigError(ConfigError):
    """A tool of an agent cannot be loaded; the message says which, why and how to fix it."""


class PromptError(ConfigError):
    """A prompt cannot be used; the message names the cause and the fix."""


class ExtraMissing(ConfigError, ImportError):
    """A package of an extra is not installed; the message says how to install it."""


class CustomerLookupError(ConfigError):
    """The customer lookup of the deployment cannot be used; the message names the cause and the fix."""


class ServerAuthError(ConfigError):
    """The authentication of a server cannot be used as configured; the message names the setting and the fix."""


class ExposedServerError(ConfigError):
    """A server does not start, because anybody could read and change everybody's memories on it."""


class StorageError(ReactMemError):
    """Storage cannot be used as configured; the message names the cause and the fix."""

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
    """An embedding model returned a vector of the wrong length, or one without a direction."""


class CheckpointRefused(StorageError):
    """A thread holds a value in a form that is not read; the message says why and how to fix it."""


class AuditBroken(StorageError):
    """The audit log is not as it was written, or cannot be verified here; the message names the entry."""


class EmbeddingMismatch(StorageError):
    """The database holds vectors of another embedding model."""


class EncryptionKeyError(StorageError):
    """The encryption key of memory is missing, wrong or unusable."""


class SealError(StorageError):
    """A sealed value cannot be decrypted; the message holds nothing of it.

    Args:
        message: The cause.
        version: The data key that sealed it, where that is not known here: it may be in the database by now.
    """

    def __init__(self, message: str, *, version: int | None = None) -> None:
        super().__init__(message)
        self.version = version


class ExtractionError(ReactMemError):
    """Extraction failed; the message names the cause and is safe to show."""

    retryable = False
    """True where the same request may succeed later."""


class ModelUnavailable(ExtractionError):
    """The model cannot be reached or is overloaded.

    Args:
        message: The cause.
        retryable: True if the same request may succeed later.
        retry_after: Seconds to wait first, when the service says.
    """

    def __init__(self, message: str, *, retryable: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


class ModelRejected(ExtractionError):
    """The model or its service refuses this request: a wrong key, an unknown model, a schema it cannot fill."""


class InvalidOutput(ExtractionError):
    """The model's answer cannot be read.

    Args:
        message: The cause.
        raw: The answer.
    """

    def __init__(self, message: str, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class DeadlineExceeded(ExtractionError):
    """The deadline passed before the model answered."""

    retryable = True


class AgentError(ReactMemError):
    """A turn that could not be answered; the message names the cause and the fix."""


class InvalidInputError(AgentError, ValueError):
    """The input of a run cannot be answered."""


class ChoiceRefused(AgentError, ValueError):
    """The agent's config does not allow the caller's choice; the message names the allowed ones."""


class ModelCallError(AgentError):
    """The chat model failed."""


class RunFailed(AgentError):
    """A run ended in a foreign error, which is not shown to clients."""

    def __init__(self) -> None:
        super().__init__(
            "The run has failed on the server's side. Its log says why, under the id of this run; send it again later."
        )


class QuotaExceeded(AgentError):
    """A user has used up a quota of the day; no model was asked.

    Args:
        quota: The setting, such as `messages_a_day`.
        limit: Its value.
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
    """The state schema of a caller conflicts with the agent's own."""


class MemoryChanged(ReactMemError):
    """A memory has changed since it was looked at; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("the memory has changed since you looked at it; look at it again, and nothing was changed now")


class WriteConflict(ReactMemError):
    """Concurrent writes to the same memory won every time; nothing was written, and the call can be repeated."""


class UnfitMessageError(ReactMemError, ValueError):
    """A message of a client cannot be stored; nothing of the call is.

    Args:
        place: Its place in the call.
        why: The cause and the fix.
    """

    def __init__(self, place: int, why: str) -> None:
        super().__init__(why)
        self.place = place


class OtherWordsError(UnfitMessageError):
    """The id of a message stands for other words, or for another author's."""

    def __init__(self, place: int) -> None:
        super().__init__(place, "a message of this id is there with other words; give what is new an id of its own")


class MemoryFull(ReactMemError, ValueError):
    """A user's storage quota is used up; nothing of the addition is stored.

    Args:
        quota: The setting, `memories` or `bytes`.
        limit: Its value.
        stored: How much is stored.
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
    """The user has nothing of this name: no attachment, or no hidden memory."""


class LegalHoldError(ReactMemError):
    """A removal is refused because of a legal hold; nothing was removed.

    Args:
        message: Which hold, and who may lift it.
        reference: The hold's reference.
    """

    def __init__(self, message: str, *, reference: str) -> None:
        super().__init__(message)
        self.reference = reference


class ProjectError(ReactMemError):
    """A new project cannot be written under this name or in this place; the message names the fix."""


class MemoryCommandError(ReactMemError):
    """A command cannot be carried out; the message names the cause and the fix."""
