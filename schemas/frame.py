"""What stands around a row in an event, made once for a source transaction or a chunk.

    header | before | after | source | unchanged | chunk | transaction | op | ts_ms ts_us ts_ns | seq
    '---- head: the row ---'  '-------------- tail: this module ------------------------------------'

The order is the envelope's (envelope.py), chosen so that all that is known only when a
snapshot row is released stands behind the row: releasing it is one concatenation.
"""

import cython

if not cython.compiled:
    from wrackline.schemas.writer import SLACK, put_bytes, put_long, put_raw
else:
    from cython.cimports.wrackline.schemas.writer import SLACK, put_bytes, put_long, put_raw

NO_COLUMNS = b"\x00"  # `unchanged`: null
MOST_US = ((1 << 63) - 1) // 1_000_000 * 1000  # a moment in 2262: the nanoseconds of a later one are no long
_ORDINAL_DIGITS = cython.declare(cython.longlong, 8)


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
    """Return a moment that a log tells; a `ValueError` if it has no room in an event."""
    if abs(ts_us) > MOST_US:
        raise ValueError("a moment whose nanoseconds have no room in 64 bits")
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


@cython.final
@cython.cclass
class Frame:
    """The tail of every event of one source transaction, or of one slice of a chunk."""

    def __init__(
        self,
        source: bytes,
        seq_prefix: bytes,
        *,
        ts_ms: int | None = None,
        transaction: str | None = None,
        chunk: str | None = None,
    ) -> None:
        """Take the `source` record's bytes up to `unchanged`, and seq without its ordinal."""
        self.source = source
        self.chunk = b"\x00" if chunk is None else b"\x02" + avro_text(chunk)
        self.moment = moments(None if ts_ms is None else ts_ms * 1000)
        self.transaction = b"\x00" if transaction is None else b"\x02" + avro_text(transaction)
        self.counted = transaction is not None
        self.seq = avro_long(len(seq_prefix) + _ORDINAL_DIGITS) + seq_prefix
        self.bound = 64 + sum(map(len, (source, self.chunk, self.moment, self.transaction, self.seq)))

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
        of_table: cython.longlong,
    ) -> cython.Py_ssize_t:
        """Write the tail; the caller has reserved `bound` and the length of `unchanged`."""
        at = put_raw(out, at, limit, self.source, 0, len(self.source))
        at = put_raw(out, at, limit, unchanged, 0, len(unchanged))
        at = put_raw(out, at, limit, self.chunk, 0, len(self.chunk))
        at = put_raw(out, at, limit, self.transaction, 0, len(self.transaction))
        if self.counted:
            at = put_long(out, at, ordinal + 1)
            at = put_long(out, at, of_table + 1)
        out[at] = 2
        out[at + 1] = op
        at = put_raw(out, at + 2, limit, self.moment, 0, len(self.moment))
        at = put_raw(out, at, limit, self.seq, 0, len(self.seq))
        place: cython.int
        digit: cython.int
        for place in range(_ORDINAL_DIGITS):  # lower-case hex
            digit = (ordinal >> (28 - 4 * place)) & 15
            out[at + place] = digit + 48 if digit < 10 else digit + 87
        return at + _ORDINAL_DIGITS

    def tail(self, op: str, ordinal: int = 0, of_table: int = 0, unchanged: bytes = NO_COLUMNS) -> bytes:
        """Return the tail alone, for snapshot rows and for events off the hot path."""
        limit = self.bound + len(unchanged)
        out = bytearray(limit + SLACK)
        return bytes(out[: self.put(out, 0, limit, ord(op), unchanged, ordinal, of_table)])
