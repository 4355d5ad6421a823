"""Procedures without a model: which tools, in which order, the turns that came off have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from memory.learning.traces import Trace

MIN_SUPPORT = 3
"""Turns that a procedure must have carried: two may be alike by chance, and waiting for more delays what is learnt."""

MAX_STEPS = 12
"""Steps of a procedure: more is no procedure but one case, and would fill the prompt."""

_MAX_SEQUENCES = 30
"""Different sequences that are compared, the most frequent: comparing them all with each other takes some 50 ms."""

_MAX_LENGTH = 30
"""Steps of a turn beyond which it is no example of a procedure."""

_ROUNDS = 2
"""What two turns have in common may still hold a detour that both took; what two such have, hardly ever."""


@dataclass(frozen=True)
class Procedure:
    """Tools in an order that carried several turns.

    Args:
        tools: The tools, in order.
        traces: The turns, the oldest first.
    """

    tools: tuple[str, ...]
    traces: tuple[Trace, ...]


def procedures(traces: Iterable[Trace], *, shortest: int) -> list[Procedure]:
    """Find the procedures in turns for one kind of task, the best first.

    A procedure is an ordered subsequence of the tools of at least `MIN_SUPPORT` turns that came off. The one that
    explains most steps of most turns is taken first; the next one, from the turns that it leaves.

    Args:
        traces: The turns.
        shortest: How many tools a procedure has at least.

    >>> [p.tools for p in procedures([], shortest=1)]
    []
    """
    left = [trace for trace in traces if trace.succeeded and 0 < len(trace.tools) <= _MAX_LENGTH]
    found: list[Procedure] = []
    while len(left) >= MIN_SUPPORT:
        best = max(
            (Procedure(tools, tuple(t for t in left if t.covers(tools))) for tools in _candidates(left, shortest)),
            key=lambda p: (len(p.traces) >= MIN_SUPPORT, len(p.traces) * len(p.tools), len(p.traces), p.tools),
            default=None,
        )
        if best is None or len(best.traces) < MIN_SUPPORT:
            break
        found.append(best)
        left = [trace for trace in left if not trace.covers(best.tools)]
    return found


def _candidates(traces: Sequence[Trace], shortest: int) -> set[tuple[str, ...]]:
    sequences = [tools for tools, _ in Counter(trace.tools for trace in traces).most_common(_MAX_SEQUENCES)]
    found = set(sequences)
    for _ in range(_ROUNDS):
        shared = Counter(common(one, other) for one, other in combinations(sorted(sequences), 2))
        sequences = [tools for tools, _ in shared.most_common(_MAX_SEQUENCES) if tools]
        found.update(sequences)
    return {tools for tools in found if shortest <= len(tools) <= MAX_STEPS}


def common(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Return the longest ordered subsequence of both.

    >>> common(("a", "x", "b", "c"), ("a", "b", "y", "c"))
    ('a', 'b', 'c')
    """
    best: list[list[tuple[str, ...]]] = [[()] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, left in enumerate(one):
        for j, right in enumerate(other):
            if left == right:
                best[i + 1][j + 1] = (*best[i][j], left)
            else:
                best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], key=len)
    return best[-1][-1]
