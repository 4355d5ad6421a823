"""Quality audit of any LangGraph store, page by page: it keeps some hundred bytes of each item, and no text."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from langgraph.store.base import BaseStore, Item

from react_mem.integrations.importers.langgraph_items import text_in
from react_mem.memory import MemoryScope
from react_mem.memory.records import KINDS, claim_of, normalise, read_all, secret_finder

# Report on the quality of a store: places, and no contents.

QualityCheck = Literal["duplicates", "contradictions", "stale", "secrets", "never_recalled", "growth"]
QUALITY_CHECKS: tuple[QualityCheck, ...] = get_args(QualityCheck)


@dataclass(frozen=True)
class ItemPlace:
    """Place of an item, with the path of the field in question; empty for the whole item.

    `beside` is the key of an item in the same namespace that it repeats or contradicts; empty for none.
    """

    namespace: tuple[str, ...]
    key: str
    field: str = ""
    beside: str = ""


@dataclass(frozen=True)
class QualityFinding:
    """Result of one check: the number of items with examples, or None with the reason why the store does not tell."""

    count: int | None
    examples: tuple[ItemPlace, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class QualityReport:
    """Report on a store: places, and no contents.

    Args:
        items: Number of items.
        bytes: Size of their values as JSON.
        namespaces: Number of namespaces.
        findings: Results by check; `growth` counts the items of the last 30 days.
        before: Items of the 30 days before.
        by_month: Items by month of creation, the earliest first.
    """

    items: int
    bytes: int
    namespaces: int
    findings: Mapping[QualityCheck, QualityFinding]
    before: int = 0
    by_month: Mapping[str, int] = field(default_factory=dict)

    def failing(self, limits: Mapping[QualityCheck, int]) -> list[QualityCheck]:
        """Return the checks that found more than their limits."""
        return [check for check, most in limits.items() if (self.findings[check].count or 0) > most]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


FACT = KINDS["fact"]
MESSAGE = KINDS["message"]
_SCOPES = frozenset(MemoryScope)
_ROOT = FACT.namespace("anyone")[0]
Namespace = tuple[str, ...]

_EXAMPLES = 5
_MONTH = timedelta(days=30)
_MAX_CHARS = 2_000  # Characters of a text that are compared
_NOT_KNOWN = "only memory of react-mem tells which memories its answers used"


class QualityTally:
    """Running counts of an audit."""

    def __init__(self, stale_after: timedelta, now: datetime) -> None:
        self._now = now
        self._stale_before = now - stale_after
        self._counts: Counter[QualityCheck] = Counter()
        self._examples: dict[QualityCheck, list[ItemPlace]] = {check: [] for check in QUALITY_CHECKS}
        self._items = self._bytes = self._before = 0
        self._months: Counter[str] = Counter()
        self._namespaces: dict[Namespace, Namespace] = {}
        self._said: dict[bytes, str] = {}
        self._claimed: dict[bytes, tuple[bytes, str]] = {}
        self._unused: dict[bytes, tuple[Namespace, str]] = {}
        self._used: set[bytes] = set()
        self._is_ours = False
        self._is_secret = secret_finder()

    def take(self, items: Sequence[Item]) -> None:
        """Count items that were not counted before."""
        for item in items:
            # equal namespaces are one object, however many items there are
            namespace = self._namespaces.setdefault(tuple(item.namespace), tuple(item.namespace))
            ours = namespace[0] == _ROOT and len(namespace) > 2
            if ours and namespace[2] not in _SCOPES:
                continue
            self._items += 1
            self._bytes += len(json.dumps(item.value, ensure_ascii=False, default=str).encode(errors="replace"))
            made = _with_zone(item.created_at)
            self._months[f"{made:%Y-%m}"] += 1
            self._counts["growth"] += made >= self._now - _MONTH
            self._before += self._now - 2 * _MONTH <= made < self._now - _MONTH
            secrets = (at for at, text in _texts(item.value, "") if self._is_secret(at.rpartition(".")[2], text))
            if (path := next(secrets, None)) is not None:
                self._note("secrets", ItemPlace(namespace, item.key, path))
            if ours:
                self._take_record(item, namespace)
                continue
            if _with_zone(item.updated_at) < self._stale_before:
                self._note("stale", ItemPlace(namespace, item.key))
            self._compare(item, namespace, text_in(item.value), doubted=False)

    def report(self) -> QualityReport:
        """Return the report."""
        findings = {
            check: QualityFinding(self._counts[check], tuple(self._examples[check])) for check in QUALITY_CHECKS
        }
        never = [place for digest, place in self._unused.items() if digest not in self._used]
        examples = tuple(ItemPlace(namespace, key) for namespace, key in never[:_EXAMPLES])
        findings["never_recalled"] = (
            QualityFinding(len(never), examples) if self._is_ours else QualityFinding(None, why=_NOT_KNOWN)
        )
        months = dict(sorted(self._months.items()))
        return QualityReport(self._items, self._bytes, len(self._namespaces), findings, self._before, months)

    def _take_record(self, item: Item, namespace: Namespace) -> None:
        self._is_ours = True
        value, owner = item.value, namespace[1]
        if MESSAGE.matches(value):
            self._used.update(_digest(owner, used) for used in value.get("used") or ())
            return
        if any(kind.listed and kind.indexed and kind.matches(value) for kind in KINDS.values()):
            self._unused[_digest(owner, item.key)] = namespace, item.key
        if not FACT.matches(value) or not value.get("current", True):
            return
        over = value.get("valid_to")
        if _with_zone(item.updated_at) < self._stale_before or (
            over and _with_zone(datetime.fromisoformat(over)) < self._now
        ):
            self._note("stale", ItemPlace(namespace, item.key))
        if doubts := value.get("doubts"):
            self._note("contradictions", ItemPlace(namespace, item.key, beside=str(doubts[0])))
        of_whom = normalise("" if value.get("about") == "user" else str(value.get("about") or ""))
        self._compare(item, namespace, str(value.get("text", "")), of_whom, doubted=bool(doubts))

    def _compare(self, item: Item, namespace: Namespace, text: str, of_whom: str = "", *, doubted: bool) -> None:
        """Compare a text with earlier ones: the same words, or the same matter with other numbers or negated."""
        text = text[:_MAX_CHARS]
        claim = claim_of(text)
        if not claim.said:
            return
        place = json.dumps([*namespace, of_whom])
        # a negation may be a stop word
        same = _digest(place, str(claim.denied), *claim.said)
        if (earlier := self._said.setdefault(same, item.key)) != item.key:
            self._note("duplicates", ItemPlace(namespace, item.key, beside=earlier))
        elif claim.matter and not doubted and (contradicted := self._claim(place, claim, item.key)):
            self._note("contradictions", ItemPlace(namespace, item.key, beside=contradicted))

    def _claim(self, place: str, claim: Any, key: str) -> str:
        def of(*, denied: bool, counts: bool) -> bytes:
            return _digest(place, str(denied), str(counts), *claim.matter)

        told = _digest(*sorted(claim.told))
        before, earlier = self._claimed.setdefault(of(denied=claim.denied, counts=bool(claim.told)), (told, key))
        if before != told:
            return earlier
        for counts in (True, False):
            other, of_other = self._claimed.get(of(denied=not claim.denied, counts=counts), (b"", ""))
            # who has none has not two either, and who has not two may have three
            denies_any = not (claim.told if claim.denied else counts)
            if of_other and (other == told or denies_any):
                return of_other
        return ""

    def _note(self, check: QualityCheck, place: ItemPlace) -> None:
        self._counts[check] += 1
        if len(self._examples[check]) < _EXAMPLES:
            self._examples[check].append(place)


def _with_zone(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _digest(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).digest()


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, f"{path}[]")


# Audit of any LangGraph store, in bounded memory.

STALE_AFTER = timedelta(days=365)


async def audit_quality(
    store: BaseStore,
    prefix: tuple[str, ...] = (),
    *,
    stale_after: timedelta = STALE_AFTER,
    at: datetime | None = None,
    report: Callable[[int], None] = lambda done: None,
) -> QualityReport:
    """Audit everything below a namespace, in bounded memory; nothing is changed, and no text is kept.

    Args:
        prefix: The namespace; by default all.
        stale_after: Age since the last write from which an item is stale.
        at: Time that counts as now.
        report: Called with the number of items read.
    """
    tally = QualityTally(stale_after, at or datetime.now(UTC))
    async for page in read_all(store, prefix, report=report):
        await asyncio.to_thread(tally.take, page)
    return await asyncio.to_thread(tally.report)
