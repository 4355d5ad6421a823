# Written by `make clients` from the server's OpenAPI schema: change that, not this.

"""Records that the server answers with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, SkipValidation

from react_mem_client.answers import Answer

MemoryScope: TypeAlias = Annotated[
    Literal["dialog", "state", "semantic", "episodic", "procedural", "profile", "experience", "files"], SkipValidation
]
"""Scope of memory: the kind of thing that is remembered."""

Origin: TypeAlias = Annotated[
    Literal["user", "assent", "speaker", "quoted", "assistant", "tool", "web", "import"], SkipValidation
]
"""Provenance of a record, the most trusted first."""


class AnswerSources(Answer):
    """An answer, and what stood in its prompt."""

    answer: ShownMessage

    question: ShownMessage | None = None

    used: list[MemoryItem]
    """The memories that stood in its prompt, the most relevant first."""

    gone: int
    """How many of them are not there any more."""


class Check(Answer):
    """One look at a place that could still hold it."""

    name: str

    hits: int = 0

    ids: list[str] = Field(default_factory=list)

    problem: str = ""


class ContextAnswer(Answer):
    """Prompt as it would be, and why."""

    parts: list[ContextPart]

    tokens: int
    """What all parts take."""

    limit: int
    """What they may take: the model's window without the answer."""

    cut: int
    """Characters of the message that do not fit."""

    missing: dict[str, str]
    """What could not be asked or put in, with the cause."""

    retrieved: str
    """What is remembered for the message, between marks and with what they mean: for the instructions of an agent of
    your own. Empty where nothing is.
    """

    prompt: list[PromptMessage]


class ContextPart(Answer):
    """A part of a prompt."""

    name: str
    """`system`, `tools`, `profile`, `memories`, `summaries`, `conversation`, ..."""

    tokens: int
    """What it takes."""

    limit: int
    """What it could take, the others being as they are."""

    dropped: int
    """What there was no room for: memories, messages, fields."""

    place: str
    """`system`, `memory` behind that, `tools`, `conversation` or `question`."""

    text: str
    """What it says; of the tools, which are no text, nothing."""

    memories: list[str]
    """The memories in it."""


class ConversationDetail(Answer):
    """A conversation with its summaries and a page of its messages."""

    conversation: HeldConversation

    summaries: list[SummaryTree]
    """Those that no other one sums up, the oldest first."""

    messages: MessagePage


class ConversationPage(Answer):
    """A page of conversations, the latest first."""

    items: list[HeldConversation]

    next_cursor: str | None
    """What the next page is asked for with; null on the last."""

    total: int


class EraseAnswer(Answer):
    """Result of the request."""

    receipt: SignedReceipt
    """What was removed, and what a look through everything found of it afterwards, signed: `react-mem receipt verify`
    takes it, or this whole answer, as it is.
    """

    threads: list[str]
    """The conversations that were erased."""

    problems: list[str]
    """What is left, or could not be looked at; empty where everything is gone."""


class FeedbackAnswer(Answer):
    """Result of the request."""

    verdict: Annotated[Literal["up", "down", "none"], SkipValidation]
    """What the user thinks of the turn, all keys together."""

    memories: int
    """How many memories it moved; none where nothing has changed."""

    skills: int
    """How many skills it counted for."""


class ForgetAnswer(Answer):
    """Result of the request."""

    receipt: Receipt
    """What was removed, and what was found when everything was read again."""

    problems: list[str]
    """What is left of it, could not be looked at, or was not there under its id; empty where all of it is gone."""

    unclear: list[str]
    """What the text may mean, where that is not clear: nothing was forgotten then. Ask by `ids`, or in the words of
    one of these.
    """


class FormerValue(Answer):
    """Former value of a field of the profile."""

    value: str

    since: datetime

    origin: Origin


class FoundItem(Answer):
    """A memory that was found, and by what."""

    memory: MemoryItem

    score: float | None
    """Higher is nearer; null for what was not compared."""

    similarity: float | None
    """From 0 to 1, whatever the embedder: 0.5 is unrelated."""

    arms: dict[str, float]
    """The part of each way of searching: `vector`, `lexical`, ..."""

    fragments: list[MemoryFragment]
    """The texts that matched, in their order."""


class HeldConversation(Answer):
    """A conversation of which memory has something."""

    id: str
    """Its thread."""

    agent: str

    messages: int
    """How many messages memory has of it."""

    first: datetime
    """When the first of them was said."""

    last: datetime
    """When something was last said in it."""

    about: str
    """What the user said first."""

    summary: str
    """What it came to, as last summed up; empty where nobody has."""


class HiddenMemories(Answer):
    """Hidden memories, the oldest first."""

    items: list[HiddenMemory]


class HiddenMemory(Answer):
    """Something that a conversation seems to ask to forget: hidden, and not erased yet."""

    id: str
    """The id of the wish, for `undo` and `erase`."""

    texts: list[str]
    """What is hidden: the facts."""

    hidden_at: datetime
    """Since when."""

    erase_at: datetime
    """When it is erased for good."""


class MemoryDetail(Answer):
    """A memory with all that explains it."""

    memory: MemoryItem

    history: list[MemoryVersion]
    """What was believed in its place before, the oldest first."""

    provenance: list[MemorySource]
    """The messages that say it, the oldest first."""

    derived: list[MemoryItem]
    """What was made of it."""

    links: list[MemoryLink]
    """What else it is linked with, the most strongly bound first."""

    doubts: list[MemoryDoubt]
    """What speaks against it."""

    used: list[MemoryUse]
    """Answers in whose prompt it stood, among the latest; the latest first."""


class MemoryDoubt(Answer):
    """Doubt about a memory, or a change since a message or a summary."""

    id: str
    """The memory that speaks against it."""

    text: str
    """Text of the contradicting memory; of a change, the text that holds now: empty where it is over."""

    since: str
    """The day."""

    of: str = ""
    """Of a change, the message or summary that states what has changed."""

    part: str = ""
    """Of a change, the words that no longer hold; empty for all of a message."""


class MemoryFragment(Answer):
    """A text of what was found."""

    id: str
    """The record that it is of."""

    role: str
    """Who said it; empty for what nobody said."""

    text: str


class MemoryHealth(Answer):
    """Health of the memory of a server."""

    database: PartHealth

    embedder: PartHealth

    worker: PartHealth

    queue: QueueHealth | None
    """Null where the database does not answer."""


class MemoryItem(Answer):
    """A memory, as a list shows it."""

    id: str
    """Unique for its owner."""

    scope: MemoryScope

    kind: str
    """`fact`, `message`, `summary`, `episode`, `skill`, ..."""

    text: str
    """What it says; in a list its first 4,000 characters."""

    title: str
    """What says in short what it is."""

    about: str = ""
    """Whom or what a fact is about, by name; empty for the user."""

    created_at: datetime
    """When it was said, or first believed."""

    updated_at: datetime | None = None
    """When it was last written."""

    session_id: str = ""
    """The conversation that it came from."""

    agent: str = ""
    """The agent that wrote it."""

    origin: Origin
    """Who vouches for it."""

    current: bool
    """True if believed, or a message, unless a search finds all it says changed."""

    since: datetime | None = None
    """Since when it holds, as far as that is known."""

    until: datetime | None = None
    """Until when, where it is over or says so."""

    in_doubt: bool = False
    """Whether something speaks against it."""

    changed: str = ""
    """Of a message that was found, what has changed since; empty for nothing."""

    importance: float = 0.5
    """From 0 to 1."""

    truncated: bool = False
    """Whether the text goes on: see the memory itself."""

    revision: str
    """Changes with every change of the record; its ETag."""


class MemoryLink(Answer):
    """A memory that another one is linked with."""

    relation: Annotated[
        Literal["support", "summarization", "milestone", "dependency", "timeline", "semantic"], SkipValidation
    ]
    """Why they are linked."""

    direction: Annotated[Literal["out", "in", "both"], SkipValidation]
    """Whether the link leads to it or comes from it."""

    memory: MemoryItem


class MemoryPage(Answer):
    """A page of memories, the latest first."""

    items: list[MemoryItem]

    next_cursor: str | None
    """What the next page is asked for with; null on the last."""

    total: int
    """How many there are on all pages. Facts that a date of their own ends are counted by whether they have been
    ended; where memory is encrypted, who vouches for a memory is not counted by.
    """

    revision: str
    """Changes with every write of the owner's memory."""

    topics: list[str] = Field(default_factory=list)
    """Topics of all memories, where asked for: those with the most first."""


class MemorySource(Answer):
    """A message that a memory comes from."""

    id: str
    """The record of the message; of what was told outside of a conversation its own name."""

    session_id: str

    turn: int | None = None
    """Its place in the conversation."""

    said_at: datetime | None = None

    role: str

    text: str

    quote: str = ""
    """The words of it that say this."""


class MemoryUse(Answer):
    """An answer in whose prompt a memory stood."""

    session_id: str

    message_id: str
    """The record of the answer."""

    at: datetime


class MemoryVersion(Answer):
    """A time in which something was believed, and how it was put."""

    text: str

    since: datetime | None = None

    until: datetime | None = None
    """Null for what is believed now."""

    why: Annotated[Literal["believed", "replaced", "ended", "over", "reworded", "set aside"], SkipValidation]
    """`believed` now; `replaced` by what came after it; `ended` by words of the user's; `over` by its own date;
    `reworded`: the same in other words; `set aside` before it was said again.
    """

    id: str = ""
    """The memory that says it."""


class MessagePage(Answer):
    """A page of messages, the oldest first."""

    items: list[ShownMessage]

    next_cursor: str | None
    """What the next page is asked for with; null on the last."""

    total: int


class OwnersProfile(Answer):
    """The profile of a user."""

    fields: list[ShownField]


class PartHealth(Answer):
    """Health of a part."""

    ok: bool

    detail: str = ""
    """What it is, or why it does not work."""

    seconds: float | None = None
    """What it took to ask it."""


class PauseAnswer(Answer):
    """The owner of a memory, and whether it is paused."""

    paused: bool
    """True to remember nothing of what they say from now on; what is known is used."""

    user: str
    """The user whose memory this is, by the id under which it is kept."""


class PromptMessage(Answer):
    """A message of a prompt."""

    role: str

    content: str


class QueueHealth(Answer):
    """State of the turns of all users that wait."""

    waiting: int

    failed: int
    """Those that were tried in vain."""

    parked: int
    """Those that are not tried any more."""

    oldest: datetime | None
    """Since when the first one waits."""


class Receipt(Answer):
    """Receipt of what was forgotten, by ids and without a word of it, and of the checks afterwards.

    The thread keeps its messages: that of the conversation is the application's to delete.
    """

    at: datetime | None = None

    removed: dict[str, list[str]] = Field(default_factory=dict)

    rewritten: dict[str, list[str]] = Field(default_factory=dict)

    messages: int = 0

    checks: list[Check] = Field(default_factory=list)


class RememberAnswer(Answer):
    """Result of telling something."""

    memory: MemoryItem

    outcome: Annotated[Literal["new", "known"], SkipValidation]
    """`known` where it is believed already, in these words."""

    also: list[ToldMemory]
    """The further statements of the text, a memory each."""


class SaidMessage(Answer):
    """A message of a conversation."""

    role: Annotated[Literal["user", "assistant"], SkipValidation]
    """Who says it."""

    content: str
    """What is said, in words."""

    id: str = ""
    """What you call it, in its conversation alone: told again it is the same message. Without, it is known by its
    place and its words.
    """

    created_at: datetime | None = None
    """When it was said (ISO 8601), which is not in the future; by default now."""


class SearchAnswer(Answer):
    """Result of a search."""

    items: list[FoundItem]
    """The nearest first."""

    missing: dict[str, str]
    """What could not be asked, such as the embedder, with the cause."""


class ShownField(Answer):
    """A field of the profile."""

    value: str

    since: datetime

    origin: Origin

    name: str

    provenance: list[MemorySource]
    """The messages that say it."""

    previous: list[FormerValue]
    """What it held before, the oldest first."""


class ShownGraph(Answer):
    """Memories with the links among them: of many, the newest."""

    nodes: list[ShownNode]
    """The oldest first."""

    links: list[ShownLink]

    left_out: int
    """How many older memories there are beside these."""

    cut: str
    """What of the whole is shown, in words; empty where it is all."""


class ShownLink(Answer):
    """A link between two memories of the graph."""

    from_: str = Field(alias="from")

    to: str

    relation: str


class ShownMessage(Answer):
    """A message of a conversation."""

    id: str
    """Its record."""

    turn: int

    role: str

    speaker: str

    text: str

    said_at: datetime

    used: list[str]
    """Of an answer, the memories that stood in its prompt."""

    feedback: dict[str, int]
    """Of an answer, what the user thinks of it, by key."""


class ShownNode(Answer):
    """A memory in the graph."""

    id: str

    kind: str

    text: str

    current: bool


class ShownSkill(Answer):
    """A skill that agents have learnt or been given."""

    id: str

    title: str
    """When it is used."""

    text: str

    task_type: str

    uses: int

    successes: int

    state: str
    """`probation`, `active` or `archived`."""


class SignedReceipt(Answer):
    """Receipt with the server's signature. It names nobody: who knows a user's id can tell whether it is theirs."""

    receipt: Receipt

    salt: str

    subject: str

    public_key: str

    signature: str = ""


class SkillList(Answer):
    """The skills, those that are used most first."""

    items: list[ShownSkill]


class StoreMessagesAnswer(Answer):
    """Messages as they are stored."""

    messages: list[StoredMessage]
    """Those of the request, in its order."""

    waiting: int
    """Turns of the conversation from which nothing has been drawn yet."""


class StoredMessage(Answer):
    """A message of the request, as it is stored."""

    id: str
    """Its record: a message of the conversation, and a memory."""

    outcome: Annotated[Literal["new", "known", "forgotten"], SkipValidation]
    """`known` where it was there; `forgotten` where the user wants it out of memory: it stays away."""


class SummaryTree(Answer):
    """A summary of a part of a conversation, and those that it was made of."""

    id: str

    level: str
    """`1` of messages, `2` of summaries of level 1, ..., `master` of all."""

    text: str

    first_turn: int | None = None

    last_turn: int | None = None

    children: list[SummaryTree] = Field(default_factory=list)


class ToldMemory(Answer):
    """A memory, and whether it is news."""

    memory: MemoryItem

    outcome: Annotated[Literal["new", "known"], SkipValidation]
    """`known` where it is believed already, in these words."""


class UndoneWrite(Answer):
    """Result of an undo: the part of memory that had been drawn from the user's last words."""

    texts: list[str] = Field(default_factory=list)
    """Texts that are no longer believed."""

    restored: list[str] = Field(default_factory=list)
    """Facts that the write had ended, believed again."""


class UsageAnswer(Answer):
    """Figures on what is remembered, and for an administrator on the memory of the server."""

    kinds: dict[str, int]
    """How many records there are, by kind."""

    texts: int
    """How many texts are indexed by meaning; 0 where the store does not tell."""

    bytes: int
    """What the records take, without vectors and indexes."""

    waiting: int
    """Turns from which nothing has been drawn yet."""

    parked: int
    """Those of them that are not tried any more."""

    health: MemoryHealth | None = None
    """For administrators only."""


class WaitingTurn(Answer):
    """A turn from which nothing has been drawn yet."""

    id: str

    session_id: str

    agent: str

    since: datetime
    """When it was said."""

    text: str
    """The beginning of what the user said."""

    attempts: int

    parked: bool
    """Whether it is not tried any more."""

    retry_at: datetime | None
    """When it is tried next; null for at once."""

    why: str
    """Why it waits: the last error; empty where nobody has tried yet."""


class WaitingTurns(Answer):
    """The turns that wait, the oldest first."""

    items: list[WaitingTurn]
