"""Extraction of memories from a transcript: two engines behind one contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from langchain_core.language_models import BaseChatModel

from react_mem.installation import of_extra
from react_mem.memory.model.operations import Extractor

__all__ = ["create_extractor"]

ENGINES = ("structured", "langmem")


def create_extractor(
    engine: str,
    models: Sequence[BaseChatModel],
    profile: Mapping[str, str] | None = None,
    *,
    topics: bool = False,
) -> Extractor:
    """Return an extractor, built once and used for every turn. Building reads files: call off the event loop.

    Args:
        engine: `structured`, one call that fills in a JSON schema, or `langmem`, a tool call through LangMem.
        models: The chat model, then its fallbacks. They are copied, with retries and streaming off.
        profile: The fields of the user's profile and their descriptions; without any, the model names the fields.
        topics: Ask the model for extra keywords of each fact.

    Raises:
        ExtraMissing: If a package that the engine needs is not installed.
        ValueError: If the engine is unknown, or needs tool calls and the model has none.
    """
    # imported here: LangMem takes a second to import, and only one of the engines needs it
    if engine == "structured":
        from react_mem.memory.write.extraction.structured import StructuredExtractor

        return StructuredExtractor(models, profile or {}, topics=topics)
    if engine == "langmem":
        with of_extra("langmem"):
            from react_mem.memory.write.extraction.structured import LangMemExtractor

        return LangMemExtractor(models, profile or {}, topics=topics)
    near = get_close_matches(engine, ENGINES, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"There is no extraction engine {engine!r}.{hint} The engines are: {', '.join(ENGINES)}.")
