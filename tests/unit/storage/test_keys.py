"""Master keys as they are set, and the sealing of an owner's values."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.errors import EncryptionKeyError, SealError
from react_mem.memory.store.key_ring import SEAL_BYTES, DataKey, OwnerKey, sealed_version
from react_mem.memory.store.master_key import (
    LocalMasterKey,
    MasterKey,
    make_master_key,
)
from react_mem.memory.store.storage_settings import StorageSettings

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
BASE64 = base64.b64encode(KEY).decode()


def owner_key(*versions: int, owner: str = "ann") -> OwnerKey:
    """Return the key of an owner with versions, whose ids are the same."""
    return OwnerKey(owner, [DataKey(version, bytes([version]) * 32 + b"i" * 32) for version in versions])


class Vault:
    """A key service that keeps what it wraps."""

    key_id = "vault/1"

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    async def wrap(self, key: bytes) -> bytes:
        self.kept.append(key)
        return str(len(self.kept) - 1).encode()

    async def unwrap(self, wrapped: bytes) -> bytes:
        return self.kept[int(wrapped)]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> str:
    module = ModuleType("my_vault")
    module.make, module.number = Vault, lambda: 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_vault", module)
    return "my_vault"


@pytest.mark.parametrize("text", [BASE64, BASE64.rstrip("="), KEY.hex(), base64.urlsafe_b64encode(KEY).decode()])
def test_a_key_is_read_in_base64_and_hex(text: str) -> None:
    made = StorageSettings.from_env({"MEMORY_ENCRYPTION_KEY": f" {text}\n"}).master_key()
    assert made is not None
    assert made.id == MasterKey(LocalMasterKey(KEY)).id


async def test_a_file_holds_the_key_and_those_before_it(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"# of 2026\n{BASE64}\n\n{OTHER.hex()}\n")
    made = StorageSettings.from_env({"MEMORY_ENCRYPTION_KEY_FILE": str(file)}).master_key()
    before = MasterKey(LocalMasterKey(OTHER))
    assert made is not None
    assert made.id == MasterKey(LocalMasterKey(KEY)).id
    assert await made.unwrap(await before.wrap(b"secret", b"ann"), b"ann", before.id) == b"secret"


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"MEMORY_ENCRYPTION_KEY": "MEMORY-not-a-key"}, "this one has 12"),
        ({"MEMORY_ENCRYPTION_KEY": BASE64[:-6]}, "32 bytes"),
        ({"MEMORY_ENCRYPTION_KEY": "z" * 64}, "32 bytes"),
        ({"MEMORY_ENCRYPTION_KEY_FILE": "/no/such/file"}, "KEY_FILE names a file that cannot be read"),
        ({"MEMORY_ENCRYPTION_KEY": BASE64, "MEMORY_ENCRYPTION_KEY_FILE": "x"}, "keep one of them"),
        ({"MEMORY_ENCRYPTION_KEY_FORMER": BASE64}, "Set MEMORY_ENCRYPTION_KEY as well"),
        ({"MEMORY_ENCRYPTION_KEY_FUNCTION": "my_vault"}, "package.module:function"),
        ({"MEMORY_ENCRYPTION_KEY_FUNCTION": "my_vault:missing"}, "AttributeError"),
        ({"MEMORY_ENCRYPTION_KEY_FUNCTION": "my_vault:number"}, "returns a int, which lacks"),
    ],
)
def test_what_cannot_be_used_is_told_without_its_text(service: str, environ: dict[str, str], told: str) -> None:
    with pytest.raises(EncryptionKeyError, match=told) as refused:
        StorageSettings.from_env(environ).master_key()
    assert not any(len(value) > 12 and value[:12] in str(refused.value) for value in (BASE64, "MEMORY-not-a-key"))


@pytest.mark.parametrize("kind", ["local", "service"])
async def test_what_is_wrapped_is_unwrapped_only_for_what_it_is_bound_to(service: str, kind: str) -> None:
    made = make_master_key(
        BASE64 if kind == "local" else None, None, f"{service}:make" if kind == "service" else None, None
    )
    assert made is not None
    wrapped = await made.wrap(b"s" * 64, b"1:ann")
    assert await made.unwrap(wrapped, b"1:ann", made.id) == b"s" * 64
    with pytest.raises(EncryptionKeyError, match="Restore the table"):
        await made.unwrap(wrapped, b"1:bob", made.id)


async def test_a_failing_service_is_named(service: str) -> None:
    made = make_master_key(None, None, f"{service}:make", None)
    assert made is not None
    with pytest.raises(EncryptionKeyError, match=r"key service with the master key 'vault/1' failed \(IndexError\)"):
        await made.unwrap(b"5", b"ann", made.id)


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_what_is_sealed_opens_in_its_place_and_is_the_same_each_time(plain: bytes, bound: bytes) -> None:
    key = owner_key(7)
    sealed = key.seal(plain, bound)
    assert key.open(sealed, bound) == plain
    assert key.seal(plain, bound) == sealed
    assert len(sealed) == len(plain) + SEAL_BYTES
    assert sealed_version(sealed) == 7
    with pytest.raises(SealError, match="moved to another place"):
        key.open(sealed, bound + b"x")


@given(st.binary(min_size=1, max_size=20), st.binary(max_size=20), st.integers(0, 20))
def test_a_nonce_is_not_that_of_another_place_or_value(bound: bytes, plain: bytes, cut: int) -> None:
    key, joined = owner_key(1), bound + b"\0" + plain
    other = (joined[:cut], joined[cut + 1 :])
    same = key.seal(plain, bound)[5:17] == key.seal(other[1], other[0])[5:17]
    assert same == (other == (bound, plain))


@given(st.integers(0, SEAL_BYTES + 4))
def test_a_changed_byte_does_not_open(place: int) -> None:
    key = owner_key(1)
    sealed = bytearray(key.seal(b"value", b"here"))
    sealed[place] ^= 1
    with pytest.raises(SealError):
        key.open(bytes(sealed), b"here")


def test_an_unknown_version_is_told_by_its_number_and_a_former_one_opens() -> None:
    before, now, after = owner_key(1), owner_key(2, 1), owner_key(2)
    sealed = before.seal(b"value", b"here")
    assert now.open(sealed, b"here") == b"value"
    assert now.seal(b"value", b"here", version=1) == sealed != now.seal(b"value", b"here")
    with pytest.raises(SealError) as refused:
        after.open(sealed, b"here")
    assert refused.value.version == 1


def test_keyed_ids_are_an_owners_own_and_outlive_a_rotation() -> None:
    assert owner_key(1).keyed("fact-1") == owner_key(2, 1).keyed("fact-1") != owner_key(1).keyed("fact-2")
    assert len(owner_key(1).keyed("fact-1")) == 32
    another = OwnerKey("bob", [DataKey(1, os.urandom(64))])
    assert another.keyed("fact-1") != owner_key(1).keyed("fact-1")
    assert owner_key(1).derive("a") == owner_key(2, 1).derive("a") != owner_key(1).derive("b")
