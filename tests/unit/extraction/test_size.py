"""The request of a usual turn is small: it is paid for with every turn."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

from react_mem.memory.model.operations import ExistingMemory, TranscriptMessage
from react_mem.memory.write.extraction.briefing import brief
from react_mem.memory.write.extraction.proposal import strict_schema
from react_mem.memory.write.extraction.structured import StructuredExtractor
from tests.support.scripted_model import ScriptedModel

AT = datetime(2026, 3, 3, 12, tzinfo=UTC)
KNOWN = [
    "I live in Oslo",
    "My sister Linh is allergic to nuts",
    "I work at a hospital as a nurse",
    "My commute takes twenty minutes",
    "I like green tea",
]
MOST = 955


def request(model: BaseChatModel) -> tuple[list[BaseMessage], str]:
    """Return what a model is sent of a usual turn: its messages, and the schema as it goes over the wire."""
    extractor = StructuredExtractor([model], {})
    briefing = brief(
        [
            TranscriptMessage("q", "user", "I moved to Rome last week. My sister hates flying there.", AT),
            TranscriptMessage("a", "assistant", "Congratulations on the move! I will keep that in mind.", AT),
        ],
        [ExistingMemory(str(place), text, at=AT) for place, text in enumerate(KNOWN)],
    )
    schema = strict_schema([*briefing.targets, *briefing.earlier], (), clauses=len(briefing.clauses))
    wrapped = {"type": "json_schema", "json_schema": {"name": "extraction", "strict": True, "schema": schema}}
    return extractor.prompt(briefing), json.dumps(wrapped, ensure_ascii=False)


def test_a_usual_turn_is_drawn_from_within_its_tokens() -> None:
    messages, schema = request(ScriptedModel(script=["unused"]))
    # as the benchmark of writing counts where the model does not
    tokens = count_tokens_approximately(messages) + len(schema) / 4
    assert tokens <= MOST, f"{tokens:.0f} tokens"
