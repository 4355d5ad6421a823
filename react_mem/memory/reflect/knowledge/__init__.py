"""Consolidation: generalisations over many facts and episodes become knowledge.

It has its sources, and stands only as long as they do: what ends one of them ends it or takes a proof away, in the
same batch, and `consolidate`, behind the turns, redraws what is left.
"""
