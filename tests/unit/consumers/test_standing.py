"""When a table that failed is tried again."""

import pytest

from wrackline.consumers.drive.retry_state import RetryLimits, TableRetryState
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError

PATIENCE = RetryLimits(most_wait=10.0, in_all=60.0, outages=frozenset({"test.outage"}))
BUSY, OUTAGE = Transient("test.busy", "busy", ""), Transient("test.outage", "away", "")


def tried(*errors: tuple[float, WracklineError], patience: RetryLimits = PATIENCE) -> TableRetryState:
    standing = TableRetryState()
    for now, error in errors:
        standing = standing.failed(error, now, patience, 0.5)
    return standing


def test_waits_double_up_to_the_longest() -> None:
    standing, waits = TableRetryState(), []
    for _ in range(50):
        standing = standing.failed(BUSY, 0.0, PATIENCE, 0.5)
        waits.append(round(standing.due, 1))
    assert waits[:4] == [0.3, 0.6, 1.2, 2.4]
    assert waits[-1] == 10.0
    assert not standing.ready(9.9)
    assert standing.ready(10.0)


def test_chance_spreads_the_tries() -> None:
    dues = {TableRetryState().failed(BUSY, 0.0, PATIENCE, chance).due for chance in (0.0, 0.5, 1.0)}
    assert len(dues) == 3


def test_a_transient_error_stops_the_table_after_the_set_time() -> None:
    """T-S8."""
    assert not tried((0, BUSY), (59, BUSY)).stopped
    stopped = tried((0, BUSY), (59, BUSY), (60, BUSY))
    assert stopped.stopped
    assert not stopped.ready(1e9)
    assert not tried((0, BUSY), (1e9, BUSY), patience=RetryLimits(10.0, None)).stopped


def test_an_outage_is_waited_for_and_its_time_does_not_count() -> None:
    assert not tried((0, OUTAGE), (1000, OUTAGE)).stopped
    assert not tried((0, BUSY), (100, OUTAGE)).stopped
    assert not tried((0, BUSY), (30, OUTAGE), (1000, OUTAGE), (1001, BUSY), (1060, BUSY)).stopped
    assert tried((0, OUTAGE), (1001, BUSY), (1061, BUSY)).stopped


@pytest.mark.parametrize("kind", [OperatorNeeded, Definite])
def test_an_error_that_needs_an_operator_stops_the_table_at_once(kind: type[WracklineError]) -> None:
    assert tried((0, kind("test.somebody", "somebody", ""))).stopped


def test_the_same_reason_is_news_once() -> None:
    first = tried((0, BUSY))
    again = first.failed(BUSY, 1.0, PATIENCE, 0.5)
    assert first.is_news(TableRetryState())
    assert not again.is_news(first)
    assert again.failed(BUSY, 61.0, PATIENCE, 0.5).is_news(again)  # now it is stopped
    assert again.failed(OUTAGE, 2.0, PATIENCE, 0.5).is_news(again)
