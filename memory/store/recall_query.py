"""The SQL of a recall: every arm over one owner's texts, scored and sorted where they are.

It is a function of the database, so that the server plans it once a connection, also behind a pooler where prepared
statements do not survive, and a read of many scopes is one short statement. What arms weigh is sent with the call: the
numbers live in `memory.index.fusion`.

Which words of the question a text has, is one comparison: its words are a sparse vector of ones and the question's are
powers of two, so that their product is the set of words in common, as bits. Measured for 24 words and 10,000 texts:
1.5 ms, where testing word by word takes 36 to 64 ms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from react_mem.memory.index import fusion
from react_mem.memory.index.chunks import MAX_CHUNKS
from react_mem.memory.index.entries import (
    SPEAKS_OF_ITSELF,
    TELLS_WHEN,
    TERM_NUMBERS,
    mark,
    piece_of,
    term_number,
    whole_text,
)
from react_mem.memory.index.recall import Recall, RecallHit, RecallOp, scored
from react_mem.memory.model.arms import Arm
from react_mem.memory.store.binary import Binary
from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.reading import item_of
from react_mem.memory.store.stored_text import storable

_PARTNER_PIECES = 2 * MAX_CHUNKS
"""Pieces within which the answer to a message is looked for, or its question: beyond the rest of a long message and
another one it belongs to something else."""

_NO_COSINE = 2.0
"""More than any cosine: nothing is as near."""

_UNREAD = (
    "the words of older memories are not indexed yet: "
    "python -m react_mem.memory.store.reembed --to the same model does it"
)

_MOST = 2**31 - 1
"""PostgreSQL's largest integer."""

_CALL = """
    SELECT o.number - 1 AS search, model.ours AS same_model, r.*
    FROM (SELECT name = %s AS ours FROM memory_embedding) model,
    jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS o (op, number),
    LATERAL memory_recall(o.op, CASE WHEN model.ours THEN (%s::vector[])[o.number] END) r
"""


def recall_statement(
    ops: Sequence[RecallOp], vectors: Binary, model: str, calibration: Calibration
) -> tuple[LiteralString, tuple[str, str, Binary]]:
    """Return the statement for recalls, and its parameters.

    Args:
        ops: The recalls.
        vectors: The vectors of their questions' texts, in their order; NULL where one could not be embedded.
        model: The model that made them.
        calibration: What the cosines of the model mean.
    """
    # one value: an array of them would be quoted and read once more
    return _CALL, (model, json.dumps([_parameters(op, calibration) for op in ops]), vectors)


def to_recall(op: RecallOp, rows: Sequence[DictRow], calibration: Calibration) -> Recall:
    """Return what the rows of one recall say.

    Args:
        op: The recall.
        rows: Its rows, in any order; one without a key says only that there is nothing.
        calibration: What the cosines of the embedder mean.
    """
    hits = sorted((row for row in rows if row["key"] is not None), key=lambda row: (-row["score"], row["key"]))
    found = [_recalled(row, calibration) for row in hits]
    unread = max((row["unread"] for row in rows), default=0)
    missing = {Arm.LEXICAL: _UNREAD} if unread else {}
    if not all(row["same_model"] for row in rows):
        missing[Arm.VECTOR] = "the memories have been re-embedded with another model since this process started"
    return Recall(found, {arm: cause for arm, cause in missing.items() if arm in op.arms})


def _recalled(row: DictRow, calibration: Calibration) -> RecallHit:
    vector = row["score"] - row["lexical"] - row["around"] - row["speaker"] - row["said"]
    arms = {
        Arm.VECTOR: vector,
        Arm.LEXICAL: row["lexical"],
        Arm.WINDOW: row["around"],
        Arm.SPEAKER: row["speaker"],
        Arm.TIME: row["said"],
    }
    return RecallHit(
        scored(item_of(row), row["score"]),
        arms=arms,
        similarity=None if row["cosine"] is None else calibration.similarity(row["cosine"]),
        passage=_passage(row["field_name"], row["value"]),
        partner=row["partner"],
    )


def _passage(field_name: str, value: Mapping[str, Any]) -> str:
    whole = whole_text(value)
    piece = piece_of(field_name, whole)
    return piece if len(piece) < len(whole) else ""


def _parameters(op: RecallOp, calibration: Calibration) -> dict[str, Any]:
    question = op.question
    marks: list[str] = []

    def bits(*wanted: str) -> int:
        for term in wanted:
            if term and term not in marks:
                marks.append(term)
        return sum(1 << marks.index(term) for term in set(wanted) if term)

    equal = {name: value for name, value in op.conditions.items() if not isinstance(value, Mapping)}
    unequal = [(name, value["$ne"]) for name, value in op.conditions.items() if isinstance(value, Mapping)]
    on = {arm: float(arm in op.arms) for arm in Arm}
    # what an arm that is off would be asked, is not: it proposes nothing
    terms = question.terms if Arm.LEXICAL in op.arms else ()
    periods = question.periods if Arm.TIME in op.arms else ()
    window = on[Arm.WINDOW]
    middle = len(fusion.KERNEL) // 2
    return {
        "space": ".".join(op.namespace),
        "words": _sparse([term for term, _ in terms]),
        "weights": [weight for _, weight in terms],
        "required": bits(*(mark(name, value) for name, value in equal.items())),
        "refused": bits(*(mark(name, value) for name, value in unequal)),
        # what the marks stand for, where there are none yet
        "equal": storable(equal),
        "unequal": [storable({name: value}) for name, value in unequal],
        "speaker": bits(question.speaker),
        "itself": bits(SPEAKS_OF_ITSELF),
        "when": bits(TELLS_WHEN) if question.asks_when else 0,
        "marks": _sparse(marks),
        "without": [storable(key) for key in op.without],
        # the same wherever the database thinks it is
        "starts": [f"{period.start} 00:00Z" for period in periods],
        "ends": [f"{period.end} 24:00Z" for period in periods],  # the day after the last of the calendar is not a date
        "decay": fusion.TIME_DECAY_DAYS,
        "kernel": [weight if place == middle else weight * window for place, weight in enumerate(fusion.KERNEL)],
        "w_cosine": on[Arm.VECTOR] * fusion.VECTOR * calibration.rise,
        "w_around": window * on[Arm.VECTOR] * fusion.WINDOW * calibration.rise,
        "w_lexical": on[Arm.LEXICAL] * fusion.LEXICAL,
        "w_speaker": on[Arm.SPEAKER] * fusion.SPEAKER,
        "w_itself": on[Arm.SPEAKER] * fusion.SPEAKS_OF_ITSELF,
        "w_time": on[Arm.TIME] * fusion.TIME,
        "w_when": on[Arm.TIME] * fusion.TELLS_WHEN,
        "k1": fusion.SATURATION,
        "b": fusion.LENGTH,
        # so that what has nothing to do with the question adds nothing
        "unrelated": calibration.cosine(0.5),
        "min_cosine": _least_cosine(op, calibration),
        "reach": middle if Arm.WINDOW in op.arms else 0,
        "seeds": min(max(fusion.SEEDS, op.limit), _MOST),
        "limit": min(op.limit, _MOST),
        "partners": _PARTNER_PIECES,
        "pairs": op.pairs,
    }


def _least_cosine(op: RecallOp, calibration: Calibration) -> float:
    if Arm.VECTOR not in op.arms:
        return _NO_COSINE
    return calibration.cosine(op.similarity) if calibration.separates else -1.0


def _sparse(terms: Sequence[str]) -> str:
    """Return terms as a sparse vector in which each has a bit of its own."""
    numbers = {term_number(term): 1 << place for place, term in enumerate(terms)}
    return "{" + ",".join(f"{number}:{bit}" for number, bit in sorted(numbers.items())) + f"}}/{TERM_NUMBERS}"
