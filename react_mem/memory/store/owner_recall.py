"""Recalls from the cached index of an owner, with the records as the database has them now.

Where a found record was written after the index was read, the recall is scored again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from langgraph.store.base import Item
from numpy.typing import NDArray
from psycopg.rows import DictRow

from react_mem.memory.index.ranked_hits import KnownCosines, RankedHits, VectorCosines
from react_mem.memory.index.recall import PARTNER_FIELDS, HitsToShow, Recall, RecallOp
from react_mem.memory.index.scorer import Corpus, score_compared
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.namespaces import owner_of, owner_of_path
from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.large_namespaces import NamespaceIndexes
from react_mem.memory.store.owner_index import OwnerIndexes
from react_mem.memory.store.owner_texts import OwnerTexts
from react_mem.memory.store.reading import rows_of
from react_mem.memory.store.row_codec import Keys, RowCodec, both_keys
from react_mem.memory.store.row_security import Connection, Pool, confined
from react_mem.memory.store.stored_text import text_array

# A recall that fails, asked again arm by arm: one that raises costs what it would have found, not the read.

log = logging.getLogger(__name__)


def _arm_by_arm(
    ask: Callable[[RecallOp], RankedHits], op: RecallOp, failure: Exception
) -> tuple[RankedHits, dict[Arm, str]]:
    """Return the result of a recall by the arms that do not raise, and the causes of the others.

    A failing arm costs only its own results. Where no arm is to blame, `failure` is raised.
    """
    causes: dict[Arm, str] = {}
    kept: frozenset[Arm] = frozenset()
    found: list[RankedHits] = []
    for arm in (arm for arm in Arm if arm in op.arms):
        trial = kept | {arm}
        try:
            found = [ask(op._replace(arms=trial))]
        except Exception as error:  # whatever is computed of a question
            causes[arm] = cause_of(error)
        else:
            kept = trial
    if not found:
        raise failure
    log.warning("memory is searched without %s", "; ".join(f"{arm}: {why}" for arm, why in causes.items()))
    return found[0], causes


Vector = NDArray[np.float32]

_TRIES = 3
"""Attempts at scoring; a record that is written again each time is shown in its last state."""

_INLINE_TEXTS = 20_000
"""Texts that a read scores on the event loop, within 5 ms; more, in a thread."""

_RECORDS = """
    WITH changed AS MATERIALIZED (
        SELECT v.prefix, v.key FROM store_vectors v WHERE v.owner = %(owner)s AND v.revision > %(revision)s
    )
    SELECT s.prefix, s.key, s.created_at, s.updated_at, (s.prefix, s.key) IN (SELECT * FROM changed) AS changed,
        -- of a sealed one, whatever is wanted is in what is sealed
        CASE WHEN s.expires_at <= now() THEN NULL WHEN wanted.whole OR s.value ? ':sealed' THEN s.value::text
            ELSE jsonb_build_object('id', s.key, {partner})::text
        END AS value,
        wanted.whole
    FROM unnest(%(prefixes)s::text[], %(keys)s::text[], %(whole)s::boolean[]) AS wanted (prefix, key, whole)
    JOIN store s ON s.owner = %(owner)s AND s.prefix = wanted.prefix AND s.key = wanted.key
""".replace("{partner}", ", ".join(f"'{name}', s.value -> '{name}'" for name in PARTNER_FIELDS)).encode()

_OTHER_MODEL = "the memories have been re-embedded with another model since this process started"

_Record = tuple[str, str, bool]
"""Prefix and key of a record, and whether all of it is read, or only the fields of a message's partner."""


@dataclass
class _AskedRecall:
    op: RecallOp
    vector: Vector | None
    owner: str
    missing: dict[Arm, str] = field(default_factory=dict)
    texts: IndexedTexts | None = None
    corpus: Corpus | None = None

    def __post_init__(self) -> None:
        self.shown = HitsToShow(self.op)
        self.prefix = ".".join(self.op.namespace)

    def begin(self, known: OwnerTexts, model: str) -> None:
        """Start over with the present index of the namespace."""
        self.missing = {}
        self.shown.begin(None)
        self.texts, self.corpus = known.namespaces.get(self.prefix), None
        if known.model != model:
            self.vector, self.missing[Arm.VECTOR] = None, _OTHER_MODEL

    def score(self, compared: dict[tuple[int, int], VectorCosines], calibration: Calibration) -> None:
        """Rank the texts of the namespace; recalls with the same question and texts share their cosines."""
        texts, vector = self.texts, self.vector
        if texts is None:
            return

        def ask(op: RecallOp) -> RankedHits:
            known = KnownCosines(texts)
            if vector is not None and Arm.VECTOR in op.arms and len(texts):
                asked = id(texts), id(vector)
                known = compared[asked] = compared.get(asked) or VectorCosines(texts, vector)
            return score_compared(known, op, calibration, self.corpus)

        try:
            ranking = ask(self.op)
        except Exception as error:  # whatever is computed of a question
            ranking, causes = _arm_by_arm(ask, self.op, error)
            self.missing |= causes
        self.shown.begin(ranking)

    def next_records(self) -> list[_Record]:
        """Return the next records to read; none when enough was found or no candidate is left."""
        waiting = self.shown.advance()
        whole = [(self.prefix, hit.key, True) for hit, _ in waiting]
        return whole + [(self.prefix, key, False) for _, partners in waiting for key in partners]

    def take(self, records: Mapping[_Record, Item], calibration: Calibration) -> None:
        """Take the records that were read, if they still exist and match the question."""
        own = [(key, is_whole, item) for (prefix, key, is_whole), item in records.items() if prefix == self.prefix]
        items, partners = ({key: item for key, is_whole, item in own if is_whole is one} for one in (True, False))
        self.shown.take(items, partners, calibration)

    def recall(self) -> Recall:
        return self.shown.recall(self.missing)


@dataclass(frozen=True)
class OwnerRecall:
    """Recalls over the cached indexes of owners, and over the namespaces that are too large for them."""

    pool: Pool
    owners: OwnerIndexes
    large: NamespaceIndexes
    model: str
    codec: RowCodec

    async def answer(
        self,
        ops: Sequence[RecallOp],
        vectors: Sequence[Vector | None],
        known: Mapping[str, OwnerTexts],
        calibration: Calibration,
    ) -> list[Recall]:
        """Return the results of recalls.

        `vectors` are those of their questions, None where one could not be embedded; `known` is the index of each owner
        at the start.
        """
        answers = [_AskedRecall(op, vector, owner_of(op.namespace)) for op, vector in zip(ops, vectors, strict=True)]
        known = dict(known)
        for _ in range(_TRIES):
            await self._score(answers, known, calibration)
            changed = await self._read(answers, known, calibration)
            if not changed:
                break
            known |= {owner: await self.owners.current(owner) for owner in changed}
        return [answer.recall() for answer in answers]

    async def _score(
        self, answers: Sequence[_AskedRecall], known: dict[str, OwnerTexts], calibration: Calibration
    ) -> None:
        for answer in answers:
            of_owner = known[answer.owner] = await self.owners.with_words(known[answer.owner], answer.prefix)
            answer.begin(of_owner, self.model)
            if answer.prefix in of_owner.large:
                answer.texts, answer.corpus = await self.large.candidates(
                    answer.owner, answer.op, answer.vector, calibration
                )

        def score_all() -> None:
            compared: dict[tuple[int, int], VectorCosines] = {}
            for answer in answers:
                answer.score(compared, calibration)

        texts = sum(len(answer.texts) for answer in answers if answer.texts is not None)
        if texts > _INLINE_TEXTS:
            await asyncio.to_thread(score_all)
        else:
            score_all()

    async def _read(
        self, answers: Sequence[_AskedRecall], known: Mapping[str, OwnerTexts], calibration: Calibration
    ) -> set[str]:
        """Read the candidates, and return the owners with a candidate that was written again meanwhile."""
        changed: set[str] = set()
        asked = list(answers)
        while True:
            wanted: dict[str, dict[_Record, None]] = {}
            for answer in asked:
                wanted.setdefault(answer.owner, {}).update(dict.fromkeys(answer.next_records()))
            asked = [answer for answer in asked if answer.shown.waiting]
            if not asked:
                return changed
            rows = await self._records(wanted, known)
            there = {(row["prefix"], row["key"], row["whole"]) for row in rows}
            changed |= {owner_of_path(row["prefix"]) for row in rows if row["changed"]}
            changed |= {owner for owner, of_owner in wanted.items() if not there.issuperset(of_owner)}
            # a record that has expired has no item
            records = {(row["prefix"], row["key"], row["whole"]): row["item"] for row in rows if "item" in row}
            for answer in asked:
                answer.take(records, calibration)

    async def _records(
        self, wanted: Mapping[str, Mapping[_Record, None]], known: Mapping[str, OwnerTexts]
    ) -> list[DictRow]:
        """Return the rows of records with the items' own keys and, unless expired, the items."""

        async def read(keys: Keys) -> list[DictRow]:
            own: dict[tuple[str, str], str] = {}
            stored: dict[str, list[_Record]] = {}
            for owner, records in wanted.items():
                of_owner = stored[owner] = []
                for prefix, item, whole in records:
                    for row_key in both_keys(keys, prefix, item):
                        own[prefix, row_key] = item
                        of_owner.append((prefix, row_key, whole))
            rows: list[DictRow] = []
            async with self.pool.connection() as conn:
                for owner, of_owner in stored.items():
                    if of_owner:
                        rows += await _read_records(conn, known[owner], of_owner)
            await self.codec.open_items([row for row in rows if row["value"] is not None], keys)
            return [{**row, "key": own[row["prefix"], row["key"]]} for row in rows]

        return await self.codec.with_keys(wanted.keys(), read)


async def _read_records(conn: Connection, known: OwnerTexts, wanted: Iterable[_Record]) -> list[DictRow]:
    prefixes, keys, whole = zip(*wanted, strict=True)
    arrays = {"prefixes": text_array(prefixes), "keys": text_array(keys), "whole": text_array(map(str, whole))}
    async with confined(conn, [known.owner]):
        read = await conn.execute(_RECORDS, {"owner": known.owner, "revision": known.revision, **arrays})
    return await rows_of(read)
