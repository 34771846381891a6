"""A row of the signal table: id, type and data, at any places among its columns.  Pure.

In: the row's event, as its decoder wrote it.  So the texts are in UTF-8, for any charset of the columns.  If
the table has other names, they are the first three columns.
"""

from collections.abc import Iterator
from dataclasses import replace

from wrackline.producers.contract.steps import RowChange
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import Plain, Projection, project_all
from wrackline.schemas.tables.table import KeyKind, TableSchema

SignalColumns = tuple[int, int, int]
"""Where id, type and data stand in what is written of a row."""

_NAMES = ("id", "type", "data")
_FIRST = (0, 1, 2)

_BEHIND_IDS = 5  # the magic byte and the id of a schema
_BEFORE = 1  # null, for a new row
INSERTS = frozenset({event_kinds.WRITE_ROWS_V1, event_kinds.WRITE_ROWS_V2})

SIGNAL_TOO_LARGE = define(
    "mysql.signal_too_large",
    OperatorNeeded,
    "signals in {table} are skipped because their events in the log have more than {most} bytes: {count}"
    " so far",
    hint="write shorter signals; or raise the limit: max.row.bytes",
)
SIGNALS_UNREAD = define(
    "mysql.signals_unread",
    OperatorNeeded,
    "signals in {table} are skipped because they can't be read: {reason}; {count} statements so far",
    hint="as an administrator: SET GLOBAL binlog_row_metadata = FULL; if that is not the cause, create the"
    " table again: DROP TABLE {table_name}; CREATE TABLE {table_name} (id varchar(80) PRIMARY KEY, type"
    " varchar(32) NOT NULL, data varchar(2048)); then send the signals again, as texts in UTF-8",
)


def signal_projection(source: TableSchema) -> Projection:
    """Leave out columns that are not part of a signal, because they may not be text."""
    actions = tuple(Plain.KEEP if column.name.lower() in _NAMES else Plain.DROP for column in source.columns)
    if actions.count(Plain.KEEP) != len(_NAMES):
        return project_all(source)
    source = replace(source, key=(), key_kind=KeyKind.NONE)
    kept = tuple(column for column in source.columns if column.name.lower() in _NAMES)
    return Projection(source, replace(source, columns=kept), actions)


def signal_columns(table: TableSchema) -> SignalColumns:
    """Return the places of the three in its written rows."""
    names = [column.name.lower() for column in table.columns]
    if sorted(names) != sorted(_NAMES):
        return _FIRST
    return names.index("id"), names.index("type"), names.index("data")


def inserted_signals(
    decoder: MySqlRowDecoder | None,
    order: SignalColumns | None,
    data: bytes,
    at: int,
    end: int,
    kind: int,
    frame: Frame,
) -> Iterator[tuple[str, str, str]]:
    """Read the rows that an event inserted: id, type and data of each."""
    if decoder is not None and order is not None and kind in INSERTS:
        made: list[RowChange] = []
        decoder.decode(data, at, end, kind, frame, 0, 0, made)
        for change in made:
            yield texts(change[3], order)


def texts(value: bytes, order: SignalColumns) -> tuple[str, str, str]:
    """Return id, type and data; a value that is null, or that the table lacks, is empty."""
    at = _BEHIND_IDS + _BEFORE + 1
    found: list[str] = []
    for _ in range(3):
        there, at = value[at], at + 1
        if not there:
            found.append("")
            continue
        size, at = _long(value, at)
        found.append(value[at : at + size].decode())
        at += size
    of_id, of_type, of_data = order
    return found[of_id], found[of_type], found[of_data]


def _long(value: bytes, at: int) -> tuple[int, int]:
    """Read an Avro long that is not negative; return the place behind it."""
    number = shift = 0
    while True:
        part, at = value[at], at + 1
        number |= (part & 0x7F) << shift
        shift += 7
        if part < 0x80:
            return number >> 1, at
