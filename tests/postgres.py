"""A real PostgreSQL server for the tests: in a temporary folder, on the loopback, not as root."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import adbc_driver_manager
import adbc_driver_postgresql.dbapi

PASSWORD = "s3cret/w@rd%"
"""What `ana` has to give; everybody else is let in."""

ACCESS = """
host all ana 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""

QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=16MB")
"""What is written need not outlive the tests."""


def folder_of_programs() -> Path | None:
    """Where the server's programs are: Debian keeps them off the path, by version."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@contextlib.contextmanager
def running_server(programs: Path) -> Iterator[str]:
    """The address of a server that is gone afterwards; its user `owner` may do everything."""
    folder = Path(tempfile.mkdtemp(prefix="veracity-postgres-"))
    try:
        data = folder / "data"
        own = _unprivileged(folder)
        initialise = [programs / "initdb", "-D", data, "-U", "owner", "-E", "UTF8", "--no-sync"]
        subprocess.run([*initialise, "--locale=C"], check=True, capture_output=True, **own)
        (data / "pg_hba.conf").write_text(ACCESS, encoding="utf-8")
        port = _free_port()
        settings = (
            f"port={port}",
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            *QUICK,
        )
        command = [programs / "postgres", "-D", data, *(x for s in settings for x in ("-c", s))]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, **own)
        address = f"postgresql://owner@127.0.0.1:{port}/postgres"
        try:
            _await(address, server, folder / "log")
            yield address
        finally:
            server.send_signal(signal.SIGINT)  # at once, whoever is still connected
            server.wait(timeout=60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> dict:
    """As whom the server runs: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {"cwd": folder}
    names = {user.pw_name: user for user in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"cwd": folder, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _await(address: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError(f"PostgreSQL does not start: {log.read_text(encoding='utf-8')}")
        with contextlib.suppress(adbc_driver_manager.Error):
            adbc_driver_postgresql.dbapi.connect(address).close()
            return
        time.sleep(0.1)
    raise RuntimeError("PostgreSQL did not answer within a minute")
