"""The `source` record of SQL Server's events, as bytes: where an event comes from.

It ends before `unchanged`, which the frame writes.  The fields behind the common fields have Debezium's
names: the LSNs of the row and of its commit as texts, and the number of the event among those with both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wrackline.producers.sources.sqlserver.log.lsn import Lsn, lsn_text
from wrackline.schemas.events.frame import Placed, avro_long, avro_text, fine_moments
from wrackline.schemas.tables.table import TableId

CONNECTOR = "sqlserver"  # as Debezium names it
FIELDS: Sequence[Mapping[str, object]] = tuple(
    {"name": name, "type": ["null", kind], "default": None}
    for name, kind in {"change_lsn": "string", "commit_lsn": "string", "event_serial_no": "long"}.items()
)
_NULL = b"\x00"
_WORD = b"\x00"  # `snapshot` is never null: the text is the union's first branch
_THERE = b"\x02"
_named = lru_cache(4096)(avro_text)  # names: of servers, databases and tables


@dataclass(frozen=True, slots=True)
class SqlServerSourceLabels:
    """What every event of a stream says about its origin."""

    version: str
    server: str
    counted: bool = False  # whether events carry their transaction's block
    skipped: bytes = b""  # operations that are not published


def source_record(
    labels: SqlServerSourceLabels, table: TableId, commit: Lsn, *, ts_ms: int, snapshot: str
) -> bytes:
    """Write the record of rows from a read, which have one place and no change of their own."""
    lead = _lead(labels, table, ts_us=ts_ms * 1000, snapshot=snapshot)
    return b"".join((lead, _NULL, _THERE, avro_text(lsn_text(commit)), _NULL))


def streamed_record(labels: SqlServerSourceLabels, table: TableId, commit: Lsn, *, ts_us: int) -> Placed:
    """Write the record of a commit's events of one table; the frame adds each row's LSN and number."""
    lead = _lead(labels, table, ts_us=ts_us, snapshot="false") + _THERE
    return Placed(lead, _THERE + avro_text(lsn_text(commit)) + _THERE, b"")


def _lead(labels: SqlServerSourceLabels, table: TableId, *, ts_us: int, snapshot: str) -> bytes:
    return b"".join(
        (
            _named(labels.version),
            _named(CONNECTOR),
            _named(labels.server),
            avro_long(ts_us // 1000),
            _WORD + _named(snapshot),
            _named(table.database),
            _NULL,  # sequence: Debezium's is null, too
            fine_moments(ts_us),
            _named(table.schema),
            _named(table.name),
        )
    )
