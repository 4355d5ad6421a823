"""The path of a reranker in a policy: `package.module:attribute`."""

from __future__ import annotations

import importlib
from typing import cast


def check_reranker(path: str) -> str:
    """Return the path of a reranker that can be imported.

    Args:
        path: `package.module:attribute`, a compressor or a function without arguments that makes one; empty for none.

    Raises:
        ValueError: If it is no such path, or nothing is there.
    """
    if path:
        reranker_at(path)
    return path


def reranker_at(path: str) -> object:
    """Return what is at a path.

    Raises:
        ValueError: If it is no such path, or nothing is there.
    """
    module, colon, attribute = path.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f"the reranker {path!r} is not a path; write 'package.module:attribute'")
    try:
        return cast(object, getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the reranker {path!r} cannot be imported: {error}") from error
