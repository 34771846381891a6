"""What no server sends ends in an error with a code, whose text shows no byte of it."""

import struct
import zlib

import pytest

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.events import GtidEvent, small_event
from wrackline.producers.sources.mysql.follow.table_map_cache import name_of
from wrackline.producers.sources.mysql.log.position import file_number
from wrackline.producers.sources.mysql.rows.odd_cells import uncompressed
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.frame import MOST_US, moments


def code_of_event(kind: int, body: bytes) -> str:
    event = struct.pack("<IBIIIH", 0, kind, 9, 19 + len(body), 777, 0) + body
    with pytest.raises(WracklineError) as raised:
        small_event(event, 0, len(event))
    assert "secret" not in str(raised.value)
    return raised.value.code


@pytest.mark.parametrize(
    "raw", [b"", bytes(8) + b"\x09d", bytes(8) + b"\x01\xff\0\x01t\0", bytes(8) + b"\x01d\0"]
)
def test_a_table_map_without_a_name_is_broken(raw: bytes) -> None:
    with pytest.raises(WracklineError) as raised:
        name_of(raw)
    assert raised.value.code == "mysql.table_map_broken"


def test_a_place_that_no_file_has_is_a_broken_event() -> None:
    assert code_of_event(event_kinds.ROTATE, b"\xff" * 8 + b"binlog.000001") == "mysql.event_broken"
    assert code_of_event(event_kinds.HEARTBEAT_V2, b"\x02\x09\xfe" + b"\xff" * 8) == "mysql.event_broken"


@pytest.mark.parametrize("moment", [MOST_US + 1, (1 << 55) - 1])
def test_a_moment_whose_nanoseconds_are_no_long_is_refused(moment: int) -> None:
    assert code_of_event(event_kinds.GTID, bytes(42) + moment.to_bytes(7, "little")) == "mysql.event_broken"
    begins = bytes([2, 200, 0, 1 << 1, *bytes(16), 2 << 1, 14 << 1])  # and its server and number
    event = begins + bytes([6 << 1, 0xFF]) + moment.to_bytes(8, "little")
    assert code_of_event(event_kinds.TAGGED_GTID, event) == "mysql.event_broken"


def test_the_last_moment_that_has_nanoseconds_is_taken() -> None:
    body = bytes(42) + MOST_US.to_bytes(7, "little")
    event = struct.pack("<IBIIIH", 0, event_kinds.GTID, 9, 19 + len(body), 777, 0) + body
    begun = small_event(event, 0, len(event))
    assert isinstance(begun, GtidEvent)
    assert moments(begun.committed_first_us)


def test_a_text_that_is_none_is_not_shown() -> None:
    assert code_of_event(event_kinds.ROTATE, bytes(8) + b"secret\xff") == "mysql.event_broken"


@pytest.mark.parametrize("name", ["binlog.4294967296", "binlog." + "9" * 5000])
def test_a_file_number_that_seq_has_no_room_for_is_refused(name: str) -> None:
    with pytest.raises(WracklineError) as raised:
        file_number(name)
    assert raised.value.code == "mysql.file_unnumbered"


def compressed(raw: bytes, told: int) -> bytes:
    return b"\x84" + told.to_bytes(4, "big") + zlib.compress(raw)


def test_a_compressed_cell_takes_no_more_memory_than_a_row_may() -> None:
    assert uncompressed(compressed(b"a" * 100, 100), 100) == b"a" * 100
    with pytest.raises(Unfit, match="the limit is 100"):
        uncompressed(compressed(b"a" * 101, 101), 100)
    with pytest.raises(Unfit, match="size that it states"):
        uncompressed(compressed(bytes(1 << 20), 100), 100)
