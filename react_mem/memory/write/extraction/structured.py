"""Extraction engines: one call that fills in a strict JSON schema, or a tool call through LangMem."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from functools import partial
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables.config import var_child_runnable_config

from react_mem.errors import InvalidOutput
from react_mem.installation import of_extra
from react_mem.memory.llm.answers import Answer, as_json, read_answer
from react_mem.memory.llm.calls import (
    HIDDEN,
    ask_in_turn,
    asking,
    fill,
    is_broken_off,
    limited,
    said_in,
    without_retries,
)
from react_mem.memory.model.operations import ExistingMemory, Extraction, Extractor, TranscriptMessage
from react_mem.memory.write.extraction.briefing import MAX_CLAUSES, Briefing, brief
from react_mem.memory.write.extraction.checks import check
from react_mem.memory.write.extraction.proposal import FIELDS, Proposal, TopicalProposal, strict_schema
from react_mem.prompts import load_prompt

# What a repair shows of the answer that could not be read.
_MAX_SHOWN = 2_000


def answer_tokens(clauses: int) -> int:
    """Return the token limit of an answer about so many clauses."""
    return 1_000 + 100 * clauses


def create_extractor(
    engine: Literal["structured", "langmem"],
    models: Sequence[BaseChatModel],
    profile: Mapping[str, str] | None = None,
    *,
    topics: bool = False,
) -> Extractor:
    """Return an extractor, built once and used for every turn. Building reads files: call off the event loop.

    Args:
        engine: `structured`, one call that fills in a JSON schema, or `langmem`, a tool call through LangMem: it needs
            an extra (`ExtraMissing`) and models that call tools (`ValueError`).
        models: The chat model, then its fallbacks. They are copied, with retries and streaming off.
        profile: The fields of the user's profile and their descriptions; without any, the model names the fields.
    """
    build = LangMemExtractor if engine == "langmem" else StructuredExtractor
    return build(models, profile or {}, topics=topics)


class StructuredExtractor:
    """Extractor through a model's structured output. See `memory.model.operations.Extractor` and `create_extractor`."""

    def __init__(self, models: Sequence[BaseChatModel], profile: Mapping[str, str], *, topics: bool = False) -> None:
        self.profile = profile
        self.topics = topics
        self.instructions = load_prompt("extract_memories")
        if topics:
            # with the other fields of a fact
            *of_facts, others = self.instructions.partition("\n`profile`: ")
            self.instructions = f"{of_facts[0]}\n{load_prompt('extract_topics')}\n`profile`: {others}"
        if profile:
            fields = "\n".join(f"- {name}: {description}" for name, description in profile.items())
            self.instructions += f"\n\n{load_prompt('extract_profile').format(fields=fields)}"
        self._repair = load_prompt("extract_repair")
        self._snapshot, self._speakers = load_prompt("extract_snapshot"), load_prompt("extract_speakers")
        self._models = [(model, self.bound(model)) for model in map(without_retries, models)]

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        """Extract from a transcript and check the answer. See `Extractor.extract`."""
        briefing = await asyncio.to_thread(brief, messages, existing, zone)
        if not briefing.clauses:
            return Extraction(complete=briefing.whole)
        asks = [partial(self._answer, model, bound, briefing) for model, bound in self._models]
        answer, calls = await ask_in_turn(asks, deadline)
        # word for word against what was shown: too long for the event loop, on which everybody's turns run
        checked = await asyncio.to_thread(check, answer, briefing)
        return replace(checked, calls=calls)

    async def _answer(self, model: BaseChatModel, bound: Any, briefing: Briefing, seconds: float) -> tuple[Answer, int]:
        """Return a model's answer and the number of calls: an unreadable answer is repaired once."""
        ends = time.monotonic() + seconds
        calls, failed = 0, None
        while True:
            calls += 1
            try:
                seconds = max(ends - time.monotonic(), 0.0)
                text, broken_off = await self.ask(model, bound, briefing, failed, seconds)
                return read_answer(text, FIELDS, broken_off=broken_off), calls
            except InvalidOutput as error:
                # a second repair helps no model that the first did not help; it only doubles the wait
                if failed is not None:
                    raise
                failed = error

    def repair(self, failed: InvalidOutput) -> str:
        """Return the message to a model about an unreadable answer."""
        return self._repair.format(problem=str(failed).rpartition(": ")[2])

    def bound(self, model: BaseChatModel) -> Any:
        """Return the runnable of a model for `ask`; built once, since it may be slow."""
        return model

    async def ask(
        self, model: BaseChatModel, bound: Any, briefing: Briefing, failed: InvalidOutput | None, seconds: float
    ) -> tuple[str, bool]:
        """Return a model's answer, and true if it was cut short; `failed` is the error of an answer to repair."""
        labels = [*briefing.targets, *briefing.earlier]
        schema = strict_schema(labels, list(self.profile), clauses=len(briefing.clauses), topics=self.topics)
        prompt = self.prompt(briefing, failed)
        said = await fill(
            model,
            schema,
            prompt,
            purpose="extraction",
            run_name="extract_memories",
            seconds=seconds,
            max_tokens=answer_tokens(len(briefing.clauses)),
        )
        return said.text, said.broken_off

    def wishes(self, briefing: Briefing) -> list[str]:
        """Return the instructions that the model gets for this conversation only."""
        return [self._speakers] * briefing.speakers + [self._snapshot] * briefing.snapshot

    def prompt(self, briefing: Briefing, failed: InvalidOutput | None = None) -> list[BaseMessage]:
        """Return the messages for a model. See `ask`."""
        asked = [briefing.memories, briefing.transcript, *self.wishes(briefing)]
        messages: list[BaseMessage] = [SystemMessage(self.instructions), HumanMessage("\n".join(filter(None, asked)))]
        if failed is not None:
            if failed.raw:
                messages.append(AIMessage(failed.raw[:_MAX_SHOWN]))
            messages.append(HumanMessage(self.repair(failed)))
        return messages


# The engine `langmem`: LangMem's thread extractor, for models that call tools better than they fill in schemas.


class LangMemExtractor(StructuredExtractor):
    """Extractor by a tool call through LangMem; its models must call tools. See `StructuredExtractor`."""

    def __init__(self, models: Sequence[BaseChatModel], profile: Mapping[str, str], *, topics: bool = False) -> None:
        # imported here: it takes a second, and only this engine needs it
        with of_extra("langmem"):
            from langmem import create_thread_extractor
        # its annotation knows models by name only; it takes them as well
        self._create: Any = create_thread_extractor
        super().__init__(models, profile, topics=topics)

    def bound(self, model: BaseChatModel) -> Any:
        """Return LangMem's extractor on a model. See `StructuredExtractor.bound`."""
        prompt = self.instructions.replace("{", "{{").replace("}", "}}")
        try:
            return self._create(
                limited(model, answer_tokens(MAX_CLAUSES)),
                schema=TopicalProposal if self.topics else Proposal,
                instructions=f"{prompt}\n\n{{memories}}\n\n{{repair}}",
            )
        except NotImplementedError:
            raise ValueError(
                f"The extraction engine 'langmem' needs a chat model that calls tools; {type(model).__name__} "
                "does not. Use the engine 'structured' or another model."
            ) from None

    async def ask(
        self, model: BaseChatModel, bound: Any, briefing: Briefing, failed: InvalidOutput | None, seconds: float
    ) -> tuple[str, bool]:
        """Ask for one tool call. See `StructuredExtractor.ask`."""
        wishes = [*self.wishes(briefing), self.repair(failed) if failed else ""]
        material = {
            "messages": [HumanMessage(briefing.transcript)],
            "memories": briefing.memories,
            "repair": "\n\n".join(filter(None, wishes)),
        }
        kept = _Kept()
        config = {"callbacks": [kept], "tags": [HIDDEN], "configurable": {"max_attempts": 1}}
        async with asking("extraction", model, seconds) as call:
            # LangMem runs a graph of its own. Inside a node it would join the graph around it, and what its nodes
            # return would go to the user's stream: it runs as if nothing were around it.
            context = contextvars.copy_context()
            context.run(var_child_runnable_config.set, None)
            run = asyncio.create_task(bound.ainvoke(material, config), context=context)
            await asyncio.gather(run, return_exceptions=True)
            if kept.answer is None:
                raise kept.error or run.exception() or RuntimeError("the model was not asked")
            call.answered(kept.answer)
            return _sent(kept.answer), is_broken_off(kept.answer)


class _Kept(AsyncCallbackHandler):
    """Callback that copies a model's first answer, before anything changes it, and keeps its last error."""

    run_inline = True

    def __init__(self) -> None:
        self.answer: AIMessage | None = None
        self.error: Exception | None = None

    async def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        for generation in response.generations[0][:1] if response.generations else []:
            if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
                self.answer = self.answer or generation.message.model_copy(deep=True)

    async def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        if isinstance(error, Exception):
            self.error = error


def _sent(message: AIMessage) -> str:
    """Return the arguments of each tool call of a message, or else its text."""
    text = said_in(message)
    sent = [as_json(call["args"]) for call in message.tool_calls]
    sent += [call["args"] or "" for call in message.invalid_tool_calls]
    return "\n".join(sent or [text])
