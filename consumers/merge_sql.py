"""One batch as one MERGE of Spark SQL, for every target that merges inside Spark.

In: a frame in a session of its own, and a plan.  Out: a view, and a statement that brings its rows into a
table.  It is right because an event is used only when its seq is newer than its row's: a repeated batch, or
an older event after a newer one, changes nothing.

    matched, newer, delete      the row becomes a tombstone that keeps its values and takes the seq
    matched, newer              update; unsent columns keep what is stored, if that belongs to this row
    not matched                 insert, deletes as tombstones, partial changes as incomplete rows
    (deletes that are hard: matched and newer goes, and not matched leaves nothing)
    not matched by source       where the newest commit knew no such floor: rows older than it go

Newer is a greater seq; at one seq a row that lives is newer than a tombstone, for there a key was deleted
and made again.  Rows older than the floor match nothing: they lend no value, and where the table has
another key since, they could match twice.
"""

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from wrackline.consumers.plan import Deletes, MergePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW = "wrackline_batch"
_NOBODY = "CAST(array() AS array<int>)"


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
    seq, op, deleted = quoted(ours.seq), quoted(ours.op), quoted(ours.deleted)
    commit_ts, missing = quoted(ours.commit_ts), quoted(ours.missing)
    newer = f"(s.seq > t.{seq} OR (s.seq = t.{seq} AND t.{deleted} AND NOT s.deleted))"
    still_missing = (
        f"CASE WHEN t.{deleted} THEN concat(s.unsent_ids, s.missing_ids) ELSE concat(s.missing_ids,"
        f" array_intersect(coalesce(t.{missing}, {_NOBODY}), s.unsent_ids)) END"
    )
    hard = plan.deletes is Deletes.HARD
    new_missing = "concat(s.unsent_ids, s.missing_ids)"
    known = {deleted: "s.deleted", seq: "s.seq", op: "s.op", commit_ts: "s.commit_ts"}
    mark = "DELETE" if hard else f"UPDATE SET {assigned(known | {missing: 'NULL'})}"
    lives = " AND NOT s.deleted" if hard else ""
    update = {
        quoted(column.target): (
            f"CASE WHEN array_contains(s.unsent_ids, {column.identity}) AND NOT t.{deleted}"
            f" THEN t.{quoted(column.target)} ELSE s.row.{quoted(column.target)} END"
        )
        for column in plan.columns
        if column.target not in plan.key
    }
    update |= known | {missing: "NULL" if plan.lacking_is_null else or_null(still_missing)}
    insert = {quoted(column.target): f"s.row.{quoted(column.target)}" for column in plan.columns}
    insert |= known | {missing: "NULL" if plan.lacking_is_null else or_null(new_missing)}
    valid = "" if floor is None else f" WHERE seq >= {literal(floor)}"
    within = [] if truncated else plan.within.items()  # what was truncated is looked for in the whole table
    same = [f"t.{quoted(name)} <=> s.row.{quoted(name)}" for name in plan.key]
    same += [] if floor is None else [f"t.{seq} >= {literal(floor)}"]
    same += [f"t.{quoted(name)} BETWEEN {_key(one.least)} AND {_key(one.greatest)}" for name, one in within]
    clauses = [
        f"MERGE INTO {target} t USING (SELECT * FROM {VIEW}{valid}) s ON {' AND '.join(same)}",  # noqa: S608 - names and texts are quoted
        f"WHEN MATCHED AND {newer} AND s.deleted THEN {mark}",
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {assigned(update)}",
        f"WHEN NOT MATCHED{lives} THEN INSERT ({', '.join(insert)}) VALUES ({', '.join(insert.values())})",  # noqa: S608 - as above
    ]
    if truncated and floor is not None:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{seq} < {literal(floor)} THEN DELETE")
    return "\n".join(clauses)


def quoted(name: str) -> str:
    """Quote a name for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Write a text as a Spark SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _key(value: int | date) -> str:
    return str(value) if isinstance(value, int) else f"DATE '{value}'"


def assigned(values: dict[str, str]) -> str:
    """Write what a MERGE sets."""
    return ", ".join(f"t.{name} = {value}" for name, value in values.items())


def or_null(identities: str) -> str:
    """Write none at all as null, which a reader can filter by statistics."""
    return f"nullif({identities}, {_NOBODY})"
