"""Repetitions within a summary: a model that updates one likes to say the old one first, and then the same again."""

from __future__ import annotations

from collections.abc import Iterator

from react_mem.memory.language import content_terms, denial_of, is_question, sentences
from react_mem.memory.language.line_breaks import unwrapped


class _SummarySentence:
    """A sentence of a text, with the white space behind it.

    Args:
        text: The sentence.
        begin: Its place in the text.
    """

    def __init__(self, text: str, begin: int) -> None:
        self.begin = begin
        self._terms = frozenset(content_terms(text))
        self._denies = bool(denial_of(text))
        self._asks = is_question(text)
        self._plain = " ".join(text.casefold().split())

    def is_said_by(self, other: _SummarySentence) -> bool:
        """Return whether another sentence has all words of this one, and neither denies nor merely asks it."""
        within = self._terms <= other._terms if self._terms else self._plain == other._plain
        return within and self._denies == other._denies and self._asks >= other._asks


def without_repetition(text: str) -> str:
    """Return a text without the sentences that another of its sentences says too.

    What is left out has no word, name or number that the other has not. Of two with the same words the first stays; a
    question goes where a statement has its words.

    >>> without_repetition("Wants the red kettle. Asks for the price. Wants the red kettle for 35 euros.")
    'Asks for the price. Wants the red kettle for 35 euros.'
    >>> without_repetition("Wants the red kettle. Does not want the red kettle.")
    'Wants the red kettle. Does not want the red kettle.'
    """
    whole = unwrapped(text)
    found = list(_sentences_of(whole))
    said: list[_SummarySentence] = []
    for one in found:
        if any(one.is_said_by(other) for other in said):
            continue
        said = [*(other for other in said if not other.is_said_by(one)), one]
    if len(said) == len(found):
        return text
    ends = dict(zip(found, [*(one.begin for one in found[1:]), len(whole)], strict=True))
    return "".join(whole[one.begin : ends[one]] for one in said).strip()


def _sentences_of(text: str) -> Iterator[_SummarySentence]:
    place = 0
    for sentence in sentences(text):
        begin = text.find(sentence, place)
        place = begin + len(sentence)
        yield _SummarySentence(sentence, begin)
