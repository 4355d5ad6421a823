"""Parts of sentences, as a line has them: whether one stands by itself or waits for more, as far as words show it.

The words are those that each language's file lists under `runs_on`, `joins`, `begins` and what tells statements,
questions and requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from react_mem.memory.language import FILES, known_language, languages_of, other_language
from react_mem.memory.language.declarations import declares, ends_in_name
from react_mem.memory.language.lowering import is_condition
from react_mem.memory.language.shared import asks_from, joins

_OPENING = "\"'“‘«„»「『(（*_¡¿ \t"
_SHORT = 3
_CLAUSE_END = re.compile(r"[,;:，；：]\s*")


@dataclass(frozen=True)
class SentencePart:
    """A sentence, or what a line has of one.

    Args:
        words: The words.
    """

    words: str

    @cached_property
    def bare(self) -> str:
        """Return the words without marks before them."""
        return self.words.lstrip(_OPENING)

    @property
    def first_letter(self) -> str:
        """Return the first character that is no opening mark; empty where there is none."""
        return self.bare[:1]

    @property
    def ends_asking(self) -> bool:
        """Return whether a question mark stands at the end."""
        return self.words.endswith(("?", "？"))

    @property
    def ends_short(self) -> bool:
        """Return whether it ends in a short word in small letters, as words of grammar are in most languages."""
        *_, last = self.words.split() or [""]
        return len(last) <= _SHORT and last.isalpha() and last.islower() and last.isascii()

    @cached_property
    def says_nothing(self) -> bool:
        """Return whether it is a greeting or thanks alone."""
        found = re.findall(r"[^\W_]+", self.words.casefold())
        return bool(found) and any(one.pleasantries.issuperset(found) for one in languages_of(self.words))

    @cached_property
    def asks(self) -> bool:
        """Return whether it asks or requests something by how it begins, and not by a mark at its end alone."""
        bare = self.bare.rstrip(" .!?…。！？")
        if asks_from(bare) == 0:
            return True
        return any(one.asks_without_mark(bare) or one.requests.search(bare) for one in languages_of(bare))

    @property
    def depends(self) -> bool:
        """Return whether it begins as what belongs to something before or behind it: "because", "nếu"."""
        return self._begins_a_part(self.bare)

    @cached_property
    def runs_on(self) -> bool:
        """Return whether it ends as no sentence does: "in", "của", "の"."""
        bare = self.words.rstrip("\"'”’»")
        return any(one.ends.search(bare) for one in self._halves) and not ends_in_name(bare)

    @cached_property
    def stands(self) -> bool:
        """Return whether it states, asks or requests something by itself, and does not wait for more."""
        last = _CLAUSE_END.split(self.words)[-1]
        if self.runs_on or self.depends or self._begins_a_part(last.lstrip(_OPENING)) or is_condition(last):
            return False
        return declares(self.words) or self.asks

    def _begins_a_part(self, bare: str) -> bool:
        first = re.match(r"[^\W_]+", bare)
        return bool(first and joins(first[0])) or any(one.begins.match(bare) for one in self._halves)

    @cached_property
    def _halves(self) -> Sequence[_Halves]:
        """Return the words of the language that it is in; of all where its small words do not tell."""
        language = known_language(self.words)
        code = language.code if language is not None else other_language(self.words)
        return (_HALVES[code],) if code in _HALVES else tuple(_HALVES.values())


@dataclass(frozen=True)
class _Halves:
    """Words of a language at which halves of a sentence show themselves.

    Args:
        begins: Matches its beginning.
        ends: Finds its end.
    """

    begins: re.Pattern[str]
    ends: re.Pattern[str]

    @classmethod
    def of(cls, runs_on: Mapping[str, Sequence[str]], *, unspaced: bool) -> Self:
        """Return them as a file lists them."""
        begins, ends = ("|".join(runs_on[name]) for name in ("begins", "ends"))
        # between letters without spaces there is no end of a word
        bound = "" if unspaced else r"\b"
        return cls(re.compile(f"(?:{begins}){bound}", re.IGNORECASE), re.compile(f"{bound}(?:{ends})$", re.IGNORECASE))


_HALVES = {
    code: _Halves.of(data["runs_on"], unspaced=bool(data.get("unspaced")))
    for code, data in FILES.items()
    if "runs_on" in data
}
