"""Texts in the pieces of words that the model knows: the likeliest way to cut them (SentencePiece's unigram model)."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from react_mem.memory.store.e5.stored_weights import WordPieces

_SPACE_MARK = "\u2581"
"""Stands for a space, at the beginning of a word's first piece."""
_UNKNOWN_COSTS = 10.0
"""Log probability by which a character that is in no piece is less likely than the rarest piece."""
_PRIME = np.uint64(0x9E37_79B9_7F4A_7C15)
_SHIFT = np.uint64(29)


class PieceTokenizer:
    """Cuts texts into pieces and gives their numbers.

    Pieces are known by 64-bit hashes in one sorted array: a dict of 250,000 strings takes two to three times as long to
    make, and ten times the memory. What is no piece is taken for one in one of 10^13 cases.

    Args:
        pieces: The vocabulary.

    >>> vocabulary = WordPieces("\u2581teateas".encode(), np.array([0, 6, 7, 9, 10], np.uint32),
    ...     np.array([-3.0, -9.0, -4.0, -2.0], np.float32), 99, 0, 0, {0xA0: " "})
    >>> PieceTokenizer(vocabulary).ids("tea\u00a0  teas?")
    [0, 0, 3, 99]
    """

    def __init__(self, pieces: WordPieces) -> None:
        self._unknown = pieces.unknown
        self._replaced = pieces.replaced
        self._unknown_score = float(pieces.scores.min()) - _UNKNOWN_COSTS
        characters = _code_points(pieces.pieces.decode())
        # every byte that does not go on with a character begins one
        starts = np.concatenate(([0], np.cumsum((np.frombuffer(pieces.pieces, np.uint8) & 0xC0) != 0x80)))[pieces.ends]
        lengths = np.diff(starts)
        self._longest = int(lengths.max())
        hashes = np.zeros(len(lengths), np.uint64)
        for place in range(self._longest):
            longer = np.flatnonzero(lengths > place)
            hashes[longer] = _with_character(hashes[longer], characters[starts[longer] + place])
        # nothing that is written is the piece for what is unknown
        known = np.flatnonzero(np.arange(len(lengths)) != pieces.unknown)
        order = known[np.argsort(hashes[known])]
        self._hashes = hashes[order]
        self._numbers = order.astype(np.int32)
        self._scores = pieces.scores[order]

    def ids(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces.

        Args:
            text: The text, without NUL and lone surrogates.
        """
        read = re.sub(" {2,}", " ", text.translate(self._replaced))
        marked = (read if read.startswith(" ") else f" {read}").replace(" ", _SPACE_MARK)
        best, cut = self._likeliest(_code_points(marked))
        found: list[int] = []
        place = len(best) - 1
        while place:
            number, place = cut[place]
            found.append(number)
        found.reverse()
        return found

    def _likeliest(self, characters: NDArray[np.uint32]) -> tuple[list[float], list[tuple[int, int]]]:
        """Return for each place the score of the likeliest way to it, and the last piece on it and where that began."""
        begins, lengths, places = self._matches(characters)
        best = [0.0] + [float("-inf")] * len(characters)
        cut = [(self._unknown, place - 1) for place in range(len(characters) + 1)]
        numbers = np.where(places < 0, self._unknown, self._numbers[places]).tolist()
        scores = np.where(places < 0, self._unknown_score, self._scores[places]).tolist()
        for begin, end, number, score in zip(
            begins.tolist(), (begins + lengths).tolist(), numbers, scores, strict=True
        ):
            reached = best[begin] + score
            if reached > best[end]:
                best[end], cut[end] = reached, (number, begin)
        return best, cut

    def _matches(self, characters: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return where pieces begin, their lengths and their places in the table, in the order of the text.

        A character that is no piece by itself is one of length 1 at the place -1, so that there is a way through.
        """
        places = np.full((len(characters), self._longest), -1, np.intp)
        hashes = np.zeros(len(characters), np.uint64)
        for length in range(1, min(self._longest, len(characters)) + 1):
            hashes = _with_character(hashes[: len(characters) - length + 1], characters[length - 1 :])
            at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
            places[: len(hashes), length - 1] = np.where(self._hashes[at] == hashes, at, -1)
        possible = places >= 0
        possible[:, 0] = True
        begins, lengths = np.nonzero(possible)
        return begins, lengths + 1, places[begins, lengths]


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _with_character(hashes: NDArray[np.uint64], characters: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the hashes of strings that are longer by a character each."""
    mixed = (hashes ^ (characters + np.uint64(1))) * _PRIME
    return mixed ^ (mixed >> _SHIFT)
