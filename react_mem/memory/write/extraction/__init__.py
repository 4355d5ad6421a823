"""From a transcript to checked proposals: one contract, two engines."""

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
    """Return an extractor. It is built once and used for every turn; building reads files, so not on an event loop.

    Args:
        engine: `structured`, one call that fills in a JSON schema, or `langmem`, a tool call through LangMem.
        models: The chat model to ask, then those that stand in for it where it fails. They are not changed; for these
            calls their retries and their streaming are off.
        profile: The fields of the user's profile, with what each holds; without any, the model names them.
        topics: Whether it is asked for words to find facts by that they do not say.

    Returns:
        The extractor.

    Raises:
        ExtraMissing: If what it needs is not installed.
        ValueError: If there is no such engine, or the model cannot do what it needs.
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
