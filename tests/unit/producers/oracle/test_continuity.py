"""Where a first start begins, and whether the log of a stored position is still there."""

import pytest

from tests.fixtures.oracle_world import OracleWorld
from wrackline.producers.sources.oracle.follow.continuity import (
    OracleLogState,
    epoch_of,
    fresh_epoch,
    start_position,
)
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.position import last_at
from wrackline.schemas.errors import Definite

NOW = OracleLogState(Incarnation(7, 8), 500, None)


def test_a_first_start_begins_behind_what_is_committed() -> None:
    start = start_position(None, NOW)
    assert (start.epoch, start.place, start.done) == (1, last_at(500), last_at(500))
    assert (start.oldest, start.seen, start.incarnation) == (501, 500, Incarnation(7, 8))
    assert start_position({"epoch": 4}, NOW).epoch == 4


def test_a_transaction_that_is_open_at_a_first_start_comes_whole() -> None:
    """A read of existing rows may not show it, and its rows of before are in no other place."""
    start = start_position(None, OracleLogState(Incarnation(7, 8), 500, 420))
    assert (start.oldest, start.seen, start.done) == (420, 500, last_at(500))
    late = start_position(None, OracleLogState(Incarnation(7, 8), 500, 502))
    assert late.oldest == 501


def test_a_transaction_whose_beginning_the_server_does_not_know_hides_no_other() -> None:
    """A server shows such a one with START_SCN 0, which is the lowest."""
    world = OracleWorld()
    insert = 'INSERT INTO "SHOP"."ELSEWHERE" VALUES (1)'
    known, unknown = world.model.begin(), world.model.begin()
    for one in (known, unknown):
        one.run(insert)
    began, lost = world.model.database.open_transactions
    lost.start_scn = 0
    world.model.run(insert)
    try:
        assert world.oracle._begin(None).oldest == began.start_scn
    finally:
        world.close()
        known.rollback()
        unknown.rollback()


def test_a_stored_position_is_where_it_was() -> None:
    saved = start_position(None, NOW).saved()
    later = OracleLogState(Incarnation(7, 8), 900, 800)
    assert start_position(saved, later) == start_position(None, NOW)
    assert start_position(saved, later).oldest == 501
    assert (fresh_epoch(saved), fresh_epoch({"epoch": 3}), fresh_epoch(None)) == (None, 3, 1)
    assert epoch_of(saved) == 1


@pytest.mark.parametrize(
    ("found", "code"),
    [(Incarnation(9, 8), "oracle.resetlogs"), (Incarnation(7, 9), "oracle.database_foreign")],
)
def test_a_log_with_another_history_is_refused(found: Incarnation, code: str) -> None:
    """redpanda#4760: RESETLOGS makes a checkpoint worthless."""
    with pytest.raises(Definite) as caught:
        start_position(start_position(None, NOW).saved(), OracleLogState(found, 900, None))
    assert caught.value.code == code
