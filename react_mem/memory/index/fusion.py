"""Score fusion: a weighted sum of the arms' scores, with weights chosen by measurement.

The weights were fitted on the development conversations of LoCoMo (two speakers, short turns) and BEAM (an assistant
that answers at length) together with `benchmarks/stress`, so that none decides alone: on one by itself the best weights
fail on the others. docs/benchmarks.md has what is held out beside what is fitted.
"""

from __future__ import annotations

LEXICAL = 1.0
"""BM25 in its own units: the sum of the words' rarities (natural logarithm), saturated."""

VECTOR = 48.0
"""A similarity, calibrated (0.5 unrelated, 0.9 nearest): the same whatever the embedder."""

WINDOW = 22.0
"""The mean similarity of the neighbours, on the same scale; of a text without any, its own."""

SPEAKER = 7.0
"""Said by whom the question names, or by the user where it says "I"."""

SPEAKS_OF_ITSELF = 1.0
"""Said in the first person: people are asked about, not what they remarked on."""

TIME = 7.5
"""Said in a time that the question names, falling with the distance."""

TIME_DECAY_DAYS = 14.0
"""Days after which that is down to a third: "yesterday" and "last weekend" are said some days later."""

TELLS_WHEN = 0.9
"""Has a time in it, where the question asks for one."""

HUB = 16.5
"""Nearness to others that are near to the question, on the vectors' scale, taken away: what is near to everything says
little ("cross-domain similarity local scaling", Conneau et al., 2018)."""

INSTRUCTS = 1.0
"""Weight of what the user told to be done from now on."""

INSTRUCTS_ON = 190.0
"""Weight of how much nearer it is than the user's instructions are in the mean, on the vectors' scale: it shares its
topic with the question at most, and no word, but of several it is the one that is meant."""

PREFERS = 5.0
"""Weight of what the user would rather have."""

PREFERS_ON = 190.0
"""Weight of how much nearer it is than the user's preferences are in the mean."""

SATURATION = 0.8
"""BM25's k1: how soon the same word again counts no more."""

LENGTH = 0.75
"""BM25's b: how much a long text's words count less. Firm: long answers mention everything."""

KERNEL = (0.25, 0.5, 1.0, 0.6, 0.3)
"""Weights of a word that stands two texts before, one before, in the text, one after, two after: an answer is found
by the words of its question. Measured on LoCoMo's conversations by BM25 alone: without 60.7 % recall@10, with 72."""

SEEDS = 30
"""Texts that an arm proposes. With their neighbours some 150 are scored; twice as many, or all of them, find no more
(measured: 83.0 % recall@10 over both sets with 30, 82.8 with 60)."""

GRAPH = 0.01
"""Cap of what links add, as a share of the best score, since it is added to scores of any scale. Measured
as above: 0.01 and 0.02 change one question in a thousand, 0.1 costs up to 1.4 points, the more links the more."""
