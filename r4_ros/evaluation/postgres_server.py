"""A PostgreSQL server for a test or a measurement: Debian's binaries, a folder that goes away, a socket of its own."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cached_property
from pathlib import Path

USER = "r4"
_SETTINGS = """
listen_addresses = '127.0.0.1'
shared_buffers = 64MB
max_connections = 120
log_min_messages = fatal
ssl_cert_file = 'server.crt'
ssl_key_file = 'server.key'
"""
_HBA = """
local all r4 trust
local all all trust
host all all 127.0.0.1/32 scram-sha-256
"""


def binaries() -> Path | None:
    """The folder of PostgreSQL's programs, the newest where there are several; None: not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = found[-1] if found else shutil.which("initdb")
    return None if initdb is None else Path(initdb).parent


def why_not() -> str:
    """Why no server can be started here; empty: one can."""
    if binaries() is None:
        return "needs PostgreSQL's server: apt-get install postgresql"
    if os.geteuid() == 0 and not (shutil.which("setpriv") or shutil.which("runuser")):
        return "PostgreSQL doesn't run as root, and there is no setpriv to become somebody else"
    return ""


class Server:
    """One cluster. ``safe``: what is committed is flushed to the disk, for tests that kill it."""

    def __init__(self, safe: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="r4-pg-"))
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self._data = self.folder / "data"
        self._spent_s = 0.0
        if os.geteuid() == 0:
            shutil.chown(self.folder, *self._owner)
        self._run("initdb", "-D", self._data, "-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        fsync = "" if safe else "fsync = off\nfull_page_writes = off\n"
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.write(f"{_SETTINGS}{fsync}port = {self.port}\nunix_socket_directories = '{self.folder}'\n")
        (self._data / "pg_hba.conf").write_text(_HBA)
        self.start()

    @cached_property
    def port(self) -> int:
        """A free port, none that any connection may be given while the server is restarted."""
        while True:
            port = random.SystemRandom().randrange(20_000, 32_000)
            with socket.socket() as probe, contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port

    @cached_property
    def _owner(self) -> tuple[str, str]:
        users = {line.split(":")[0] for line in Path("/etc/passwd").read_text().splitlines()}
        return ("postgres", "postgres") if "postgres" in users else ("nobody", "nogroup")

    def _command(self, program: str, *arguments: object) -> list[str]:
        folder = binaries()
        assert folder is not None
        command = [str(folder / program), *map(str, arguments)]
        if os.geteuid() != 0:
            return command
        user, group = self._owner
        if shutil.which("setpriv"):
            ends_with_us = ["--pdeathsig=INT"] if program == "postgres" else []
            return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *ends_with_us, *command]
        return ["runuser", "-u", user, "--", *command]

    def _run(self, program: str, *arguments: object) -> None:
        done = subprocess.run(self._command(program, *arguments), cwd="/", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def start(self, *options: str) -> None:
        """Start it, and wait until it answers."""
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(
            self._command("postgres", "-D", self._data, *options), cwd="/", stdout=log, stderr=log
        )
        log.close()
        until = time.monotonic() + 60
        while subprocess.run(self._command("pg_isready", "-q", "-h", self.folder, "-p", self.port)).returncode:
            assert time.monotonic() < until and self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self, kill: bool = False) -> None:
        """Stop it at once in good order; ``kill``: with kill -9, all of its processes."""
        if self._process is None:
            return
        self._spent_s += self._running_s()
        if kill:
            workers = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            pids = [self._process.pid, *map(int, workers)]
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # they also end by themselves without the first one
                    os.kill(pid, signal.SIGKILL)
            _await_end(pids[1:])  # what still holds the shared memory keeps the next start from it
        else:
            self._process.send_signal(signal.SIGINT)
        self._process.wait(60)
        self._process = None

    def restart(self, kill: bool = False) -> None:
        """Stop and start."""
        self.stop(kill)
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        self.start()

    def certify(self) -> Path:
        """Make it speak TLS with a certificate of its own for 127.0.0.1; gives the certificate."""
        command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=r4 -addext subjectAltName=IP:127.0.0.1"
        files = ["-keyout", str(self._data / "server.key"), "-out", str(self._data / "server.crt")]
        subprocess.run([*command.split(), *files], check=True, capture_output=True)
        for name in ("server.key", "server.crt"):
            (self._data / name).chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(self._data / name, *self._owner)
        copy = self.folder / "root.crt"
        shutil.copyfile(self._data / "server.crt", copy)
        self.stop()
        self.start("-c", "ssl=on")
        return copy

    def close(self) -> None:
        """Stop it and take its folder away."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cpu_s(self) -> float:
        """Processor time of all its processes since it was started first."""
        return self._spent_s + self._running_s()

    def _running_s(self) -> float:
        if self._process is None:
            return 0.0
        parent = self._process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        ticks = 0
        for pid in [parent, *map(int, children)]:
            with contextlib.suppress(OSError):
                numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, numbers[11:15]))  # its own, and those of children that ended
        return ticks / os.sysconf("SC_CLK_TCK")

    def database(self) -> str:
        """URL of a new, empty database, over the socket."""
        name = f"test{next(self._numbers)}"
        self._run("createdb", "-h", self.folder, "-p", self.port, "-U", USER, "-T", "template0", name)
        return f"postgresql://{USER}@/{name}?host={self.folder}&port={self.port}"

    def over_tcp(self, url: str, user: str = USER, **parameters: str) -> str:
        """The same database over TCP, where passwords and TLS count."""
        name = url.split("/")[3].split("?")[0]
        query = "&".join(f"{key}={value}" for key, value in parameters.items())
        return f"postgresql://{user}@127.0.0.1:{self.port}/{name}" + (f"?{query}" if query else "")


def _await_end(pids: list[int]) -> None:
    """Wait until killed processes are gone, or are left for their parent to know of."""
    until = time.monotonic() + 60
    while any(_runs(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
