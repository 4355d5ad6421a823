"""Set apart in a chat what a customer only shows, such as a pasted mail: it says nothing of who the customer is.

A summary tells of it in sentences that are labelled as quoted, as memories are, so that the next summary knows it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from react_mem.memory.context.found_memory import said_and_shown
from react_mem.memory.language import sentences
from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.model.origins import LABELS, Origin
from react_mem.memory.write.chat_summary.draft import without_invented
from react_mem.memory.write.chat_summary.summary_form import ChatSummaryRequest, RecentMessage

_LABEL = LABELS[Origin.QUOTED].strip()


@dataclass(frozen=True)
class SpokenMessage:
    """Message with what is said in it apart from what is only shown.

    Args:
        message: The message.
        said: What whoever sent it says.
        quoted: What they show: somebody else's words, or code.
    """

    message: RecentMessage
    said: str
    quoted: str

    @classmethod
    def of(cls, message: RecentMessage) -> SpokenMessage:
        """Read a message; who may be the customer is read as the customer. Not for an event loop."""
        said, quoted = said_and_shown({"role": message.role or "user"}, message.content)
        return cls(message, said.strip(), quoted.strip())

    @property
    def shown(self) -> dict[str, str]:
        """The message as a model is shown it."""
        fields = {**self.message.model_dump(exclude_defaults=True), "content": self.said, "quoted": self.quoted}
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True)
class SpokenChat:
    """Chat with what is said in it apart from what is only shown.

    Args:
        recent: The messages before the newest one.
        newest: The customer's newest message.
        others: What else is given: the advertisement, the summary so far.
    """

    recent: tuple[SpokenMessage, ...]
    newest: SpokenMessage
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: ChatSummaryRequest) -> SpokenChat:
        """Read a request. Not for an event loop."""
        newest = RecentMessage.model_construct(role="user", content=request.user_input)
        others = (request.ad_content or "", request.previous_summary or "")
        return cls(tuple(map(SpokenMessage.of, request.recent_messages or ())), SpokenMessage.of(newest), others)

    @property
    def said(self) -> list[str]:
        """All that is said, and what is quoted nowhere."""
        told = (one for text in self.others for one in _stretches(text) if _LABEL not in one)
        return [*(one.said for one in (*self.recent, self.newest)), *told]

    @property
    def given(self) -> list[str]:
        """All that there is."""
        return [*(one.message.content for one in (*self.recent, self.newest)), *self.others]


def without_unlabelled(text: str, said: Iterable[str]) -> str:
    """Return a text without the e-mail addresses and telephone numbers that nobody said, but where it is labelled.

    Args:
        text: What a model made of a chat.
        said: What is said in the chat.

    >>> without_unlabelled("Reach her on 0905 123 456. (quoted) Eve's number is 0905 123 456.", ["Look at her mail."])
    "Reach her on […]. (quoted) Eve's number is 0905 123 456."
    """
    known = list(said)
    return "".join(one if _LABEL in one else without_invented(one, known) for one in _stretches(text))


def _stretches(text: str) -> Iterator[str]:
    """Yield the sentences of a text with the white space behind them; together they are the text."""
    whole, place = unwrapped(text), 0
    begins = [0]
    for sentence in sentences(text):
        if (begin := whole.find(sentence, place)) >= 0:
            begins.append(begin)
            place = begin + len(sentence)
    yield from (whole[begin:end] for begin, end in pairwise((*begins, len(whole))) if end > begin)
