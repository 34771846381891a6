"""What keeps a table of the target small: old tombstones go, some at a time, so that no batch waits long.

In: a connection, what we keep about the table, and before which moment a delete may be forgotten.  Out: what
went, and how many rows wait for a value.  The server compacts by itself (autovacuum).  Events are kept.
"""

from psycopg import sql

from wrackline.consumers.plan import Mode
from wrackline.consumers.plugin import Removed, Upkept
from wrackline.consumers.targets.postgres.applied import Shape
from wrackline.consumers.targets.postgres.connect import Connection
from wrackline.consumers.targets.postgres.place import Place
from wrackline.consumers.targets.postgres.view import settle

_MOST_FORGOTTEN = 10_000  # tombstones in one transaction
_FORGET = """
DELETE FROM {table} WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM {table} WHERE {deleted} AND {commit_ts} < 'epoch'::timestamptz + %s * interval '1 ms'
  LIMIT %s))"""
_INCOMPLETE = "SELECT count(*) FROM {table} WHERE {missing} IS NOT NULL AND {shown}"


def upkeep(connection: Connection, place: Place, shape: Shape, forget_before_ms: int) -> Upkept:
    """Do what there is to do; each transaction is committed."""
    removed = {}
    if shape.mode is Mode.UPSERT:
        removed[Removed.TOMBSTONES] = _forget(connection, place, shape, forget_before_ms)
    return Upkept(removed, _incomplete(connection, place, shape))


def _forget(connection: Connection, place: Place, shape: Shape, before_ms: int) -> int:
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


def _incomplete(connection: Connection, place: Place, shape: Shape) -> int | None:
    """Count rows, or versions, that no reader sees; an append table shows events with what they lack."""
    shown = {
        Mode.UPSERT: sql.SQL("NOT {}").format(sql.Identifier(shape.ours.deleted)),
        Mode.HISTORY: sql.SQL("{} IS NOT NULL").format(sql.Identifier(shape.ours.start)),
    }.get(shape.mode)
    if shown is None:
        return None
    missing = sql.Identifier(shape.ours.missing)
    count = sql.SQL(_INCOMPLETE).format(table=place.table, missing=missing, shown=shown)
    ((found,),) = connection.execute(count).fetchall()
    return int(found)
