"""Report on the quality of what a store holds. It says where something stands, and never what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

QualityCheck = Literal["duplicates", "contradictions", "stale", "secrets", "never_recalled", "growth"]
QUALITY_CHECKS: tuple[QualityCheck, ...] = get_args(QualityCheck)


@dataclass(frozen=True)
class ItemPlace:
    """Place of an item.

    Args:
        namespace: Its namespace.
        key: Its key.
        field: The field that it is about; empty where that is the item.
        beside: The key of an item of the same namespace that it repeats or contradicts; empty of none.
    """

    namespace: tuple[str, ...]
    key: str
    field: str = ""
    beside: str = ""


@dataclass(frozen=True)
class QualityFinding:
    """Result of one check.

    Args:
        count: How many items; None where the store does not tell.
        examples: Some of them.
        why: Why the store does not tell.
    """

    count: int | None
    examples: tuple[ItemPlace, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class QualityReport:
    """Report on a store.

    Args:
        items: How many were looked at.
        bytes: What their values take as JSON.
        namespaces: In how many namespaces they are.
        findings: What was found, by check; of `growth` the items of the last 30 days.
        before: The items of the 30 days before.
        by_month: How many items were made in each month, the earliest first.
    """

    items: int
    bytes: int
    namespaces: int
    findings: Mapping[QualityCheck, QualityFinding]
    before: int = 0
    by_month: Mapping[str, int] = field(default_factory=dict)

    def failing(self, limits: Mapping[QualityCheck, int]) -> list[QualityCheck]:
        """Return the checks of which more was found than is allowed.

        Args:
            limits: How many are allowed, by check.
        """
        return [check for check, most in limits.items() if (self.findings[check].count or 0) > most]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON takes it."""
        return asdict(self)
