"""What can go wrong with storage, each with a message that names the cause and the fix."""

from __future__ import annotations


class StorageError(RuntimeError):
    """Storage cannot be used as configured; the message says why and what to change."""


class StorageNotConfigured(StorageError):  # noqa: N818 - it says what is, as the design names errors
    """A deployment has no database."""


class DatabaseUnavailable(StorageError):  # noqa: N818 - it says what is, as the design names errors
    """The database does not answer or refuses us."""


class DatabaseFull(DatabaseUnavailable):
    """The disk of the database is full: it answers, but stores nothing."""


class DatabaseReadOnly(DatabaseUnavailable):
    """The database answers, but takes no writes."""


class EmbeddedDatabaseError(StorageError):
    """The embedded PostgreSQL cannot be started here."""


class EmbeddingUnavailable(StorageError):  # noqa: N818 - it says what is, as the design names errors
    """The requested embedding model cannot be loaded."""


class InvalidVector(StorageError):  # noqa: N818 - it says what is, as the design names errors
    """An embedding model returned what is no vector of its length, or none that anything is near to."""


class EmbeddingMismatch(StorageError):  # noqa: N818 - it says what is, as the design names errors
    """The database holds vectors of another embedding model."""
