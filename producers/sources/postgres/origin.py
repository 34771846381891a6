"""The `source` record of PostgreSQL's events, as bytes: where an event comes from.

Up to `unchanged`, which the frame writes; the fields stand in the envelope's order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wrackline.schemas.frame import avro_long, avro_text, fine_moments
from wrackline.schemas.table import TableId

CONNECTOR = "postgresql"  # as Debezium names it
FIELDS: Sequence[Mapping[str, object]] = tuple(
    {"name": name, "type": ["null", "long"], "default": None} for name in ("txId", "lsn", "xmin")
)
_NULL = b"\x00"
_WORD = b"\x00"  # `snapshot` is never null: the text is the union's first branch
_STREAMED = "false"


@dataclass(frozen=True, slots=True)
class Labels:
    """What every event of a stream says of its origin."""

    version: str
    server: str
    database: str
    counted: bool = False  # whether events carry their transaction's block
    placeholder: bytes = b""  # replaces a value that the log did not send; none: null


def no_row(value_id: int) -> bytes:
    """Write the head of an event's value that has neither image, behind the id of its schema."""
    return b"\0%b\0\0" % value_id.to_bytes(4, "big")


def source_record(
    labels: Labels,
    table: TableId,
    *,
    ts_ms: int,
    ts_us: int | None = None,
    lsn: int,
    xid: int | None = None,
    snapshot: str | None = None,
) -> bytes:
    """Write the record; a snapshot's row has no transaction.  `ts_us` is `ts_ms` where it is known better."""
    return b"".join(
        (
            avro_text(labels.version),
            avro_text(CONNECTOR),
            avro_text(labels.server),
            avro_long(ts_ms),
            _WORD + avro_text(snapshot or _STREAMED),
            avro_text(labels.database),
            _NULL,  # sequence: ours is seq
            fine_moments(ts_ms * 1000 if ts_us is None else ts_us),
            avro_text(table.schema),
            avro_text(table.name),
            _NULL if xid is None else b"\x02" + avro_long(xid),
            b"\x02" + avro_long(lsn),
            _NULL,  # xmin: Debezium's is null too, unless xmin.fetch.interval.ms is set
        )
    )
