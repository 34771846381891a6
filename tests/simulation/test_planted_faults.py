"""The rules see: every planted fault breaks one, and the machine without it does not."""

import secrets
from itertools import chain, count

import pytest

from tests.simulation.faults import FAULTS
from tests.simulation.hunt import caught, kept
from tests.simulation.planting import SOUND

PLANTED = sorted(FAULTS.keys() - {SOUND.name})
SEEDS = kept()
ANEW = 3_000  # tried when no kept seed catches a fault any more: the machine may have changed what follows
DEEP = 300_000


def test_there_are_enough_of_them() -> None:
    assert len(PLANTED) >= 24
    assert SEEDS.keys() == set(PLANTED)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_caught(name: str) -> None:
    found = next(caught(FAULTS[name], chain(SEEDS[name], range(ANEW))), None)
    assert found is not None, f"{name} survives; if it should not: python -m tests.simulation.hunt {name}"


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_caught_by_fresh_seeds(name: str) -> None:
    first = secrets.randbelow(1 << 48)
    tried = zip(range(DEEP), count(first), strict=False)
    found = next(caught(FAULTS[name], (seed for _, seed in tried)), None)
    assert found is not None, f"{name} survives {DEEP} histories from seed {first}"
