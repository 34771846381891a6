"""What readers see of a table, under the source's names.

    upsert    rows that live and are complete, without columns of ours
    history   complete versions, with when each began and ended, and when its newest event was written
    append    every event, with what it was, its place, and which columns it did not send

In a table without a key each event left rows of its own: what came, and what went as a tombstone.  Readers
see a content as often as it came more than it went.  Contents are compared by the server's binary form
where different values are one to its `=`: -0 and 0, 1.0 and 1.00, a month and 30 days.  Pure.
"""

from collections.abc import Sequence

from psycopg import sql

from wrackline.consumers.contract.plan import END, START, PlannedColumn, TableMode
from wrackline.consumers.targets.postgres.sql.place import PgTargetPlace
from wrackline.consumers.targets.postgres.sql.sequence import value
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.consumers.targets.postgres.sql.types import column_type

_IMAGES = {
    "real": "float4send",
    "double precision": "float8send",
    "numeric": "numeric_send",
    "interval": "interval_send",
    "json": "json_send",
    "jsonb": "jsonb_send",
}
_LIVING = (
    "CREATE OR REPLACE VIEW {view} AS SELECT {columns} FROM {table} WHERE NOT {deleted} AND {missing} IS NULL"
)
_VERSIONS = (
    "CREATE OR REPLACE VIEW {view} AS SELECT {columns} FROM {table}"
    " WHERE {start} IS NOT NULL AND {missing} IS NULL"
)
_EVENTS = "CREATE OR REPLACE VIEW {view} AS SELECT {columns} FROM {table}"
_COPIES = """
CREATE OR REPLACE VIEW {view} AS SELECT {columns} FROM (
  SELECT *, row_number() OVER (PARTITION BY {content}, {deleted}) AS {copy},
         count(*) FILTER (WHERE {deleted}) OVER (PARTITION BY {content}) AS {went}
  FROM {table}) counted
WHERE NOT {deleted} AND {copy} > {went}"""
_SETTLE = """
DELETE FROM {table} WHERE {row} IN (
  SELECT {row} FROM (
    SELECT {row}, row_number() OVER (PARTITION BY {content}, {deleted} ORDER BY {seq}) AS {copy},
           count(*) FILTER (WHERE {deleted}) OVER (PARTITION BY {content}) AS {went},
           count(*) FILTER (WHERE NOT {deleted}) OVER (PARTITION BY {content}) AS {came}
    FROM {table} WHERE {commit_ts} < 'epoch'::timestamptz + %s * interval '1 ms') counted
  WHERE {copy} <= least({came}, {went}))"""


def view(place: PgTargetPlace, shape: PgTargetShape, order: Sequence[str] = ()) -> sql.Composed:
    """Create or replace the view; columns of `order` come first, as a view that is there requires it."""
    names = [column.target for column in shape.of_source]
    names += _our_shown_columns(shape)
    names = [*order, *(name for name in names if name not in order)]
    columns = sql.SQL(", ").join(_column(name, shape) for name in names)
    texts = {
        TableMode.UPSERT: _COPIES if shape.keyless else _LIVING,
        TableMode.HISTORY: _VERSIONS,
        TableMode.APPEND: _EVENTS,
    }
    text = sql.SQL(texts[shape.mode])
    return text.format(view=place.view, columns=columns, **_names(place, shape))


def settle(place: PgTargetPlace, shape: PgTargetShape) -> sql.Composed:
    """Delete pairs of what came and went, both before a moment: readers see the same without them."""
    return sql.SQL(_SETTLE).format(**_names(place, shape))


def _our_shown_columns(shape: PgTargetShape) -> list[str]:
    ours = shape.ours
    match shape.mode:
        case TableMode.HISTORY:
            return [START, END, ours.commit_ts]
        case TableMode.APPEND:
            return [ours.op, ours.seq, ours.commit_ts, ours.missing]
        case TableMode.UPSERT:
            return []


def _column(name: str, shape: PgTargetShape) -> sql.Composable:
    """Show a column as it is, and a feed's sequence in place of the text by which it is compared."""
    compared = {START: shape.ours.start, END: shape.ours.end}
    if shape.mode is not TableMode.HISTORY or shape.ours.shown is None or name not in compared:
        return sql.Identifier(name)
    text = sql.Identifier(compared[name])
    return sql.SQL("{} AS {}").format(value(shape.ours.shown, text), sql.Identifier(name))


def _names(place: PgTargetPlace, shape: PgTargetShape) -> dict[str, sql.Composable]:
    ours = shape.ours
    counted = {name: sql.Identifier(f"{ours.row} {name}") for name in ("copy", "went", "came")}
    return {
        "table": place.table,
        "content": sql.SQL(", ").join(map(image, shape.of_source)),
        "start": sql.Identifier(ours.start),
        "row": sql.Identifier(ours.row),
        "seq": sql.Identifier(ours.seq),
        "deleted": sql.Identifier(ours.deleted),
        "missing": sql.Identifier(ours.missing),
        "commit_ts": sql.Identifier(ours.commit_ts),
        **counted,
    }


def image(column: PlannedColumn, name: sql.Composable | None = None) -> sql.Composable:
    """Write a column, or what has its type, so that `=` compares exactly."""
    name = sql.Identifier(column.target) if name is None else name
    of = column_type(column.type)
    function = "array_send" if of.endswith("[]") else _IMAGES.get(of)
    return name if function is None else sql.SQL("{}({})").format(sql.SQL(function), name)
