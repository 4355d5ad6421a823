"""The place of a resident: its socket, lock and log in a private folder of its user, and the check of its peers.

The name of a resident depends on version, database, model and agent: another one is another resident. It works as if
started in the home folder, whatever project a coding agent works in: no file of a project, such as its `.env`,
configures memory.
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = "0.2.0"  # Version of the package, as a constant: reading the metadata takes longer than asking memory
FOLDER = os.path.join(".react-mem", "hooks")  # Folder of the residents, below the home folder
_SETTINGS = ("DATABASE", "REACT_MEM", "MEMORY", "OPENAI")  # Prefixes of the environment variables that name a resident
_MORE_SETTINGS = frozenset(
    {"CHAT_MODEL", "EMBEDDING_MODEL", "INDEX_FIELDS", "POSTGRES_URI", "VECTOR_STORE", "XDG_DATA_HOME"}
)

_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76  # Constants of macOS and BSD that Python does not define


class HookPlace(NamedTuple):
    """Place of a resident: the user's home folder, the folder of sockets, and the name of its files without suffix."""

    home: str
    folder: str
    name: str

    @property
    def socket(self) -> str:
        """Name of the socket in the folder; a whole path may exceed the kernel's limit."""
        return f"{self.name}.sock"

    @property
    def lock(self) -> str:
        """Name of the file that the resident locks while it lives."""
        return f"{self.name}.lock"

    @property
    def log(self) -> str:
        """Path of the resident's log."""
        return os.path.join(self.folder, f"{self.name}.log")


def place_of(agent: str, environ: Mapping[str, str] = os.environ) -> HookPlace:
    """Return the place of the resident for an agent and the settings in the environment, and make its folder.

    Raises OSError if the folder cannot be made, or others could enter it.
    """
    if environ.get("HOME") == "":
        # it would be the root of the file system
        raise FileNotFoundError(errno.ENOENT, "there is no home folder, in which memory is; set it", "HOME")
    home = os.path.expanduser("~")
    folder = os.path.join(home, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    status = os.lstat(folder)
    if status.st_uid != os.geteuid() or not os.path.isdir(folder) or os.path.islink(folder):
        raise PermissionError(f"{folder} is not a folder of this user's own")
    if status.st_mode & 0o077:
        os.chmod(folder, 0o700)
    return HookPlace(home, folder, _name(agent, home, environ))


def _name(agent: str, home: str, environ: Mapping[str, str]) -> str:
    told = [VERSION, sys.prefix, agent]
    told += sorted(
        f"{name}={value}"
        for name, value in environ.items()
        if (name.startswith(_SETTINGS) or name in _MORE_SETTINGS) and value
    )
    try:
        status = os.stat(os.path.join(home, ".env"))
        told.append(f"{status.st_mtime_ns} {status.st_size}")
    except OSError:
        told.append("no .env")
    return hashlib.sha256("\0".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def is_own(connection: socket.socket) -> bool:
    """Return true if the peer of a Unix socket connection runs as the same user."""
    linux: int | None = getattr(socket, "SO_PEERCRED", None)
    if linux is not None:
        # struct ucred: process, user, group
        told = connection.getsockopt(socket.SOL_SOCKET, linux, struct.calcsize("3i"))
    else:
        # struct xucred: its version, user, groups
        told = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
    return bool(struct.unpack_from("2I", told)[1] == os.geteuid())
