"""MySQL's binary JSON as text: scalars, containers, diffs, and documents that are broken."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.rows_events import sized
from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.mysql.rows.json_text import apply_diffs, quote, text_of

OBJECT = bytes.fromhex("0002001a001200010013000200050100051400" + "61" + "6262")  # {"a": 1, "bb": 20}
ARRAY = bytes.fromhex("0202000a0005010005ffff")  # [1, -1]
DEEP = bytes.fromhex("00010013000b0001000 20c00".replace(" ", "")) + b"a" + ARRAY[1:]  # {"a": [1, -1]}
REPLACE, INSERT, REMOVE = b"\x00", b"\x01", b"\x02"
TRUE = sized(b"\x04\x01")


def opaque(kind: int, raw: bytes) -> bytes:
    return b"\x0f" + bytes([kind]) + sized(raw)


def double(number: float) -> bytes:
    return b"\x0b" + struct.pack("<d", number)


def moment(year: int, month: int, day: int, clock: int = 0, micros: int = 0) -> bytes:
    packed = ((year * 13 + month) << 22 | day << 17 | clock) << 24 | micros
    return packed.to_bytes(8, "little", signed=True)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (b"", "null"),
        (b"\x04\x00", "null"),
        (b"\x04\x01", "true"),
        (b"\x05\xff\xff", "-1"),
        (b"\x06\xff\xff", "65535"),
        (b"\x07\x00\x00\x00\x80", "-2147483648"),
        (b"\x0a" + b"\xff" * 8, "18446744073709551615"),
        (double(1.0), "1.0"),
        (double(-0.0), "-0.0"),
        (double(1e15), "1e15"),
        (double(1e14), "100000000000000.0"),
        (double(1e-15), "0.000000000000001"),
        (double(1.5e300), "1.5e300"),
        (double(5e-324), "5e-324"),
        (b"\x0c" + sized(b'a"\\\n\x01/'), r'"a\"\\\n\u0001/"'),
        (OBJECT, '{"a": 1, "bb": 20}'),
        (ARRAY, "[1, -1]"),
        (DEEP, '{"a": [1, -1]}'),
        (opaque(246, bytes.fromhex("0302" + "8132")), "1.50"),
        (opaque(10, moment(2020, 1, 2)), '"2020-01-02"'),
        (opaque(12, moment(2020, 1, 2, 3 << 12 | 4 << 6 | 5, 600_000)), '"2020-01-02 03:04:05.600000"'),
        (opaque(11, (-(1 << 24 | 500_000)).to_bytes(8, "little", signed=True)), '"-00:00:01.500000"'),
        (opaque(15, b"\xab" * 58), '"base64:type15:' + "q6ur" * 19 + r"\nqw==" + '"'),
    ],
)
def test_a_document_is_the_text_that_the_server_prints(cell: bytes, text: str) -> None:
    assert text_of(cell).decode() == text


@pytest.mark.parametrize(
    ("diffs", "text"),
    [
        (b"", '{"a": [1, -1]}'),
        (REPLACE + sized(b"$.a[1]") + TRUE, '{"a": [1, true]}'),
        (REPLACE + sized(b"$.a[last]") + TRUE, '{"a": [1, true]}'),
        (REPLACE + sized(b"$.a[last-1]") + TRUE, '{"a": [true, -1]}'),
        (INSERT + sized(b"$.a[0]") + TRUE, '{"a": [true, 1, -1]}'),
        (INSERT + sized(b"$.a[9]") + TRUE, '{"a": [1, -1, true]}'),
        (INSERT + sized(b'$."k \\"q"') + TRUE, '{"a": [1, -1], "k \\"q": true}'),
        (INSERT + sized(b"$.Bb") + TRUE, '{"a": [1, -1], "Bb": true}'),
        (INSERT + sized(b"$.B") + TRUE, '{"B": true, "a": [1, -1]}'),
        (REMOVE + sized(b"$.a[0]"), '{"a": [-1]}'),
        (REMOVE + sized(b"$.a") + INSERT + sized(b"$.b") + TRUE, '{"b": true}'),
    ],
)
def test_diffs_are_applied_one_after_the_other(diffs: bytes, text: str) -> None:
    assert apply_diffs(DEEP, diffs).decode() == text


@pytest.mark.parametrize(
    "diffs",
    [
        REPLACE + sized(b"$.b") + TRUE,
        INSERT + sized(b"$.a") + TRUE,
        REMOVE + sized(b"$.a[2]"),
        REMOVE + sized(b"$.a.b"),
        REMOVE + sized(b"$"),
        REMOVE + sized(b"$.a[*]"),
        b"\x03" + sized(b"$.a"),
        REPLACE + sized(b"$.a"),
        REPLACE + b"\x09$.a",
    ],
)
def test_diffs_that_do_not_fit_are_refused(diffs: bytes) -> None:
    with pytest.raises(Unfit):
        apply_diffs(DEEP, diffs)


@given(st.sampled_from([OBJECT, ARRAY, DEEP]), st.data())
def test_a_damaged_document_is_refused_or_short(cell: bytes, data: st.DataObject) -> None:
    damaged = bytearray(cell)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Unfit):
        assert len(text_of(bytes(damaged))) < 1000


def test_an_array_that_contains_itself_is_refused() -> None:
    inside = bytes.fromhex("0200ffff" + "020000" * 2)  # an array of two, each of which is the array itself
    with pytest.raises(Unfit):
        text_of(b"\x02" + inside)


def test_other_control_characters_stay() -> None:
    assert quote("\x7fé😀".encode()) == '"\x7fé😀"'.encode()


def test_a_document_whose_values_share_their_bytes_is_refused() -> None:
    """Else a cell of 100 kB has a text of 500 MB."""
    count, text = 1000, b"x" * 5000
    head = 8 + 5 * count
    values = (b"\x0c" + struct.pack("<I", head)) * count
    cell = b"\x03" + struct.pack("<II", count, head + 2 + len(text)) + values + b"\x88\x27" + text
    with pytest.raises(Unfit, match="not a document"):
        text_of(cell)
