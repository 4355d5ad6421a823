"""A look at whether the server reads its threads as data: what decides it is set before it loads this project."""

from __future__ import annotations

import importlib
import logging
import pickle
from dataclasses import dataclass
from typing import Any

log = logging.getLogger(__name__)


@dataclass
class _NobodysType:
    """Type that no graph keeps."""


def _is_news(record: logging.LogRecord) -> bool:
    return _NobodysType.__name__ not in record.getMessage()


def warn_of_lenient_threads() -> None:
    """Log what somebody could do who can write to the database of the server's threads, if it is anything."""
    try:
        serialiser: Any = importlib.import_module("langgraph_api.serde").Serializer()
    except (ImportError, AttributeError, TypeError):  # not within a server, or within one of another version
        return
    # that it refuses is what is asked, and no news
    refusals = logging.getLogger("langgraph.checkpoint.serde.jsonplus")
    refusals.addFilter(_is_news)
    try:
        lenient = isinstance(serialiser.loads_typed(serialiser.dumps_typed(_NobodysType())), _NobodysType)
    finally:
        refusals.removeFilter(_is_news)
    if lenient:
        log.warning(
            "this server builds whatever a row of its threads names: who can write to their database runs code here. "
            "Start it with LANGGRAPH_STRICT_MSGPACK=true in its environment."
        )
    try:
        serialiser.loads_typed(("pickle", pickle.dumps(None)))
    except ValueError:
        return
    log.warning(
        "this server loads pickles from its threads: who can write to their database runs code here. Set "
        '"checkpointer": {"serde": {"pickle_fallback": false}} in its langgraph.json.'
    )
