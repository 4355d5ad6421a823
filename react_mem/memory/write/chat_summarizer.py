"""Chat summaries: one model call each, and nothing is remembered.

The caller keeps the state, as `previous_summary`. The customer comes from the profile or the deployment's lookup (see
`memory.write.customers`), never from the model.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.store.base import BaseStore

from react_mem.errors import ExtractionError
from react_mem.memory import telemetry
from react_mem.memory.context.found_memory import said_and_shown
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.language import content_terms, denial_of, is_question, sentences
from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.llm.answers import block, first_object, object_schema, row
from react_mem.memory.llm.budget import ASSUMED_WINDOW, Window, count_tokens
from react_mem.memory.llm.calls import ask_in_turn, fill, without_retries
from react_mem.memory.model.origins import LABELS, Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.prompt_versions import Prompt, PromptVersions
from react_mem.memory.summaries.sources import shortened
from react_mem.memory.write.customers import FoundCustomer, find_customer
from react_mem.memory.write.metering import Metering
from react_mem.memory.write.summary_form import (
    MAX_QUESTION_CHARS,
    ChatSummary,
    ChatSummaryRequest,
    Degradation,
    RecentMessage,
    Usage,
    language_of,
    with_customer,
    without_customer,
)
from react_mem.prompts import load_prompt

# Model call of a chat summary, and checks of its answer.

_SCHEMA = object_schema(
    {
        "language": {"type": "string", "description": "ISO 639-1 code of the newest message's language."},
        "summary": {"type": "string", "description": "What a colleague who takes the chat over has to know."},
        "full_question": {"type": "string", "description": "The newest message, understandable by itself."},
    },
    "chat_summary",
    "The state of a customer's chat.",
)

# no letters but ASCII's belong to either: in a text without spaces they stand behind a letter of a word
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_PHONE = re.compile(
    r"(?<![\w.,])(?:(?:\+|0)\d(?:[ .-]?\d){6,13}"
    # mobile numbers of China, and those of North America, have neither a plus nor a zero
    r"|1[3-9]\d[ -]?\d{4}[ -]?\d{4}|\(?[2-9]\d\d\)?[ -]\d{3}-\d{4})(?!\w)",
    re.ASCII,
)
_DATE = re.compile(r"\d{1,2}[ .-]\d{1,2}[ .-]\d{4}")
# The end of a number is the same with a country's code and without.
_SAME_DIGITS = 8


@dataclass(frozen=True)
class SummaryDraft:
    """Fields of a model's answer, and the reason if it is unusable."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    problem: str = ""

    def text(self, name: str) -> str:
        """Return a field; empty if it is missing or no text."""
        value = self.fields.get(name)
        return value.strip() if isinstance(value, str) else ""


def without_invented(text: str, given: Iterable[str]) -> str:
    """Redact the e-mail addresses and telephone numbers that are in none of the given texts.

    >>> without_invented("Call 0905 123 456 or 0999 888 777.", ["my number is 0905123456"])
    'Call 0905 123 456 or […].'
    >>> without_invented("客户的电话是13800138000，邮箱是lan@example.com。", ["lan@example.com"])
    '客户的电话是[…]，邮箱是lan@example.com。'
    """
    known = "\n".join(given).casefold()
    digits = re.sub(r"\D", "", known)

    def judged(found: re.Match[str]) -> str:
        value: str = found[0]
        if "@" in value:
            return value if value.casefold() in known else "[…]"
        same = re.sub(r"\D", "", value)[-_SAME_DIGITS:] in digits
        return value if same or _DATE.fullmatch(value) else "[…]"

    return _PHONE.sub(judged, _EMAIL.sub(judged, text))


# Repetitions within a summary: a model that updates one likes to say the old one first, and then the same again.


def without_repetition(text: str) -> str:
    """Return a text without sentences that another of its sentences covers.

    A sentence goes only if another one has all its words, names and numbers. Of two with the same words the first
    stays; a statement is kept before a question.

    >>> without_repetition("Wants the red kettle. Asks for the price. Wants the red kettle for 35 euros.")
    'Asks for the price. Wants the red kettle for 35 euros.'
    >>> without_repetition("Wants the red kettle. Does not want the red kettle.")
    'Wants the red kettle. Does not want the red kettle.'
    """
    found = [(one, _content_of(one.strip())) for one in _stretches(text)]
    kept: list[tuple[str, _Content]] = []
    for one in found:
        if not any(_covers(other[1], one[1]) for other in kept):
            kept = [*(other for other in kept if not _covers(one[1], other[1])), one]
    return text if len(kept) == len(found) else "".join(sentence for sentence, _ in kept).strip()


_Content = tuple[frozenset[str], str, bool, bool]


def _content_of(sentence: str) -> _Content:
    """Return the words of a sentence, the sentence itself, and if it denies or asks something."""
    plain = " ".join(sentence.casefold().split())
    return frozenset(content_terms(sentence)), plain, bool(denial_of(sentence)), is_question(sentence)


def _covers(other: _Content, one: _Content) -> bool:
    """Return true if a sentence has all words of another one, and neither denies nor merely asks it."""
    within = one[0] <= other[0] if one[0] else one[1] == other[1]
    return within and one[2] == other[2] and one[3] >= other[3]


# Set apart in a chat what a customer only shows, such as a pasted mail: it says nothing of who the customer is.

_LABEL = LABELS[Origin.QUOTED].strip()


@dataclass(frozen=True)
class SpokenChat:
    """Chat: its messages as the model sees them, the newest last, all spoken words, and all texts, quoted or not."""

    shown: list[dict[str, str]]
    said: list[str]
    given: list[str]

    @classmethod
    def of(cls, request: ChatSummaryRequest) -> SpokenChat:
        """Read a request; an unknown sender counts as the customer. Not for an event loop."""
        newest = RecentMessage.model_construct(role="user", content=request.user_input)
        messages = [*(request.recent_messages or ()), newest]
        others = [request.ad_content or "", request.previous_summary or ""]
        shown = []
        for message in messages:
            said, quoted = map(str.strip, said_and_shown({"role": message.role or "user"}, message.content))
            fields = {**message.model_dump(exclude_defaults=True), "content": said, "quoted": quoted}
            shown.append({name: value for name, value in fields.items() if value})
        told = [one for text in others for one in _stretches(text) if _LABEL not in one]
        said_in = [fields.get("content", "") for fields in shown]
        return cls(shown, [*said_in, *told], [*(message.content for message in messages), *others])


def without_unlabelled(text: str, said: Iterable[str]) -> str:
    """Redact addresses and numbers that nobody said, except in sentences labelled as quoted.

    >>> without_unlabelled("Reach her on 0905 123 456. (quoted) Eve's number is 0905 123 456.", ["Look at her mail."])
    "Reach her on […]. (quoted) Eve's number is 0905 123 456."
    """
    known = list(said)
    return "".join(one if _LABEL in one else without_invented(one, known) for one in _stretches(text))


def _stretches(text: str) -> Iterator[str]:
    """Yield the sentences of a text with the white space behind them; joined they are the text."""
    whole, place = unwrapped(text), 0
    begins = [0]
    for sentence in sentences(text):
        if (begin := whole.find(sentence, place)) >= 0:
            begins.append(begin)
            place = begin + len(sentence)
    yield from (whole[begin:end] for begin, end in pairwise((*begins, len(whole))) if end > begin)


_NAMED_AS = {"purpose": "chat_summary", "run_name": "chat_summary"}
FIRST, NEXT = "chat_summary_first", "chat_summary_next"  # prompts without and with a previous summary
NO_IDENTITY = "nobody is named (user_id) or authenticated, so no profile is merged in"
_COUNTED_AS = {"model": "model", "customer": "store", "prompt": "store", "messages": "context"}


class ChatSummarizer:
    """Maker of chat summaries.

    Args:
        models: The chat model, then its fallbacks. Without any, the previous summary is returned, marked as degraded.
    """

    def __init__(self, models: Sequence[BaseChatModel], policy: MemoryPolicy, agent_id: str) -> None:
        self._models = [without_retries(model) for model in models]
        self._policy = policy
        self._agent_id = agent_id
        # the smallest of them, since any may be the one that is asked
        windows = (Window.of(policy.context.window, model).tokens for model in models)
        self._room = min(windows, default=ASSUMED_WINDOW) - policy.context.answer_tokens
        self._files = {name: load_prompt(name) for name in (FIRST, NEXT)}

    async def summarize(
        self, request: ChatSummaryRequest, *, store: BaseStore | None, user_id: str | None
    ) -> ChatSummary:
        """Summarize a conversation and complete its newest message.

        Args:
            store: The store of profiles and prompts, if any.
            user_id: The owner of the profile, authenticated or named by the caller; None for nobody.

        Raises:
            QuotaExceeded: The user has used up a quota of the day.
            ModelUnavailable: The model cannot be reached or is overloaded; says when to try again.
            ModelRejected: The model or its service refuses the request.
            DeadlineExceeded: The model did not answer in time.
        """
        # a failure to count is in the log, and no part of the summary is missing
        metering = Metering(self._policy, store, user_id, run_id="", tell=lambda event: None)
        await metering.admit()
        await metering.before_model()
        with telemetry.span("chat_summary"):
            former_customer, previous = without_customer(request.previous_summary or "")
            prompt, found = await asyncio.gather(
                self._prompt(store, NEXT if previous else FIRST),
                find_customer(
                    MemoryFacade(store, self._policy) if store is not None and self._policy.recall.profile else None,
                    conversation_id=request.conversation_id,
                    user_id=user_id,
                    agent_id=self._agent_id,
                    deadline=self._policy.recall.timeout,
                ),
            )
            degraded = [Degradation(part="customer", message=problem) for problem in found.problems]
            if prompt.problem:
                degraded.append(Degradation(part="prompt", message=prompt.problem))
            chat = await asyncio.to_thread(SpokenChat.of, request)
            messages, left_out = await asyncio.to_thread(self._messages, prompt.text, request, chat, previous, found)
            if left_out:
                said = f"the {left_out} oldest of recent_messages have no room in the model's window"
                degraded.append(Degradation(part="messages", message=said))
            draft, failures = await self._draft(messages)
            summary, question, problems = await asyncio.to_thread(self._checked, draft, chat, found)
            degraded += [Degradation(part="model", message=problem) for problem in (*failures, *problems)]
            for part in {one.part for one in degraded}:
                telemetry.count("degradations", part=_COUNTED_AS[part])
            if user_id is None and not found.customer and store is not None and self._policy.recall.profile:
                degraded.append(Degradation(part="customer", message=NO_IDENTITY))
            language = language_of(draft.text("language"), chat.shown[-1].get("content") or request.user_input)
            # where nobody could be asked who the customer is, what was known before still holds
            customer = found.customer if found.answered else former_customer
            return ChatSummary(
                sum_history=with_customer(customer, summary or previous, language),
                full_question=question or request.user_input,
                language=language,
                usage=draft.usage,
                degraded=degraded,
            )

    async def _prompt(self, store: BaseStore | None, name: str) -> Prompt:
        return Prompt(self._files[name]) if store is None else await PromptVersions(store).current(name)

    def _messages(
        self, instructions: str, request: ChatSummaryRequest, chat: SpokenChat, previous: str, found: FoundCustomer
    ) -> tuple[list[BaseMessage], int]:
        system = instructions.format(
            summary_length=self._policy.summaries.summary_length, question_length=MAX_QUESTION_CHARS
        )
        before = [
            block("customer", [row(found.customer.known)]) if found.customer else "",
            block("advertisement", [row({"content": request.ad_content})]) if request.ad_content else "",
            block("summary_so_far", [row({"content": previous})]) if previous else "",
        ]
        newest = block("newest_message", [row(chat.shown[-1])])
        room = self._room - sum(map(count_tokens, (system, *before, newest)))
        rows: list[str] = []
        for message in reversed(chat.shown[:-1]):
            shown = row(message)
            room -= count_tokens(shown)
            if room < 0:
                break
            rows.insert(0, shown)
        data = "\n".join(filter(None, [*before, block("messages", rows) if rows else "", newest]))
        return [SystemMessage(system), HumanMessage(data)], len(chat.shown) - 1 - len(rows)

    async def _draft(self, messages: list[BaseMessage]) -> tuple[SummaryDraft, list[str]]:
        """Return the draft of the first model that works, and the failures of those before it."""
        if not self._models:
            return SummaryDraft(problem="no language model is configured: set OPENAI_API_KEY or the agent's models"), []
        failures: list[str] = []

        async def ask(model: BaseChatModel, seconds: float) -> SummaryDraft:
            # once: after an unusable answer another would cost as much
            try:
                tokens = self._policy.context.answer_tokens
                said = await fill(model, _SCHEMA, messages, **_NAMED_AS, seconds=seconds, max_tokens=tokens)
            except ExtractionError as error:
                failures.append(f"a model failed, and the next one was asked: {error}")
                raise
            usage = Usage.model_validate(said.usage) if said.usage else None
            # small models fill up with white space what is whole
            fields = first_object(said.text, _SCHEMA["properties"])
            if fields is not None:
                return SummaryDraft(fields, usage)
            cut = "was cut short" if said.broken_off else "is not in the form that was asked for"
            return SummaryDraft(usage=usage, problem=f"the model's answer {cut}")

        # if all fail it is an error: who takes the former summary for the new one would drop the messages since
        draft = await ask_in_turn([partial(ask, model) for model in self._models], self._policy.extraction.timeout)
        return draft, failures

    def _checked(self, draft: SummaryDraft, chat: SpokenChat, found: FoundCustomer) -> tuple[str, str, tuple[str, ...]]:
        """Return the checked summary and question, each empty if unusable, and the problems."""
        if draft.problem:
            return "", "", (f"{draft.problem}; the summary is the previous one, the question as it was written",)
        known = tuple(found.customer.known.values()) if found.customer else ()
        given, said = [*chat.given, *known], [*chat.said, *known]
        problems = []
        # its own line about the customer would be taken for ours
        sent = without_customer(draft.text("summary"))[1]
        said_once = shortened(without_repetition(sent), self._policy.summaries.summary_length)
        borne = without_invented(said_once, given)
        summary = without_unlabelled(borne, said)
        if not summary:
            problems.append("the model sent no summary; it is the previous one")
        elif "[…]" in borne and "[…]" not in sent:
            problems.append("the model made up an e-mail address or a telephone number; it is left out of the summary")
        elif "[…]" in summary and "[…]" not in sent:
            problems.append(
                "the model gave an e-mail address or a telephone number that is only quoted as if it were the "
                "customer's; it is left out of the summary"
            )
        question = draft.text("full_question")
        borne = without_unlabelled(without_invented(question, given), said)
        if not question or len(question) > MAX_QUESTION_CHARS or borne.count("[…]") > question.count("[…]"):
            question = ""
            problems.append("the model sent no usable question; it is as it was written")
        return summary, question, tuple(problems)
