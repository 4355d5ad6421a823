"""The tenants of the benchmark: their sizes, what they ask, and what should be found."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.tenants.data import PROBES, WANTED, Data, key, tenant_sizes


@pytest.mark.parametrize(("rows", "tenants"), [(300, 3), (1_000, 10), (100_000, 1_000), (1_000_000, 10_000)])
def test_sizes_are_skewed_and_add_up(rows: int, tenants: int) -> None:
    sizes = tenant_sizes(rows, tenants)
    assert (sum(sizes), len(sizes)) == (rows, tenants)
    assert min(sizes) >= 1
    others = [size for place, size in enumerate(sizes) if place >= len(PROBES) or size != PROBES[place]]
    assert others == sorted(others, reverse=True)
    assert others[0] > 1.9 * others[1] or rows < 1_000


def test_probes_are_there_as_far_as_they_fit() -> None:
    assert tenant_sizes(100_000, 1_000)[:5] == list(PROBES)
    assert tenant_sizes(10_000, 100)[:2] == [100, 2_000]
    assert tenant_sizes(10_000, 100)[2] != PROBES[2]


def test_too_many_tenants_are_refused() -> None:
    with pytest.raises(ValueError, match="10 rows are too few for 100 tenants"):
        tenant_sizes(10, 100)


def test_every_memory_arrives_once_and_turns_stay_together() -> None:
    order = Data(1_001, 10, 8).arrivals()
    assert sorted(order) == list(range(1_001))
    places = {int(row): place for place, row in enumerate(order)}
    assert all(places[row + 1] == places[row] + 1 for row in range(0, 1_000, 2))
    assert list(order) != sorted(order)


def test_the_nearest_are_the_tenants_own_and_nobody_is_nearer() -> None:
    data = Data(600, 6, 16)
    question = data.ask(2, seed=1)
    found = data.nearest(question)
    own = [row for row in range(600) if data.owners[row] == 2]
    cosine = {key(row): float(data.vectors[row] @ data.vector_of(question.text)) for row in own}
    assert len(found) == WANTED
    assert found <= cosine.keys()
    assert min(cosine[k] for k in found) >= max(cosine[k] for k in cosine.keys() - found)
    assert np.allclose(np.linalg.norm(data.vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(data.vector_of(data.text(7)), data.vectors[7])
