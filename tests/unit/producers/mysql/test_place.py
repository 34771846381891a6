"""Where the reading is: 64 bits out of 32, and whether a position is behind it."""

from wrackline.producers.sources.mysql.log.log_cursor import LogCursor
from wrackline.producers.sources.mysql.log.position import MySqlHistory, MySqlPosition

LOW = 1 << 32


def begun_at(offset: int) -> LogCursor:
    """In the seventh file."""
    return LogCursor(MySqlPosition(1, 7, offset, history=MySqlHistory("s", "binlog.000007", 5)), "s")


def test_an_event_behind_four_gigabytes_has_its_high_bits_from_the_order() -> None:
    place = begun_at(LOW - 10)
    place.passed(20)
    assert place.offset == LOW + 20
    place.passed(20)
    assert place.offset == LOW + 20, "the same place again"
    place.passed(19)
    assert place.offset == 2 * LOW + 19


def test_a_file_keeps_when_it_was_begun_and_another_has_to_say_it() -> None:
    place = begun_at(4)
    place.moved("binlog.000007", 100)
    assert (place.history.begun, place.offset) == (5, 100)
    place.moved("binlog.000008", 4)
    assert (place.history, place.number) == (MySqlHistory("s", "binlog.000008", 0), 8)
    place.begun(9)
    assert place.history.begun == 9


def test_a_place_in_a_later_file_is_behind_a_higher_offset() -> None:
    place = begun_at(500)
    assert not place.is_behind(MySqlPosition(1, 7, 500))
    assert not place.is_behind(MySqlPosition(1, 7, 500, done=3))
    place.moved("binlog.000008", 4)
    assert place.is_behind(MySqlPosition(1, 7, 500))
