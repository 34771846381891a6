"""The `source` record of MySQL's and MariaDB's events, as bytes: where an event comes from.

Up to `unchanged`, which the frame writes; the fields stand in the envelope's order, and those of our own
behind the common ones are named as Debezium names them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wrackline.schemas.frame import avro_long, avro_text, fine_moments
from wrackline.schemas.table import TableId

_OWN = {
    "server_id": "long",
    "gtid": "string",
    "file": "string",
    "pos": "long",
    "row": "int",
    "thread": "long",
}
FIELDS: Sequence[Mapping[str, object]] = tuple(
    {"name": name, "type": ["null", kind], "default": None} for name, kind in _OWN.items()
)
_NULL = b"\x00"
_WORD = b"\x00"  # `snapshot` is never null: the text is the union's first branch
_STREAMED = "false"
_THERE = b"\x02"


@dataclass(frozen=True, slots=True)
class Labels:
    """What every event of a stream says of its origin."""

    version: str
    connector: str  # as Debezium names it: mysql or mariadb
    server: str
    counted: bool = False  # whether events carry their transaction's block


@dataclass(frozen=True, slots=True)
class Whence:
    """Where in the log an event, or the place of a snapshot's row, stands."""

    pos: int
    file: str | None = None
    server_id: int | None = None
    gtid: str | None = None
    thread: int | None = None


def no_row(value_id: int) -> bytes:
    """Write the head of an event's value that has neither image, behind the id of its schema."""
    return b"\0%b\0\0" % value_id.to_bytes(4, "big")


def source_record(
    labels: Labels,
    table: TableId,
    whence: Whence,
    *,
    ts_ms: int,
    ts_us: int | None = None,
    snapshot: str | None = None,
) -> bytes:
    """Write the record; a snapshot's row has no transaction.  `ts_us` is `ts_ms` where it is known better."""
    return b"".join(
        (
            avro_text(labels.version),
            avro_text(labels.connector),
            avro_text(labels.server),
            avro_long(ts_ms),
            _WORD + avro_text(snapshot or _STREAMED),
            avro_text(table.database),
            _NULL,  # sequence: ours is seq
            fine_moments(ts_ms * 1000 if ts_us is None else ts_us),
            avro_text(table.schema),
            avro_text(table.name),
            _long(whence.server_id),
            _text(whence.gtid),
            _text(whence.file),
            _long(whence.pos),
            _NULL,  # row: the ordinal in seq
            _long(whence.thread),
        )
    )


def _text(text: str | None) -> bytes:
    return _NULL if text is None else _THERE + avro_text(text)


def _long(number: int | None) -> bytes:
    return _NULL if number is None else _THERE + avro_long(number)
