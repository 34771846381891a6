"""No history breaks a rule: seeds that once failed, then many, then settings that no seed would choose."""

import secrets
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.database import Writes
from tests.simulation.history import Failure, run, shrunk, told
from tests.simulation.settings import MARKS, Settings
from tests.simulation.volume import every, these

HISTORIES = [500, pytest.param(20_000, marks=pytest.mark.full)]
DEEP_HISTORIES = 3_000_000
EXAMPLES = [25, pytest.param(400, marks=pytest.mark.full)]
ONCE_FAILED = Path(__file__).with_name("seeds_that_failed.txt")


def in_words(failures: list[Failure]) -> str:
    """The first failure, made small and printed in full; the others by name."""
    if not failures:
        return ""
    small = shrunk(failures[0])
    return "\n".join(
        [
            *map(str, failures),
            f"the first, with {small.settings}:",
            *told(small.seed, settings=small.settings),
        ]
    )


def test_seeds_that_failed_once_pass() -> None:
    """T-T04."""
    seeds = [int(line.split()[0]) for line in ONCE_FAILED.read_text().splitlines() if line[:1].isdigit()]
    failures = these(seeds)
    assert not failures, in_words(failures)


@pytest.mark.timeout(1200)  # 1,000 take 12 s of each of two cores; a whole run leaves less than half of them
@pytest.mark.parametrize("count", HISTORIES)
def test_no_history_breaks_a_rule(count: int) -> None:
    """T-W25."""
    found = every(0, count, most=5)
    assert not found.failures, in_words(found.failures)
    assert found.tried == count


@pytest.mark.deep
@pytest.mark.timeout(6 * 3600)
def test_no_fresh_history_breaks_a_rule() -> None:
    first = secrets.randbelow(1 << 48)
    found = every(first, DEEP_HISTORIES, most=5)
    assert not found.failures, f"seeds from {first}\n{in_words(found.failures)}"


often = st.sampled_from((0.0, 0.05, 0.3, 0.8))
writes = st.builds(
    Writes,
    partial=often,
    key_change=often,
    delete=often,
    hidden=often,
    shown=st.sampled_from((0.02, 0.3)),
    roll_back=often,
    truncate=st.sampled_from((0.0, 0.1)),
    alter=st.sampled_from((0.0, 0.1)),
    idle=st.sampled_from((0.0, 0.1, 0.3)),
    spoil=st.sampled_from((0.0, 0.0, 0.05)),
)
any_settings = st.builds(
    Settings,
    mark=st.sampled_from(MARKS),
    steps=st.integers(1, 300),
    tables=st.integers(1, 3),
    chunk_rows=st.integers(1, 12),
    slice_rows=st.integers(1, 6),
    readers=st.integers(1, 5),
    most_tries=st.integers(1, 6),
    look_at=st.integers(1, 60),
    most_bytes=st.sampled_from((64 << 20, 2_000)),
    cuts=often,
    parts=often,
    crashes=st.sampled_from((0.0, 0.02, 0.1)),
    fails=st.sampled_from((0.0, 0.05, 0.3)),
    orders=st.sampled_from((0.0, 0.05, 0.2)),
    losses=st.sampled_from((0.0, 0.0, 0.05)),
    bag=st.booleans(),
    late=st.booleans(),
    skipped=st.sampled_from(("", "d")),
    writes=writes,
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("examples", EXAMPLES)
def test_no_setting_breaks_a_rule(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 1 << 32), chosen=any_settings)
    def holds(seed: int, chosen: Settings) -> None:
        failure = run(seed, settings=chosen)
        assert failure is None, in_words([failure] if failure else [])

    holds()
