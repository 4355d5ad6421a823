"""The place of a resident: its socket, lock and log in a folder that only its user can enter, and who is at its ends.

What a resident is for stands in its name: another version, database, model or agent is another resident. Everything
works as if it had been started in the home folder of the user, whatever project a coding agent works in: no file of a
project, such as its `.env`, says where memory is or who is asked.
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

VERSION = "0.2.0"
"""Version of the package, since to ask for it takes longer than to ask memory."""

FOLDER = os.path.join(".react-mem", "hooks")
"""Folder of the residents, below the home folder."""

_SETTINGS = ("DATABASE", "REACT_MEM", "MEMORY", "OPENAI")
"""Beginnings of the variables that a resident is started for."""

_MORE_SETTINGS = frozenset(
    {
        "CHAT_MODEL",
        "EMBEDDING_MODEL",
        "INDEX_FIELDS",
        "POSTGRES_URI",
        "VECTOR_STORE",
        "XDG_DATA_HOME",
    }
)

_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76
"""Of macOS and BSD, which Python has no names for."""


class HookPlace(NamedTuple):
    """Place of a resident.

    Args:
        home: The home folder of the user.
        folder: The folder with the sockets of their residents.
        name: What the resident's files are called, without their endings.
    """

    home: str
    folder: str
    name: str

    @property
    def socket(self) -> str:
        """Name of the socket in the folder; a whole path may be longer than the kernel takes."""
        return f"{self.name}.sock"

    @property
    def lock(self) -> str:
        """Name of the file whose lock the resident holds while it lives."""
        return f"{self.name}.lock"

    @property
    def log(self) -> str:
        """Path of the resident's log."""
        return os.path.join(self.folder, f"{self.name}.log")


def place_of(agent: str, environ: Mapping[str, str] = os.environ) -> HookPlace:
    """Return the place of the resident for an agent and the settings in the environment; its folder is made.

    Args:
        agent: The agent.
        environ: The environment.

    Raises:
        OSError: If there is no such folder and it cannot be made, or somebody else could enter it.
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
    """Return whether the process at the other end of a connection is of the same user.

    Args:
        connection: A connection of a Unix socket.
    """
    linux: int | None = getattr(socket, "SO_PEERCRED", None)
    if linux is not None:
        # struct ucred: process, user, group
        told = connection.getsockopt(socket.SOL_SOCKET, linux, struct.calcsize("3i"))
    else:
        # struct xucred: its version, user, groups
        told = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
    return bool(struct.unpack_from("2I", told)[1] == os.geteuid())
