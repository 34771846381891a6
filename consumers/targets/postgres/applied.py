"""What we keep about each table of the target, in a table of ours beside them.

One row a table: how far it has come (offsets, floor, newest), and its shape (columns by identity, the
names of our own ones).  The row changes in the transaction that changes the rows or the columns, which
locks it first: that lock is what keeps two drivers apart.

The row counts only while its table is there: DROP TABLE is how a user starts a table over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from wrackline.consumers.contract.applied_text import make_applied
from wrackline.consumers.contract.plan import Applied, OurColumns, PlannedColumn, TableMode, TopicPartition
from wrackline.consumers.targets.postgres.catalog import relation
from wrackline.consumers.targets.postgres.connect import Connection
from wrackline.consumers.targets.postgres.sql.place import APPLIED, PgTargetLayout, PgTargetPlace
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.schemas import untrusted
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import ColumnType, Kind

VERSION = 1

UNREADABLE = define(
    "pg_target.applied_unreadable",
    Definite,
    "what is kept about {table} in the target has a form that this version does not know",
    hint="use the newer version of wrackline; look with: SELECT * FROM {applied}",
)
BROKEN = define(
    "pg_target.applied_broken",
    OperatorNeeded,
    "what {applied} keeps about {table} can't be read: it is not as Wrackline writes it",
    hint="look with: SELECT * FROM {applied}; or start the table over: DROP TABLE {storage} CASCADE;"
    " then: wrackline snapshot start <pipeline.toml> '<table>'",
)

_CREATE = """
CREATE TABLE IF NOT EXISTS {applied} (
  target_schema text NOT NULL, target_table text NOT NULL, storage text NOT NULL UNIQUE,
  version integer NOT NULL, source jsonb NOT NULL, shape jsonb NOT NULL,
  offsets jsonb NOT NULL, floor text, newest jsonb,
  PRIMARY KEY (target_schema, target_table))"""
_READ = """
SELECT version, source, shape, offsets, floor, newest FROM {applied}
WHERE target_schema = %s AND target_table = %s"""
_INSERT = """
INSERT INTO {applied} (target_schema, target_table, storage, version, source, shape, offsets)
VALUES (%s, %s, %s, %s, %s, %s, '[]')"""
_DELETE = "DELETE FROM {applied} WHERE target_schema = %s AND target_table = %s"
_ADVANCE = """
UPDATE {applied} SET offsets = %s, floor = %s, newest = %s WHERE target_schema = %s AND target_table = %s"""
_RESHAPE = "UPDATE {applied} SET shape = %s WHERE target_schema = %s AND target_table = %s"


@dataclass(frozen=True, slots=True)
class PgTargetState:
    """One row of our table."""

    source: TableId
    shape: PgTargetShape
    applied: Applied


class PgTargetStateTable:
    """Reads and writes the rows, on connections of others and in their transactions."""

    def __init__(self, layout: PgTargetLayout) -> None:
        self._applied = layout.applied
        self._schema = layout.storage_schema

    def create(self, connection: Connection) -> None:
        """Create the table; the caller holds the lock against other creations."""
        connection.execute(self._statement(_CREATE))

    def read(
        self, connection: Connection, place: PgTargetPlace, *, lock: bool = False
    ) -> PgTargetState | None:
        """Return what is kept about a table; locked until the transaction's end, where asked."""
        if relation(connection, self._schema, APPLIED) is None:
            return None
        text = _READ + " FOR UPDATE" if lock else _READ
        row = connection.execute(self._statement(text), [place.schema, place.name])
        if not row.rowcount or relation(connection, place.storage_schema, place.storage) is None:
            return None  # a row that can't be read prevents nothing once its table is dropped
        names = {"table": place.view.as_string(), "applied": self._applied.as_string()}
        try:
            kept = _read_state(row.fetchone() or ())
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            refused = BROKEN(**names, storage=place.table.as_string())
            raise refused from None  # the first error shows the row
        if kept is None:
            raise UNREADABLE(**names)
        return kept

    def insert(
        self, connection: Connection, place: PgTargetPlace, source: TableId, shape: PgTargetShape
    ) -> None:
        """Begin a table; what was kept about one that is gone goes too."""
        connection.execute(self._statement(_DELETE), [place.schema, place.name])
        row = [place.schema, place.name, place.storage, VERSION, Jsonb(list(source)), Jsonb(_texts(shape))]
        connection.execute(self._statement(_INSERT), row)

    def forget(self, connection: Connection, place: PgTargetPlace) -> None:
        """Keep nothing about a table any more."""
        connection.execute(self._statement(_DELETE), [place.schema, place.name])

    def advance(self, connection: Connection, place: PgTargetPlace, applied: Applied) -> None:
        """Write how far the table has come."""
        offsets = []
        for partition, offset in sorted(applied.offsets.items()):
            its_id = applied.topic_ids.get(partition.topic)
            offsets.append([*partition, offset, *([] if its_id is None else [its_id])])
        newest = applied.newest
        written = None if newest is None else Jsonb([newest.seq, newest.key_id, newest.value_id])
        row = [Jsonb(offsets), applied.floor, written, place.schema, place.name]
        connection.execute(self._statement(_ADVANCE), row)

    def reshape(self, connection: Connection, place: PgTargetPlace, shape: PgTargetShape) -> None:
        """Write the table's new shape."""
        connection.execute(self._statement(_RESHAPE), [Jsonb(_texts(shape)), place.schema, place.name])

    def _statement(self, text: str) -> sql.Composed:
        return sql.SQL(text).format(applied=self._applied)


def _read_state(found: Sequence[Any]) -> PgTargetState | None:
    """Read a row, whose JSON others may have changed; None: it is of another version."""
    version, source, shape, offsets, floor, newest = found
    if version != VERSION:
        return None
    applied = make_applied(
        {TopicPartition(topic, partition): offset for topic, partition, offset, *_ in offsets},
        floor,
        newest,
        {topic: one for topic, _, _, *ids in offsets for one in ids},  # older rows have none
    )
    return PgTargetState(TableId(*map(untrusted.text, source)), _shape(shape), applied)


def _texts(shape: PgTargetShape) -> dict[str, object]:
    columns = [
        {
            "identity": column.identity,
            "source": column.source,
            "target": column.target,
            "type": _type_texts(column.type),
            "number": shape.numbers.get(column.identity),
        }
        for column in shape.columns
    ]
    ours = asdict(shape.ours)
    return {"columns": columns, "key": list(shape.key), "ours": ours, "mode": shape.mode.value}


def _shape(texts: Mapping[str, Any]) -> PgTargetShape:
    columns = tuple(
        PlannedColumn(
            untrusted.number(found["identity"]),
            untrusted.text(found["source"]),
            untrusted.text(found["target"]),
            _type(found["type"]),
        )
        for found in texts["columns"]
    )
    numbers = {found["identity"]: found["number"] for found in texts["columns"]}
    mode = TableMode(texts.get("mode", TableMode.UPSERT.value))
    ours = {name: untrusted.text(column) for name, column in texts["ours"].items()}
    return PgTargetShape(
        columns, tuple(map(untrusted.number, texts["key"])), OurColumns(**ours), numbers, mode
    )


def _type_texts(of: ColumnType) -> dict[str, object]:
    element = None if of.element is None else _type_texts(of.element)
    return {**asdict(of), "kind": of.kind.value, "element": element}


def _type(texts: Mapping[str, Any]) -> ColumnType:
    element = None if texts["element"] is None else _type(texts["element"])
    known = {"kind": Kind(texts["kind"]), "labels": tuple(texts["labels"]), "element": element}
    return ColumnType(**{**texts, **known})
