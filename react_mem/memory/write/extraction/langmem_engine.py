"""The engine `langmem`: LangMem's thread extractor, for models that call tools better than they fill in schemas.

LangMem decides how the model is asked. What it would lose on the way (a second tool call, an answer in text, an error
that it swallows) is kept by a callback; what is not in form costs only itself, and no patch.
"""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables.config import var_child_runnable_config
from langmem import create_thread_extractor

from react_mem.errors import InvalidOutput
from react_mem.memory.llm.answers import as_json
from react_mem.memory.llm.calls import HIDDEN, asking, is_broken_off, limited, said_in
from react_mem.memory.write.extraction.briefing import MAX_CLAUSES, Briefing
from react_mem.memory.write.extraction.proposal import Proposal, TopicalProposal
from react_mem.memory.write.extraction.structured import StructuredExtractor, answer_tokens


class LangMemExtractor(StructuredExtractor):
    """Asks for a tool call through LangMem. See `StructuredExtractor`, whose models are to call tools."""

    def bound(self, model: BaseChatModel) -> Any:
        """Return LangMem's extractor on a model. See `StructuredExtractor.bound`."""
        prompt = self.instructions.replace("{", "{{").replace("}", "}}")
        create: Any = create_thread_extractor  # its annotation knows models by name only; it takes them as well
        try:
            return create(
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
        material = {
            "messages": [HumanMessage(briefing.transcript)],
            "memories": briefing.memories,
            "repair": "\n\n".join(filter(None, [self.wish(briefing), self.repair(failed) if failed else ""])),
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
    """Keeps a model's first answer as it came, since what works on it may change it, and its last error."""

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
    """Return everything that a model sent: each of its tool calls, or else its text."""
    text = said_in(message)
    sent = [as_json(call["args"]) for call in message.tool_calls]
    sent += [call["args"] or "" for call in message.invalid_tool_calls]
    return "\n".join(sent or [text])
