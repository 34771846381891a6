"""What keeps a table of the target small: old tombstones go, some at a time, so that no batch waits long.

In: a connection, what we keep about the table, and before which moment a delete may be forgotten.  Out: what
went, and how many rows wait for a value.  The server compacts by itself (autovacuum).  Events are kept.
"""

from psycopg import sql

from wrackline.consumers.contract.plan import TableMode
from wrackline.consumers.contract.target import UpkeepRemoval, UpkeepResult
from wrackline.consumers.targets.postgres.connect import Connection
from wrackline.consumers.targets.postgres.sql.place import PgTargetPlace
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.consumers.targets.postgres.sql.view import settle

_MOST_FORGOTTEN = 10_000  # tombstones in one transaction
_FORGET = """
DELETE FROM {table} WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM {table} WHERE {deleted} AND {commit_ts} < 'epoch'::timestamptz + %s * interval '1 ms'
  LIMIT %s))"""
_INCOMPLETE = "SELECT count(*) FROM {table} WHERE {missing} IS NOT NULL AND {shown}"


def upkeep(
    connection: Connection, place: PgTargetPlace, shape: PgTargetShape, forget_before_ms: int
) -> UpkeepResult:
    """Do what there is to do; each transaction is committed."""
    removed = {}
    if shape.mode is TableMode.UPSERT:
        removed[UpkeepRemoval.TOMBSTONES] = _forget(connection, place, shape, forget_before_ms)
    return UpkeepResult(removed, _count_incomplete(connection, place, shape))


def _forget(connection: Connection, place: PgTargetPlace, shape: PgTargetShape, before_ms: int) -> int:
    if shape.keyless:
        went = connection.execute(settle(place, shape), [before_ms]).rowcount
        connection.commit()
        return went
    forget = sql.SQL(_FORGET).format(
        table=place.table,
        deleted=sql.Identifier(shape.ours.deleted),
        commit_ts=sql.Identifier(shape.ours.commit_ts),
    )
    in_all = 0
    while went := connection.execute(forget, [before_ms, _MOST_FORGOTTEN]).rowcount:
        connection.commit()
        in_all += went
    return in_all


def _count_incomplete(connection: Connection, place: PgTargetPlace, shape: PgTargetShape) -> int | None:
    """Count rows, or versions, that no reader sees; an append table shows events with what they lack."""
    shown = {
        TableMode.UPSERT: sql.SQL("NOT {}").format(sql.Identifier(shape.ours.deleted)),
        TableMode.HISTORY: sql.SQL("{} IS NOT NULL").format(sql.Identifier(shape.ours.start)),
    }.get(shape.mode)
    if shown is None:
        return None
    missing = sql.Identifier(shape.ours.missing)
    count = sql.SQL(_INCOMPLETE).format(table=place.table, missing=missing, shown=shown)
    ((found,),) = connection.execute(count).fetchall()
    return int(found)
