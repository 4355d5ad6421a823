"""Consolidation: what facts and episodes come to when many are looked at together becomes knowledge of its own.

It has its sources, and stands only as long as they do: what ends one of them ends it or takes a proof away, in the
same batch, and `consolidate`, behind the turns, draws anew what is left.
"""
