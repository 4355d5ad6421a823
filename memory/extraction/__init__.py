"""From a transcript to checked proposals: one contract, two engines."""

from __future__ import annotations

from memory.extraction.contract import (
    EpisodeDraft,
    ExistingMemory,
    Extraction,
    Extractor,
    Operation,
    ProfileChange,
    Rejected,
    TranscriptMessage,
    Usage,
)
from memory.extraction.errors import (
    DeadlineExceeded,
    ExtractionError,
    InvalidOutput,
    ModelRejected,
    ModelUnavailable,
)

__all__ = [
    "DeadlineExceeded",
    "EpisodeDraft",
    "ExistingMemory",
    "Extraction",
    "ExtractionError",
    "Extractor",
    "InvalidOutput",
    "ModelRejected",
    "ModelUnavailable",
    "Operation",
    "ProfileChange",
    "Rejected",
    "TranscriptMessage",
    "Usage",
]
