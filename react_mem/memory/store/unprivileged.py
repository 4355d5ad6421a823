"""Run a command as an unprivileged user that may still traverse our private folders. Linux, as root.

PostgreSQL refuses to run as root, and another user cannot reach a database or a virtual environment below a
private folder such as `/root`. Instead of making those folders public, the command keeps one capability: to
search folders. Usage: `python -I -S unprivileged.py UID GID COMMAND [ARGUMENT ...]`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 28, 47, 2
_SECBIT_NO_SETUID_FIXUP = 1 << 2
"""Keeps capabilities over setuid, and lets access(2) see them: PostgreSQL checks its own binary with it."""
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _permitted() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapPrm:"):
            return int(line.split()[1], 16)
    return 0


def _search_capability() -> int:
    # Containers often have the wider one only.
    for capability in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
        if _permitted() >> capability & 1:
            return capability
    raise PermissionError("root has neither CAP_DAC_READ_SEARCH nor CAP_DAC_OVERRIDE here")


def _become(uid: int, gid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def checked(result: int) -> None:
        if result != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    capability = _search_capability()
    mask = 1 << capability
    checked(libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0))
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    sets = (_Sets * 2)(_Sets(mask, mask, mask), _Sets(0, 0, 0))
    checked(libc.capset(ctypes.byref(_Header(_CAPABILITY_VERSION_3, 0)), sets))
    checked(libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0))


if __name__ == "__main__":
    try:
        _become(int(sys.argv[1]), int(sys.argv[2]))
    except OSError as error:
        sys.exit(f"cannot become an unprivileged user: {error}")
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - the command is our own
