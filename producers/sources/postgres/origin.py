"""The `source` record of PostgreSQL's events, as bytes: where an event comes from.

Up to `unchanged`, which the frame writes; the fields stand in the envelope's order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wrackline.schemas.frame import avro_long, avro_text
from wrackline.schemas.table import TableId

CONNECTOR = "postgresql"  # as Debezium names it
FIELDS: Sequence[Mapping[str, object]] = tuple(
    {"name": name, "type": ["null", "long"], "default": None} for name in ("txId", "lsn", "xmin")
)
_NULL = b"\x00"


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
    lsn: int,
    xid: int | None = None,
    snapshot: str | None = None,
) -> bytes:
    """Write the record; a snapshot's row has no transaction."""
    return b"".join(
        (
            avro_text(labels.version),
            avro_text(CONNECTOR),
            avro_text(labels.server),
            avro_long(ts_ms),
            _NULL if snapshot is None else b"\x02" + avro_text(snapshot),
            avro_text(labels.database),
            _NULL,  # sequence: ours is seq
            avro_text(table.schema),
            avro_text(table.name),
            _NULL if xid is None else b"\x02" + avro_long(xid),
            b"\x02" + avro_long(lsn),
            _NULL,  # xmin
        )
    )
