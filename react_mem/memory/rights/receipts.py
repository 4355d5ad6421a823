"""Receipts of a forgetting: the removed records, the checks of every place afterwards, and the server's signature."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from langgraph.store.base import BaseStore, Item
from pydantic import BaseModel

from react_mem.memory.graph.links import links_of
from react_mem.memory.index.recall import Recall, RecallOp, read_question
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.authors import speakers_of
from react_mem.memory.model.interface import ALL_ARMS, Arm, MemoryScope
from react_mem.memory.model.kinds import searched_scopes
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Change, Check, Receipt
from react_mem.memory.model.records import now
from react_mem.memory.retrieval import last_known
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.rights import portability
from react_mem.memory.store.capabilities import capabilities, everything, set_aside
from react_mem.memory.store.transactions import Guard, compare_and_set
from react_mem.memory.store.vectors import waiting_for_questions

_ASKED = 3  # wordings that every search arm is asked for: each costs an embedding
_FOUND = 50  # hits of an arm for each check, many times those of a prompt
_NAMED = 10  # damaged rows that are named
_PATIENCE = 5.0  # seconds for all checks, since the user waits for the answer
_LONG_PATIENCE = 60.0  # seconds where no turn waits, enough for an embedder that is still loading
Says = Callable[[Item], bool]  # test whether a record still says the forgotten text
log = logging.getLogger(__name__)


def receipt_of(items: Iterable[Item], changes: Iterable[Change], messages: int) -> Receipt:
    """Return the receipt of writes, before any check, given the records as they were; other writes are not counted."""
    known = {(item.namespace, item.key): str(item.value.get("kind") or "other") for item in items}
    gone: dict[str, list[str]] = {}
    less: dict[str, list[str]] = {}
    for change in changes:
        if (kind := known.get((change.namespace, change.key))) is not None:
            (gone if change.value is None else less).setdefault(kind, []).append(change.key)
    removed, rewritten = ({kind: tuple(sorted(ids)) for kind, ids in sorted(one.items())} for one in (gone, less))
    return Receipt(removed=removed, rewritten=rewritten, messages=messages)


async def read_again(
    store: BaseStore,
    user_id: str,
    gone: Collection[str],
    says: Says,
    asked: Sequence[str],
    more: Mapping[str, AsyncIterator[Check]] = MappingProxyType({}),
    *,
    in_turn: bool = True,
) -> tuple[Check, ...]:
    """Search for forgotten records in every scope, search arm, link, cache and in the export, one check each.

    The arms are `asked` some queries, and `more` are further checks. If a turn may be waiting, the timeout is short.
    """
    removed = frozenset(gone)

    def hit(item: Item) -> bool:
        return item.key in removed or says(item)

    checks: list[Check] = []
    until = asyncio.get_running_loop().time() + (_PATIENCE if in_turn else _LONG_PATIENCE)
    looks = {
        "scopes": _scopes(store, user_id, hit, removed),
        "caches": _caches(store, user_id, hit),
        "export": _export(store, user_id, hit),
        **more,
        # last, since an embedder may take all the time that there is
        "arms": _arms(store, user_id, hit, asked),
    }
    with nullcontext() if in_turn else waiting_for_questions(_LONG_PATIENCE / 2):
        for name, looking in looks.items():
            try:
                async with asyncio.timeout_at(until):
                    checks += [one async for one in looking]
            except Exception as error:  # of a store or an embedder, whatever it raises
                log.warning("what was forgotten could not be looked for in the %s: %s", name, cause_of(error))
                checks.append(Check(name=name, problem=cause_of(error)))
    return tuple(checks)


async def _scopes(store: BaseStore, user_id: str, hit: Says, gone: Collection[str]) -> AsyncIterator[Check]:
    """Check the text and the links of every record."""
    owned, aside = await everything(store, user_id), await set_aside(store, user_id)

    def looked_at() -> list[Check]:
        found: dict[str, list[str]] = {str(scope): [] for scope in MemoryScope}
        for item in (*owned, *aside):
            found.setdefault(item.namespace[2], []).extend([item.key] if hit(item) else [])
        naming = [item.key for item in owned if any(link.target in gone for link in links_of(item.value))]
        return [*(check(f"scope {name}", keys) for name, keys in found.items()), check("links", naming)]

    for one in await asyncio.to_thread(looked_at):
        yield one
    if refused := capabilities(store).refused_rows(user_id):
        named = f"they do not open or are not ours: {', '.join(refused[:_NAMED])}"
        yield Check(name=f"{len(refused)} damaged rows", problem=named)


async def _arms(store: BaseStore, user_id: str, hit: Says, asked: Sequence[str]) -> AsyncIterator[Check]:
    speakers = await speakers_of(store, user_id)
    texts = dict.fromkeys(text[:MAX_INDEXED_CHARS] for text in asked if text.strip())
    questions = [read_question(text, now(), speakers) for text in [*texts][:_ASKED]]
    arms = sorted(ALL_ARMS) if capabilities(store).recalls else [Arm.VECTOR]
    for arm in arms:
        ops = [
            RecallOp(scope_namespace(user_id, scope), question, {}, _FOUND, arms=frozenset({arm}))
            for scope in searched_scopes()
            for question in questions
        ]
        answers = await recall(store, ops)
        recalled = [answer for answer in answers if isinstance(answer, Recall)]
        missing = [answer.missing[arm] for answer in recalled if arm in answer.missing]
        found = [one.item for answer in recalled for one in answer.found]
        hits = await asyncio.to_thread(lambda items: [item.key for item in items if hit(item)], found)
        yield check(f"arm {arm}", hits, "; ".join(dict.fromkeys(missing)))


async def _caches(store: BaseStore, user_id: str, hit: Says) -> AsyncIterator[Check]:
    kept = last_known.kept(store, user_id)
    yield check("cache last_known", [item.id for item in kept if hit(_item(item.payload, str(item.scope), item.id))])


async def _export(store: BaseStore, user_id: str, hit: Says) -> AsyncIterator[Check]:
    found: list[str] = []

    def look(lines: Sequence[str]) -> None:
        for one in map(json.loads, lines):
            id_ = str(one.get("record", {}).get("id"))
            if "record" in one and hit(_item(one["record"], one["in"], id_)):
                found.append(id_)

    async for lines in portability.exported(store, user_id):
        await asyncio.to_thread(look, lines)
    yield check("export", found)


def _item(value: Mapping[str, Any], scope: str, key: str) -> Item:
    at = now()
    return Item(value=dict(value), key=key, namespace=("memory", "", scope), created_at=at, updated_at=at)


def check(name: str, ids: Iterable[str], problem: str = "") -> Check:
    """Return the check of one place: the ids found there, or why it could not be read."""
    found = list(dict.fromkeys(ids))
    return Check(name=name, hits=len(found), ids=tuple(found[:10]), problem=problem)


# Signed receipts: whoever has the server's public key can tell that it made a receipt, and that nobody changed it.

_PLACE = (("react_mem", "receipts"), "ed25519")
"""Place of the generated signing key, in a database without a master key or a key of the operator."""

_PURPOSE = "receipts"
_PREFIX = b"react-mem receipt 1\n"
_KEY_BYTES = 32


class SignedReceipt(BaseModel, extra="forbid", frozen=True):
    """Receipt with the server's signature. It names nobody: who knows a user's id can tell whether it is theirs.

    Args:
        receipt: What was removed, and what was found of it afterwards.
        salt: Random characters, so that nobody can tell from two receipts that they are the same user's.
        subject: The SHA-256 of the salt and the user's id.
        public_key: The server's, as base64.
        signature: Ed25519 over all of the above, as base64.
    """

    receipt: Receipt
    salt: str
    subject: str
    public_key: str
    signature: str = ""

    def is_of(self, user_id: str) -> bool:
        """Return true if the receipt is about a user."""
        return secrets.compare_digest(self.subject, _subject(self.salt, user_id))

    def is_signed_by(self, public_key: str) -> bool:
        """Return true if the receipt is unchanged since the server with this public key, as base64, signed it."""
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
            key.verify(base64.b64decode(self.signature, validate=True), self._signed())
        except (InvalidSignature, ValueError):
            return False
        return True

    def _signed(self) -> bytes:
        """Return the signed bytes, the same for every layout of the file."""
        said = self.model_dump(mode="json", exclude={"signature"})
        return _PREFIX + json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


async def sign(store: BaseStore, user_id: str, receipt: Receipt) -> SignedReceipt:
    """Sign a receipt about a user; `EncryptionKeyError` if the master key is not the database's."""
    key = await _private_key(store)
    salt = secrets.token_urlsafe(16)
    unsigned = SignedReceipt(receipt=receipt, salt=salt, subject=_subject(salt, user_id), public_key=public_half(key))
    signature = base64.b64encode(key.sign(unsigned._signed())).decode()
    return unsigned.model_copy(update={"signature": signature})


async def public_key(store: BaseStore) -> str:
    """Return the public key that verifies a server's receipts, as base64."""
    return public_half(await _private_key(store))


def public_half(key: Ed25519PrivateKey) -> str:
    """Return the public key of a private one, as base64."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


async def _private_key(store: BaseStore) -> Ed25519PrivateKey:
    """Return the server's signing key: the operator's, else derived from the master key, else generated and stored."""
    can = capabilities(store)
    if can.receipt_key is not None:
        return can.receipt_key
    if can.keys is not None:
        return Ed25519PrivateKey.from_private_bytes(await can.keys.derive(_PURPOSE))
    if (kept := await store.aget(*_PLACE, refresh_ttl=False)) is None:
        made = {"private_key": base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()}
        # another process may be faster: then its key is the server's
        await compare_and_set(store, Guard(*_PLACE, None), made)
        kept = await store.aget(*_PLACE, refresh_ttl=False)
    assert kept is not None  # noqa: S101 - one of the two has been written
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(kept.value["private_key"]))


def _subject(salt: str, user_id: str) -> str:
    return hashlib.sha256(f"{salt}\n{user_id}".encode()).hexdigest()
