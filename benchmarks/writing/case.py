"""The cases: conversations, the model's answers for each turn, and the required memories at the end (FORMAT.md)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from react_mem.memory.language import UNSPACED
from react_mem.memory.language.folding import normalise

FOLDER = Path(__file__).with_name("cases")
"""A folder for each half, with YAML files of cases."""

Language = Literal["en", "vi", "zh", "ja", "es", "de"]
Kind = Literal[
    "new",
    "paraphrase",
    "update",
    "implicit_update",
    "correction",
    "retraction",
    "third_person",
    "quotation",
    "hypothetical",
    "relative_date",
    "dependency",
    "poison",
]
Half = Literal["early", "late"]
"""Early cases were written with the code or before; late ones afterwards, by somebody who had not read it."""

Manner = Literal["correct", "careless", "hostile"]
"""Behaviour of the model."""

Relation = Literal["new", "same", "changes", "ends", "corrects", "unsure", "forget"]
Unlasting = Literal["question", "request", "maybe", "chat"]

_WORD = rf"[^\W{UNSPACED}]"
"""A letter of a script with spaces between words, where a pattern's words must end."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _compiles(expression: str) -> str:
    try:
        re.compile(expression)
    except re.error as error:
        raise ValueError(f"{expression!r} is no regular expression: {error}") from error
    return expression


Expression = Annotated[str, Field(min_length=1), AfterValidator(_compiles)]
"""A regular expression of whole words, insensitive to case, sensitive to diacritics."""


def _from_day(value: Any) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(9))
    return value


def _with_zone(value: datetime) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=UTC)


Moment = Annotated[datetime, BeforeValidator(_from_day), AfterValidator(_with_zone)]


class Pattern(_Strict):
    """Recognition of a statement in any wording: all of `says` occur, and none of `without`."""

    says: tuple[Expression, ...] = Field(min_length=1)
    without: tuple[Expression, ...] = ()

    def matches(self, text: str) -> bool:
        """Return true if a text makes the statement.

        >>> Pattern(says=("tea",), without=("ceremon.*",)).matches("User likes tea ceremonies.")
        False
        >>> Pattern(says=("上海",)).matches("我住在上海")
        True
        """
        plain = normalise(text)
        return all(_has(word, plain) for word in self.says) and not any(_has(word, plain) for word in self.without)


class Expected(Pattern):
    """A required statement; FORMAT.md explains its fields, and the fields of the classes below."""

    about: Expression | None = None
    support: int | None = None
    event: str = ""
    since: str = ""
    until: str = ""


class Outcome(_Strict):
    current: tuple[Expected, ...] = ()
    doubtful: tuple[Expected, ...] = ()
    known: tuple[Expected, ...] = ()
    history: tuple[Pattern, ...] = ()
    gone: tuple[Pattern, ...] = ()
    never: tuple[Pattern, ...] = ()

    @property
    def kept(self) -> tuple[Expected, ...]:
        return (*self.current, *self.doubtful, *self.known)

    @property
    def all(self) -> tuple[Pattern, ...]:
        return (*self.kept, *self.history, *self.gone, *self.never)

    @model_validator(mode="after")
    def _asks_for_something(self) -> Outcome:
        if not self.all:
            raise ValueError("say what is expected")
        return self


class Line(_Strict):
    """A statement of the model about a turn: a fact, or with `drop` words that state nothing lasting."""

    quote: str = Field(min_length=1)
    rel: Relation = "new"
    target: Expression | None = None
    about: str = "user"
    text: str = ""
    when: str = ""
    needs: tuple[Expression, ...] = ()
    drop: Unlasting | None = None

    @property
    def sentence(self) -> str:
        return self.text or (self.quote if self.about == "user" else f"{self.about}: {self.quote}")

    @model_validator(mode="after")
    def _is_whole(self) -> Line:
        if self.drop is not None and self.model_fields_set - {"quote", "drop"}:
            raise ValueError("a line with `drop` has only a quote beside it")
        if self.drop is None and (self.target is None) != (self.rel == "new"):
            raise ValueError("give a target for every relation except `new`")
        return self


class Observed(_Strict):
    tool: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    text: str = Field(min_length=1)


class Turn(_Strict):
    """One message of the user with its consequences; words of `say` that no correct line quotes are chat."""

    say: str = Field(min_length=1)
    reply: str = "OK."
    conversation: str = "one"
    at: Moment | None = None
    observed: Observed | None = None
    correct: tuple[Line, ...] = ()
    careless: tuple[Line, ...] | None = None
    hostile: tuple[Line, ...] | None = None

    @property
    def lines(self) -> tuple[Line, ...]:
        return (*self.correct, *(self.careless or ()), *(self.hostile or ()))

    @model_validator(mode="after")
    def _quotes_what_is_said(self) -> Turn:
        for line in self.lines:
            if line.quote not in self.say:
                raise ValueError(f"the quote {line.quote!r} is no exact part of {self.say!r}")
        return self


class Case(_Strict):
    id: str = Field(pattern=r"^[a-z]{2}-[a-z0-9-]+$")
    lang: Language
    kind: Kind
    half: Half = "early"
    about: str = ""
    turns: tuple[Turn, ...] = Field(min_length=1)
    expect: Outcome

    @model_validator(mode="after")
    def _is_consistent(self) -> Case:
        if not self.id.startswith(f"{self.lang}-"):
            raise ValueError(f"the id must begin with {self.lang}-")
        said = [turn.say for turn in self.turns]
        if len(set(said)) != len(said):
            raise ValueError("two turns say the same words; a model could not tell them apart")
        return self


def read_cases(file: Path, half: Half = "early") -> list[Case]:
    """Read the cases of a file; its name is the default of their kind.

    Raises:
        ValueError: If a case is not valid; the message names it.
    """
    try:
        # in C, where PyYAML has it: ten times as fast
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        entries = yaml.load(file.read_text(encoding="utf-8"), Loader=loader) or []  # noqa: S506 - a safe one
    except yaml.YAMLError as error:
        raise ValueError(f"{file.name} is no YAML; does a pattern need quotes? {error}") from error
    cases = []
    for place, entry in enumerate(entries, 1):
        try:
            cases.append(Case.model_validate({"kind": file.stem, "half": half, **entry}))
        except (TypeError, ValueError) as error:
            name = entry.get("id") if isinstance(entry, dict) else None
            raise ValueError(f"{file.name}, case {place} ({name or 'without an id'}): {error}") from error
    return cases


def load_cases(folder: Path = FOLDER) -> list[Case]:
    """Read the cases of both halves in a folder.

    Raises:
        ValueError: If two cases have one id, or a case is not valid.
    """
    halves: tuple[Half, ...] = ("early", "late")
    cases = [
        case for half in halves for file in sorted((folder / half).glob("*.yaml")) for case in read_cases(file, half)
    ]
    ids = [case.id for case in cases]
    if twice := sorted({id_ for id_ in ids if ids.count(id_) > 1}):
        raise ValueError(f"these ids are used twice: {', '.join(twice)}")
    return cases


def choose(cases: Sequence[Case], names: Sequence[str] = ()) -> list[Case]:
    """Return the cases with these parts of ids, kinds, languages or halves; all cases without names.

    Raises:
        ValueError: If a name fits no case.
    """
    for name in names:
        if not any(_fits(case, name) for case in cases):
            raise ValueError(f"no case is called {name!r}; the kinds are {', '.join(sorted({c.kind for c in cases}))}")
    return [case for case in cases if not names or any(_fits(case, name) for name in names)]


def _fits(case: Case, name: str) -> bool:
    return name in case.id or name in (case.kind, case.lang, case.half)


def _has(expression: str, plain: str) -> bool:
    composed = unicodedata.normalize("NFKC", expression).casefold()
    begins, ends = rf"(?:(?<!{_WORD})|(?=[{UNSPACED}]))", rf"(?:(?!{_WORD})|(?<=[{UNSPACED}]))"
    return re.search(f"{begins}(?:{composed}){ends}", plain) is not None
