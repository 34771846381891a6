"""Many histories: a plain loop over seeds, in two processes; and the seeds that a fault once needed.

python -m tests.simulation.volume 1000000 200000              histories from a seed on
python -m tests.simulation.volume 1000000 200000 early_close  … with a fault planted
"""

import sys
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from time import monotonic
from typing import NamedTuple

from tests.simulation.faults import FAULTS
from tests.simulation.history import Failure, run, told
from tests.simulation.planting import SOUND

PROCESSES = 2
PIECE = 250


class Found(NamedTuple):
    """Seeds that broke a rule, and how many were tried."""

    failures: list[Failure]
    tried: int


def every(first: int, count: int, fault: str = SOUND.name, most: int = 20) -> Found:
    """Run so many histories; stop early once there are enough failures."""
    failures: list[Failure] = []
    tried = 0
    with get_context("spawn").Pool(PROCESSES) as pool:
        for found in pool.imap(_piece, _pieces(first, count, fault)):
            failures += found.failures
            tried += found.tried
            if len(failures) >= most:
                break
    return Found(failures, tried)


def these(seeds: Sequence[int], fault: str = SOUND.name) -> list[Failure]:
    """Run these histories."""
    planted = FAULTS[fault]
    return [failure for seed in seeds if (failure := run(seed, planted)) is not None]


def _pieces(first: int, count: int, fault: str) -> Iterator[tuple[int, int, str]]:
    for start in range(first, first + count, PIECE):
        yield start, min(PIECE, first + count - start), fault


def _piece(piece: tuple[int, int, str]) -> Found:
    first, count, fault = piece
    return Found(these(range(first, first + count), fault), count)


def main(first: int, count: int, fault: str = SOUND.name) -> None:
    """Run histories and say which broke a rule; a single one is printed in full."""
    if count == 1:
        sys.stdout.write("\n".join([*told(first, FAULTS[fault]), ""]))
        return
    started = monotonic()
    found = every(first, count, fault)
    for failure in found.failures:
        sys.stdout.write(f"{failure}\n")
    sys.stdout.write(f"{found.tried} histories, {monotonic() - started:.1f} s\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
