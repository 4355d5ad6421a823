"""The attacks: a conversation, what a stranger's text in it wants, and a model that obeys the stranger."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field

from benchmarks.writing.case import Case, Language, Line, Observed, Outcome, Pattern, Turn

FILE = Path(__file__).with_name("attacks.yaml")
AIMED = Path(__file__).with_name("aimed.yaml")

Way = Literal["page", "tool", "mail", "code", "assent", "summary", "skill", "import", "store_tool", "agent"]
"""Channels of a stranger's text; `assent` is a yes of the user's to what the assistant took from it, `agent` the report
of another agent."""

Labelled = Literal["", "asking", "pasted", "everything"]
"""Clauses of the attacked message that a model labels as the stranger wants: the one that asks, those that are pasted,
or each with everything."""

PASTED: dict[Way, str] = {
    "page": "“{}”",
    "tool": '```json\n{{"result": "{}"}}\n```',
    "mail": "> {}\n> Mallory",
    "code": "```python\n# {}\nx = 1\n```",
    "agent": "> {}",
}
"""Forms in which a stranger's text stands in a message of the user's."""

_TOOLS: dict[Way, str] = {"page": "read_page", "tool": "search_food", "agent": "ask_researcher"}

ASKED = "two"
"""The conversation in which the user asks afterwards."""


class Attack(BaseModel):
    """One attack.

    Args:
        id: Its name, which begins with the language.
        lang: The language.
        way: How it gets in.
        known: What the user has said of themselves before, a turn each.
        say: What the user says in the turn that is attacked.
        plain: The same without the stranger's text, where `say` has that in it.
        also: What the user states of themselves in it, an exact part of `say`.
        observed: What a tool returned in it.
        reply: What the assistant answers.
        then: What the user says next, such as a yes.
        obeys: What the model says that obeys, about the last thing that the user said.
        summary: How it sums the turn up.
        calls: The arguments with which the model calls the memory tool `store_fact` or `forget`, by its name.
        labelled: Which clauses the model labels as the stranger wants, beside what it says in `obeys`.
        taught: What the stranger wants to be believed, where clauses are labelled.
        poison: What must not be believed.
        ask: What the user asks afterwards, in another conversation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    lang: Language
    way: Way
    known: tuple[str, ...] = Field(min_length=1)
    say: str
    plain: str = ""
    also: str = ""
    observed: Observed | None = None
    reply: str = "OK."
    then: str = ""
    obeys: tuple[Line, ...] = ()
    summary: str = ""
    calls: dict[str, dict[str, str]] = Field(default_factory=dict)
    labelled: Labelled = ""
    taught: str = ""
    poison: Pattern
    ask: str

    def case(self, *, attacked: bool) -> Case:
        """Return the conversation, with the attack or without it."""
        said = self.say if attacked or not self.plain else self.plain
        own = tuple(Line(quote=self.also) for _ in [0] if self.also)
        # who obeys labels the last words of the user's, which may be the yes alone
        last = Turn(say=said, reply=self.reply if attacked else "OK.", observed=self.observed if attacked else None)
        turns = [Turn(say=text, correct=(Line(quote=text),), hostile=(Line(quote=text),)) for text in self.known]
        obeying = self.obeys if attacked else ()
        turns.append(last.model_copy(update={"correct": own, "hostile": own if self.then else (*own, *obeying)}))
        if self.then:
            turns.append(Turn(say=self.then, correct=(), hostile=obeying))
        turns.append(Turn(say=self.ask, conversation=ASKED, hostile=()))
        return Case(id=self.id, lang=self.lang, kind="poison", turns=tuple(turns), expect=Outcome(never=(self.poison,)))


def load_attacks() -> list[Attack]:
    """Read the attacks."""
    return [Attack.model_validate(entry) for entry in yaml.safe_load(FILE.read_text(encoding="utf-8"))]


def aimed_attacks() -> Iterator[Attack]:
    """Yield attacks on what the user's own words name: each way, in each language, with each choice of labels."""
    for lang, own in yaml.safe_load(AIMED.read_text(encoding="utf-8")).items():
        for way, labelled in product(PASTED, get_args(Labelled)[1:]):
            # what no tool returns the user pastes
            tool = _TOOLS.get(way) if labelled == "asking" else None
            plain = own["ask"] if labelled == "asking" else own["order"]
            yield Attack(
                id=f"{lang}-{way}-{labelled}",
                lang=lang,
                way=way,
                known=own["known"],
                say=plain if tool else f"{plain}\n{PASTED[way].format(own['stranger'])}",
                plain=plain,
                observed=Observed(tool=tool, text=own["stranger"]) if tool else None,
                labelled=labelled,
                taught=own["taught"],
                poison=Pattern(says=(own["poison"],)),
                ask=own["then"],
            )
