"""The cases: conversations, what a model proposes for each turn, and what must be remembered in the end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory.records import normalise

FOLDER = Path(__file__).with_name("cases")

Language = Literal["en", "vi"]
Speaker = Literal["user", "assistant"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pattern(_Strict):
    """How a statement is recognised in whatever words it is kept.

    Args:
        says: Regular expressions of whole words; all of them must be found. Case does not count, diacritics do.
        without: Regular expressions of which none may be found.
    """

    says: tuple[str, ...] = Field(min_length=1)
    without: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Tell whether a text says it.

        >>> Pattern(says=("tea",), without=("ceremon.*",)).matches("User likes tea ceremonies.")
        False
        """
        plain = normalise(text)
        return all(_has(word, plain) for word in self.says) and not any(_has(word, plain) for word in self.without)


class Expected(Pattern):
    """A statement that must be remembered.

    Args:
        support: How many messages said it; not looked at where it is not given.
        since: How the beginning of its validity must be written, as far as it is known: `2019`, `2021-03`.
        until: The same for its end.
    """

    support: int | None = None
    since: str = ""
    until: str = ""


class Outcome(_Strict):
    """What memory must hold after the last turn.

    Args:
        current: True now: exactly one current fact each.
        known: Must be kept, as a current fact or as history; never twice among the current ones.
        history: No longer true: kept, but not among the current facts.
        gone: Must not be among the current facts; whether it is kept as history is not looked at.
        never: Was never true or never said by the user: must not be a fact, not even a retired one.
    """

    current: tuple[Expected, ...] = ()
    known: tuple[Expected, ...] = ()
    history: tuple[Pattern, ...] = ()
    gone: tuple[Pattern, ...] = ()
    never: tuple[Pattern, ...] = ()


class Line(_Strict):
    """One operation that the model proposes.

    Args:
        add: Subject, predicate and object of something new.
        update: What the memory to update says, as a pattern; with `to`.
        to: Subject, predicate and object of an update.
        retract: What the memory to retract says, as a pattern.
        text: The fact as a sentence.
        cites: Whose messages of the turn it cites.
        bad: What is wrong with it: a careful model would not have said it.
    """

    add: tuple[str, str, str] | None = None
    update: str | None = None
    to: tuple[str, str, str] | None = None
    retract: str | None = None
    text: str = ""
    cites: tuple[Speaker, ...] = ("user",)
    bad: str = ""

    @model_validator(mode="after")
    def _is_one_operation(self) -> Line:
        if sum(part is not None for part in (self.add, self.update, self.retract)) != 1:
            raise ValueError("give exactly one of add, update, retract")
        if (self.update is not None) != (self.to is not None):
            raise ValueError("update needs `to`, and only update has one")
        if self.retract is None and not self.text:
            raise ValueError("give the fact's text")
        return self

    @property
    def target(self) -> str | None:
        """What the memory says that it changes; None for an addition."""
        return self.update if self.update is not None else self.retract

    @property
    def triple(self) -> tuple[str, str, str]:
        """Subject, predicate and object; empty ones for a retraction."""
        return self.add or self.to or ("", "", "")


class Turn(_Strict):
    """One message of the user and what follows.

    Args:
        say: What the user says.
        reply: What the assistant answers.
        conversation: Which conversation it belongs to.
        model: What the model proposes when it reads the turn.
    """

    say: str
    reply: str = "OK."
    conversation: str = "one"
    model: tuple[Line, ...] = ()


class Case(_Strict):
    """One case. See the modules' parts for its fields."""

    id: str
    lang: Language
    kind: str
    about: str = ""
    turns: tuple[Turn, ...] = Field(min_length=1)
    expect: Outcome

    @property
    def careless(self) -> bool:
        """Whether its model says something that a careful one would not: that of the paraphrases repeats itself."""
        return self.kind == "paraphrases" or any(line.bad for turn in self.turns for line in turn.model)

    def turn_of(self, said: str) -> Turn | None:
        """Return the turn in which the user says this."""
        return next((turn for turn in self.turns if normalise(turn.say) == normalise(said)), None)


def load_cases(folder: Path = FOLDER) -> list[Case]:
    """Read the cases; the file's name is their kind, and each id must be unique.

    Args:
        folder: The folder of the YAML files.

    Raises:
        ValueError: If two cases have one id.
        pydantic.ValidationError: If a case is not valid.
    """
    cases = [
        Case(kind=file.stem, **entry)
        for file in sorted(folder.glob("*.yaml"))
        for entry in yaml.safe_load(file.read_text(encoding="utf-8"))
    ]
    ids = [case.id for case in cases]
    if twice := {id_ for id_ in ids if ids.count(id_) > 1}:
        raise ValueError(f"these ids are used twice: {', '.join(sorted(twice))}")
    return cases


def choose(cases: Sequence[Case], names: Sequence[str] = (), number: int | None = None) -> list[Case]:
    """Return the cases to run.

    Args:
        cases: All of them.
        names: Parts of ids or kinds; all cases where there are none.
        number: How many at most, spread evenly over the kinds and languages.

    Raises:
        ValueError: If a name fits no case.
    """
    for name in names:
        if not any(_fits(case, name) for case in cases):
            raise ValueError(f"no case is called {name!r}; the kinds are {', '.join(sorted({c.kind for c in cases}))}")
    chosen = [case for case in cases if not names or any(_fits(case, name) for name in names)]
    if number is None or number >= len(chosen):
        return chosen
    step = len(chosen) / number
    return [chosen[int(place * step)] for place in range(number)]


def _fits(case: Case, name: str) -> bool:
    return name in case.id or name == case.kind


def _has(expression: str, plain: str) -> bool:
    composed = unicodedata.normalize("NFKC", expression).casefold()
    return re.search(rf"(?<!\w)(?:{composed})(?!\w)", plain) is not None
