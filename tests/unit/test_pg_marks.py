"""The log's 32 bits of a transaction id and a snapshot's 64 mean the same transaction (rule 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.sources.postgres.marks import full_xid

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
    assert full_xid(low, xmax) == xid


@given(xid=st.integers(3, 1 << 62), ahead=st.integers(1 - TURN // 2, TURN // 2 - 1))
def test_rule_3_any_id_within_half_a_turn_is_found_again(xid: int, ahead: int) -> None:
    xmax = xid + ahead
    if xmax > TURN:
        assert full_xid(xid % TURN, xmax) == xid
