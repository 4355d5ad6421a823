"""The engine `structured`: one call that fills in a strict JSON schema, with this call's aliases as enums."""

from __future__ import annotations

import json
from collections.abc import Mapping

import openai
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config, merge_configs

from memory.extraction.answers import Answer, as_answer, read_answer
from memory.extraction.briefing import Briefing
from memory.extraction.calls import HIDDEN, Calls, filling, is_broken_off, refusal_of
from memory.extraction.engine import Engine
from memory.extraction.errors import ModelRejected
from memory.extraction.proposal import strict_schema
from prompts import load_prompt

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
        self._repair = load_prompt("extract_repair")

    async def ask(self, briefing: Briefing, calls: Calls, failed: Answer | None) -> Answer:
        """Ask for one JSON object. See `Engine.ask`."""
        schema = strict_schema(
            [*briefing.targets, *briefing.earlier],
            list(self.profile),
            clauses=len(briefing.clauses),
            enriched=len(briefing.enriched),
        )
        filled = filling(self.model, schema)
        # merged into the config of the run around it, so that a trace shows the call where it belongs
        config = merge_configs(
            ensure_config(), {"callbacks": [calls], "tags": [HIDDEN], "run_name": "extract_memories"}
        )
        try:
            result = await filled.ainvoke(self._messages(briefing, failed), config)
        except openai.LengthFinishReasonError as error:  # raised in place of the answer that was cut short
            usage = error.completion.usage
            if usage is not None:
                calls.spend({"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens})
            return read_answer(error.completion.choices[0].message.content or "", broken_off=True)
        raw, parsed = result["raw"], result.get("parsed")
        if not isinstance(raw, AIMessage):
            return Answer(raw=str(raw), problem="it is no message of a model")
        if refusal_of(raw):
            raise ModelRejected("the model declined")  # in words of its own, which may repeat the user's
        text = str(raw.text)
        if not text.strip() and parsed is not None:  # a provider that fills in schemas by a tool call
            return as_answer(parsed, raw=json.dumps(parsed, default=str), broken_off=is_broken_off(raw))
        return read_answer(text, broken_off=is_broken_off(raw))

    def _messages(self, briefing: Briefing, failed: Answer | None) -> list[BaseMessage]:
        messages: list[BaseMessage] = [
            SystemMessage("\n\n".join(filter(None, [self._instructions, self.wanted_keywords(briefing)]))),
            HumanMessage("\n".join(filter(None, [briefing.memories, briefing.transcript]))),
        ]
        if failed is not None:
            if failed.raw:
                messages.append(AIMessage(failed.raw[:_MAX_SHOWN]))
            messages.append(HumanMessage(self._repair.format(problem=failed.problem)))
        return messages
