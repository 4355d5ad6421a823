"""Notes of the sessions that memory was not told all of: from where on the transcript of one is still owed.

A hook that fails leaves one, for whichever resident answers next may know nothing of the session. It has a number, in a
file that is named by a hash, and no word of what was said. Who has stored what is owed removes it. The client leaves
them, so the standard library is all that is imported here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

_ENDING = ".owed"

_MAX_NOTES = 256
"""Notes that are kept: of a session that never goes on, nobody removes one."""


def owe(folder: str, user_id: str, session_id: str, offset: int) -> None:
    """Note that a session is owed. Blocking; one that is noted is owed from where it was first.

    Args:
        folder: The folder of the residents.
        user_id: The owner.
        session_id: The session.
        offset: Place in its transcript, in bytes: the turn that goes on there, and those after it, are owed.
    """
    with contextlib.suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        note = os.open(_path(folder, user_id, session_id), flags, 0o600)
        try:
            os.write(note, b"%d\n" % offset)
        finally:
            os.close(note)
        _remove_oldest(folder)


def owed_from(folder: str, user_id: str, session_id: str) -> int | None:
    """Return from where on a session is owed; None where it is not. Blocking."""
    try:
        with open(_path(folder, user_id, session_id), "rb") as note:
            return int(note.read(20))
    except (OSError, ValueError):
        return None


def pay(folder: str, user_id: str, session_id: str) -> None:
    """Note that a session is owed no more. Blocking."""
    with contextlib.suppress(OSError):
        os.unlink(_path(folder, user_id, session_id))


def _path(folder: str, user_id: str, session_id: str) -> str:
    name = hashlib.sha256(f"{user_id}\0{session_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(folder, name + _ENDING)


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
