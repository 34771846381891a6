"""Chooses a server's ports once and remembers them in its folder.

In: a folder, the ports' names, and those that are fixed. Out: a number for each. It is right because the
numbers lie outside the range from which the kernel lends ports to outgoing connections: a server that is
down for a moment finds its port free when it comes back.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from wrackline.control.local.processes.process import is_free

_RANGE = range(14_000, 31_000)
_FILE = "ports.json"


def choose(folder: Path, *names: str, fixed: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the ports of these names: fixed, remembered from an earlier start, or free ones."""
    file = folder / _FILE
    known: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    known |= fixed or {}
    for name in names:
        if name not in known:
            known[name] = _free_one(set(known.values()))
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(known))
    return {name: known[name] for name in names}


def _free_one(taken: set[int]) -> int:
    while True:
        port = secrets.choice(_RANGE)
        if port not in taken and is_free(port):
            return port
