"""Find seeds that catch the planted faults, and keep them: `python -m tests.simulation.hunt [fault …]`.

Run it when a change of the machine or of the model has made kept seeds stale.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from tests.simulation.faults import FAULTS
from tests.simulation.history import Failure, run
from tests.simulation.planting import SOUND, Fault

KEPT = Path(__file__).with_name("fault_seeds.json")
ENOUGH = 3
MOST = 20_000


def kept() -> dict[str, list[int]]:
    """The seeds that are kept, by fault."""
    seeds: dict[str, list[int]] = json.loads(KEPT.read_text())
    return seeds


def caught(fault: Fault, seeds: Iterable[int]) -> Iterator[Failure]:
    """The histories that break a rule with the fault, and none without."""
    for seed in seeds:
        failure = run(seed, fault)
        if failure is not None and run(seed, SOUND, failure.settings) is None:
            yield failure


def _hunt(names: list[str]) -> None:
    seeds = kept() if KEPT.exists() else {}
    for name in names or [name for name in FAULTS if name != SOUND.name]:
        found: list[int] = []
        rules = set()
        for failure in caught(FAULTS[name], chain(seeds.get(name, ()), range(MOST))):
            if failure.seed not in found:
                found.append(failure.seed)
                rules.add(failure.rule)
            if len(found) == ENOUGH:
                break
        seeds[name] = found
        sys.stdout.write(f"{name}: {found} {sorted(rules)}\n")
        sys.stdout.flush()
    planted = sorted((name, found) for name, found in seeds.items() if name in FAULTS)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in planted)
    KEPT.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    _hunt(sys.argv[1:])
