"""What both engines share: the deadline, one repair of an unreadable answer, the checks, and errors that are ours."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo

from langchain_core.language_models import BaseChatModel

from memory import telemetry
from memory.extraction.answers import Answer
from memory.extraction.briefing import Briefing, brief
from memory.extraction.calls import Calls, secrets_of, without_retries
from memory.extraction.checks import check
from memory.extraction.contract import ExistingMemory, Extraction, TranscriptMessage
from memory.extraction.errors import DeadlineExceeded, InvalidOutput, translate
from prompts import load_prompt

# A second repair helps no model that the first did not help; it only doubles the wait.
_MAX_ATTEMPTS = 2


class Engine(ABC):
    """An extractor that asks one chat model. See `memory.extraction.contract.Extractor`.

    Args:
        model: The chat model.
        profile: The fields of the user's profile, with what each holds; empty: the model names them.
    """

    def __init__(self, model: BaseChatModel, profile: Mapping[str, str]) -> None:
        self.model = without_retries(model)
        self.profile = profile
        self._repair = load_prompt("extract_repair")
        self._secrets = secrets_of(model)

    def instructions(self) -> str:
        """Return what the model is told, whichever way it is asked."""
        text = load_prompt("extract_memories")
        if not self.profile:
            return text
        fields = "\n".join(f"- {name}: {description}" for name, description in self.profile.items())
        return f"{text}\n\n{load_prompt('extract_profile').format(fields=fields)}"

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        max_calls: int = 3,
        zone: tzinfo = UTC,
    ) -> Extraction:
        """Ask the model what the transcript teaches, and check what it says. See `Extractor.extract`."""
        if max_calls < 1:
            raise ValueError(f"max_calls must be at least 1, got {max_calls}")
        briefing = await asyncio.to_thread(brief, messages, existing, zone)
        if not briefing.clauses:
            return Extraction(complete=briefing.whole)
        calls = Calls(max_calls)
        try:
            async with asyncio.timeout(deadline):
                answer = await self._answer(briefing, calls)
        except TimeoutError:
            raise DeadlineExceeded(f"the model did not answer within {deadline:g} seconds") from None
        # word for word against what was shown: too long for the event loop, on which everybody's turns run
        checked = await asyncio.to_thread(check, answer, briefing)
        return replace(checked, calls=calls.count)

    async def _answer(self, briefing: Briefing, calls: Calls) -> Answer:
        failed: Answer | None = None
        for _ in range(_MAX_ATTEMPTS):
            if calls.left == 0:
                break
            answer = await self._attempt(briefing, calls, failed)
            if not answer.problem:
                return answer
            failed = answer
        raw, problem = (failed.raw, failed.problem) if failed else ("", "")
        raise InvalidOutput(f"the model's answer could not be used: {problem}", raw=raw)

    async def _attempt(self, briefing: Briefing, calls: Calls, failed: Answer | None) -> Answer:
        try:
            with telemetry.model_call("extraction", self.model) as calls.measured:
                return await self.ask(briefing, calls, failed)
        except Exception as error:
            ours = translate(error, self._secrets)
        if isinstance(ours, InvalidOutput):
            return Answer(raw=ours.raw, problem="it is empty or malformed")
        raise ours from None  # the original, in a log, may show a key

    @abstractmethod
    async def ask(self, briefing: Briefing, calls: Calls, failed: Answer | None) -> Answer:
        """Ask the model once.

        Args:
            briefing: What to show it.
            calls: Keeps and bounds the calls.
            failed: The unreadable answer that this one is to repair, if any.

        Returns:
            What it answered, with a problem when nothing of it can be read.

        Raises:
            Exception: Whatever the client raises.
        """
