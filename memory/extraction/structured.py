"""The engine `structured`: one call that fills in a strict JSON schema, with this call's aliases as enums."""

from __future__ import annotations

from collections.abc import Mapping

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from memory.extraction.answers import Answer, read_answer
from memory.extraction.briefing import Briefing
from memory.extraction.calls import Calls, fill
from memory.extraction.engine import Engine
from memory.extraction.proposal import strict_schema

# What a repair shows of the answer that could not be read.
_MAX_SHOWN = 2_000


class StructuredExtractor(Engine):
    """Asks for one JSON object through the model's structured output.

    Args:
        model: A chat model whose `with_structured_output` knows `method="json_schema"`.
        profile: The fields of the user's profile, with what each holds; empty: the model names them.
    """

    def __init__(self, model: BaseChatModel, profile: Mapping[str, str]) -> None:
        super().__init__(model, profile)
        self._instructions = self.instructions()

    async def ask(self, briefing: Briefing, calls: Calls, failed: Answer | None) -> Answer:
        """Ask for one JSON object. See `Engine.ask`."""
        schema = strict_schema(
            [*briefing.targets, *briefing.earlier],
            list(self.profile),
            clauses=len(briefing.clauses),
        )
        text, broken_off = await fill(
            self.model, schema, self._messages(briefing, failed), calls, run_name="extract_memories"
        )
        return read_answer(text, broken_off=broken_off)

    def _messages(self, briefing: Briefing, failed: Answer | None) -> list[BaseMessage]:
        messages: list[BaseMessage] = [
            SystemMessage(self._instructions),
            HumanMessage("\n".join(filter(None, [briefing.memories, briefing.transcript]))),
        ]
        if failed is not None:
            if failed.raw:
                messages.append(AIMessage(failed.raw[:_MAX_SHOWN]))
            messages.append(HumanMessage(self._repair.format(problem=failed.problem)))
        return messages
