"""The bytes around a row in an event, made once for a source transaction or a chunk.

    header | before | after | source | unchanged | chunk | transaction | op | ts_ms ts_us ts_ns | seq
    '---- head: the row ---'  '-------------- tail: this module ------------------------------------'

The order is the envelope's (envelope.py), chosen so that all that is known only when a snapshot row is
released comes after the row: releasing it is one concatenation.

In `source` an event of the log contains its own place, which its decoder sets before each row: `Placed` has
the bytes around it.
"""

from typing import NamedTuple

import cython

if not cython.compiled:
    from wrackline.schemas.events.avro_writer import SLACK, put_bytes, put_long, put_raw
else:
    from cython.cimports.wrackline.schemas.events.avro_writer import SLACK, put_bytes, put_long, put_raw

NO_COLUMNS = b"\x00"  # `unchanged`: null
MOST_US = ((1 << 63) - 1) // 1_000_000 * 1000  # a moment in 2262: a later one's nanoseconds do not fit a long
_ORDINAL_DIGITS = cython.declare(cython.longlong, 8)
_LOW = cython.declare(cython.longlong, 1_000_000)
_LOW_DIGITS = cython.declare(cython.int, 6)
_PLACE_ROOM = cython.declare(cython.longlong, 64)  # a place as a text and as a number, and a row


def avro_text(text: str) -> bytes:
    """Return an Avro string's bytes."""
    raw = text.encode()
    out = bytearray(len(raw) + 10)
    return bytes(out[: put_bytes(out, 0, len(out), raw, 0, len(raw))])


def avro_long(value: int) -> bytes:
    """Return an Avro long's bytes."""
    out = bytearray(10)
    return bytes(out[: put_long(out, 0, value)])


def moment(ts_us: int) -> int:
    """Return a moment of a log; a `ValueError` if it has no room in an event."""
    if abs(ts_us) > MOST_US:
        raise ValueError("a time whose nanoseconds do not fit into 64 bits")
    return ts_us


def moments(ts_us: int | None) -> bytes:
    """Return the envelope's `ts_ms`, `ts_us` and `ts_ns`: one moment, or none."""
    if ts_us is None:
        return b"\x00\x00\x00"
    return b"".join(b"\x02" + avro_long(one) for one in (ts_us // 1000, ts_us, ts_us * 1000))


def fine_moments(ts_us: int) -> bytes:
    """Return `ts_us` and `ts_ns` of a `source` record."""
    return b"".join(b"\x02" + avro_long(one) for one in (ts_us, ts_us * 1000))


def unchanged_columns(names: tuple[str, ...]) -> bytes:
    """Return `source.unchanged`: the columns whose value the log did not send."""
    if not names:
        return NO_COLUMNS
    return b"\x02" + avro_long(len(names)) + b"".join(map(avro_text, names)) + b"\x00"


def no_row(value_id: int) -> bytes:
    """Return the head of an event's value that has neither image, after the id of its schema."""
    return b"\0%b\0\0" % value_id.to_bytes(4, "big")


class Placed(NamedTuple):
    """A `source` record up to `unchanged`, cut where an event's own place is written.

    lead | opening place "] | between | place | behind      the place also as a text that begins so
    lead | place            | between | row   | behind      without such a text
    lead | spot             | between | row   | behind      the place as the decoder writes it
    """

    lead: bytes
    between: bytes
    behind: bytes
    opening: bytes = b""


@cython.final
@cython.cclass
class Frame:
    """The tail of every event of one source transaction, or of one slice of a chunk."""

    def __init__(
        self,
        source: bytes | Placed,
        seq_prefix: bytes,
        *,
        ts_ms: int | None = None,
        transaction: str | None = None,
        chunk: str | None = None,
        skipped: bytes = b"",
    ) -> None:
        """Take the `source` record's bytes up to `unchanged`, and seq without its ordinal.

        `skipped` are the operations that are not published, so they do not count in the transaction.
        """
        placed = Placed(source, b"", b"") if isinstance(source, bytes) else source
        self.placed = not isinstance(source, bytes)
        self.source, self.between, self.behind, self.opening = placed.lead, placed[1], placed[2], placed[3]
        self.place = self.row = 0  # of the event that is written next
        self.spot = b""  # its place where that is not a number: at most 50 bytes of Avro
        self.chunk = b"\x00" if chunk is None else b"\x02" + avro_text(chunk)
        moment = moments(None if ts_ms is None else ts_ms * 1000)
        self.transaction = b"\x00" if transaction is None else b"\x02" + avro_text(transaction)
        self.counted = transaction is not None
        self.skipped = skipped
        self.total = self.of_table = 0  # events of the transaction before the next, and of this table
        self.ending = moment + avro_long(len(seq_prefix) + _ORDINAL_DIGITS) + seq_prefix
        self.whole = self.behind + NO_COLUMNS + self.chunk + self.transaction
        self.high = 0
        self.opened = self.opening  # and the place's digits but the last six, which are `high`
        self.bound = 64 + _PLACE_ROOM + sum(map(len, (*placed, self.whole, self.ending)))
        self.prefix = seq_prefix.decode()

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def put(
        self,
        out: cython.p_uchar,
        at: cython.Py_ssize_t,
        limit: cython.Py_ssize_t,
        op: cython.uchar,
        unchanged: bytes,
        ordinal: cython.longlong,
    ) -> cython.Py_ssize_t:
        """Write the tail; the caller has reserved `bound` and the length of `unchanged`."""
        at = put_raw(out, at, limit, self.source, 0, len(self.source))
        if self.placed:
            at = self._put_place(out, at, limit)
        if len(unchanged) == 1:
            at = put_raw(out, at, limit, self.whole, 0, len(self.whole))
        else:
            at = put_raw(out, at, limit, self.behind, 0, len(self.behind))
            at = put_raw(out, at, limit, unchanged, 0, len(unchanged))
            at = put_raw(out, at, limit, self.chunk, 0, len(self.chunk))
            at = put_raw(out, at, limit, self.transaction, 0, len(self.transaction))
        if self.counted:
            at = self._put_orders(out, at, op)
        out[at] = 2
        out[at + 1] = op
        at = put_raw(out, at + 2, limit, self.ending, 0, len(self.ending))
        place: cython.int
        digit: cython.int
        for place in range(_ORDINAL_DIGITS):  # lower-case hex
            digit = (ordinal >> (28 - 4 * place)) & 15
            out[at + place] = digit + 48 if digit < 10 else digit + 87
        return at + _ORDINAL_DIGITS

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _put_orders(self, out: cython.p_uchar, at: cython.Py_ssize_t, op: cython.uchar) -> cython.Py_ssize_t:
        """Write the event's number in the transaction, as its END counts: a changed key is two events."""
        at = put_long(out, at, self.total + 1)
        at = put_long(out, at, self.of_table + 1)
        if op not in self.skipped:
            self.total += 1
            self.of_table += 1
        return at

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _put_place(
        self, out: cython.p_uchar, at: cython.Py_ssize_t, limit: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Write the event's own place, and what follows it.

        Places of one transaction share most of their digits, so all but six are kept as text.
        """
        if self.spot:
            at = put_raw(out, at, limit, self.spot, 0, len(self.spot))
            at = put_raw(out, at, limit, self.between, 0, len(self.between))
            return put_long(out, at, self.row)
        if not self.opening:
            at = put_raw(out, put_long(out, at, self.place), limit, self.between, 0, len(self.between))
            return put_long(out, at, self.row)
        high: cython.longlong = self.place // _LOW
        low: cython.uint = self.place - high * _LOW
        if high != self.high:
            self.opened = self.opening + (b"%d" % high if high else b"")
            self.high = high
        digits: cython.int = _LOW_DIGITS
        if high == 0:
            digits = len(str(low))
        size: cython.Py_ssize_t = len(self.opened)
        at = put_long(out, at, size + digits + 2)
        at = put_raw(out, at, limit, self.opened, 0, size) + digits
        i: cython.int
        for i in range(1, digits + 1):
            out[at - i] = 48 + low % 10
            low = low // 10
        out[at] = 34  # a quotation mark and a bracket
        out[at + 1] = 93
        at = put_raw(out, at + 2, limit, self.between, 0, len(self.between))
        return put_long(out, at, self.place)

    def seq_of(self, ordinal: int) -> str:
        """Return `seq` of the event with this ordinal."""
        return f"{self.prefix}{ordinal:08x}"

    def tail(self, op: str, ordinal: int = 0, unchanged: bytes = NO_COLUMNS) -> bytes:
        """Return only the tail, for snapshot rows and for events off the hot path."""
        limit = self.bound + len(unchanged)
        out = bytearray(limit + SLACK)
        return bytes(out[: self.put(out, 0, limit, ord(op), unchanged, ordinal)])
