"""What is packed comes out plain, or not at all; never more of it than the caller allows."""

import struct
import tracemalloc
import zlib

import pytest
import zstandard

from tests.fixtures.binlogs import recorded
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.events import CUT_SIZE, is_cut
from wrackline.producers.sources.mysql.events.packed_events import plain_events
from wrackline.schemas.errors import WracklineError

INNER = b"".join(struct.pack("<IBIIIH", 0, kind, 9, 19 + 3, 0, 0) + b"abc" for kind in (2, 19, 30, 16))


def event(kind: int, body: bytes) -> bytes:
    return struct.pack("<IBIIIH", 0, kind, 9, 19 + len(body), 777, 0) + body


def payload(packed: bytes, *, method: int | None = 0, told: int | None = None, plain_size: int = 88) -> bytes:
    size = len(packed) if told is None else told
    fields = b"\x01\x03\xfc" + struct.pack("<H", size)
    if method is not None:
        fields += b"\x02" + (bytes([1, method]) if method < 251 else b"\x03\xfc" + struct.pack("<H", method))
    return event(event_kinds.TRANSACTION_PAYLOAD, fields + bytes([3, 1, plain_size, 0]) + packed)


def plain(data: bytes, most: int = 1 << 20) -> list[bytes]:
    return [made[at:end] for made, at, end in plain_events(data, 0, len(data), most)]


def code_of(data: bytes, most: int = 1 << 20) -> str:
    with pytest.raises(WracklineError) as raised:
        plain(data, most)
    assert "777" in raised.value.sentence or raised.value.code == "mysql.event_broken"
    return raised.value.code


def test_a_payload_comes_out_by_each_of_its_methods() -> None:
    zstd = zstandard.ZstdCompressor()
    expected = [INNER[at : at + 22] for at in range(0, 88, 22)]
    assert plain(payload(zstd.compress(INNER))) == expected
    assert plain(payload(zstd.compress(INNER), method=None)) == expected
    assert (
        plain(payload(zstd.compress(INNER[:44]) + zstd.compress(INNER[44:]))) == expected
    )  # frame after frame
    assert plain(payload(INNER, method=255)) == expected


def test_a_payload_that_is_not_right_is_an_error() -> None:
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(INNER)
    assert code_of(payload(packed, method=3)) == "mysql.event_broken"
    assert code_of(payload(packed, told=len(packed) + 1)) == "mysql.event_broken"
    assert code_of(payload(b"no zstd")) == "mysql.event_broken"
    assert code_of(payload(packed[:-5])) == "mysql.event_broken"
    assert code_of(payload(packed[:-1] + bytes([packed[-1] ^ 1]))) == "mysql.event_broken"
    assert code_of(payload(packed, plain_size=87)) == "mysql.event_broken"
    assert code_of(payload(INNER[:-1], method=255, plain_size=87)) == "mysql.event_broken"
    assert code_of(payload(INNER + b"rest", method=255, plain_size=92)) == "mysql.event_broken"
    assert code_of(payload(INNER[:9] + bytes(4) + INNER[13:], method=255)) == "mysql.event_broken"


def test_a_bomb_is_stopped_at_the_bound() -> None:
    """A-DATA-04."""
    bomb = zstandard.ZstdCompressor().compress(event(event_kinds.QUERY, bytes(50 << 20)))
    head = struct.pack("<IIBHH", 1, 2, 2, 0, 3) + b"\x63\x64\x65" + b"db\0"
    told = event(event_kinds.QUERY_COMPRESSED, head + b"\x84" + struct.pack(">I", 50 << 20))
    hidden = event(event_kinds.QUERY_COMPRESSED, head + b"\x81\x09" + zlib.compress(bytes(50 << 20)))
    tracemalloc.start()
    try:
        codes = [code_of(data) for data in (payload(bomb), told, hidden)]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert codes == ["mysql.event_too_large", "mysql.event_too_large", "mysql.event_broken"]
    assert most < 10 << 20


def test_of_rows_that_are_too_large_the_head_comes_out() -> None:
    table = struct.pack("<HIH", 7, 0, 1)
    rows, behind = event(event_kinds.WRITE_ROWS_V2, table + bytes(50 << 20)), event(event_kinds.QUERY, b"abc")
    packed = zstandard.ZstdCompressor().compress(rows + behind)
    fields = b"\x01\x03\xfc" + struct.pack("<H", len(packed)) + b"\x02\x01\x00\x00"
    head = table + b"\x01\xff"
    told = event(event_kinds.WRITE_ROWS_COMPRESSED_V1, head + b"\x84" + struct.pack(">I", 50 << 20))
    whole = event(event_kinds.WRITE_ROWS_COMPRESSED_V2, table + b"\2\0" + head + bytes(50 << 20))
    tracemalloc.start()
    try:
        in_payload, rest = plain(event(event_kinds.TRANSACTION_PAYLOAD, fields + packed))
        [of_mariadb] = plain(told)
        [cut] = plain(whole[:CUT_SIZE])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (in_payload, rest) == (rows[:CUT_SIZE], behind)
    for made, kind in ((of_mariadb, event_kinds.WRITE_ROWS_V1), (cut, event_kinds.WRITE_ROWS_V2)):
        assert is_cut(made, 0, len(made))
        assert (made[4], made[19:]) == (kind, table)
    assert most < 10 << 20


@pytest.mark.parametrize(
    ("kind", "plain_kind", "extra", "images"),
    [
        (166, 23, b"", 1),
        (167, 24, b"", 2),
        (168, 25, b"", 1),
        (169, 30, b"\2\0", 1),
        (170, 31, b"\5\0abc", 2),
        (171, 32, b"\2\0", 1),
    ],
)
def test_rows_of_mariadb_keep_their_head(kind: int, plain_kind: int, extra: bytes, images: int) -> None:
    head = struct.pack("<HIH", 7, 0, 1) + extra + b"\x0c" + b"\xff\x0f" * images
    rows = b"row" * 400
    data = event(kind, head + b"\x82" + struct.pack(">H", len(rows)) + zlib.compress(rows))
    [made] = plain(data)
    assert made == event(plain_kind, head + rows)


def test_a_query_of_mariadb_keeps_its_head() -> None:
    head = struct.pack("<IIBHH", 1, 2, 2, 0, 3) + b"\x63\x64\x65" + b"db\0"
    data = event(
        event_kinds.QUERY_COMPRESSED, head + b"\x81\x1e" + zlib.compress(b"ALTER TABLE t COMMENT 'abcdef'")
    )
    assert plain(data) == [event(event_kinds.QUERY, head + b"ALTER TABLE t COMMENT 'abcdef'")]


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-11.4"])
def test_a_cut_one_of_a_real_server_is_an_error_of_ours(name: str) -> None:
    tried = 0
    for data in recorded(name):
        if data[4] in event_kinds.PACKED:
            for end in set(range(19, len(data) - 4)) - {
                CUT_SIZE
            }:  # which is how a row that is too large looks
                with pytest.raises(WracklineError):
                    plain(data[:end])
                tried += 1
    assert tried > 50


@pytest.mark.parametrize("kind", [event_kinds.TRANSACTION_PAYLOAD, event_kinds.QUERY_COMPRESSED])
def test_what_is_packed_within_a_payload_is_refused(kind: int) -> None:
    """Each level would hold as many bytes as one event may have."""
    inner = event(kind, b"abc")
    assert code_of(payload(inner, method=255, plain_size=len(inner))) == "mysql.event_broken"
