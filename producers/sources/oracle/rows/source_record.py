"""The `source` record of Oracle's events, as bytes: where an event comes from.

It ends before `unchanged`, which the frame writes.  The fields behind the common fields have Debezium's
names: the SCN of the row and of its commit as texts, and where the row's redo is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wrackline.schemas.events.frame import Placed, avro_long, avro_text, fine_moments
from wrackline.schemas.tables.table import TableId

CONNECTOR = "oracle"  # as Debezium names it
_OWN = {
    "txId": "string",
    "scn": "string",
    "rs_id": "string",
    "redo_thread": "int",
    "ssn": "long",
    "commit_scn": "string",
    "lcr_position": "string",
    "user_name": "string",
}
FIELDS: Sequence[Mapping[str, object]] = tuple(
    {"name": name, "type": ["null", kind], "default": None} for name, kind in _OWN.items()
)
_NULL = b"\x00"
_WORD = b"\x00"  # `snapshot` is never null: the text is the union's first branch
_THERE = b"\x02"
_MOST_SPOT = 50  # bytes of a place for which a frame has room
_named = lru_cache(4096)(avro_text)  # names: of servers, databases, tables and users


@dataclass(frozen=True, slots=True)
class OracleSourceLabels:
    """What every event of a stream says about its origin."""

    version: str
    server: str
    counted: bool = False  # whether events carry their transaction's block
    skipped: bytes = b""  # operations that are not published
    placeholder: bytes = b""  # what stands for a value that SQL_REDO does not have


def source_record(
    labels: OracleSourceLabels, table: TableId, scn: int, *, ts_ms: int, snapshot: str
) -> bytes:
    """Write the record of rows from a read, which have one place and no change of their own."""
    lead = _lead(labels, table, ts_us=ts_ms * 1000, snapshot=snapshot)
    return b"".join((lead, _NULL, _THERE, avro_text(str(scn)), _NULL * 6))


def streamed_record(
    labels: OracleSourceLabels, table: TableId, xid: str, commit_scn: int, user: str, *, ts_us: int
) -> Placed:
    """Write the record of a transaction's events of one table; the frame adds each row's own place."""
    lead = b"".join(
        (_lead(labels, table, ts_us=ts_us, snapshot="false"), _THERE, avro_text(xid.lower()), _THERE)
    )
    named = _THERE + _named(user) if user else _NULL
    return Placed(lead, _THERE, b"".join((_THERE, avro_text(str(commit_scn)), _NULL, named)))


def row_spot(scn: int, rs_id: str, thread: int) -> bytes:
    """Write a row's own place, for `Frame.spot`; `Frame.row` is its SSN."""
    start, end = avro_text(str(scn)), _THERE + avro_long(thread)
    named = _THERE + avro_text(rs_id)
    return start + (named if len(start) + len(named) + len(end) <= _MOST_SPOT else _NULL) + end


def _lead(labels: OracleSourceLabels, table: TableId, *, ts_us: int, snapshot: str) -> bytes:
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
