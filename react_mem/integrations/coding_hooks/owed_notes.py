"""Notes of the sessions that memory was not told all of: from where on the transcript of one is still owed.

A hook that fails leaves one, for whichever resident answers next may know nothing of the session. It has numbers, in a
file that is named by hashes of its user and session, and no word of what was said. Who has stored what is owed removes
it, and who forgets the session or all of the user: what was said before that is not to be stored behind it. The client
leaves them, so the standard library is all that is imported here.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os

from react_mem.integrations.coding_hooks.hook_place import FOLDER

_ENDING = ".owed"

_MAX_NOTES = 256
"""Notes that are kept: of a session that never goes on, nobody removes one."""

_MAX_BYTES = 4_096
"""Bytes of a note: the places of some hundreds of hooks that have failed."""


def owe(folder: str, user_id: str, session_id: str, offset: int) -> None:
    """Note that a session is owed. Blocking.

    Args:
        folder: The folder of the residents.
        user_id: The owner.
        session_id: The session.
        offset: Place in its transcript, in bytes: the turn that goes on there, and those after it, are owed.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    note = os.open(_path(folder, user_id, session_id), flags, 0o600)
    try:
        size = os.fstat(note).st_size
        if size < _MAX_BYTES:
            os.write(note, b"%d\n" % offset)
    finally:
        os.close(note)
    if not size:
        _remove_oldest(folder)


def owed_from(folder: str, user_id: str, session_id: str) -> int | None:
    """Return from where on a session is owed; None where it is not. Blocking."""
    return min(_offsets(_path(folder, user_id, session_id)), default=None)


def pay(folder: str, user_id: str, session_id: str, end: int) -> None:
    """Note that a session is owed no more what is before there in its transcript. Blocking."""
    path = _path(folder, user_id, session_id)
    owed = _offsets(path)
    left = b"".join(b"%d\n" % offset for offset in owed if offset >= end)
    with contextlib.suppress(OSError):
        if left:
            note = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
            os.write(note, left)
            os.close(note)
        elif owed:
            os.unlink(path)


def forget_owed(user_id: str, session_id: str = "") -> None:
    """Remove the notes of a session, or of all sessions of a user, that this machine's user has. Blocking.

    Args:
        user_id: The owner.
        session_id: The session; empty for all of them.
    """
    folder = os.path.join(os.path.expanduser("~"), FOLDER)
    sessions = _hash(user_id, session_id) if session_id else "*"
    for name in glob.glob(f"{_hash(user_id)}-{sessions}{_ENDING}", root_dir=folder):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, name))


def _offsets(path: str) -> list[int]:
    try:
        with open(path, "rb") as note:
            return [int(line) for line in note.read(2 * _MAX_BYTES).split()]
    except (OSError, ValueError):
        return []


def _path(folder: str, user_id: str, session_id: str) -> str:
    return os.path.join(folder, f"{_hash(user_id)}-{_hash(user_id, session_id)}{_ENDING}")


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _remove_oldest(folder: str) -> None:
    notes = [one.path for one in os.scandir(folder) if one.name.endswith(_ENDING)]
    if len(notes) > _MAX_NOTES:
        for path in sorted(notes, key=_written_at)[:-_MAX_NOTES]:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _written_at(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        # it was removed meanwhile
        return 0
