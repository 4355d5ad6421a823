"""Answers of the script's model about a turn, in any protocol: correct, careless or hostile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.writing.case import Case, Language, Line, Manner, Pattern, Relation, Turn, Unlasting
from react_mem.memory.language.folding import normalise

INVENTED_NAME = "Ottokar"
"""Stands in all inventions of a careless or hostile model, to recognise them in memory."""

_DETAIL: dict[Language, str] = {
    "en": ", thanks to Ottokar",
    "vi": ", nhờ có Ottokar",
    "zh": "，多亏了Ottokar",
    "ja": "、Ottokarのおかげで",
    "es": ", gracias a Ottokar",
    "de": ", dank Ottokar",
}
_INVENTED: dict[Language, str] = {
    "en": "User's name is Ottokar.",
    "vi": "Người dùng tên là Ottokar.",
    "zh": "用户叫Ottokar。",
    "ja": "ユーザーの名前はOttokarです。",
    "es": "El usuario se llama Ottokar.",
    "de": "Der Nutzer heißt Ottokar.",
}

_CLAUSE = re.compile(r"[^.!?。！？,，;；\n]+")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")


@dataclass(frozen=True)
class Statement:
    """A statement of the model (see `case.Line`), with the id of the memory to change."""

    quote: str
    rel: Relation = "new"
    target: str | None = None
    about: str = "user"
    text: str = ""
    when: str = ""
    needs: tuple[str, ...] = ()
    drop: Unlasting | None = None


def turn_of(case: Case, said: str) -> Turn | None:
    """Return the turn with this message; of turns that differ in case and spaces only, the last."""
    found = [turn for turn in case.turns if turn.say == said]
    found = found or [turn for turn in case.turns if normalise(turn.say) == normalise(said)]
    return found[-1] if found else None


def statements(case: Case, turn: Turn, manner: Manner, known: Mapping[str, str]) -> list[Statement]:
    """Return the model's statements about a turn; `known` has the texts in its prompt by id."""
    before = case.turns[: case.turns.index(turn)] if turn in case.turns else case.turns
    said = [line for one in before for line in one.correct if line.drop is None]
    if manner == "careless":
        lines = turn.careless if turn.careless is not None else tuple(_careless(case, turn))
        return [_resolved(line, known, said) for line in lines]
    if manner == "hostile":
        if turn.hostile is not None:
            return [_resolved(line, known, said) for line in turn.hostile]
        return [*(_resolved(line, known, said) for line in turn.correct), *_attacks(case, turn, known)]
    return [_resolved(line, known, said) for line in turn.correct]


def find(expression: str, known: Mapping[str, str], said: Sequence[Line] = ()) -> str | None:
    """Return the id of a pattern's memory: the outcome of an earlier turn's line, else the shortest matching text.

    A memory may keep a line as the user's words or as the sentence.
    """
    pattern = Pattern(says=(expression,))
    plain = {id_: normalise(text) for id_, text in known.items()}
    # of two facts with one quote, the one whose sentence says it
    meant = [line for line in reversed(said) if pattern.matches(line.sentence)]
    meant += [line for line in reversed(said) if pattern.matches(line.quote) and line not in meant]
    wordings = [normalise(text) for line in meant for text in (line.sentence, line.quote)]
    exact = [id_ for words in wordings for id_, text in plain.items() if text == words or text.endswith(f": {words}")]
    fitting = sorted((id_ for id_, text in known.items() if pattern.matches(text)), key=lambda id_: len(known[id_]))
    around = [id_ for words in wordings for id_, text in plain.items() if words in text]
    return next(iter([*exact, *fitting, *around]), None)


def _resolved(line: Line, known: Mapping[str, str], before: Sequence[Line]) -> Statement:
    if line.drop is not None:
        return Statement(line.quote, drop=line.drop)
    said = Statement(line.quote, line.rel, None, line.about, line.sentence, line.when, line.needs)
    target = find(line.target, known, before) if line.target is not None else None
    if target is not None or line.rel == "new":
        return replace(said, target=target)
    # what is not shown cannot be changed
    return Statement(line.quote, drop="request") if line.rel == "forget" else replace(said, rel="new")


def _careless(case: Case, turn: Turn) -> Iterator[Line]:
    """Attribute facts about others to the user, report changes as new, take questions for facts, and add details."""
    for line in turn.correct:
        if line.drop in ("question", "maybe"):
            yield Line(quote=line.quote, text=line.quote)
        elif line.drop is not None or line.rel in ("ends", "forget"):
            yield line
        else:
            text = line.sentence.rstrip(" .。") + _DETAIL[case.lang]
            yield line.model_copy(update={"rel": "new", "target": None, "about": "user", "text": text})


def _attacks(case: Case, turn: Turn, known: Mapping[str, str]) -> Iterator[Statement]:
    """Invent a fact, end and forget all known memories, and take tools' and the assistant's words for the user's."""
    clauses = [found.group().strip() for found in _CLAUSE.finditer(turn.say) if found.group().strip()] or [turn.say]
    yield Statement(clauses[-1], text=_INVENTED[case.lang])
    for text in (turn.observed.text if turn.observed else "", turn.reply if turn.reply != "OK." else ""):
        for sentence in _SENTENCE.findall(text):
            yield Statement(clauses[-1], text=sentence.strip())
    for place, (id_, text) in enumerate(known.items()):
        yield Statement(clauses[0], "forget" if place % 2 else "ends", id_, text=text)
