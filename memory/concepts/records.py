"""A concept as it is kept: someone or something that facts are about, with every name it goes by."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from memory.concepts.naming import is_marked, joined, name_key
from memory.records import Record, now, record_id

ConceptType = Literal["", "person", "animal", "place", "organisation"]
Decider = Literal["user", "said", "vector", "model"]
Pair = tuple[str, str]


class Alias(BaseModel):
    """A name, and the facts that use it.

    Args:
        name: As it is written.
        type: What these facts say it is; empty where they do not.
        since: When the first of them was learnt.
        source_ids: The facts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    type: ConceptType = ""
    since: datetime
    source_ids: tuple[str, ...]

    @property
    def id(self) -> str:
        """What names it: the same name for a person and for a place are two, until it is known that they are one."""
        return alias_id(self.name, self.type)


class Merge(BaseModel):
    """That two concepts are one, though their names do not tell: what moved, so that it can be undone.

    Args:
        kept: An alias of the concept that stayed.
        moved: The aliases of the one that became part of it.
        by: Who decided: the user, a fact that says it, vectors or a model.
        at: When.
        source_ids: The facts that say it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kept: str
    moved: tuple[str, ...]
    by: Decider
    at: datetime = Field(default_factory=now)
    source_ids: tuple[str, ...] = ()


class Concept(Record):
    """Someone or something that facts hang on; looked up by name, never searched by meaning.

    Args:
        name: The fullest of its names.
        type: What it is, if facts say so.
        aliases: All of its names, `name` among them.
        merged_from: What made it one, beside what follows from the names.
        apart: Pairs of aliases, one of them its own, that are known not to be the same.
        current: It states nothing that is believed: who looks for what is, passes it by.
    """

    kind: Literal["concept"] = "concept"
    name: str
    type: ConceptType = ""
    aliases: tuple[Alias, ...] = Field(min_length=1)
    merged_from: tuple[Merge, ...] = ()
    apart: tuple[Pair, ...] = ()
    current: Literal[False] = False

    @classmethod
    def of(cls, aliases: Iterable[Alias], merges: Iterable[Merge] = (), apart: Iterable[Pair] = ()) -> Self:
        """Return the concept that goes by these names; the same ones always make the same record.

        Args:
            aliases: The names, at least one.
            merges: All merges there are, or more than concern it.
            apart: All pairs that are known to be different, or more than concern it.
        """
        named = sorted(aliases, key=lambda alias: (name_key(alias.name), alias.type))
        ids = {alias.id for alias in named}
        fullest = max(named, key=_fullness)
        weights = {alias.type: 0 for alias in named if alias.type}
        for alias in named:
            if alias.type:
                weights[alias.type] += len(alias.source_ids)
        return cls(
            # no name of it is asked for twice: another concept has others
            id=record_id("concept", named[0].id),
            text=fullest.name,
            name=fullest.name,
            type=max(sorted(weights), key=weights.__getitem__, default=""),
            aliases=tuple(named),
            merged_from=tuple(sorted((m for m in merges if m.kept in ids), key=lambda m: (m.kept, m.moved, m.by))),
            apart=tuple(sorted(pair for pair in set(apart) if ids & {*pair})),
            created_at=min(alias.since for alias in named),
            session_id="",
            agent_id="",
            source_ids=tuple(sorted({source for alias in named for source in alias.source_ids})),
        )

    def named(self, name: str) -> list[Alias]:
        """Return its aliases that are this name."""
        return [alias for alias in self.aliases if name_key(alias.name) == name_key(name)]


@lru_cache(maxsize=20_000)
def alias_id(name: str, type_: str) -> str:
    """Return the id of a name of something of a type."""
    return record_id("alias", name_key(name), type_)


def _fullness(alias: Alias) -> tuple[int, bool, int, str]:
    key = name_key(alias.name)
    return (len(joined(key)), is_marked(key), len(alias.source_ids), alias.name)
