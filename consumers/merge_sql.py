"""One batch as one MERGE of Spark SQL, for every target that merges inside Spark.

In: a frame in a session of its own, and a plan.  Out: a view, and a statement that brings its rows into a
table.  It is right because an event is used only when its seq is newer than its row's: a repeated batch, or
an older event after a newer one, changes nothing.

    matched, newer              update; unsent columns keep what is stored, if that belongs to this row;
                                a delete leaves a tombstone: the key, the seq, and no values
    not matched                 insert, deletes as tombstones, partial changes as incomplete rows
    (deletes that are hard: matched and newer goes, and not matched leaves nothing)
    not matched by source       where the newest commit knew no such floor: rows older than it go

Newer is a greater seq; at one seq a row that lives is newer than a tombstone, for there a key was deleted
and made again.  A key that may be written in two ways is written as the newer change has it.  Rows older
than the floor match nothing: they lend no value, and where the table has another key since, they could
match twice.

What is not named is not read: where every change is whole, a table gives its key and two columns of ours.
"""

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from wrackline.consumers.plan import Deletes, MergePlan, PlannedColumn
from wrackline.schemas.types import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW = "wrackline_batch"
_NOBODY = "CAST(array() AS array<int>)"
_OF_TWO_FORMS = frozenset({Kind.FLOAT32, Kind.FLOAT64})  # -0.0 and 0.0 are one key, and two values


@dataclass(frozen=True, slots=True)
class Staged:
    """A frame that can be merged: a view of its own session."""

    session: "SparkSession"

    def forget(self) -> None:
        """Drop the view: its rows are merged."""
        self.session.catalog.dropTempView(VIEW)


def stage(frame: "DataFrame", plan: MergePlan) -> Staged:
    """Name the frame in its session; columns that lack a value are told by identity from here on."""
    identities = ", ".join(f"{literal(column.target)}, {column.identity}" for column in plan.columns)
    told = (
        f"transform({which}, name -> element_at(map({identities}), name)) AS {which}_ids"
        for which in ("unsent", "missing")
    )
    frame.selectExpr("*", *told).createOrReplaceTempView(VIEW)
    return Staged(frame.sparkSession)


def merge_statement(plan: MergePlan, target: str, floor: str | None, *, truncated: bool) -> str:
    """Write the plan as SQL; `truncated` says that rows older than the floor may still be there."""
    ours = plan.ours
    seq, deleted, missing = quoted(ours.seq), quoted(ours.deleted), quoted(ours.missing)
    newer = f"(s.seq > t.{seq} OR (s.seq = t.{seq} AND t.{deleted} AND NOT s.deleted))"
    hard = plan.deletes is Deletes.HARD
    lives = " AND NOT s.deleted" if hard else ""
    update = {
        quoted(column.target): _updated(column, plan)
        for column in plan.columns
        if column.target not in plan.key or column.type.kind in _OF_TWO_FORMS
    }
    update |= _known(plan) | {missing: _still_missing(plan)}
    insert = _inserted(plan)
    within = [] if truncated else plan.within.items()  # what was truncated is looked for in the whole table
    # no key of the batch is null where its range is known, and `=` lets Spark do more than `<=>`
    same = [
        f"t.{quoted(name)} {'=' if name in plan.within else '<=>'} s.row.{quoted(name)}" for name in plan.key
    ]
    same += [] if floor is None else [f"t.{seq} >= {literal(floor)}"]
    same += [f"t.{quoted(name)} BETWEEN {_key(one.least)} AND {_key(one.greatest)}" for name, one in within]
    clauses = [
        f"MERGE INTO {target} t USING ({_valid(floor)}) s ON {' AND '.join(same)}",
        *([f"WHEN MATCHED AND {newer} AND s.deleted THEN DELETE"] if hard else []),
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {assigned(update)}",
        f"WHEN NOT MATCHED{lives} THEN INSERT ({', '.join(insert)}) VALUES ({', '.join(insert.values())})",  # noqa: S608 - as above
    ]
    if truncated and floor is not None:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{seq} < {literal(floor)} THEN DELETE")
    return "\n".join(clauses)


def _updated(column: PlannedColumn, plan: MergePlan) -> str:
    """Write a column's new value: what a change did not send is what is stored, if that row lives."""
    name = quoted(column.target)
    if plan.lacking is not None and column.target not in plan.lacking:
        return f"s.row.{name}"
    unsent = f"array_contains(s.unsent_ids, {column.identity}) AND NOT t.{quoted(plan.ours.deleted)}"
    return f"CASE WHEN {unsent} THEN t.{name} ELSE s.row.{name} END"


def _still_missing(plan: MergePlan) -> str:
    """Write which values nobody has, after an update."""
    if plan.lacking_is_null or plan.lacking == frozenset():
        return "NULL"
    stored = f"coalesce(t.{quoted(plan.ours.missing)}, {_NOBODY})"
    return or_null(
        f"CASE WHEN t.{quoted(plan.ours.deleted)} THEN concat(s.unsent_ids, s.missing_ids)"
        f" ELSE concat(s.missing_ids, array_intersect({stored}, s.unsent_ids)) END"
    )


def append_query(plan: MergePlan, floor: str | None) -> str:
    """Write the rows of a batch of which the table has no key."""
    values = (f"{value} AS {name}" for name, value in _inserted(plan).items())
    return f"SELECT {', '.join(values)} FROM ({_valid(floor)}) s"  # noqa: S608 - names and texts are quoted


def _valid(floor: str | None) -> str:
    """Write the batch without what a truncate has voided since it was read.

    Something is always asked of it: a batch that is taken as it is makes no filter of its keys for Spark.
    """
    return f"SELECT * FROM {VIEW} WHERE seq >= {literal(floor or '')}"  # noqa: S608 - the text is quoted


def _inserted(plan: MergePlan) -> dict[str, str]:
    """Return the values of a new row."""
    row = {quoted(column.target): f"s.row.{quoted(column.target)}" for column in plan.columns}
    missing = (
        "CAST(NULL AS array<int>)" if plan.lacking_is_null else or_null("concat(s.unsent_ids, s.missing_ids)")
    )
    return row | _known(plan) | {quoted(plan.ours.missing): missing}


def _known(plan: MergePlan) -> dict[str, str]:
    """Return what a row says of the change that made it, but for what nobody has."""
    ours = plan.ours
    told = {ours.deleted: "s.deleted", ours.seq: "s.seq", ours.op: "s.op", ours.commit_ts: "s.commit_ts"}
    return {quoted(name): value for name, value in told.items()}


def quoted(name: str) -> str:
    """Quote a name for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Write a text as a Spark SQL literal; a `$` by its code, because Spark may replace ${...}."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"


def _key(value: int | date) -> str:
    return str(value) if isinstance(value, int) else f"DATE '{value}'"


def assigned(values: dict[str, str]) -> str:
    """Write what a MERGE sets."""
    return ", ".join(f"t.{name} = {value}" for name, value in values.items())


def or_null(identities: str) -> str:
    """Write none at all as null, which a reader can filter by statistics."""
    return f"nullif({identities}, {_NOBODY})"
