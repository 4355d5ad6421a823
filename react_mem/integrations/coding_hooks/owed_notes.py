"""Notes of owed sessions: the place in a transcript from which memory may lack something.

A failing hook leaves one, since the next resident may know nothing of the session. A note has numbers, in a file named
by hashes of user and session, and no words. Storing the owed turns removes it, and so does forgetting the session or
the user, whose earlier words must not come back. The client writes notes, so this module imports the standard library
alone.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os

from react_mem.integrations.coding_hooks.hook_place import FOLDER

_ENDING = ".owed"
_MAX_NOTES = 256  # Notes that are kept: a session that never goes on never removes its own
_MAX_BYTES = 4_096  # Bytes of a note: the places of some hundreds of failed hooks


def owe(folder: str, user_id: str, session_id: str, offset: int) -> None:
    """Note that a session is owed from the turn at a place in its transcript, in bytes. Blocking."""
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
    """Return the earliest owed place of a session; None for none. Blocking."""
    return min(_offsets(_path(folder, user_id, session_id)), default=None)


def pay(folder: str, user_id: str, session_id: str, end: int) -> None:
    """Remove the owed places of a session before `end` in its transcript. Blocking."""
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
    """Remove the notes of a session, or of all sessions of a user (empty id), on this machine. Blocking."""
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
    notes = []
    for one in os.scandir(folder):
        # it may be removed meanwhile
        with contextlib.suppress(OSError):
            if one.name.endswith(_ENDING):
                notes.append((one.stat(follow_symlinks=False).st_mtime_ns, one.path))
    for _, path in sorted(notes)[:-_MAX_NOTES]:
        with contextlib.suppress(OSError):
            os.unlink(path)
