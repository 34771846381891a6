"""The `source` record of PostgreSQL's events, as bytes: where an event comes from.

It ends before `unchanged`, which the frame writes; the fields have the envelope's order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wrackline.schemas.events.frame import Placed, avro_long, avro_text, fine_moments
from wrackline.schemas.tables.table import TableId

CONNECTOR = "postgresql"  # as Debezium names it
FIELDS: Sequence[Mapping[str, object]] = tuple(
    {"name": name, "type": ["null", "long"], "default": None} for name in ("txId", "lsn", "xmin")
)
_NULL = b"\x00"
_WORD = b"\x00"  # `snapshot` is never null: the text is the union's first branch
_STREAMED = "false"
_THERE = b"\x02"
_SEQUENCE_ENDS = '"]'


@dataclass(frozen=True, slots=True)
class PgSourceLabels:
    """What every event of a stream says about its origin."""

    version: str
    server: str
    database: str
    counted: bool = False  # whether events carry their transaction's block
    skipped: bytes = b""  # operations that are not published
    changed_only: bool = False  # whether an update that changes nothing is left out
    placeholder: bytes = b""  # replaces a value that the log did not send; none: null


def source_record(
    labels: PgSourceLabels, table: TableId, *, ts_ms: int, lsn: int, committed: int, snapshot: str
) -> bytes:
    """Write the record of rows from a read; they have no transaction, and one place."""
    lead, between, behind, opening = _parts(
        labels, table, ts_us=ts_ms * 1000, xid=None, committed=committed, snapshot=snapshot
    )
    sequence = avro_text(opening + str(lsn) + _SEQUENCE_ENDS)
    return b"".join((lead, sequence, between, avro_long(lsn), behind))


def streamed_record(
    labels: PgSourceLabels, table: TableId, *, ts_us: int, xid: int, committed: int
) -> Placed:
    """Write the record of a transaction's events of one table; the frame adds each event's own place.

    `committed` is where the transaction before it ended; 0: unknown.
    """
    lead, between, behind, opening = _parts(
        labels, table, ts_us=ts_us, xid=xid, committed=committed, snapshot=_STREAMED
    )
    return Placed(lead, between, behind, opening.encode())


def _parts(
    labels: PgSourceLabels, table: TableId, *, ts_us: int, xid: int | None, committed: int, snapshot: str
) -> tuple[bytes, bytes, bytes, str]:
    """Return the record around `sequence`'s text and `lsn`, and the beginning of the text, as in Debezium.

    The text contains where the transaction before it ended, then the event's own place, so that it orders
    events of several transactions as they were committed.
    """
    lead = (
        avro_text(labels.version),
        avro_text(CONNECTOR),
        avro_text(labels.server),
        avro_long(ts_us // 1000),
        _WORD + avro_text(snapshot),
        avro_text(labels.database),
        _THERE,
    )
    between = (
        fine_moments(ts_us),
        avro_text(table.schema),
        avro_text(table.name),
        _NULL if xid is None else _THERE + avro_long(xid),
        _THERE,
    )
    before = f'"{committed}"' if committed else "null"
    # xmin stays null: pgoutput does not carry it, and Debezium's is null unless xmin.fetch.interval.ms is set
    return b"".join(lead), b"".join(between), _NULL, f'[{before},"'
