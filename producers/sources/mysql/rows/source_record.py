"""The `source` record of MySQL's and MariaDB's events, as bytes: where an event comes from.

It ends before `unchanged`, which the frame writes; the fields have the envelope's order, and the extra fields
behind the common fields have Debezium's names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wrackline.schemas.events.frame import Placed, avro_long, avro_text, fine_moments
from wrackline.schemas.tables.table import TableId

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
_named = lru_cache(4096)(avro_text)  # names: of servers, tables and files


@dataclass(frozen=True, slots=True)
class MySqlSourceLabels:
    """What every event of a stream says about its origin."""

    version: str
    connector: str  # as Debezium names it: mysql or mariadb
    server: str
    counted: bool = False  # whether events carry their transaction's block
    skipped: bytes = b""  # operations that are not published


@dataclass(frozen=True, slots=True)
class TransactionOrigin:
    """The log and the transaction of an event; for rows from a read both are unknown."""

    file: str | None = None
    server_id: int | None = None
    gtid: str | None = None
    thread: int | None = None


def source_record(labels: MySqlSourceLabels, table: TableId, pos: int, *, ts_ms: int, snapshot: str) -> bytes:
    """Write the record of rows from a read; they have no transaction, and one place."""
    lead, between, behind, _ = _parts(
        labels, table, TransactionOrigin(), ts_us=ts_ms * 1000, snapshot=snapshot
    )
    return b"".join((lead, avro_long(pos), between, avro_long(0), behind))


def streamed_record(
    labels: MySqlSourceLabels, table: TableId, whence: TransactionOrigin, *, ts_us: int
) -> Placed:
    """Write the record of a transaction's events of one table; the frame adds each row's own place."""
    return _parts(labels, table, whence, ts_us=ts_us, snapshot=_STREAMED)


def _parts(
    labels: MySqlSourceLabels, table: TableId, whence: TransactionOrigin, *, ts_us: int, snapshot: str
) -> Placed:
    """Return the record around `pos` and `row`: where the row's event begins, and the row's number in it."""
    lead = (
        _named(labels.version),
        _named(labels.connector),
        _named(labels.server),
        avro_long(ts_us // 1000),
        _WORD + _named(snapshot),
        _named(table.database),
        _NULL,  # sequence: Debezium's is null, too
        fine_moments(ts_us),
        _named(table.schema),
        _named(table.name),
        _long(whence.server_id),
        _text(whence.gtid),
        _text(whence.file),
        _THERE,
    )
    return Placed(b"".join(lead), _THERE, _long(whence.thread))


def _text(text: str | None) -> bytes:
    return _NULL if text is None else _THERE + avro_text(text)


def _long(number: int | None) -> bytes:
    return _NULL if number is None else _THERE + avro_long(number)
