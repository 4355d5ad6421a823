"""Consolidation: what facts and episodes come to when many are looked at together becomes knowledge of its own.

It has its sources, and stands only as long as they do: what ends one of them ends it or takes a proof away, in the
same batch, and `consolidate`, behind the turns, draws anew what is left.
"""

from react_mem.memory.consolidation.asking import Asker
from react_mem.memory.consolidation.consolidator import (
    ConsolidationReport,
    consolidate,
    load_knowledge,
    stale_knowledge,
)
from react_mem.memory.consolidation.records import Knowledge

__all__ = ["Asker", "ConsolidationReport", "Knowledge", "consolidate", "load_knowledge", "stale_knowledge"]
