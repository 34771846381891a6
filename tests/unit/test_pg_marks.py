"""Transaction ids of log and snapshot mean the same (rule 3); a fence is reached on an idle server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.sources.postgres.chunks.marks import full_xid, last_end

TURN = 1 << 32


@pytest.mark.parametrize(
    ("low", "xmax", "xid"),
    [
        (5, 10, 5),
        (10, 5, 10),  # begun after the snapshot
        (TURN - 1, TURN + 3, TURN - 1),  # of before the turn
        (2, TURN - 1, TURN + 2),  # of after it, and the snapshot is not
        (7, 3 * TURN + 9, 3 * TURN + 7),
    ],
)
def test_rule_3_an_id_is_the_nearest_one_of_its_low_half(low: int, xmax: int, xid: int) -> None:
    """T-P15, T-S2."""
    assert full_xid(low, xmax) == xid


@pytest.mark.parametrize(
    ("lsn", "end"),
    [(8192 + 24, 8192), (3 * 8192 + 40, 3 * 8192), (8192 + 32, 8192 + 32), (8192, 8192), (100, 100)],
)
def test_a_page_without_a_record_is_no_place_to_wait_for(lsn: int, end: int) -> None:
    assert last_end(lsn, 8192) == end


@given(xid=st.integers(3, 1 << 62), ahead=st.integers(1 - TURN // 2, TURN // 2 - 1))
def test_rule_3_any_id_within_half_a_turn_is_found_again(xid: int, ahead: int) -> None:
    xmax = xid + ahead
    if xmax > TURN:
        assert full_xid(xid % TURN, xmax) == xid
