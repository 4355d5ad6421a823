"""Names of the environment variables, and detection of misspelt ones: a misnamed key would encrypt nothing."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping

from react_mem.errors import EncryptionKeyError, StorageError

_GUARDS = """
    MEMORY_AUDIT MEMORY_ENCRYPTION_KEY MEMORY_ENCRYPTION_KEY_FILE MEMORY_ENCRYPTION_KEY_FORMER
    MEMORY_ENCRYPTION_KEY_FUNCTION MEMORY_RECEIPT_KEY MEMORY_RECEIPT_KEY_FILE MEMORY_ROW_SECURITY
"""
"""Variables that protect memory."""

_MORE = """
    AUTH_ADMINS AUTH_API_KEYS_FILE AUTH_JWT_ALGORITHMS AUTH_JWT_AUDIENCE AUTH_JWT_IDENTITY_CLAIM AUTH_JWT_ISSUER
    AUTH_JWT_JWKS_URL AUTH_JWT_LEEWAY AUTH_JWT_SECRET CHAT_MODEL DATABASE_POOL_MAX DATABASE_POOL_MIN DATABASE_URL
    EMBEDDING_MODEL INDEX_FIELDS MEMORY_ATTACHMENT_BYTES MEMORY_INDEX_BYTES MEMORY_INDEX_LIMIT
    MEMORY_QUESTION_CACHE_BYTES MEMORY_SEARCH_CACHE_BYTES METRICS_TOKEN REACT_MEM_AGENTS
    REACT_MEM_ALLOW_ANONYMOUS REACT_MEM_CUSTOMER_LOOKUP REACT_MEM_DATA_DIR REACT_MEM_DEV_USER
    VECTOR_STORE
"""

VARIABLES = frozenset((_GUARDS + _MORE).split())
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
        if meant in _GUARDS.split() and not environ.get(meant, "").strip():
            kind = EncryptionKeyError if "ENCRYPTION" in meant else StorageError
            raise kind(
                f"{name} is set, and nothing reads it: is {meant} meant? Memory would be kept without it. Rename the "
                "variable, or unset it."
            )
        warnings.warn(f"{name} is set, and nothing reads it: is {meant} meant?", stacklevel=4)
