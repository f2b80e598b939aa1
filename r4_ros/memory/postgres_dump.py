"""A copy of a database on a server, by the server's own pg_dump."""

from __future__ import annotations

import subprocess
from pathlib import Path

from r4_ros.core.errors import StoreError


def dump(url: str, shown: str, target: Path) -> int:
    """Write a copy that pg_restore reads; gives its size in bytes. ``shown``: the URL as it may be shown.

    Raises StoreError.
    """
    part = target.with_name(target.name + ".part")
    command = ["pg_dump", "--format=custom", f"--file={part}", url]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        raise StoreError(
            f"{shown}: a database on a server is copied by its own pg_dump, which isn't installed here: "
            "apt-get install postgresql-client; or r4 db export writes it as JSON Lines"
        ) from None
    if done.returncode:
        part.unlink(missing_ok=True)
        raise StoreError(f"{shown}: pg_dump couldn't copy it ({' '.join(done.stderr.split())})")
    part.replace(target)
    return target.stat().st_size
