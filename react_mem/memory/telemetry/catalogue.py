"""Catalogue of all instruments: names, units and labels.

No instrument takes a text of a user, a model, a page or a tool, nor an identity. An undeclared label is not recorded
(see `Choice` and `Name`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial

# Values that a label may take: never content, and of bounded cardinality.

OTHER = "other"

# Maximum names of a label in one process. Prometheus keeps a series for each, times those of the other labels
_MAX_NAMES = 50
# Form of identifiers of models, tools and exceptions, which no sentence has
_NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,64}")


@dataclass(frozen=True)
class Choice:
    """A label with a closed set of values, separated by spaces."""

    name: str
    values: str

    def admit(self, value: object) -> str:
        """Return the value if it is one of the set, else `other`."""
        return value if isinstance(value, str) and value in self.values.split() else OTHER


@dataclass(frozen=True)
class Name:
    """A label for names that are set by code or configuration, such as a model's: short and few."""

    name: str
    _known: set[str] = field(default_factory=set, compare=False, repr=False)

    def admit(self, value: object) -> str:
        """Return the value if it is a name, and one of the first ones, else `other`."""
        if not isinstance(value, str):
            return OTHER
        if value not in self._known:
            if len(self._known) >= _MAX_NAMES or not _NAME.fullmatch(value):
                return OTHER
            self._known.add(value)
        return value


Label = Choice | Name


PREFIX = "react_mem."


class Metric(Enum):
    """Aggregation of an instrument."""

    COUNTER = auto()
    HISTOGRAM = auto()
    GAUGE = auto()


class Instrument:
    """One instrument; its unit as UCUM writes it, with remarks in braces, and the upper ends of its buckets."""

    def __init__(
        self, kind: Metric, name: str, unit: str, description: str, *labels: Label, buckets: tuple[float, ...] = ()
    ) -> None:
        self.kind = kind
        self.name = name
        self.unit = unit
        self.description = description
        self.labels = labels
        self.buckets = buckets


counter = partial(Instrument, Metric.COUNTER)
gauge = partial(Instrument, Metric.GAUGE)
histogram = partial(Instrument, Metric.HISTOGRAM)


class MeasuredSpan:
    """Span: a histogram `<name>.duration`, failures in `errors`, and a trace span, which has the `numbers` too."""

    def __init__(self, name: str, description: str, *labels: Label, numbers: str = "") -> None:
        self.name = name
        self.description = description
        self.labels = labels
        self.numbers = frozenset(numbers.split())


# From half a millisecond, a search, to a minute, the longest that a model is waited for.
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_TOKENS = (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000)
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1)
_COUNTS = (0, 1, 2, 3, 5, 8, 13, 20, 40, 80)

PURPOSE = Choice(
    "purpose", "answer extraction summary web_search chat_summary learning consolidation planning switching"
)
_MODEL = Name("model")
_DIRECTION = Choice("direction", "input output")
_INPUT = Choice("input", "query documents")
_HIT = Choice("hit", "yes no")
_CACHE = Choice("cache", "question document page")
_LEVEL = Choice("level", "1 2 3 4 5 6 7 8 9 master")
_SECTION = Choice(
    "section", "system profile web_pages memories summaries conversation working_memory question tools total"
)
_SOURCE = Name("source")  # The kind of a record, from its class
ERROR_TYPE = Name("error_type")  # The class of an exception, never its message
OPERATIONS = (
    MeasuredSpan("read", "Reading memory: the question's vector, the search, the database.", numbers="results missing"),
    MeasuredSpan("write", "Writing to memory.", numbers="changes"),
    MeasuredSpan("embedding", "One call of the embedding model.", _MODEL, _INPUT, numbers="texts"),
    MeasuredSpan("model", "One call of a chat model.", PURPOSE, _MODEL, numbers="input_tokens output_tokens"),
    MeasuredSpan("tool", "One call of a tool.", Name("tool")),
    MeasuredSpan("extraction", "Drawing from the turns that wait, in one call.", numbers="calls stored waiting"),
    MeasuredSpan("background", "One piece of work behind the turns."),
    MeasuredSpan("summary", "Making one summary, its checks included.", _LEVEL, numbers="covers"),
    MeasuredSpan("web_search", "One search of the web, all engines and pages included.", numbers="pages"),
    MeasuredSpan("web_engine", "One request to one search engine.", Name("engine"), numbers="results"),
    MeasuredSpan("web_page", "Fetching one page and turning it into text."),
    MeasuredSpan("context", "Assembling the prompt's context."),
    MeasuredSpan("chat_summary", "One request to the chat summary service."),
    MeasuredSpan("switch", "Choosing the tools of a turn.", numbers="tools selected"),
)

_PARTS = (
    "database vector lexical window speaker time reranker store extraction forgetting model summary "
    "web_search web_engine context switching task_graph thread quota cards sealed_row"
)
_QUOTA = Choice("quota", "messages_a_day model_calls_a_day memories bytes")
_FEEDBACK = Choice("verdict", "up down withdrawn"), Choice("key", "user user_score thumbs correctness helpfulness")
_DECIDED = Choice("decided_by", "keywords model default off error"), Choice("searched", "yes no")
_REASON = Choice("reason", "address scheme size time type status empty redirects network")
_MADE = Choice("outcome", "good redone flawed extractive failed")
_GUARDS = Choice("guards", "model web_engine embedder")
_FAILURE = Choice("failure", "requests connections lost")
_OPERATION = Choice("operation", " ".join(operation.name for operation in OPERATIONS))

INSTRUMENTS = (
    counter("errors", "{error}", "Failed operations, by the class of the exception.", _OPERATION, ERROR_TYPE),
    counter("audit.dropped", "{entry}", "Entries of the audit log that were not kept until the database took them."),
    counter("degradations", "{degradation}", "What a turn had to do without, and did.", Choice("part", _PARTS)),
    counter("quota.refused", "{refusal}", "Model calls and turns refused, and turns not stored, by quota.", _QUOTA),
    counter("turns", "{turn}", "Turns that were answered."),
    histogram("turn.tokens", "{token}", "Tokens of one turn's answer.", _DIRECTION, buckets=_TOKENS),
    histogram("turn.model_calls", "{call}", "Model calls of one turn's answer.", buckets=_COUNTS),
    counter("model.tokens", "{token}", "Tokens, as the provider counts them.", PURPOSE, _MODEL, _DIRECTION),
    counter("feedback", "{feedback}", "Verdicts of users on answers, and under which key.", *_FEEDBACK),
    histogram("user.satisfaction", "1", "1 for an answer found good, 0 for one found bad.", buckets=(0, 1)),
    histogram("read.similarity", "1", "Calibrated similarity of a memory in the prompt, from 0 to 1.", buckets=_SHARES),
    histogram("read.relevance", "1", "Score of a memory in the prompt, as a share of the best one's.", buckets=_SHARES),
    histogram("read.results", "{memory}", "Memories that one read found.", buckets=_COUNTS),
    counter("retrieved", "{memory}", "Memories that were found, by what they are.", _SOURCE),
    counter("embedding.texts", "{text}", "Texts that were embedded.", _MODEL, _INPUT),
    counter("retention.removed", "{memory}", "Memories that retention removed.", _SOURCE),
    counter(
        "extraction.changes", "{memory}", "What extraction did.", Choice("change", "stored retired rejected parked")
    ),
    histogram("summary.quality", "1", "Share of what must be in a summary that is in it.", _LEVEL, buckets=_SHARES),
    counter("summaries", "{summary}", "Summaries that were made.", _LEVEL, _MADE),
    counter("web_search.decisions", "{decision}", "Whether a question was taken to the web, and by what.", *_DECIDED),
    counter("cache.lookups", "{lookup}", "Lookups in caches of vectors, searches and web pages.", _CACHE, _HIT),
    gauge("cache.bytes", "By", "Bytes of what a cache holds.", _CACHE),
    counter("web_search.cache", "{lookup}", "Searches, by whether they were cached.", _HIT),
    counter("web_page.refused", "{page}", "Pages that were not read, and why.", _REASON),
    histogram("context.tokens", "{token}", "Tokens of a prompt's section.", _SECTION, buckets=_TOKENS),
    histogram("context.utilization", "1", "How much of the model's window a section takes.", _SECTION, buckets=_SHARES),
    counter("context.dropped", "{item}", "What a prompt had no room for.", _SECTION),
    gauge("breaker.open", "1", "1 while calls are held back because the last ones failed.", _GUARDS, Name("name")),
    gauge("pool.connections", "{connection}", "Connections to the database.", Choice("state", "idle used")),
    gauge("pool.limit", "{connection}", "Connections to the database, at most."),
    gauge("pool.waiting", "{request}", "Requests that wait for a connection."),
    gauge("pool.row_security", "1", "1 if the database shows a statement the rows of its owners alone, else 0."),
    gauge("pool.failures", "{failure}", "Requests without a connection in time, and failed or dead ones.", _FAILURE),
    counter("owner_index.reads", "{read}", "Reads of an owner's index.", Choice("outcome", "hit delta load")),
    counter("owner_index.evictions", "{owner}", "Indexes of owners that went for want of room."),
    gauge("owner_index.bytes", "By", "Bytes of the owners' indexes at hand."),
    gauge("owner_index.owners", "{owner}", "Owners whose indexes are at hand."),
    gauge("start_time", "s", "When this process began to count, in Unix time."),
    gauge("background.jobs", "{job}", "Items of work behind the turns that this process knows of."),
    *(
        histogram(f"{one.name}.duration", "s", one.description, *one.labels, ERROR_TYPE, buckets=_SECONDS)
        for one in OPERATIONS
    ),
)
