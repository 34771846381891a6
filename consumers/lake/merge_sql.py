"""One batch as one MERGE of Spark SQL, for every target that merges inside Spark.

In: a frame in a session of its own, and a plan.  Out: a view, and a statement that brings its rows into a
table.  It is right because an event is used only when its seq is newer than its row's: a repeated batch, or
an older event after a newer one, changes nothing.

    matched, newer              update; unsent columns keep what is stored, if that belongs to this row;
                                a delete leaves a tombstone: the key, the seq, and no values
    not matched                 insert, deletes as tombstones, partial changes as incomplete rows
    (deletes that are hard: matched and newer goes, and not matched leaves nothing)
    not matched by source       where the newest commit knew no such floor: rows older than it go

Newer is a greater seq; at one seq a row that lives is newer than a tombstone, because there a key was deleted
and made again.  A key that may be written in two ways is written as the newer change has it.  Rows older
than the floor match nothing: they lend no value, and where the table has another key since, they could
match twice.

Columns that are not named are not read: where every change is whole, only the key and two of ours are named.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from wrackline.consumers.contract.plan import Deletes, KeyColumnRange, MergePlan, PlannedColumn
from wrackline.schemas.tables.types import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW = "wrackline_batch"
_NOBODY = "CAST(array() AS array<int>)"
_OF_TWO_FORMS = frozenset({Kind.FLOAT32, Kind.FLOAT64})  # -0.0 and 0.0 are one key, and two values


@dataclass(frozen=True, slots=True)
class StagedView:
    """A frame that can be merged: a view of its own session."""

    session: "SparkSession"

    def forget(self) -> None:
        """Drop the view: its rows are merged."""
        self.session.catalog.dropTempView(VIEW)


def stage(frame: "DataFrame", plan: MergePlan) -> StagedView:
    """Name the frame in its session; columns that lack a value are given by identity from here on."""
    identities = ", ".join(f"{literal(column.target)}, {column.identity}" for column in plan.columns)
    told = (
        f"transform({which}, name -> element_at(map({identities}), name)) AS {which}_ids"
        for which in ("unsent", "missing")
    )
    frame.selectExpr("*", *told).createOrReplaceTempView(VIEW)
    return StagedView(frame.sparkSession)


def merge_statement(plan: MergePlan, target: str, floor: str | None, *, truncated: bool) -> str:
    """Write the plan as SQL; `truncated` says that rows older than the floor may still be there."""
    ours = plan.ours
    seq, deleted, missing = quote(ours.seq), quote(ours.deleted), quote(ours.missing)
    newer = f"(s.seq > t.{seq} OR (s.seq = t.{seq} AND t.{deleted} AND NOT s.deleted))"
    hard = plan.deletes is Deletes.HARD
    lives = " AND NOT s.deleted" if hard else ""
    update = {
        quote(column.target): _update_value(column, plan)
        for column in plan.columns
        if column.target not in plan.key or column.type.kind in _OF_TWO_FORMS
    }
    update |= _event_columns(plan) | {missing: _still_missing(plan)}
    insert = _insert_values(plan)
    within = {} if truncated else plan.within  # what was truncated is looked for in the whole table
    # no key of the batch is null where its range is known, and `=` lets Spark do more than `<=>`
    same = [
        f"t.{quote(name)} {'=' if name in plan.within else '<=>'} s.row.{quote(name)}" for name in plan.key
    ]
    same += [] if floor is None else [f"t.{seq} >= {literal(floor)}"]
    same += within_range(within)
    clauses = [
        f"MERGE INTO {target} t USING ({_batch_above_floor(floor)}) s ON {' AND '.join(same)}",
        *([f"WHEN MATCHED AND {newer} AND s.deleted THEN DELETE"] if hard else []),
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {assignments(update)}",
        f"WHEN NOT MATCHED{lives} THEN INSERT ({', '.join(insert)}) VALUES ({', '.join(insert.values())})",  # noqa: S608 - as above
    ]
    if truncated and floor is not None:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{seq} < {literal(floor)} THEN DELETE")
    return "\n".join(clauses)


def _update_value(column: PlannedColumn, plan: MergePlan) -> str:
    """Write a column's new value: what a change did not send is what is stored, if that row lives.

    What an older change of the batch said before the stored row was written is late: it has no part in it.
    """
    name = quote(column.target)
    if plan.lacking is not None and column.target not in plan.lacking:
        return f"s.row.{name}"
    deleted, seq = quote(plan.ours.deleted), quote(plan.ours.seq)
    late = (
        f" WHEN s.known_at[{plan.columns.index(column)}] < t.{seq} THEN IF(t.{deleted}, NULL, t.{name})"
        if plan.told_late
        else ""
    )
    unsent = f"array_contains(s.unsent_ids, {column.identity}) AND NOT t.{deleted}"
    return f"CASE WHEN {unsent} THEN t.{name}{late} ELSE s.row.{name} END"


def _still_missing(plan: MergePlan) -> str:
    """Write which values nobody has, after an update."""
    if plan.lacking_is_null or plan.lacking == frozenset():
        return "NULL"
    stored = f"coalesce(t.{quote(plan.ours.missing)}, {_NOBODY})"
    return null_if_empty(
        f"CASE WHEN t.{quote(plan.ours.deleted)} THEN concat(s.unsent_ids, s.missing_ids)"
        f" ELSE concat(s.missing_ids, array_intersect({stored}, s.unsent_ids)) END"
    )


def append_query(plan: MergePlan, floor: str | None) -> str:
    """Write the rows of a batch whose keys the table does not have."""
    values = (f"{value} AS {name}" for name, value in _insert_values(plan).items())
    return f"SELECT {', '.join(values)} FROM ({_batch_above_floor(floor)}) s"  # noqa: S608 - names and texts are quoted


def _batch_above_floor(floor: str | None) -> str:
    """Write the batch without what a truncate has voided since it was read.

    There is always a condition, because Spark makes no filter from a batch's keys without one.
    """
    return f"SELECT * FROM {VIEW} WHERE seq >= {literal(floor or '')}"  # noqa: S608 - the text is quoted


def _insert_values(plan: MergePlan) -> dict[str, str]:
    """Return the values of a new row."""
    row = {quote(column.target): f"s.row.{quote(column.target)}" for column in plan.columns}
    missing = (
        "CAST(NULL AS array<int>)"
        if plan.lacking_is_null
        else null_if_empty("concat(s.unsent_ids, s.missing_ids)")
    )
    return row | _event_columns(plan) | {quote(plan.ours.missing): missing}


def _event_columns(plan: MergePlan) -> dict[str, str]:
    """Return what a row says of the change that made it, except for what nobody has."""
    ours = plan.ours
    told = {ours.deleted: "s.deleted", ours.seq: "s.seq", ours.op: "s.op", ours.commit_ts: "s.commit_ts"}
    return {quote(name): value for name, value in told.items()}


def quote(name: str) -> str:
    """Quote a name for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Write a text as a Spark SQL literal; a `$` by its code, because Spark may replace ${...}."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"


def within_range(ranges: Mapping[str, KeyColumnRange]) -> list[str]:
    """Write that a row of the table may have a key of the batch, so that other files are not read."""
    return [
        f"t.{quote(name)} BETWEEN {_key_literal(one.least)} AND {_key_literal(one.greatest)}"
        for name, one in ranges.items()
    ]


def _key_literal(value: int | date | str) -> str:
    if isinstance(value, str):
        return literal(value)
    return str(value) if isinstance(value, int) else f"DATE '{value}'"


def assignments(values: dict[str, str]) -> str:
    """Write what a MERGE sets."""
    return ", ".join(f"t.{name} = {value}" for name, value in values.items())


def null_if_empty(identities: str) -> str:
    """Write an empty list as null, which a reader can filter by statistics."""
    return f"nullif({identities}, {_NOBODY})"
