"""A `wrackline run` with failpoints armed, which runs, is held at one of them or ends."""

import os
import subprocess
from pathlib import Path

from tests.fixtures.prepared import Forked
from tests.integration.running.world import Running, wait_until
from wrackline.producers import failpoints


def started(file: Path, printed: Path, armed: str, held: Path) -> Running:
    """Start it; the places where it waits come to be files in the folder `held` (tests/chaos/holds.py)."""
    variables = {failpoints.VARIABLE: armed, failpoints.HELD: str(held), "COLUMNS": "200", "NO_COLOR": "1"}
    with printed.open("wb") as out:
        process = Forked(
            ["run", "--text", str(file)],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
        )
    return Running(process, printed)


def wait_until_there(running: Running, held: Path) -> None:
    """Wait until it runs, is held or has ended."""
    wait_until(lambda: running.has_begun or _holds(held))


def _holds(held: Path) -> bool:
    return any(place.name != failpoints.ALL_GO for place in held.iterdir())
