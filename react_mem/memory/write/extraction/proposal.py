"""The form that the model fills in, as a JSON schema, and the evidence that each of its labels needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from math import isnan
from typing import Annotated, Any, Literal

from langchain_core.utils.json_schema import dereference_refs
from pydantic import BaseModel, BeforeValidator, Field

from react_mem.memory.language import denial_of, has_capital_nouns
from react_mem.memory.language.comparison import Vocabulary, content_words, linking_words, missing, names, share, words
from react_mem.memory.language.hallucination import Told
from react_mem.memory.language.hedging import has_sign, is_oneself
from react_mem.memory.language.statements import cue
from react_mem.memory.llm.answers import strict
from react_mem.memory.model.operations import Relation
from react_mem.prompts import load_prompt

# Bounds on what a model may send; those that a strict schema cannot hold are held by the checks.
MAX_TEXT = 300
MAX_FACTS = 40
MAX_PROFILE_CHANGES = 10
MAX_STEPS = 10
MAX_LESSONS = 5
MAX_TOPIC_WORDS = 12
MAX_PART = 300
MAX_TITLE = 80
MAX_OUTCOME = 900
MAX_SNAPSHOT = 1_200

Kind = Literal["question", "request", "maybe", "chat", "standing"]


class ProposedFact(BaseModel, coerce_numbers_to_str=True):
    """A fact, by the clauses that state it."""

    c: list[int] = Field(default_factory=list)
    about: str = "user"
    rel: Relation = "new"
    target: str | None = None
    text: str = ""
    when: str = ""
    needs: list[str] = Field(default_factory=list)


class TopicalFact(ProposedFact):
    """The same, with words to find it by that it does not say."""

    topic: str = ""


class ProposedOther(BaseModel):
    """Clauses that state nothing lasting."""

    c: list[int] = Field(default_factory=list)
    kind: Kind = "chat"


class ProposedProfileChange(BaseModel):
    """One field of the user's profile."""

    c: list[int] = Field(default_factory=list)
    field: str = ""
    value: str = ""


def _number(value: Any) -> float | None:
    """Return a model's number clamped to 0..1; None for anything else."""
    with suppress(TypeError, ValueError):
        number = float(value)
        return None if isnan(number) else min(max(number, 0.0), 1.0)
    return None


class ProposedEpisode(BaseModel):
    """Attempt and its outcome."""

    goal: str = ""
    steps: list[str] = Field(default_factory=list)
    outcome: str = ""
    lessons: list[str] = Field(default_factory=list)
    milestone: str = ""
    snapshot: str = ""
    importance: Annotated[float | None, BeforeValidator(_number, json_schema_input_type=float)] = None


class Proposal(BaseModel):
    """Record what this conversation teaches about the user. Call it exactly once, with everything in it."""

    facts: list[ProposedFact] = Field(default_factory=list)
    others: list[ProposedOther] = Field(default_factory=list)
    profile: list[ProposedProfileChange] = Field(default_factory=list)
    episode: ProposedEpisode | None = None
    summary: str = ""


class TopicalProposal(Proposal):
    """Record what this conversation teaches about the user. Call it exactly once, with everything in it."""

    facts: list[TopicalFact] = Field(default_factory=list)  # type: ignore[assignment]


FIELDS = tuple(Proposal.model_fields)


def strict_schema(
    targets: Sequence[str], fields: Sequence[str] = (), *, clauses: int, topics: bool = False
) -> dict[str, Any]:
    """Return the JSON schema of one call, in the form that strict structured output accepts.

    The targets are labels of facts that may change; the number of clauses bounds that of facts. Without profile fields
    the model names them itself. Topics are extra keywords of each fact.
    """
    schema = deepcopy(_proposal_schema(TopicalProposal if topics else Proposal))
    properties = schema["properties"]
    fact = properties["facts"]["items"]["properties"]
    # a model held to a list that it cannot end fills it: no more than there are clauses, and a few that say two things
    properties["facts"]["maxItems"] = min(clauses + 5, MAX_FACTS)
    if targets:
        fact["target"] = {"enum": [*targets, None]}
    else:
        # where nothing is known, nothing can change
        fact["rel"] = {"enum": ["new"]}
        del fact["target"]
        properties["facts"]["items"]["required"].remove("target")
    if fields:
        properties["profile"]["items"]["properties"]["field"] = {"enum": list(fields)}
    return {**schema, "title": "extraction"}


@cache
def _proposal_schema(form: type[Proposal]) -> dict[str, Any]:
    # made once: it takes milliseconds
    schema: dict[str, Any] = strict(dereference_refs(form.model_json_schema()))
    schema.pop("$defs", None)
    return schema


class Refused(Exception):  # noqa: N818 - a signal within the checks
    """Refusal of a proposal; the message is the reason."""


def bounded(text: str, limit: int, name: str) -> None:
    """Refuse an empty or too long text; `name` goes into the reason."""
    if not text.strip():
        raise Refused(f"{name} is empty")
    if len(text) > limit:
        raise Refused(f"{name} is too long")


# Evidence for a label: the user's own words first, a model's sentence only with words that support it.

MAX_ABOUT = 80
_NAMED = 0.8
"""Share of a subject's words that were shown: "my aunt's son" may be named by his aunt and as a son."""

_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
_LETTERS = re.compile(r"[^\W\d_]+")
_MAX_NOVEL = 2
_MAX_NOVEL_SHARE = 0.34
"""New content words that a sentence may add, such as "lives" for "I moved": two, or a third of its words."""


def is_borne_out(sentence: str, sources: Sequence[str]) -> bool:
    """Return true if texts support a sentence: no new number, no new name, hardly a new word.

    >>> said = ["I moved to Rome"]
    >>> is_borne_out("User lives in Rome.", said), is_borne_out("User lives in Milan.", said)
    (True, False)
    """
    # a model's word for the user is not a name
    told = without_user(sentence)
    if not told.strip() or Told(sources).invented(told):
        return False
    novel = missing(told, sources)
    wanted = len(set(content_words(told)))
    return len(novel) <= max(_MAX_NOVEL, _MAX_NOVEL_SHARE * wanted) and len(novel) < max(wanted, 1)


def denies_instead(words: str, known: str) -> bool:
    """Return true if a text has all words of a known fact and the opposite polarity.

    >>> denies_instead("I don't like tea", "I like tea"), denies_instead("I don't eat meat", "I'm vegetarian")
    (True, False)
    """
    return {denial_of(words), denial_of(known)} == {True, False} and not missing(known, [words])


def without_user(sentence: str) -> str:
    """Return a sentence without the model's word for the user.

    >>> without_user("Người dùng thích trà"), without_user("用户喜欢茶")
    (' thích trà', '喜欢茶')
    """
    return _USER.sub("", sentence)


_USER = cue("the_user")
"""Words for "the user" in the languages a model is likely to answer in."""


def are_linked(words: str, target: Iterable[str]) -> bool:
    """Return true if a text names something that a known fact names."""
    return not linking_words(words).isdisjoint(linking_words(*target))


def fits_better(words: str, target: Iterable[str], others: Iterable[Sequence[str]], *, states: bool) -> bool:
    """Return true if a clause has half of another fact's words, and none of its target's; facts are given by wordings.

    If it `states` something, two words are the least, without its names: a new value may be named elsewhere too.

    >>> fits_better("I moved to Da Nang", ["I live in Hanoi"], [["I was born in Da Nang"]], states=True)
    False
    """
    said = linking_words(words)
    if said & linking_words(*target):
        return False
    if states and not has_capital_nouns(words):
        said -= linking_words(*names(words))
    known = [linking_words(one) for other in others for one in other]
    return any(len(said & one) >= max(1 + states, len(one) / 2) for one in known)


def about_whom(about: str, shown: Sequence[str], quote: str = "") -> str:
    """Return the subject of a fact: "user", unless the texts name somebody and the quote does not begin with "I"."""
    name = " ".join(about.split())
    if not name or len(name) > MAX_ABOUT or name.casefold() == "user" or is_oneself(name):
        return "user"
    if has_sign(quote, "own_subject") and share(name, [quote]) == 0:
        return "user"
    if content_words(name) and share(name, shown) < _NAMED:
        return "user"
    # "she" is not a name; "An" is one, though it is a word as well
    is_named = content_words(name) or set(_LETTERS.findall(name)) <= set[str]().union(*map(names, shown))
    return name if is_named else "user"


def is_said(value: str, said: str) -> bool:
    """Return true if a text has all words of a value, small ones too: "An" is a name."""
    vocabulary = Vocabulary([said])
    return all(word in vocabulary for word in words(value))


def own_dates(proposed: str) -> str:
    """Return the time a model proposes; empty if it holds a date of an example in the instructions.

    >>> own_dates("2019-05.."), own_dates("1953-03-10")
    ('2019-05..', '')
    """
    return "" if _dates().intersection(proposed.split("..")) else proposed


@cache
def _dates() -> frozenset[str]:
    return frozenset(_DATE.findall(load_prompt("extract_memories")))
