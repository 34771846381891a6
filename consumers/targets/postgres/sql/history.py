"""A history in PostgreSQL: from the events of a batch's keys to their versions.

    touch     the keys of the batch, and with truncates those that have a version across one
    unsent    which columns some event of these keys did not send
    derive    what was not sent is carried forward, and each event is shown for a version, or hidden

Each event stays as a row of its own, with what it sent; what is derived from all events of a key is written
again where it changed, so it is the same whatever came first.  testing/targets/history_model.py says the
same in few lines.  An event's block begins with a c, r or d, or after a truncate: nothing is carried into it.
"""

from collections.abc import Collection, Sequence

from psycopg import sql

from wrackline.consumers.contract.plan import ROW, MergePlan, PlannedColumn
from wrackline.consumers.targets.postgres.sql.merge import STAGE, match_key, staged_values
from wrackline.consumers.targets.postgres.sql.place import PgTargetPlace
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.consumers.targets.postgres.sql.view import image

_TOUCHED = sql.Identifier("pg_temp", "touched")
_TOUCH = """
CREATE TEMP TABLE touched ON COMMIT DROP AS
SELECT DISTINCT {staged} FROM {stage} s WHERE s.op <> 't'"""
_ACROSS = """
UNION SELECT {stored} FROM {stage} s JOIN {table} t
ON t.{start} < s.seq AND (t.{end} IS NULL OR t.{end} > s.seq) WHERE s.op = 't'"""
_LACKING = "SELECT DISTINCT unnest(t.{unsent}) FROM {touched} s JOIN {table} t ON {same} WHERE t.{op} <> 't'"
_DERIVE = """
WITH events AS (
  SELECT t.ctid AS at, t.{seq} AS seq, t.{op} AS op, t.{unsent} AS unsent, {keys}, {values},
    (SELECT max(x.{seq}) FROM {table} x WHERE x.{op} = 't' AND x.{seq} <= t.{seq}) AS epoch,
    (SELECT min(x.{seq}) FROM {table} x WHERE x.{op} = 't' AND x.{seq} > t.{seq}) AS truncated
  FROM {touched} s JOIN {table} t ON {same} WHERE t.{op} <> 't'
), blocks AS (
  SELECT *, count(*) FILTER (WHERE op IN ('c', 'r', 'd')) OVER w AS block FROM events
  WINDOW w AS (PARTITION BY {key}, epoch ORDER BY seq, op <> 'd')
), counted AS (
  SELECT *{counts} FROM blocks
  WINDOW w AS (PARTITION BY {key}, epoch, block ORDER BY seq, op <> 'd')
), whole AS (
  SELECT at, seq, op, epoch, truncated, {key}, {carried}, {nobody_has} AS missing FROM counted
), judged AS (
  SELECT *, row_number() OVER w = 1 OR op = 'd' OR lag(op) OVER w = 'd'
    OR lag(epoch) OVER w IS DISTINCT FROM epoch OR lag(missing) OVER w IS DISTINCT FROM missing
    {changed} AS begins
  FROM whole WINDOW w AS (PARTITION BY {key} ORDER BY seq, op <> 'd')
), spans AS (
  SELECT *, op <> 'd' AND lead(begins, 1, true) OVER w AS shown,
    max(seq) FILTER (WHERE begins) OVER w AS first, least(lead(seq) OVER w, truncated) AS until
  FROM judged WINDOW w AS (PARTITION BY {key} ORDER BY seq, op <> 'd')
), derived AS (
  SELECT *, CASE WHEN shown THEN first END AS starts, CASE WHEN shown THEN until END AS ends FROM spans
)
UPDATE {table} t SET {assigned} FROM derived d
WHERE t.ctid = d.at AND ((t.{start}, t.{end}, t.{missing}) IS DISTINCT FROM (d.starts, d.ends, d.missing)
  {moved})"""


def touch(plan: MergePlan, place: PgTargetPlace, shape: PgTargetShape) -> sql.Composed:
    """Gather the keys whose versions the batch may change; they go with the transaction."""
    key = _key(plan)
    values = staged_values(plan, shape)
    staged = [sql.SQL("{} AS {}").format(values[name], sql.Identifier(name)) for name in key]
    text = _TOUCH + (_ACROSS if plan.truncated else "")
    return sql.SQL(text).format(
        stage=STAGE,
        table=place.table,
        staged=sql.SQL(", ").join(staged),
        stored=sql.SQL(", ").join(sql.SQL("t.{}").format(sql.Identifier(name)) for name in key),
        start=sql.Identifier(plan.ours.start),
        end=sql.Identifier(plan.ours.end),
    )


def unsent_query(plan: MergePlan, place: PgTargetPlace) -> sql.Composed:
    """Ask for the identities of the columns that some event of the touched keys did not send."""
    return sql.SQL(_LACKING).format(
        unsent=sql.Identifier(plan.ours.unsent),
        op=sql.Identifier(plan.ours.op),
        touched=_TOUCHED,
        table=place.table,
        same=_same_key(plan),
    )


def derive(
    plan: MergePlan, place: PgTargetPlace, shape: PgTargetShape, lacked: Collection[int]
) -> sql.Composed:
    """Write what follows from the touched keys' events, where it is not written yet."""
    columns = [column for column in shape.columns if column.identity != ROW and column.target not in plan.key]
    carried = [column for column in columns if column.identity in lacked]
    ours = plan.ours
    return sql.SQL(_DERIVE).format(
        table=place.table,
        touched=_TOUCHED,
        same=_same_key(plan),
        key=_numbered(plan),
        keys=sql.SQL(", ").join(
            sql.SQL("t.{} AS {}").format(sql.Identifier(name), sql.Identifier(f"k{at}"))
            for at, name in enumerate(_key(plan))
        ),
        values=sql.SQL(", ").join(
            [sql.SQL("t.{} AS {}").format(sql.Identifier(one.target), _value(one)) for one in columns]
            or [sql.Composed([sql.SQL("NULL AS nothing")])]
        ),
        counts=sql.SQL("").join(map(_count, carried)),
        carried=sql.SQL(", ").join(
            [_carry(one, carried, plan) for one in columns] or [sql.Composed([sql.SQL("nothing")])]
        ),
        nobody_has=_missing(carried, plan),
        changed=_change_condition(columns, plan),
        assigned=_assignments(carried, plan),
        moved=sql.SQL(" ").join(
            sql.SQL("OR {} IS DISTINCT FROM {}").format(
                image(one, sql.SQL("t.{}").format(sql.Identifier(one.target))),
                image(one, sql.SQL("d.{}").format(_value(one))),
            )
            for one in carried
        ),
        start=sql.Identifier(plan.ours.start),
        end=sql.Identifier(plan.ours.end),
        **{name: sql.Identifier(getattr(ours, name)) for name in ("unsent", "op", "seq", "missing")},
    )


def _count(column: PlannedColumn) -> sql.Composed:
    """Number the events of a block by how many of them have sent a column."""
    return sql.SQL(
        ", count(*) FILTER (WHERE op <> 'd' AND coalesce({} <> ALL(unsent), true)) OVER w AS {}"
    ).format(column.identity, _sent_name(column))


def _carry(column: PlannedColumn, carried: Collection[PlannedColumn], plan: MergePlan) -> sql.Composed:
    """Take a column from the last event of the block that sent it."""
    if column not in carried:
        return sql.SQL("{}").format(_value(column))
    return sql.SQL(
        "CASE WHEN op = 'd' THEN {value} WHEN {sent} > 0 THEN first_value({value})"
        " OVER (PARTITION BY {key}, epoch, block, {sent} ORDER BY seq, op <> 'd') END AS {value}"
    ).format(value=_value(column), sent=_sent_name(column), key=_numbered(plan))


def _missing(carried: Sequence[PlannedColumn], plan: MergePlan) -> sql.Composable:
    """Name the columns whose value nobody has."""
    if not carried or plan.lacking_is_null:
        return sql.SQL("NULL::text[]")
    names = (
        sql.SQL("CASE WHEN op <> 'd' AND {} = 0 THEN {}::text END").format(_sent_name(one), one.target)
        for one in carried
    )
    return sql.SQL("nullif(array_remove(ARRAY[{}], NULL), '{{}}')").format(sql.SQL(", ").join(names))


def _change_condition(columns: Sequence[PlannedColumn], plan: MergePlan) -> sql.Composed:
    """Compare what begins a version with the event before."""
    watched = [one for one in columns if plan.tracked is None or one.target in plan.tracked]
    return sql.SQL(" ").join(
        sql.SQL("OR lag({now}) OVER w IS DISTINCT FROM {now}").format(now=image(one, _value(one)))
        for one in watched
    )


def _assignments(carried: Sequence[PlannedColumn], plan: MergePlan) -> sql.Composed:
    values = {plan.ours.start: sql.Identifier("starts"), plan.ours.end: sql.Identifier("ends")}
    values |= {plan.ours.missing: sql.Identifier("missing")}
    values |= {one.target: _value(one) for one in carried}
    return sql.SQL(", ").join(
        sql.SQL("{} = d.{}").format(sql.Identifier(name), value) for name, value in values.items()
    )


def _key(plan: MergePlan) -> list[str]:
    """Return the source's key, in the target's names."""
    return [name for name in plan.key if name != plan.ours.row]


def _same_key(plan: MergePlan) -> sql.Composed:
    return match_key(plan, {name: sql.Identifier(name) for name in _key(plan)})


def _numbered(plan: MergePlan) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(f"k{at}") for at in range(len(_key(plan))))


def _value(column: PlannedColumn) -> sql.Identifier:
    return sql.Identifier(f"v{column.identity}")


def _sent_name(column: PlannedColumn) -> sql.Identifier:
    return sql.Identifier(f"sent{column.identity}")
