"""Consolidation: generalisations over many facts and episodes become knowledge.

Knowledge names its sources and depends on them: the batch that ends a source also ends the knowledge or lowers its
count of proofs. `consolidate` redraws the rest behind the turns.
"""
