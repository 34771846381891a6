"""The statements that bring a staged batch into its table, the same on every major.

    delete what a new floor voids   in the table, and in the batch
    update                          rows that are there, where the change is newer; a delete leaves key,
                                    mark and seq, unsent columns keep what is stored, if that lives
    insert                          keys that are not there: deletes as tombstones, partial as incomplete

Where deletes are hard they come first, and leave the batch.  In a history and an append table an event's row
is its own, so it is inserted once and never updated; history.py says what follows from a history's events.

At one seq a row that lives is newer than a deleted one: there a key changed to one that is the same here,
and it is written as the newer change has it.
They run in one transaction under the lock of the table's row in our own table, so nobody inserts between
the update and the insert.  Within one turn a key is in the batch once: no match is ambiguous.  Pure.
"""

from collections.abc import Iterator, Mapping

from psycopg import sql

from wrackline.consumers.contract.plan import MergePlan, TableMode
from wrackline.consumers.targets.postgres.sql.place import PgTargetPlace
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.consumers.targets.postgres.sql.types import column_type, has_forms

STAGE = sql.Identifier("pg_temp", "stage")
_DELETE = """
DELETE FROM {table} t USING {stage} s
WHERE s.turn = %(turn)s AND s.deleted AND {same} AND (s.seq, NOT s.deleted) > (t.{seq}, NOT t.{deleted})"""
_UPDATE = """
UPDATE {table} t SET {assigned} FROM {stage} s
WHERE s.turn = %(turn)s AND {same} AND (s.seq, NOT s.deleted) > (t.{seq}, NOT t.{deleted})"""
_INSERT = """
INSERT INTO {table} ({into}) SELECT {values} FROM {stage} s
WHERE s.turn = %(turn)s AND NOT EXISTS (SELECT FROM {table} t WHERE {same})"""
_INSERT_NEW = "INSERT INTO {table} ({into}) SELECT {values} FROM {stage} s WHERE s.turn = %(turn)s"
_STORED_OR_SENT = """
CASE WHEN {name} = ANY(s.unsent) AND NOT t.{deleted} THEN t.{column} ELSE {staged} END"""
_STORED_OR_IN_TIME = """
CASE WHEN {name} = ANY(s.unsent) AND NOT t.{deleted} THEN t.{column}
     WHEN s.known_at[{at}] < t.{seq} THEN CASE WHEN NOT t.{deleted} THEN t.{column} END
     ELSE {staged} END"""
_STILL_MISSING = """
nullif(CASE
  WHEN s.deleted THEN NULL
  WHEN t.{deleted} THEN s.missing || s.unsent
  WHEN s.unsent IS NULL OR t.{missing} IS NULL THEN s.missing
  ELSE s.missing || ARRAY(SELECT unnest(s.unsent) INTERSECT SELECT unnest(t.{missing}))
END, '{{}}')"""


# The cost follows the batch: each of its keys is looked up, where the planner may prefer to read all rows.
LOOK_UP = "SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"


def staged_names(plan: MergePlan) -> dict[str, sql.Identifier]:
    """Map each of the plan's columns to its name in the stage table, which can't be a user's name."""
    return {column.target: sql.Identifier(f"c{at}") for at, column in enumerate(plan.columns)}


def void_rows(plan: MergePlan, place: PgTargetPlace) -> sql.Composed:
    """Delete the table's rows that are older than %(floor)s."""
    return sql.SQL("DELETE FROM {} WHERE {} < %(floor)s").format(place.table, sql.Identifier(plan.ours.seq))


def delete(plan: MergePlan, place: PgTargetPlace) -> sql.Composed:
    """Delete the rows that a newer delete of one %(turn)s means."""
    ours = plan.ours
    names = {"seq": sql.Identifier(ours.seq), "deleted": sql.Identifier(ours.deleted)}
    return sql.SQL(_DELETE).format(
        table=place.table, stage=STAGE, same=match_key(plan, _staged_key(plan)), **names
    )


def forget_deletes() -> sql.Composed:
    """Take the deletes of one %(turn)s out of the batch: they leave nothing."""
    return sql.SQL("DELETE FROM {} WHERE turn = %(turn)s AND deleted").format(STAGE)


def void_changes() -> sql.Composed:
    """Delete the batch's changes that are older than %(floor)s: the target may know a later truncate."""
    return sql.SQL("DELETE FROM {} WHERE seq < %(floor)s").format(STAGE)


def update(plan: MergePlan, place: PgTargetPlace, shape: PgTargetShape) -> sql.Composed:
    """Change the rows that are there, of one %(turn)s."""
    ours = plan.ours
    staged = staged_values(plan, shape)
    deleted = sql.Identifier(ours.deleted)
    newer = sql.SQL(_STORED_OR_IN_TIME if plan.told_late else _STORED_OR_SENT)
    values: dict[str, sql.Composable] = {
        column.target: newer.format(
            name=column.target,
            deleted=deleted,
            column=sql.Identifier(column.target),
            staged=staged[column.target],
            at=at,
            seq=sql.Identifier(ours.seq),
        )
        for at, column in enumerate(plan.columns, start=1)
        if column.target not in plan.key or has_forms(column.type)
    }
    still_missing = sql.SQL(_STILL_MISSING).format(deleted=deleted, missing=sql.Identifier(ours.missing))
    values |= {**_marks(plan), ours.missing: sql.SQL("NULL") if plan.lacking_is_null else still_missing}
    assigned = (sql.SQL("{} = {}").format(sql.Identifier(name), value) for name, value in values.items())
    return sql.SQL(_UPDATE).format(
        table=place.table,
        assigned=sql.SQL(", ").join(assigned),
        stage=STAGE,
        same=match_key(plan, _staged_key(plan)),
        seq=sql.Identifier(ours.seq),
        deleted=deleted,
    )


def has_none_of(plan: MergePlan, place: PgTargetPlace) -> tuple[sql.Composed, dict[str, object]]:
    """Ask whether no row of the table lies within the range of the batch's keys."""
    ranges = {
        f"{end}{at}": getattr(one, end) for at, one in enumerate(plan.within.values()) for end in one._fields
    }
    inside = sql.SQL(" AND ").join(
        sql.SQL("t.{} BETWEEN {} AND {}").format(
            sql.Identifier(name), sql.Placeholder(f"least{at}"), sql.Placeholder(f"greatest{at}")
        )
        for at, name in enumerate(plan.within)
    )
    return sql.SQL("SELECT NOT EXISTS (SELECT FROM {} t WHERE {})").format(place.table, inside), ranges


def insert(
    plan: MergePlan, place: PgTargetPlace, shape: PgTargetShape, *, all_new: bool = False
) -> sql.Composed:
    """Add the keys that are not there, of one %(turn)s; `all_new` says that none is."""
    values: dict[str, sql.Composable] = staged_values(plan, shape)
    values |= _marks(plan)
    if plan.mode is TableMode.HISTORY:
        values[plan.ours.unsent] = _unsent(plan)
    elif not plan.lacking_is_null:
        values[plan.ours.missing] = sql.SQL("s.missing || s.unsent")
    return sql.SQL(_INSERT_NEW if all_new else _INSERT).format(
        table=place.table,
        into=sql.SQL(", ").join(map(sql.Identifier, values)),
        values=sql.SQL(", ").join(values.values()),
        stage=STAGE,
        same=match_key(plan, _staged_key(plan)),
    )


def staged_values(plan: MergePlan, shape: PgTargetShape) -> dict[str, sql.Composable]:
    """Return each column's staged value in the table's type: of two forms of one kind it keeps the first."""
    types = {column.target: column_type(column.type) for column in shape.columns}
    names = staged_names(plan)
    return {
        column.target: sql.SQL("s.{}::{}").format(names[column.target], sql.SQL(types[column.target]))
        for column in plan.columns
    }


def _marks(plan: MergePlan) -> dict[str, sql.Composable]:
    ours = plan.ours
    marks = {ours.seq: "s.seq", ours.op: "s.op", ours.commit_ts: "s.commit_ts", ours.deleted: "s.deleted"}
    return {name: sql.SQL(value) for name, value in marks.items()}


def _unsent(plan: MergePlan) -> sql.Composed:
    """Return what the event did not send, by identity, so that a rename touches no row."""
    told = (
        sql.SQL("CASE WHEN {} = ANY(s.missing || s.unsent) THEN {} END").format(one.target, one.identity)
        for one in plan.columns
    )
    return sql.SQL("nullif(array_remove(ARRAY[{}], NULL), '{{}}')").format(sql.SQL(", ").join(told))


def _staged_key(plan: MergePlan) -> dict[str, sql.Identifier]:
    names = staged_names(plan)
    return {name: names[name] for name in plan.key}


def match_key(plan: MergePlan, key: Mapping[str, sql.Identifier]) -> sql.Composed:
    """Compare columns of `t` with those of `s` whose names are given."""
    return sql.SQL(" AND ").join(_conditions(plan, key))


def _conditions(plan: MergePlan, key: Mapping[str, sql.Identifier]) -> Iterator[sql.Composed]:
    """Compare the keys so that an index serves, which IS NOT DISTINCT FROM does not allow."""
    for name, staged in key.items():
        text = (
            "(t.{t} = s.{s} OR t.{t} IS NULL AND s.{s} IS NULL)"
            if may_be_null(plan, name)
            else "t.{t} = s.{s}"
        )
        yield sql.SQL(text).format(t=sql.Identifier(name), s=staged)


def may_be_null(plan: MergePlan, key: str) -> bool:
    """Whether a key's column, named as in the target, may hold null."""
    source = next(column.source for column in plan.columns if column.target == key)
    return plan.table.column(source).nullable
