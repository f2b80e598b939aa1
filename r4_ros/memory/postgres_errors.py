"""What PostgreSQL's errors mean, and what to do about them."""

from __future__ import annotations

from pathlib import Path

from r4_ros.core.errors import NotPermitted, R4Error, StoreError

_BY_STATE = {
    "28P01": "the server refused the password; give the right one in PGPASSWORD or PGPASSFILE",
    "28000": "the server refused this role; is there one (createuser, r4 db role)? and see pg_hba.conf of the server",
    "3D000": "there is no such database; make it: createdb NAME",
    "53100": "the server's disk is full; free space, nothing was stored",
    "53300": "the server has too many connections; raise max_connections, or stop some",
    "25006": "the database is read-only: a standby, or opened for reading",
    "57P01": "the server is being stopped; it is tried again when it is back",
    "57P02": "the server crashed; it is tried again when it is back",
    "57P03": "the server is starting; it is tried again",
    "54000": "the map server's inbox takes no more of this robot until what waits is worked in; is its node running?",
    "55P03": "a lock was not to be had in time; see who holds it in pg_stat_activity",
    "22021": "a text holds what PostgreSQL can't store (a zero character); nothing was stored",
    "XX001": "the database is damaged; restore a dump",
    "XX002": "an index of the database is damaged; r4 db reindex makes it anew",
}
NO_PASSWORD = (
    "a password doesn't belong into a URL, which ends up in logs and process lists: give it in PGPASSWORD, or in a "
    "file named by PGPASSFILE (a line HOST:PORT:DATABASE:USER:PASSWORD, readable by you alone)"
)
_BY_TEXT = (
    ("password authentication failed", "28P01"),
    ("no password supplied", "28P01"),
    ("no pg_hba.conf entry", "28000"),
    ('fatal: role "', "28000"),
    ('" does not exist', "3D000"),
    ("starting up", "57P03"),
    ("too many clients", "53300"),
    ("(0x00)", "22021"),
)
_CONNECTING = (
    ("certificate verify failed", "the server's certificate isn't one that sslrootcert vouches for; check both"),
    ("root certificate file", "sslrootcert names a file that can't be read; sslmode asks for one"),
    ("host name", "the name of the server isn't known, or its certificate is another host's; check the URL"),
    ("does not support ssl", "the server speaks no TLS, and sslmode asks for it; turn on ssl in postgresql.conf"),
    ("refused", "no server answers there; is PostgreSQL running, and does it listen at this address and port?"),
    ("no such file", "no server listens at this socket; is PostgreSQL running?"),
    ("timeout", "the server didn't answer in time; check the address and the network"),
    ("connection", "the connection to the server was lost; it is tried again"),
)


def advice(path: Path | str, sqlstate: str | None, text: str) -> R4Error:
    """The error to raise, with what a person can do."""
    text = " ".join(text.split())
    lower = text.lower()
    state = sqlstate or next((state for sign, state in _BY_TEXT if sign in lower), "")
    if state == "42501":
        return NotPermitted(f"{path}: this role may not do that: it writes only what is its own robot's ({text})")
    if state in _BY_STATE:
        return StoreError(f"{path}: {_BY_STATE[state]} ({text})")
    if not state or state.startswith("08"):
        for sign, said in _CONNECTING:
            if sign in lower:
                return StoreError(f"{path}: {said} ({text})")
    return StoreError(f"{path}: the database refused this ({text})")
