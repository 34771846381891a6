"""How much may wait for Kafka: little while the log moves, and what Kafka takes in a moment."""

from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.reading.release_budget import ReleaseBudget

MB = 1 << 20


def kafka(room: ReleaseBudget, *, fixed: float, pace: float, flights: int = 50) -> float:
    """Publish as much as there is room for, again and again; how long the last flight took."""
    taken = 0.0
    for _ in range(flights):
        size = int(room.size(0.5))
        taken = fixed + size / pace
        room.took(size, taken)
    return taken


def test_a_quiet_log_leaves_room_for_large_transactions() -> None:
    room = ReleaseBudget()
    assert room.size(100.0) >= 4 * MB


def test_a_change_makes_it_small_for_a_while() -> None:
    room = ReleaseBudget()
    room.moved(10.0)
    assert room.size(10.0) <= MB
    assert room.size(10.9) <= MB
    assert room.size(11.1) >= 4 * MB


@given(st.floats(0.001, 0.02), st.floats(10 * MB, 30 * MB))
def test_it_settles_where_a_transaction_takes_a_moment(fixed: float, pace: float) -> None:
    room = ReleaseBudget()
    room.moved(0.0)
    assert 0.03 < kafka(room, fixed=fixed, pace=pace) < 0.07


def test_a_slow_kafka_and_a_fast_one_stay_within_the_bounds() -> None:
    for pace in (0.1 * MB, 1000 * MB):
        room = ReleaseBudget()
        room.moved(0.0)
        kafka(room, fixed=0.0, pace=pace)
        assert MB / 4 <= room.size(0.5) <= 2 * MB


def test_what_carried_no_bytes_says_nothing() -> None:
    room = ReleaseBudget()
    room.moved(0.0)
    before = room.size(0.5)
    room.took(0, 1.0)
    room.took(5, 0.0)
    assert room.size(0.5) == before
