"""Making of one summary: a model is asked, its answer is checked, and without a model, sentences are chosen."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from react_mem.errors import ExtractionError, InvalidOutput
from react_mem.memory import telemetry
from react_mem.memory.language.comparison import Vocabulary
from react_mem.memory.language.hallucination import Told, names, numbers, unknown_numbers, values
from react_mem.memory.language.statements import phrases
from react_mem.memory.llm.answers import fence
from react_mem.memory.llm.calls import is_broken_off, said_in, say, without_retries
from react_mem.memory.model.policy import SummarySettings
from react_mem.memory.model.records import SummaryLevel
from react_mem.memory.summaries.sources import MADE_BY, MASTER, Source, bounded, extract_sentences, rendered, shortened
from react_mem.memory.telemetry.emit import model_name
from react_mem.prompts import load_prompt

# A model's answer -> a summary: without thoughts, labels, marks of layout and everything else that is no summary.

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHTS = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)
_TAG = re.compile(r"</?(?:summary|summaries|master|before|conversation)>", re.IGNORECASE)
_LABEL = re.compile(
    rf"\A\W*(?:{phrases('summary_preface')}[^\n]{{0,40}}?\W+)?"
    rf"(?:{phrases('summary_lead')}[^\n:：]{{0,80}}[:：]|{phrases('summary_name')}(?:[^\n:：]{{0,40}}[:：]|\s*\n))\W*",
    re.IGNORECASE,
)
_MARKS = re.compile(r"^\s*(?:[-*•+]|#{1,6}|\d{1,2}[.)])\s+")
_EMPHASIS = re.compile(r"\*\*|__|`")
_REFUSES = re.compile(rf"\A\W*{phrases('declines')}", re.IGNORECASE)

_MAX_DECLINING = 0.5
"""Maximum share of a refusal's words that come from the sources; more, and it sums up somebody's apology."""

_PHRASE = 4
_MIN_WORDS = 12
"""Minimum words of a text that counts as stuck if one phrase makes up half of it."""


def read_summary(answer: str) -> str:
    r"""Return the summary in a model's answer, on one line; empty where there is none.

    >>> read_summary("<think>Hm.</think>Here is the summary:\n- **An** has a cat\n- It is called Mo.")
    'An has a cat. It is called Mo.'
    >>> read_summary('{"summary": "An has a cat."}'), read_summary("<think>I must")
    ('An has a cat.', '')
    """
    text = answer.encode("utf-8", "replace").decode().replace("\x00", "")
    text = _FENCE.sub("", _OPEN_THOUGHTS.sub("", _THOUGHTS.sub("", text))).strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        summary = value.get("summary") if isinstance(value, dict) else None
        text = summary if isinstance(summary, str) else ""
    text = _LABEL.sub("", _EMPHASIS.sub("", _TAG.sub("", text)))
    lines = [_MARKS.sub("", line).strip() for line in text.splitlines()]
    said = [line for line in lines if any(map(str.isalnum, line))]
    whole = " ".join(line if line[-1] in ".!?…:;,。！？" or line is said[-1] else f"{line}." for line in said)
    return " ".join(whole.split()).strip("\"“”' ")


def objection(summary: str, told: Told) -> str:
    """Return why a text is not a summary at all; empty where it may be one.

    >>> told = Told(["I have a cat called Mo."])
    >>> objection("The user has a cat called Mo.", told), objection("I'm sorry, but I can't help with that.", told)
    ('', 'the model declined')
    """
    if not any(map(str.isalnum, summary)):
        return "the answer holds no summary"
    words = summary.casefold().split()
    phrases = Counter(zip(*(words[start:] for start in range(_PHRASE)), strict=False))
    if len(words) >= _MIN_WORDS and 2 * _PHRASE * max(phrases.values()) > len(words):
        return "the answer repeats itself"
    if _REFUSES.search(summary) and told.share(summary) < _MAX_DECLINING:
        return "the model declined"
    return ""


# Coherence of a summary with its sources: names and numbers that it lost, and those that it invented.

_ROOM = 40
"""Characters per name or number in a summary: names and numbers beyond its length are not missed."""


@dataclass(frozen=True)
class Coherence:
    """Comparison of a summary with its sources: how many of their names and numbers it has, and has room for."""

    kept: int
    room: int
    lost: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def quality(self) -> float:
        """Share of the names and numbers kept, less the share invented; from 0 to 1."""
        kept = min(self.kept / self.room, 1.0) if self.room else 1.0
        return max(0.0, kept - len(self.invented) / ((self.kept + len(self.invented)) or 1))

    @property
    def fails(self) -> bool:
        """True if the summary should be retried: it invents something, or has lost most names and numbers that fit."""
        return bool(self.invented) or self.kept * 2 < self.room


def compare(summary: str, sources: Sequence[Source], length: int, known: Sequence[Source] = ()) -> Coherence:
    """Compare a summary with its sources; it may draw on further, `known` ones, such as the summary before it.

    >>> from datetime import UTC, datetime
    >>> said = [Source("We meet Lan in Hue at 7:30.", datetime(2026, 11, 20, tzinfo=UTC), "user")]
    >>> found = compare("They meet Lan in Paris at 8:30.", said, 600)
    >>> found.lost, found.invented
    (('Hue', '7:30'), ('Paris', '8:30'))
    """
    around = Told([source.whole for source in (*sources, *known)], [source.at for source in sources])
    told = "\n".join(source.text for source in sources)
    named, written = names(told), numbers(told)
    said = Vocabulary([summary], names=True)
    lost = [name for name in named if said.missing(name)] + unknown_numbers(told, values(summary))
    kept = len(named) + len(written) - len(lost)
    room = min(len(named) + len(written), max(length // _ROOM, 1))
    return Coherence(kept, room, tuple(lost), tuple(around.invented(summary)))


_CHARS_PER_WORD = 6
"""Characters per word and space in English and Vietnamese; a model counts words better than characters."""

_MAX_COMPLAINT = 15
"""Maximum names and numbers in a complaint: no small model works through more."""

_MAX_ANSWER = 20_000
"""Characters of an answer that are read: five times the longest summary."""

_MIN_HELD = 0.5
"""Minimum share of a summary that its sources support; below, the sources' own sentences are the better summary."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SummaryTask:
    """One summary of so many messages to make: it goes on from the summary `before`, or updates the `master`."""

    level: SummaryLevel
    sources: Sequence[Source]
    before: Source | None = None
    master: Source | None = None
    covers: int = 0

    @property
    def told(self) -> list[Source]:
        """Sources that the summary has to cover."""
        return [*([self.master] if self.master else []), *self.sources]

    def evidence(self) -> Told:
        """Return the evidence for the sentences of the summary."""
        known = [*([self.before] if self.before else []), *self.told]
        return Told([f"{source.role}: {source.whole}" for source in known], [source.at for source in known])


@dataclass(frozen=True)
class Made:
    """A finished summary, `extractive` without a model, and the problem where a model should have made it."""

    text: str
    made_by: str
    calls: int = 0
    problem: str = ""


class Summariser:
    """Maker of summaries by chat models, each asked where those before it fail; without any, sentences are chosen.

    The models are not changed; for these calls their retries and their streaming are off. Building reads files, so not
    on an event loop.
    """

    def __init__(self, models: Sequence[BaseChatModel] = ()) -> None:
        self.models = tuple((without_retries(model), model_name(model)) for model in models)
        levels = ("summary_level1", "summary_higher", "summary_master", "summary_again")
        self.prompts = {name: load_prompt(name) for name in levels} if models else {}

    def begin(self, settings: SummarySettings, deadline: float) -> Summarising:
        """Return a session (`deadline` in seconds a call); a model that cannot be reached is not asked again in it."""
        return Summarising(self, settings, deadline)


EXTRACTIVE = Summariser()
"""Summariser that asks no model."""


@dataclass
class Summarising:
    """A session of summaries. See `Summariser.begin`."""

    summariser: Summariser
    settings: SummarySettings
    deadline: float
    _down: set[int] = field(default_factory=set)
    _calls: int = 0

    async def make(self, task: SummaryTask) -> Made:
        """Return a summary. Never raises an extraction error: sentences stand in for a failed model."""
        with telemetry.span("summary", level=task.level) as measured:
            measured.set(covers=task.covers)
            task = replace(task, sources=bounded(task.sources))
            before, problems = self._calls, []
            for number, (model, name) in enumerate(self.summariser.models):
                if number in self._down:
                    continue
                try:
                    text = await self._ask(model, task)
                except ExtractionError as error:
                    problems.append(f"{name}: {error}")
                    log.warning("a summary could not be made by a model: %s", error)
                    if not isinstance(error, InvalidOutput):
                        self._down.add(number)
                else:
                    return Made(text, name, self._calls - before)
            text = await asyncio.to_thread(extract_sentences, task.told, self.settings.summary_length)
            telemetry.count("summaries", level=task.level, outcome="extractive")
            if self.summariser.models:
                telemetry.count("degradations", part="summary")
            return Made(text, MADE_BY, self._calls - before, "; ".join(problems))

    async def _ask(self, model: BaseChatModel, task: SummaryTask) -> str:
        prompt = self._prompt(task)
        text = await self._answer(model, task, prompt)
        found = await self._compared(text, task)
        redone = False
        if found.fails and self.settings.check_coherence:
            try:
                problems = {"It has what they do not": found.invented, "It lacks what they have": found.lost}
                told = " ".join(f"{what}: {', '.join(of[:_MAX_COMPLAINT])}." for what, of in problems.items() if of)
                wish = self.summariser.prompts["summary_again"].format(
                    complaint=fence(told), length=self.settings.summary_length
                )
                again = await self._answer(model, task, [*prompt, AIMessage(text), HumanMessage(wish)])
            except ExtractionError as error:
                log.warning("a summary could not be made once more, the first one is kept: %s", error)
            else:
                other = await self._compared(again, task)
                # it invents less than the first, or as little and keeps more
                if (-len(other.invented), other.kept) > (-len(found.invented), found.kept):
                    text, found, redone = again, other, True
        text = await asyncio.to_thread(_held, text, task)
        outcome = "flawed" if found.fails else "redone" if redone else "good"
        telemetry.count("summaries", level=task.level, outcome=outcome)
        telemetry.record("summary.quality", found.quality, level=task.level)
        return text

    async def _answer(self, model: BaseChatModel, task: SummaryTask, prompt: Sequence[BaseMessage]) -> str:
        """Return the summary in a model's answer to a prompt, within the length; `ExtractionError` if it fails."""
        self._calls += 1
        length = self.settings.summary_length
        answer = await say(
            model,
            prompt,
            purpose="summary",
            run_name="summarise",
            seconds=self.deadline,
            # a character is a token at most, and what is too long is cut
            max_tokens=2 * length,
        )
        told = said_in(answer)[:_MAX_ANSWER]
        text = read_summary(told)
        if problem := await asyncio.to_thread(lambda: objection(text, task.evidence())):
            raise InvalidOutput(problem, raw=told)
        # where it was cut short, its last sentence says something else than it would have
        limit = len(text) - 1 if is_broken_off(answer) else len(text)
        return shortened(text, min(limit, length))

    async def _compared(self, text: str, task: SummaryTask) -> Coherence:
        # the words of a long conversation take a while to compare
        before = [task.before] if task.before else []
        return await asyncio.to_thread(compare, text, task.told, self.settings.summary_length, before)

    def _prompt(self, task: SummaryTask) -> list[BaseMessage]:
        name = {"1": "summary_level1", MASTER: "summary_master"}.get(task.level, "summary_higher")
        length = self.settings.summary_length
        blocks = [
            *([rendered("before", [task.before])] if task.before else []),
            *([rendered("master", [task.master])] if task.master else []),
            rendered("conversation" if task.level == "1" else "summaries", task.sources),
        ]
        return [
            SystemMessage(self.summariser.prompts[name].format(length=length, words=length // _CHARS_PER_WORD)),
            HumanMessage("\n".join(blocks)),
        ]


def _held(text: str, task: SummaryTask) -> str:
    """Return a summary without its unsupported sentences; `InvalidOutput` if those are more than half of it."""
    held = task.evidence().held(text)
    if len(held) < _MIN_HELD * len(text):
        raise InvalidOutput("the answer is not about what it was to sum up", raw=text)
    return held
