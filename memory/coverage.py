"""What of the user's words the accepted proposals of a model cover: the rest is kept as it was said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.canonical import holders
from memory.clauses import last_of, uncovered
from memory.drafts import is_known, part_of, repeated
from memory.extraction import Extraction, Operation
from memory.extraction.grounding import (
    content_words,
    is_assent,
    is_grounded,
    is_negative,
    objection,
    says_something,
)
from memory.extraction.mood import moods
from memory.extraction.supersession import asked_to_forget, is_corrected, is_named
from memory.records import Fact
from memory.statements import is_pleasantry, speaks_of_self

_OPPOSITE = "says the opposite of its source"


@dataclass(frozen=True)
class Coverage:
    """What one extraction has read of the user's statements.

    Args:
        extraction: The extraction.
        targets: What the facts say that it updates or retracts, by id.
        said: What the messages say, by id.
    """

    extraction: Extraction
    targets: Mapping[str, str]
    said: Mapping[str, str]

    def unread(self, statements: Iterable[Fact], known: Sequence[Fact] = ()) -> list[Fact]:
        """Return what nothing covers of statements, as verbatim facts. Blocking: it compares many words.

        Args:
            statements: Verbatim facts.
            known: The facts that are believed.
        """
        parts = [part_of(statement, text) for statement in statements for text in self._parts(statement, known)]
        return list({part.id: part for part in parts}.values())

    def _parts(self, statement: Fact, known: Sequence[Fact]) -> list[str]:
        sources = set(statement.source_ids)
        operations = [operation for operation in self.extraction.ops if sources & set(operation.source_ids)]
        values = [change.value for change in self.extraction.profile_changes if sources & set(change.source_ids)]
        told = " ".join([*map(self._told, operations), *values])
        last = last_of(statement.text)
        refused = any(sources & set(rejected.source_ids) for rejected in self.extraction.rejected)
        # a model leaves out what a memory that it was shown says already
        left_out = not operations and not values and not refused

        def is_read(part: str) -> bool:
            return (
                is_pleasantry(part)
                or is_assent(part)
                or not says_something(part)
                or any(self._covers(operation, part) for operation in operations)
                or any(is_grounded(value, part) for value in values)
                or self._is_attempted(part)
                or (bool(told) and is_grounded(part, told))
                or (part == last and self._is_corrected(part, statement.source_ids))
                or is_known(statement.model_copy(update={"text": part}), known)
                or (left_out and any(_repeats(part, fact) for fact in known))
            )

        return uncovered(statement.text, is_read)

    def _covers(self, operation: Operation, part: str) -> bool:
        target = self.targets.get(operation.target_id or "", "")
        if operation.op == "retract" and asked_to_forget(part):
            return True
        if target and is_named(target, part):
            # what was known of it is what is replaced or ended
            return True
        if operation.op == "retract" or not operation.object or not is_grounded(operation.object, part):
            return False
        # "I eat beef at home, but I do not eat beef at work": the second is another fact
        negative = is_negative(operation.text)
        return objection(operation.object, negative, part, claim=operation.text) != _OPPOSITE

    def _is_attempted(self, part: str) -> bool:
        """Tell whether a clause asks for what the episode tells of: "please buy some tea", where the goal is to buy
        tea."""
        goal = self.extraction.episode.goal if self.extraction.episode else ""
        return len(content_words(goal)) > 1 and is_grounded(goal, part)

    def _told(self, operation: Operation) -> str:
        parts = (operation.predicate, operation.object, operation.text, self.targets.get(operation.target_id or "", ""))
        return " ".join(parts).replace("_", " ")

    def _is_corrected(self, part: str, sources: Iterable[str]) -> bool:
        return any(is_corrected(part, self.said[source]) for source in sources if source in self.said)


def _repeats(part: str, fact: Fact) -> bool:
    """Tell whether a clause ends with a whole fact: "my hobby is collecting old stamps" for who collects them."""
    said, known = content_words(part), content_words(fact.text)
    return (
        fact.current
        and not fact.verbatim
        and 0 <= len(said) - len(known) <= 1
        and all(is_grounded(word, other) for word, other in zip(known, said[-len(known) :], strict=False))
        and speaks_of_self(part)
        and holders(part) == holders(fact.text)
        and is_negative(part) is is_negative(fact.text)
        and moods(part) == moods(fact.text)
    )


def settle_verbatim(
    statements: Sequence[Fact], unread: Sequence[Fact], stored: Iterable[Fact], sources: Iterable[str]
) -> tuple[list[Fact], list[str]]:
    """Return what is to be kept word for word now, and the ids of what was and has been read since.

    Args:
        statements: The verbatim facts of the messages that were read.
        unread: What nothing covers of them.
        stored: The facts that are stored.
        sources: The messages that were read.

    Returns:
        The verbatim facts that are new or have changed, and the ids of those to delete.
    """
    known = {fact.id: fact for fact in stored if fact.verbatim}
    kept = {fact.id: repeated(known.get(fact.id), fact) for fact in unread}
    said, read = {fact.id for fact in statements}, set(sources)
    gone = [fact.id for fact in known.values() if fact.id in said or set(fact.source_ids) <= read]
    return [fact for fact in kept.values() if fact != known.get(fact.id)], [id_ for id_ in gone if id_ not in kept]
