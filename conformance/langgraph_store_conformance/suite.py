"""`StoreConformance`: the class that a store's tests inherit."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Mapping, Set
from typing import Any, ClassVar, Literal

import pytest
from langgraph.store.base import BaseStore

from langgraph_store_conformance.capabilities import EVERYTHING, Capability, needed_by
from langgraph_store_conformance.checks.batches import BatchChecks
from langgraph_store_conformance.checks.concurrency import ConcurrencyChecks
from langgraph_store_conformance.checks.expiry import ExpiryChecks
from langgraph_store_conformance.checks.filters import FilterChecks
from langgraph_store_conformance.checks.items import ItemChecks
from langgraph_store_conformance.checks.listing import ListingChecks
from langgraph_store_conformance.checks.namespaces import NamespaceChecks
from langgraph_store_conformance.checks.searching import SearchChecks
from langgraph_store_conformance.checks.synchronous import SynchronousChecks
from langgraph_store_conformance.checks.values import ValueChecks
from langgraph_store_conformance.checks.vectors import VectorChecks

AREAS: dict[str, type] = {
    "Items": ItemChecks,
    "Values": ValueChecks,
    "Batches": BatchChecks,
    "Namespaces": NamespaceChecks,
    "Listing": ListingChecks,
    "Filters": FilterChecks,
    "Search": SearchChecks,
    "Vectors": VectorChecks,
    "Expiry": ExpiryChecks,
    "Synchronous": SynchronousChecks,
    "Concurrency": ConcurrencyChecks,
}
"""The checks, by what they are about, in the order in which a table shows them."""

_NO_TTL = ExpiryChecks.test_a_store_that_claims_no_ttl_refuses_one.__name__
_NO_INDEX = SearchChecks.test_without_an_index_a_query_lists.__name__
_PLAIN = "store_without_index"


class StoreConformance(
    ItemChecks,
    ValueChecks,
    BatchChecks,
    NamespaceChecks,
    ListingChecks,
    FilterChecks,
    SearchChecks,
    VectorChecks,
    ExpiryChecks,
    SynchronousChecks,
    ConcurrencyChecks,
):
    """All checks, of the store that the fixture `store` gives.

    Inherit it, override the fixture `store`, and state what the store does not claim. Each check works in a namespace
    of its own below `root` and deletes nothing of others, so that one store may serve them all.
    """

    store_name: ClassVar[str] = ""
    """Heads the store's column in a table; by default the name of the class."""
    capabilities: ClassVar[Set[Capability]] = EVERYTHING
    """Claims of the store: a check that needs another one is skipped, with that reason."""
    expected_failures: ClassVar[Mapping[str, str]] = {}
    """Known failures: the check's name, and why it fails. One that passes after all is a failure."""
    root: ClassVar[tuple[str, ...]] = ("conformance",)
    """First labels of every namespace that is written to."""
    loop_scope: ClassVar[Literal["function", "class", "module", "package", "session"]] = "function"
    """Scope of the event loop of the checks: that of the fixture `store`."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Mark the checks as async, in whichever mode pytest-asyncio runs."""
        super().__init_subclass__(**options)
        if unknown := sorted(set(cls.expected_failures) - set(check_names())):
            raise TypeError(f"{cls.__name__}.expected_failures names no check: {', '.join(unknown)}")
        cls.pytestmark = [pytest.mark.asyncio(loop_scope=cls.loop_scope)]  # type: ignore[attr-defined]

    @classmethod
    def heading(cls) -> str:
        """Return what the store is called in a table."""
        return cls.store_name or cls.__name__.removeprefix("Test")

    @classmethod
    def declared(cls, check: str) -> Literal["✓", "✗", "–"]:
        """Return what is declared of a check: that it passes, that it is known to fail, or that it is not made.

        Args:
            check: Its name.
        """
        if needed_by(getattr(cls, check)) - cls.capabilities or (
            check == _NO_TTL and Capability.TTL in cls.capabilities
        ):
            return "–"
        if check == _NO_INDEX and inspect.getattr_static(cls, _PLAIN) is inspect.getattr_static(
            StoreConformance, _PLAIN
        ):
            return "–"
        return "✗" if check in cls.expected_failures else "✓"

    @pytest.fixture
    def store(self) -> BaseStore:
        """The store that is checked: to be overridden."""
        raise pytest.UsageError(f"{type(self).__name__} has to override the fixture `store`, which gives the store")

    @pytest.fixture
    def store_without_index(self) -> BaseStore:
        """The same kind of store, opened without an index: to be overridden where there is one."""
        pytest.skip(f"{self.heading()} gives no store without an index (fixture `store_without_index`)")

    @pytest.fixture
    def space(self) -> tuple[str, ...]:
        """A namespace that nobody else writes to."""
        return (*self.root, uuid.uuid4().hex)

    @pytest.fixture(autouse=True)
    def _claimed(self, request: pytest.FixtureRequest) -> None:
        check: Callable[..., Any] = request.function
        if missing := sorted(needed_by(check) - self.capabilities):
            pytest.skip(f"{self.heading()} does not claim: {', '.join(missing)}")
        if reason := self.expected_failures.get(check.__name__):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    async def sweep(self, store: BaseStore) -> None:
        """Delete what has expired: `store.sweep_ttl()`, unless this is overridden.

        Args:
            store: The store that is checked.
        """
        sweep_ttl = getattr(store, "sweep_ttl", None)
        if sweep_ttl is None:
            return
        swept = sweep_ttl()
        if inspect.isawaitable(swept):
            await swept

    async def pass_time(self, store: BaseStore, minutes: float) -> None:
        """Have every item expire that much sooner, as if the time had passed: to be overridden.

        Args:
            store: The store that is checked.
            minutes: How long.
        """
        pytest.skip(f"{self.heading()} cannot be told that time has passed (method `pass_time`)")


def check_names() -> dict[str, str]:
    """Return the area of each check, by its name."""
    return {name: area for area, checks in AREAS.items() for name in vars(checks) if name.startswith("test_")}
